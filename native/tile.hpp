// The hot loop: a register tile of kernel values between a few streamed rows and one packed panel.
//
// A panel holds as many rows as fill one cache line (16 floats, 8 doubles), feature-major, so that
// feature f of all of them is one load. Streamed rows are broadcast against it, `R` at a time:
//
//     for f:  for r in R:  acc[r] += x[r][f] * panel[f]        (or |x[r][f] - panel[f]|)
//     k[r] = kernel(acc[r])
//     consume(k)                                             see consume.hpp
//
// Panels may come from dense or CSR rows (CSR is scattered and cleared again), streamed rows too
// (CSR visits stored entries only): four combinations, one tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "consume.hpp"
#include "interrupt.hpp"
#include "kernel_spec.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace widemargin {

// Zeroed memory aligned to a cache line. calloc gives untouched pages for free, which is what
// makes a panel of a million mostly unused sparse columns affordable.
template <class T>
class ZeroedBuffer {
public:
    explicit ZeroedBuffer(std::int64_t count)
        : raw_(std::calloc(std::size_t(count) * sizeof(T) + cache_line, 1)) {
        if (!raw_) throw std::bad_alloc();
        const auto address = reinterpret_cast<std::uintptr_t>(raw_);
        data_ = reinterpret_cast<T*>((address + cache_line - 1) / cache_line * cache_line);
    }
    ~ZeroedBuffer() { std::free(raw_); }
    ZeroedBuffer(const ZeroedBuffer&) = delete;
    ZeroedBuffer& operator=(const ZeroedBuffer&) = delete;
    T* get() { return data_; }

private:
    void* raw_;
    T* data_;
};

// Packs rows [begin, begin + lanes) of `rows` feature-major; missing rows stay zero.
template <class T>
WM_INLINE void pack_panel(const Rows<T>& rows, std::int64_t begin, std::int64_t end, T* panel) {
    constexpr int lanes = panel_lanes<T>;
    for (std::int64_t k = begin; k < end; ++k) {
        T* lane = panel + (k - begin);
        rows.for_each_stored(k, [=](std::int64_t f, T value) { lane[f * lanes] = value; });
    }
}

// Sets back to zero what pack_panel wrote.
template <class T>
WM_INLINE void clear_panel(const Rows<T>& rows, std::int64_t begin, std::int64_t end, T* panel) {
    constexpr int lanes = panel_lanes<T>;
    for (std::int64_t k = begin; k < end; ++k) {
        T* lane = panel + (k - begin);
        rows.for_each_stored(k, [=](std::int64_t f, T) { lane[f * lanes] = T(0); });
    }
}

// The kernels that share a way of accumulating; `products` tells its members apart per tile.
enum class Family { rbf, laplacian, products };

template <class T, int Bytes>
struct Tile {
    using Vector = typename Simd<T, Bytes>::Vector;
    static constexpr int width = Simd<T, Bytes>::lanes;
    static constexpr int vectors = cache_line / Bytes;  // to a panel
    // As many accumulators as registers allow: 12 of 32 (AVX-512) or 16 (AVX2, SSE2).
    static constexpr int rows = 12 / vectors;

    static WM_INLINE Vector at(const T* panel, std::int64_t f, int v) {
        return load<Vector>(panel + f * panel_lanes<T> + v * width);
    }

    // Dense streamed rows, interleaved as x[f * R + r].
    template <Family F, int R>
    static WM_INLINE void accumulate_dense(const T* x, std::int64_t features, const T* panel,
                                           Vector (&acc)[R][vectors]) {
        for (std::int64_t f = 0; f < features; ++f) {
            Vector p[vectors];
            for (int v = 0; v < vectors; ++v) p[v] = at(panel, f, v);
            for (int r = 0; r < R; ++r) {
                const T value = x[f * R + r];
                for (int v = 0; v < vectors; ++v) {
                    if constexpr (F == Family::laplacian)
                        acc[r][v] += absolute(value - p[v]);
                    else
                        acc[r][v] += value * p[v];
                }
            }
        }
    }

    // One CSR row. For the 1-norm, columns the row does not store contribute |p|; those it does
    // contribute |x - p|: start from the panel's 1-norms and correct the stored ones.
    template <Family F, class Index>
    static WM_INLINE void accumulate_sparse(const T* values, const Index* index, std::int64_t count,
                                            const T* panel, Vector (&acc)[1][vectors]) {
        Vector odd[vectors] = {};  // a second chain of additions hides their latency
        auto add = [&](std::int64_t e, Vector* into) __attribute__((always_inline)) {
            for (int v = 0; v < vectors; ++v) {
                const Vector p = at(panel, std::int64_t(index[e]), v);
                if constexpr (F == Family::laplacian)
                    into[v] += absolute(values[e] - p) - absolute(p);
                else
                    into[v] += values[e] * p;
            }
        };
        std::int64_t e = 0;
        for (; e + 1 < count; e += 2) {
            add(e, acc[0]);
            add(e + 1, odd);
        }
        if (e < count) add(e, acc[0]);
        for (int v = 0; v < vectors; ++v) acc[0][v] += odd[v];
    }

    // From accumulated products (or distances) to kernel values, in place.
    template <Family F, int R>
    static WM_INLINE void apply(const KernelSpec& spec, const T* streamed_norm, const T* panel_norm,
                                Vector (&acc)[R][vectors]) {
        const T gamma = T(spec.gamma), coef0 = T(spec.coef0), constant = T(spec.constant);
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < vectors; ++v) {
                Vector& k = acc[r][v];
                if constexpr (F == Family::rbf) {
                    const Vector norms = load<Vector>(panel_norm + v * width) + streamed_norm[r];
                    Vector t = gamma * (k + k - norms);
                    t = t > 0 ? Vector{} : t;
                    k = exp_of_nonpositive<Bytes>(t);
                } else if constexpr (F == Family::laplacian) {
                    Vector t = -gamma * k;
                    t = t > 0 ? Vector{} : t;
                    k = exp_of_nonpositive<Bytes>(t);
                } else if (spec.kind == KernelKind::polynomial) {
                    k = power(gamma * k + coef0, spec.degree);
                } else if (spec.kind == KernelKind::sigmoid) {
                    k = hyperbolic_tangent(gamma * k + coef0);
                }
                k += constant;
            }
    }

    static WM_INLINE Vector power(Vector base, int exponent) {
        Vector result = Vector{} + T(1);
        for (; exponent > 0; exponent >>= 1, base *= base)
            if (exponent & 1) result *= base;
        return result;
    }

    static WM_INLINE Vector hyperbolic_tangent(Vector u) {
        const Vector decay = exp_of_nonpositive<Bytes>(-(absolute(u) * T(2)));
        const Vector positive = (T(1) - decay) / (T(1) + decay);
        return u < 0 ? -positive : positive;
    }
};

// One task: pack a block of panels, stream all rows past it.
template <class T, int Bytes, Family F>
class BlockRunner {
    using Shape = Tile<T, Bytes>;
    using Vector = typename Shape::Vector;
    static constexpr int lanes = panel_lanes<T>;
    static constexpr int vectors = Shape::vectors;

public:
    static WM_INLINE void run(const BlockTask<T>& task) {
        constexpr std::int64_t resident = 512 * 1024;  // bytes of panels that stay in cache
        const std::int64_t features = std::max<std::int64_t>(task.packed.features, 1);
        const std::int64_t panels =
            std::min((task.last - task.first + lanes - 1) / lanes,
                     std::clamp<std::int64_t>(resident / (features * cache_line), 1, 256 / lanes));
        ZeroedBuffer<T> panel(panels * features * lanes), norm(panels * lanes);
        ZeroedBuffer<T> group(task.streamed.sparse() ? 1 : Shape::rows * features);
        for (std::int64_t begin = task.first; begin < task.last; begin += panels * lanes) {
            const std::int64_t end = std::min(task.last, begin + panels * lanes);
            for_each_panel(
                features, begin, end, panel.get(), norm.get(),
                [&](std::int64_t b, std::int64_t e, T* p, T* n) __attribute__((always_inline)) {
                    pack_panel(task.packed, b, e, p);
                    for (std::int64_t k = b; k < e; ++k)
                        n[k - b] =
                            task.packed.norm ? task.packed.norm[task.packed.source(k)] : T(0);
                });
            stream(task, features, begin, end, panel.get(), norm.get(), group.get());
            for_each_panel(
                features, begin, end, panel.get(), norm.get(),
                [&](std::int64_t b, std::int64_t e, T* p, T*)
                    __attribute__((always_inline)) { clear_panel(task.packed, b, e, p); });
            if (task.interrupt && task.interrupt->stop()) return;
        }
    }

private:
    template <class Visit>
    static WM_INLINE void for_each_panel(std::int64_t features, std::int64_t begin,
                                         std::int64_t end, T* panel, T* norm, Visit&& visit) {
        for (std::int64_t b = begin; b < end; b += lanes, panel += features * lanes, norm += lanes)
            visit(b, std::min<std::int64_t>(b + lanes, end), panel, norm);
    }

    static WM_INLINE void stream(const BlockTask<T>& task, std::int64_t features,
                                 std::int64_t begin, std::int64_t end, T* panel, T* norm,
                                 T* group) {
        const Rows<T>& rows = task.streamed;
        std::int64_t i = 0;
        if (!rows.sparse())
            for (; i + Shape::rows <= rows.count; i += Shape::rows) {
                tiles_dense<Shape::rows>(task, features, i, begin, end, panel, norm, group);
                if ((i & 0xff) == 0 && task.interrupt && task.interrupt->stop()) return;
            }
        for (; i < rows.count; ++i) {
            if (rows.sparse())
                tiles_sparse(task, features, i, begin, end, panel, norm);
            else
                tiles_dense<1>(task, features, i, begin, end, panel, norm, group);
            if ((i & 0xff) == 0 && task.interrupt && task.interrupt->stop()) return;
        }
    }

    template <int R>
    static WM_INLINE void tiles_dense(const BlockTask<T>& task, std::int64_t features,
                                      std::int64_t i, std::int64_t begin, std::int64_t end,
                                      T* panel, T* norm, T* group) {
        T row_norm[R];
        for (int r = 0; r < R; ++r) {
            const T* row = task.streamed.dense(i + r);
            for (std::int64_t f = 0; f < task.streamed.features; ++f) group[f * R + r] = row[f];
            row_norm[r] = norm_of(task.streamed, i + r);
        }
        for_each_panel(
            features, begin, end, panel, norm,
            [&](std::int64_t b, std::int64_t e, T* p, T* n) __attribute__((always_inline)) {
                Vector acc[R][vectors] = {};
                Shape::template accumulate_dense<F, R>(group, task.streamed.features, p, acc);
                Shape::template apply<F, R>(task.spec, row_norm, n, acc);
                Consumer<T, Bytes>::template consume<R>(task, i, b, e, acc);
            });
    }

    static WM_INLINE void tiles_sparse(const BlockTask<T>& task, std::int64_t features,
                                       std::int64_t i, std::int64_t begin, std::int64_t end,
                                       T* panel, T* norm) {
        const Rows<T>& rows = task.streamed;
        const std::int64_t source = rows.source(i);
        const std::int64_t start = rows.row_start[source];
        const std::int64_t count = rows.row_start[source + 1] - start;
        const T row_norm[1] = {norm_of(rows, i)};
        for_each_panel(features, begin, end, panel, norm,
                       [&](std::int64_t b, std::int64_t e, T* p, T* n)
                           __attribute__((always_inline)) {
                               Vector acc[1][vectors] = {};
                               if constexpr (F == Family::laplacian)
                                   for (int v = 0; v < vectors; ++v)
                                       acc[0][v] = load<Vector>(n + v * Shape::width);
                               if (rows.index32)
                                   Shape::template accumulate_sparse<F>(
                                       rows.values + start, rows.index32 + start, count, p, acc);
                               else
                                   Shape::template accumulate_sparse<F>(
                                       rows.values + start, rows.index64 + start, count, p, acc);
                               Shape::template apply<F, 1>(task.spec, row_norm, n, acc);
                               Consumer<T, Bytes>::template consume<1>(task, i, b, e, acc);
                           });
    }

    static WM_INLINE T norm_of(const Rows<T>& rows, std::int64_t k) {
        return rows.norm ? rows.norm[rows.source(k)] : T(0);
    }
};

}  // namespace widemargin
