// Vectors of a fixed number of bytes, and exp on them.
//
// Everything here is inlined into a function that carries the target attribute (kernel_evaluation
// .cpp): the same text becomes SSE2, AVX2 or AVX-512 code.
#pragma once

#include <cstdint>
#include <cstring>

#define WM_INLINE inline __attribute__((always_inline))

namespace widemargin {

template <class T, int Bytes>
struct Simd;

template <int Bytes>
struct Simd<float, Bytes> {
    typedef float Vector __attribute__((vector_size(Bytes)));
    typedef std::int32_t Bits __attribute__((vector_size(Bytes)));
    static constexpr int lanes = Bytes / 4;
};

template <int Bytes>
struct Simd<double, Bytes> {
    typedef double Vector __attribute__((vector_size(Bytes)));
    typedef std::int64_t Bits __attribute__((vector_size(Bytes)));
    static constexpr int lanes = Bytes / 8;
};

template <class V, class T>
WM_INLINE V load(const T* from) {
    V v;
    std::memcpy(&v, from, sizeof(V));
    return v;
}

template <class V, class T>
WM_INLINE void store(T* to, const V& v) {
    std::memcpy(to, &v, sizeof(V));
}

template <class V>
WM_INLINE V absolute(V v) {
    return v < 0 ? -v : v;
}

// exp(t) for t <= 0. Cody–Waite reduction t = k ln 2 + r, |r| <= ln 2 / 2, then a polynomial in r
// and k added to the exponent. Below `cutoff` the result is 0: exp(cutoff) is nothing in a sum of
// kernel values, and times a small coefficient it would be denormal, which costs a hundred cycles.
template <int Bytes>
WM_INLINE typename Simd<float, Bytes>::Vector exp_of_nonpositive(
    typename Simd<float, Bytes>::Vector t) {
    using V = typename Simd<float, Bytes>::Vector;
    using B = typename Simd<float, Bytes>::Bits;
    const V cutoff = V{} - 60.0f;
    const B vanishing = t < cutoff;
    t = vanishing ? cutoff : t;
    const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
    const V shifted = t * 1.44269504088896341f + shift;
    const V k = shifted - shift;
    V r = t - k * 0.693145751953125f;
    r = r - k * 1.42860682030941723212e-6f;
    // (exp(r) - 1 - r) / r^2 interpolated at Chebyshev points of [-ln2/2, ln2/2].
    V p = r * 1.989099110e-4f + 1.393364975e-3f;
    p = p * r + 8.333310485e-3f;
    p = p * r + 4.166646674e-2f;
    p = p * r + 1.666666716e-1f;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1.0f;
    const B exponent = ((B)shifted << 23);
    const B bits = vanishing ? B{} : (B)p + exponent;
    return (V)bits;
}

template <int Bytes>
WM_INLINE typename Simd<double, Bytes>::Vector exp_of_nonpositive(
    typename Simd<double, Bytes>::Vector t) {
    using V = typename Simd<double, Bytes>::Vector;
    using B = typename Simd<double, Bytes>::Bits;
    const V cutoff = V{} - 600.0;
    const B vanishing = t < cutoff;
    t = vanishing ? cutoff : t;
    const double shift = 6755399441055744.0;  // 1.5 * 2^52
    const V shifted = t * 1.4426950408889634074 + shift;
    const V k = shifted - shift;
    V r = t - k * 6.93147180369123816490e-01;
    r = r - k * 1.90821492927058770002e-10;
    // Taylor to r^13: the remainder is below 1e-17 on the reduced range.
    V p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1.0;
    const B exponent = ((B)shifted << 52);
    const B bits = vanishing ? B{} : (B)p + exponent;
    return (V)bits;
}

}  // namespace widemargin
