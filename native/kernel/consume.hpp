// What becomes of a tile of kernel values: it is written, multiplied and added, or summed by
// groups.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/interrupt.hpp"
#include "core/rows.hpp"
#include "core/simd.hpp"
#include "kernel/kernel_spec.hpp"

namespace widemargin {

constexpr int cache_line = 64;

template <class T>
constexpr int panel_lanes = cache_line / int(sizeof(T));

// The best group so far of each row of a panel, and the sum of the group at hand.
template <class T>
struct PanelScores {
    alignas(cache_line) double sum[panel_lanes<T>];
    double score[panel_lanes<T>];
    std::int64_t best[panel_lanes<T>];

    // `best` and `score` are what groups without rows leave behind.
    PanelScores(std::int64_t first, double first_score) {
        std::fill_n(sum, panel_lanes<T>, 0.0);
        std::fill_n(score, panel_lanes<T>, first_score);
        std::fill_n(best, panel_lanes<T>, first);
    }
};

// Streamed rows in groups, one after the other; the group with the largest
// offset[g] + sum over its rows i of coef[i] k(i, j) is wanted for every packed row j.
template <class T>
struct GroupSearch {
    const double* coef = nullptr;    // one per streamed row
    const double* offset = nullptr;  // one per group
    // ended[i] groups end before streamed row i; the last entry counts all groups.
    const std::int64_t* ended = nullptr;
    PanelScores<T>* panels = nullptr;  // of the task's packed rows
};

// Which outputs have a coefficient other than zero in a group of streamed rows: in one-vs-one a row
// takes part in few of the problems. Every tile lies in one group.
struct ActiveOutputs {
    static constexpr std::int64_t group_rows = 12;
    const std::int64_t* start = nullptr;  // group g has outputs [start[g], start[g + 1])
    const std::int32_t* outputs = nullptr;
};

// What a caller wants of the kernel values between streamed row i and packed row j:
// out[i][j] = k(i, j) when `out` is set, the best groups when `search` is set,
// else sums[o][j] += sum over i of coef[i][o] k(i, j).
template <class T>
struct BlockTask {
    Rows<T> streamed, packed;
    KernelSpec spec;
    std::int64_t first = 0, last = 0;        // packed rows of this task
    T* const* out = nullptr;                 // streamed.count pointers, each to packed.count values
    const GroupSearch<T>* search = nullptr;  // groups of streamed rows
    const T* coef = nullptr;                 // streamed.count x outputs
    double* sums = nullptr;                  // outputs x packed.count
    std::int64_t outputs = 0;
    const ActiveOutputs* active = nullptr;  // those of `coef`; null: all
    Interrupt* interrupt = nullptr;
};

// Values k[r] of streamed rows i + r, r < R, and the panel of packed rows [b, e).
template <class T, int Bytes>
class Consumer {
    using Vector = typename Simd<T, Bytes>::Vector;
    static constexpr int width = Simd<T, Bytes>::lanes;
    static constexpr int lanes = panel_lanes<T>;
    static constexpr int vectors = cache_line / Bytes;
    // A panel in double: vectors of `wide` sums, from as many values of type T.
    using Wide = typename Simd<double, Bytes>::Vector;
    using Number = typename Simd<double, Bytes>::Bits;
    static constexpr int wide = Simd<double, Bytes>::lanes;
    static constexpr int wides = lanes / wide;
    using Narrow = typename Simd<T, wide* int(sizeof(T))>::Vector;

public:
    // Values k[p][r] of streamed rows i + r, r < R, and packed rows [b, e), which fill P panels;
    // `sums` are those of the strip: panels x outputs x lanes.
    template <int R, int P>
    static WM_INLINE void consume(const BlockTask<T>& task, std::int64_t i, std::int64_t b,
                                  std::int64_t e, double* sums, Vector (&k)[P][R][vectors]) {
        if (task.out)
            for (int p = 0; p < P; ++p)
                write<R>(task, i, b + p * lanes, std::min<std::int64_t>(b + (p + 1) * lanes, e),
                         k[p]);
        else if (task.search)
            for (int p = 0; p < P; ++p)
                add_to_groups<R>(*task.search, i, (b - task.first) / lanes + p, k[p]);
        else
            for (int p = 0; p < P; ++p)
                multiply_add<R>(task, i, sums + p * task.outputs * lanes, k[p]);
    }

    // Adds the sums of packed rows [b, e) to the task's, and starts again from zero.
    static WM_INLINE void take(const BlockTask<T>& task, std::int64_t b, std::int64_t e,
                               double* sums) {
        for (; b < e; b += lanes)
            for (std::int64_t o = 0; o < task.outputs; ++o, sums += lanes) {
                double* total = task.sums + o * task.packed.count + b;
                const std::int64_t rows = std::min<std::int64_t>(lanes, e - b);
                for (std::int64_t l = 0; l < rows; ++l) total[l] += sums[l];
                std::fill_n(sums, lanes, 0.0);
            }
    }

private:
    template <int R>
    static WM_INLINE void write(const BlockTask<T>& task, std::int64_t i, std::int64_t b,
                                std::int64_t e, Vector (&k)[R][vectors]) {
        for (int r = 0; r < R; ++r) {
            T* out = task.out[i + r] + b;
            if (e - b == lanes) {
                for (int v = 0; v < vectors; ++v) store(out + v * width, k[r][v]);
            } else {
                T line[lanes];
                for (int v = 0; v < vectors; ++v) store(line + v * width, k[r][v]);
                std::copy(line, line + (e - b), out);
            }
        }
    }

    // Groups may end anywhere in a tile. Values pass through memory so that the loop over rows
    // stays a loop: one copy of its body, whatever R is. The sums stay in registers.
    template <int R>
    static WM_INLINE void add_to_groups(const GroupSearch<T>& search, std::int64_t i,
                                        std::int64_t panel, Vector (&k)[R][vectors]) {
        T lines[R][lanes];
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < vectors; ++v) store(&lines[r][v * width], k[r][v]);
        PanelScores<T>& scores = search.panels[panel];
        Wide sum[wides];
        for (int w = 0; w < wides; ++w) sum[w] = load<Wide>(scores.sum + w * wide);
        for (int r = 0; r < R; ++r) {
            for (int w = 0; w < wides; ++w)
                sum[w] += search.coef[i + r] *
                          __builtin_convertvector(load<Narrow>(&lines[r][w * wide]), Wide);
            for (std::int64_t g = search.ended[i + r]; g < search.ended[i + r + 1]; ++g)
                for (int w = 0; w < wides; ++w) {
                    keep_better(g, search.offset[g] + sum[w], scores.score + w * wide,
                                scores.best + w * wide);
                    sum[w] = Wide{};
                }
        }
        for (int w = 0; w < wides; ++w) store(scores.sum + w * wide, sum[w]);
    }

    // Strictly larger: the first of equal groups stays.
    static WM_INLINE void keep_better(std::int64_t g, Wide total, double* score,
                                      std::int64_t* best) {
        const Wide old_score = load<Wide>(score);
        const Number old_best = load<Number>(best);
        const Number better = total > old_score;
        store(score, better ? total : old_score);
        store(best, better ? Number{} + g : old_best);
    }

    // Products of one tile are added in T, tiles in double: at most R roundings of a float.
    template <int R>
    static WM_INLINE void multiply_add(const BlockTask<T>& task, std::int64_t i, double* sums,
                                       Vector (&k)[R][vectors]) {
        const std::int64_t outputs = task.outputs;
        auto add = [&](std::int64_t o) __attribute__((always_inline)) {
            const T* coef = task.coef + i * outputs + o;
            T line[lanes];
            for (int v = 0; v < vectors; ++v) {
                Vector sum = coef[0] * k[0][v];
                for (int r = 1; r < R; ++r) sum += coef[r * outputs] * k[r][v];
                store(line + v * width, sum);
            }
            double* to = sums + o * lanes;
            for (int w = 0; w < wides; ++w)
                store(to + w * wide,
                      load<Wide>(to + w * wide) +
                          __builtin_convertvector(load<Narrow>(line + w * wide), Wide));
        };
        if (!task.active) {
            for (std::int64_t o = 0; o < outputs; ++o) add(o);
            return;
        }
        const std::int64_t* start = task.active->start + i / ActiveOutputs::group_rows;
        for (std::int64_t a = start[0]; a < start[1]; ++a) add(task.active->outputs[a]);
    }
};

}  // namespace widemargin
