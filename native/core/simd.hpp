// Vectors of a fixed number of bytes, and 2^t on them.
//
// Everything here is inlined into a function that carries the target attribute (kernel_evaluation
// .cpp): the same text becomes SSE2, AVX2 or AVX-512 code.
#pragma once

#include <cstdint>
#include <cstring>

#define WM_INLINE inline __attribute__((always_inline))
#define WM_LAMBDA __attribute__((always_inline))

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

// 2^t for t <= 0, a little above 0 too: t = k + r with an integer k and |r| <= 1/2, a polynomial
// for 2^r, and k added to the exponent. Below `vanishing` the result is 0: it is nothing in a sum
// of kernel values, and times a small coefficient it would be denormal, which costs a hundred
// cycles. The polynomials are 1 + r q(r), with q interpolating (2^r - 1) / r at Chebyshev points:
// 2^0 = 1.
template <int Bytes>
WM_INLINE typename Simd<float, Bytes>::Vector exp2_of_nonpositive(
    typename Simd<float, Bytes>::Vector t) {
    using V = typename Simd<float, Bytes>::Vector;
    using B = typename Simd<float, Bytes>::Bits;
    const float vanishing = -86.0f;
    const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
    const V shifted = t + shift;
    const V r = t - (shifted - shift);
    V p = r * 1.54531629e-4f + 1.33908634e-3f;
    p = p * r + 9.61808256e-3f;
    p = p * r + 5.55035711e-2f;
    p = p * r + 2.40226508e-1f;
    p = p * r + 6.93147188e-1f;
    p = p * r + 1.0f;
    const B bits = (B)p + ((B)shifted << 23);
    return t < vanishing ? V{} : (V)bits;
}

template <int Bytes>
WM_INLINE typename Simd<double, Bytes>::Vector exp2_of_nonpositive(
    typename Simd<double, Bytes>::Vector t) {
    using V = typename Simd<double, Bytes>::Vector;
    using B = typename Simd<double, Bytes>::Bits;
    const double vanishing = -865.0;
    const double shift = 6755399441055744.0;  // 1.5 * 2^52
    const V shifted = t + shift;
    const V r = t - (shifted - shift);
    V p = r * 4.45496059818651839e-10 + 7.0725859492692237e-9;
    p = p * r + 1.01780624458457735e-7;
    p = p * r + 1.32154425879216897e-6;
    p = p * r + 1.52527338298361184e-5;
    p = p * r + 1.54035304417360502e-4;
    p = p * r + 1.33335581464169353e-3;
    p = p * r + 9.61812910760688853e-3;
    p = p * r + 5.55041086648215943e-2;
    p = p * r + 2.40226506959100982e-1;
    p = p * r + 6.93147180559945309e-1;
    p = p * r + 1.0;
    const B bits = (B)p + ((B)shifted << 52);
    return t < vanishing ? V{} : (V)bits;
}

}  // namespace widemargin
