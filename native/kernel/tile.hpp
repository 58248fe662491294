// The hot loop: a register tile of kernel values between a few streamed rows and a few packed
// panels.
//
// A panel holds as many rows as fill one cache line (16 floats, 8 doubles), feature-major, so that
// feature f of all of them is one load. `P` panels side by side are a strip: feature f of all its
// rows is P cache lines in a row. Streamed rows are broadcast against it, `R` at a time:
//
//     for f:  for r in R:  for p in P:  acc[p][r] += x[r][f] * strip[f][p]
//     k[p][r] = kernel(acc[p][r])                         (or |x[r][f] - strip[f][p]|)
//     consume(k)                                          see consume.hpp
//
// Panels may come from dense or CSR rows (CSR is scattered and cleared again), streamed rows too
// (CSR visits stored entries only): four combinations, one tile. A pair's value has the same bits
// in all of them that stream alike, whatever R and P are: its additions have one order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "core/interrupt.hpp"
#include "core/rows.hpp"
#include "core/simd.hpp"
#include "kernel/consume.hpp"
#include "kernel/kernel_spec.hpp"

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

// Packs rows [begin, end), at most P panels of them, into a strip. CSR rows leave the columns that
// they do not store: `clear_strip` keeps those zero. Lanes without a row hold anything.
template <int P, class T>
WM_INLINE void pack_strip(const Rows<T>& rows, std::int64_t begin, std::int64_t end, T* strip) {
    constexpr int lanes = P * panel_lanes<T>;
    if (rows.sparse()) {
        for (std::int64_t k = begin; k < end; ++k)
            rows.for_each_stored(
                k, [=](std::int64_t f, T value) { strip[f * lanes + (k - begin)] = value; });
        return;
    }
    constexpr int side = 8;  // rows read side by side: their part of a feature is written at once
    for (std::int64_t k = begin; k < end; k += side) {
        const T* row[side];
        for (int r = 0; r < side; ++r) row[r] = rows.dense(std::min<std::int64_t>(k + r, end - 1));
        T* to = strip + (k - begin);
        for (std::int64_t f = 0; f < rows.features; ++f)
            for (int r = 0; r < side; ++r) to[f * lanes + r] = row[r][f];
    }
}

// Sets back to zero what pack_strip wrote of CSR rows; dense ones are written over.
template <int P, class T>
WM_INLINE void clear_strip(const Rows<T>& rows, std::int64_t begin, std::int64_t end, T* strip) {
    constexpr int lanes = P * panel_lanes<T>;
    if (!rows.sparse()) return;
    for (std::int64_t k = begin; k < end; ++k)
        rows.for_each_stored(k, [=](std::int64_t f, T) { strip[f * lanes + (k - begin)] = T(0); });
}

template <class T>
WM_INLINE T norm_of(const Rows<T>& rows, std::int64_t k) {
    return rows.norm ? rows.norm[rows.source(k)] : T(0);
}

// The kernels that share a way of accumulating; `products` tells its members apart per tile.
enum class Family { rbf, laplacian, products };

constexpr double log2_of_e = 1.44269504088896340736;

template <class T, int Bytes>
struct Tile {
    using Vector = typename Simd<T, Bytes>::Vector;
    static constexpr int width = Simd<T, Bytes>::lanes;
    static constexpr int vectors = cache_line / Bytes;  // to a panel
    // Dense rows: 12 accumulators hide the latency of additions and leave registers for the rest
    // (24, two panels against 12 rows, were slower with AVX-512). CSR rows: an index and a value
    // are loaded once for `sparse_panels` panels, and the values of four rows are consumed
    // together.
    static constexpr int dense_rows = 12 / vectors, dense_panels = 1;
    static constexpr int sparse_rows = 4, sparse_panels = Bytes == 16 ? 2 : 4;
    // Chains of additions per pair with a CSR row: eight vectors hide the latency of additions,
    // sixteen do not fit AVX2's registers.
    static constexpr int sparse_chains = sparse_panels * vectors >= 8 ? 1 : 2;

    // Kernel values of P panels and R streamed rows; a panel's part is contiguous.
    template <int R, int P>
    using Values = Vector[P][R][vectors];

    template <int P>
    static WM_INLINE Vector at(const T* strip, std::int64_t f, int p, int v) {
        return load<Vector>(strip + (f * P + p) * panel_lanes<T> + v * width);
    }

    // Dense streamed rows, interleaved as x[f * R + r].
    template <Family F, int R, int P>
    static WM_INLINE void accumulate_dense(const T* x, std::int64_t features, const T* strip,
                                           Values<R, P>& acc) {
        for (std::int64_t f = 0; f < features; ++f) {
            Vector column[P][vectors];
            for (int p = 0; p < P; ++p)
                for (int v = 0; v < vectors; ++v) column[p][v] = at<P>(strip, f, p, v);
            // Rows outside: one broadcast value at a time leaves AVX2's registers to the sums.
            for (int r = 0; r < R; ++r) {
                const T value = x[f * R + r];
                for (int p = 0; p < P; ++p)
                    for (int v = 0; v < vectors; ++v)
                        if constexpr (F == Family::laplacian)
                            acc[p][r][v] += absolute(value - column[p][v]);
                        else
                            acc[p][r][v] += value * column[p][v];
            }
        }
    }

    // Row r of R, in CSR. For the 1-norm, columns the row does not store contribute |p|; those it
    // does contribute |x - p|: `acc` starts from the panels' 1-norms, the stored ones are
    // corrected.
    template <Family F, int R, int P, int Chains, class Index>
    static WM_INLINE void accumulate_sparse(const T* values, const Index* index, std::int64_t count,
                                            const T* strip, int r, Values<R, P>& acc) {
        Vector sum[Chains][P][vectors] = {};
        for (int p = 0; p < P; ++p)
            for (int v = 0; v < vectors; ++v) sum[0][p][v] = acc[p][r][v];
        auto add = [&](std::int64_t e, Vector(&into)[P][vectors]) __attribute__((always_inline)) {
            const T* columns = strip + std::int64_t(index[e]) * (P * panel_lanes<T>);
            asm("" : "+r"(columns));  // one register, the loads at fixed distances from it
            const T value = values[e];
            for (int p = 0; p < P; ++p)
                for (int v = 0; v < vectors; ++v) {
                    const Vector column = at<P>(columns, 0, p, v);
                    if constexpr (F == Family::laplacian)
                        into[p][v] += absolute(value - column) - absolute(column);
                    else
                        into[p][v] += value * column;
                }
        };
        std::int64_t e = 0;
        if constexpr (Chains == 2)
            for (; e + 1 < count; e += 2) {
                add(e, sum[0]);
                add(e + 1, sum[1]);
            }
        for (; e < count; ++e) add(e, sum[0]);
        for (int p = 0; p < P; ++p)
            for (int v = 0; v < vectors; ++v)
                if constexpr (Chains == 2)
                    acc[p][r][v] = sum[0][p][v] + sum[1][p][v];
                else
                    acc[p][r][v] = sum[0][p][v];
    }

    // The factor of squared distances and of 1-norms in the exponent of 2.
    static WM_INLINE T exponent_scale(const KernelSpec& spec) { return T(-spec.gamma * log2_of_e); }

    // What norms are multiplied by: for rbf, so that they add up to exponents of 2.
    template <Family F>
    static WM_INLINE T norm_scale(const KernelSpec& spec) {
        return F == Family::rbf ? exponent_scale(spec) : T(1);
    }

    // From accumulated products (or distances) to kernel values, in place. Norms are those of the
    // rows times `exponent_scale`.
    template <Family F, int R, int P>
    static WM_INLINE void apply(const KernelSpec& spec, const T* streamed_norm, const T* panel_norm,
                                Values<R, P>& acc) {
        const T gamma = T(spec.gamma), coef0 = T(spec.coef0);
        const T scale = exponent_scale(spec), twice = -2 * scale;
        for (int p = 0; p < P; ++p)
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < vectors; ++v) {
                    Vector& k = acc[p][r][v];
                    if constexpr (F == Family::rbf) {
                        const T* norm = panel_norm + p * panel_lanes<T> + v * width;
                        k = exp2_of_nonpositive<Bytes>(
                            not_above_zero(twice * k + (load<Vector>(norm) + streamed_norm[r])));
                    } else if constexpr (F == Family::laplacian) {
                        k = exp2_of_nonpositive<Bytes>(not_above_zero(scale * k));
                    } else if (spec.kind == KernelKind::polynomial) {
                        k = power(gamma * k + coef0, spec.degree);
                    } else if (spec.kind == KernelKind::sigmoid) {
                        k = hyperbolic_tangent(gamma * k + coef0);
                    }
                }
        if (spec.constant == 0.0) return;
        for (int p = 0; p < P; ++p)
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < vectors; ++v) acc[p][r][v] += T(spec.constant);
    }

    // Rounding may make a distance negative.
    static WM_INLINE Vector not_above_zero(Vector t) { return Vector{} < t ? Vector{} : t; }

    static WM_INLINE Vector power(Vector base, int exponent) {
        Vector result = Vector{} + T(1);
        for (; exponent > 0; exponent >>= 1, base *= base)
            if (exponent & 1) result *= base;
        return result;
    }

    static WM_INLINE Vector hyperbolic_tangent(Vector u) {
        const Vector decay = exp2_of_nonpositive<Bytes>(absolute(u) * T(-2 * log2_of_e));
        const Vector positive = (T(1) - decay) / (T(1) + decay);
        return u < 0 ? -positive : positive;
    }
};

// One task: pack a block of panels, stream all rows past it.
template <class T, int Bytes, Family F, bool Sparse>
class BlockRunner {
    using Shape = Tile<T, Bytes>;
    using Vector = typename Shape::Vector;
    static constexpr int lanes = panel_lanes<T>;
    static constexpr int vectors = Shape::vectors;
    static_assert(ActiveOutputs::group_rows % Shape::dense_rows == 0 &&
                  ActiveOutputs::group_rows % Shape::sparse_rows == 0);
    static constexpr int panels_at_once = Sparse ? Shape::sparse_panels : Shape::dense_panels;
    static constexpr int rows_at_once = Sparse ? Shape::sparse_rows : Shape::dense_rows;

public:
    static WM_INLINE void run(const BlockTask<T>& task) {
        constexpr std::int64_t resident = 512 * 1024;  // bytes of panels that stay in cache
        const std::int64_t features = std::max<std::int64_t>(task.packed.features, 1);
        std::int64_t fitting =
            std::clamp<std::int64_t>(resident / (features * cache_line), 1, 256 / lanes);
        // Few of a strip's sparse columns are in use, but of very many those lie far apart.
        const bool wide = Sparse && features > (1 << 14);
        if (Sparse && !wide) fitting = std::max<std::int64_t>(fitting, panels_at_once);
        if (fitting > panels_at_once) fitting -= fitting % panels_at_once;
        const std::int64_t panels = std::min((task.last - task.first + lanes - 1) / lanes, fitting);
        ZeroedBuffer<T> block(panels * features * lanes), norm(panels * lanes);
        ZeroedBuffer<T> group(Sparse ? 1 : rows_at_once * features);
        ZeroedBuffer<double> sums(panels * lanes * task.outputs);
        BlockRunner runner{task, features, wide, block.get(), norm.get(), group.get(), sums.get()};
        for (std::int64_t begin = task.first; begin < task.last; begin += panels * lanes) {
            runner.begin_ = begin;
            runner.end_ = std::min(task.last, begin + panels * lanes);
            runner.pack();
            runner.stream();
            runner.clear();
            if (task.interrupt && task.interrupt->stop()) return;
        }
    }

private:
    BlockRunner(const BlockTask<T>& task, std::int64_t features, bool wide, T* block, T* norm,
                T* group, double* sums)
        : task_(task), features_(features), wide_(wide), block_(block), norm_(norm), group_(group),
          sums_(sums) {}

    // Calls visit(panels of the strip, its first row, row after its last, strip, norms, sums), as
    // many panels at once as there are, then one by one.
    template <class Visit>
    WM_INLINE void for_each_strip(Visit&& visit) const {
        T *strip = block_, *norm = norm_;
        double* sums = sums_;
        std::int64_t b = begin_;
        auto step = [&](auto panels) __attribute__((always_inline)) {
            constexpr int P = decltype(panels)::value;
            visit(panels, b, std::min<std::int64_t>(b + P * lanes, end_), strip, norm, sums);
            b += P * lanes, strip += P * features_ * lanes, norm += P * lanes;
            sums += P * lanes * task_.outputs;
        };
        while (end_ - b > (panels_at_once - 1) * lanes)
            step(std::integral_constant<int, panels_at_once>{});
        if constexpr (panels_at_once > 1)
            while (b < end_) step(std::integral_constant<int, 1>{});
    }

    WM_INLINE void pack() const {
        const T scale = norm_scale();
        for_each_strip([&](auto panels, std::int64_t b, std::int64_t e, T* strip, T* norm, double*)
                           __attribute__((always_inline)) {
                               pack_strip<decltype(panels)::value>(task_.packed, b, e, strip);
                               for (std::int64_t k = b; k < e; ++k)
                                   norm[k - b] = scale * norm_of(task_.packed, k);
                           });
    }

    // Hands over the sums, and makes the strips ready for other rows.
    WM_INLINE void clear() const {
        for_each_strip([&](auto panels, std::int64_t b, std::int64_t e, T* strip, T*, double* sums)
                           __attribute__((always_inline)) {
                               clear_strip<decltype(panels)::value>(task_.packed, b, e, strip);
                               Consumer<T, Bytes>::take(task_, b, e, sums);
                           });
    }

    // Dense rows are interleaved once for all strips. Of a CSR row little is read: there each
    // strip, which then stays in the first cache, meets all rows.
    WM_INLINE void stream() const {
        if constexpr (Sparse)
            for_each_strip([&](auto... strip) __attribute__((always_inline)) {
                for_each_group([&](auto rows, std::int64_t i)
                                   __attribute__((always_inline)) { tile(rows, i, strip...); });
            });
        else
            for_each_group([&](auto rows, std::int64_t i) __attribute__((always_inline)) {
                interleave<decltype(rows)::value>(i);
                for_each_strip([&](auto... strip)
                                   __attribute__((always_inline)) { tile(rows, i, strip...); });
            });
    }

    // Calls visit(streamed rows of the group, its first row).
    template <class Visit>
    WM_INLINE void for_each_group(Visit&& visit) const {
        const std::int64_t count = task_.streamed.count;
        std::int64_t i = 0;
        for (; i + rows_at_once <= count; i += rows_at_once) {
            visit(std::integral_constant<int, rows_at_once>{}, i);
            if ((i & 0xff) == 0 && task_.interrupt && task_.interrupt->stop()) return;
        }
        if constexpr (rows_at_once > 1)
            for (; i < count; ++i) visit(std::integral_constant<int, 1>{}, i);
    }

    template <int R, int P>
    WM_INLINE void tile(std::integral_constant<int, R>, std::int64_t i,
                        std::integral_constant<int, P>, std::int64_t b, std::int64_t e,
                        const T* strip, const T* norm, double* sums) const {
        const T scale = norm_scale();
        T row_norm[R];
        for (int r = 0; r < R; ++r) row_norm[r] = scale * norm_of(task_.streamed, i + r);
        typename Shape::template Values<R, P> values = {};
        if constexpr (Sparse)
            visit_stored<R, P>(i, strip, norm, values);
        else
            Shape::template accumulate_dense<F, R, P>(group_, task_.streamed.features, strip,
                                                      values);
        Shape::template apply<F, R, P>(task_.spec, row_norm, norm, values);
        Consumer<T, Bytes>::template consume<R, P>(task_, i, b, e, sums, values);
    }

    template <int R>
    WM_INLINE void interleave(std::int64_t i) const {
        const T* row[R];
        for (int r = 0; r < R; ++r) row[r] = task_.streamed.dense(i + r);
        for (std::int64_t f = 0; f < task_.streamed.features; ++f)
            for (int r = 0; r < R; ++r) group_[f * R + r] = row[r][f];
    }

    template <int R, int P>
    WM_INLINE void visit_stored(std::int64_t i, const T* strip, const T* norm,
                                typename Shape::template Values<R, P>& values) const {
        const Rows<T>& rows = task_.streamed;
        for (int r = 0; r < R; ++r) {
            if constexpr (F == Family::laplacian)
                for (int p = 0; p < P; ++p)
                    for (int v = 0; v < vectors; ++v)
                        values[p][r][v] = load<Vector>(norm + p * lanes + v * Shape::width);
            const std::int64_t source = rows.source(i + r);
            const std::int64_t start = rows.row_start[source];
            const std::int64_t count = rows.row_start[source + 1] - start;
            auto add = [&](const auto* index) __attribute__((always_inline)) {
                if (P == 1 && wide_)
                    Shape::template accumulate_sparse<F, R, P, 2>(rows.values + start, index, count,
                                                                  strip, r, values);
                else
                    Shape::template accumulate_sparse<F, R, P, Shape::sparse_chains>(
                        rows.values + start, index, count, strip, r, values);
            };
            if (rows.index32)
                add(rows.index32 + start);
            else
                add(rows.index64 + start);
        }
    }

    WM_INLINE T norm_scale() const { return Shape::template norm_scale<F>(task_.spec); }

    const BlockTask<T>& task_;
    const std::int64_t features_;
    const bool wide_;  // strips of one panel only
    T *const block_, *const norm_, *const group_;
    double* const sums_;                // panels x outputs x lanes
    std::int64_t begin_ = 0, end_ = 0;  // packed rows of the block at hand
};

}  // namespace widemargin
