// A linear training problem as its solvers see it.
//
//     minimise over w  1/2 |w|^2 + sum over i of loss_i(m_i),   m_i = y_i (x_i . w) - t_i
//
// Targets t are those of a regression, whose labels are all +1; a classification has none.
//
// Rows may have one more feature, the same constant for all: its weight is the intercept. The loss
// of a row of weight v has the constants of loss_terms.hpp with p = below / v, n = above / v and
// bound * v, floor * v. `multiplier` lowers the margin of single rows by multiplier * p (the
// augmented Lagrangian of losses with a kink).
//
// Weights and sums are double whatever the type of the rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/loss_terms.hpp"
#include "core/rows.hpp"
#include "core/simd.hpp"

namespace widemargin {

template <class T>
struct LinearProblem {
    Rows<T> rows;
    double constant = 0.0;               // value of the constant feature; 0: there is none
    const std::int8_t* label = nullptr;  // +1 or -1
    const double* weight = nullptr;      // null: every row weighs 1
    const double* target = nullptr;      // null: all 0
    const double* multiplier = nullptr;  // null: none
    Loss loss{};
    LossRow unit{};  // constants of a row of weight 1

    std::int64_t size() const { return rows.features + (constant != 0.0); }  // of w
    double weight_of(std::int64_t i) const { return weight ? weight[i] : 1.0; }
    LossRow row(std::int64_t i) const {
        if (!weight) return unit;
        const double v = weight[i];
        return {unit.below / v, unit.above / v, unit.bound * v, unit.floor * v};
    }
    double target_of(std::int64_t i) const { return target ? target[i] : 0.0; }
    // What multipliers take off a margin.
    double shift_of(std::int64_t i) const {
        return multiplier ? multiplier[i] * unit.below / weight_of(i) : 0.0;
    }
    // The margin that the loss is of, given x_i . w.
    double margin(std::int64_t i, double decision) const {
        return double(label[i]) * decision - target_of(i) - shift_of(i);
    }
    // Stored values of all rows, what a pass over them costs.
    std::int64_t stored() const {
        return rows.sparse() ? rows.row_start[rows.count] : rows.count * rows.features;
    }
};

// Rows are visited in random order: without a hint the loop waits for memory half its time.
template <class T>
WM_INLINE void fetch_soon(const Rows<T>& rows, std::int64_t i) {
    const std::int64_t begin = rows.sparse() ? rows.row_start[i] : i * rows.stride;
    const std::int64_t end = rows.sparse() ? rows.row_start[i + 1] : begin + rows.stride;
    for (std::int64_t e = begin; e < end; e += 64 / std::int64_t(sizeof(T)))
        __builtin_prefetch(rows.values + e);
    if (rows.index32)
        for (std::int64_t e = begin; e < end; e += 16) __builtin_prefetch(rows.index32 + e);
}

// x_i . w, the constant feature included.
template <class T, int Bytes>
WM_INLINE double dot(const LinearProblem<T>& problem, std::int64_t i, const double* w) {
    using Wide = typename Simd<double, Bytes>::Vector;
    using Narrow = typename Simd<T, int(Bytes * sizeof(T) / 8)>::Vector;
    constexpr std::int64_t lanes = Simd<double, Bytes>::lanes;
    const Rows<T>& rows = problem.rows;
    double sum = problem.constant != 0.0 ? problem.constant * w[rows.features] : 0.0;
    if (rows.sparse()) {
        const std::int64_t begin = rows.row_start[i], end = rows.row_start[i + 1];
        double part[4] = {0.0, 0.0, 0.0, 0.0};
        std::int64_t e = begin;
        if (rows.index32) {
            for (; e + 4 <= end; e += 4)
                for (int k = 0; k < 4; ++k)
                    part[k] += double(rows.values[e + k]) * w[rows.index32[e + k]];
            for (; e < end; ++e) part[0] += double(rows.values[e]) * w[rows.index32[e]];
        } else {
            for (; e < end; ++e) part[e & 3] += double(rows.values[e]) * w[rows.index64[e]];
        }
        return sum + ((part[0] + part[1]) + (part[2] + part[3]));
    }
    const T* x = rows.values + i * rows.stride;
    Wide first{}, second{};
    std::int64_t f = 0;
    for (; f + 2 * lanes <= rows.features; f += 2 * lanes) {
        first += __builtin_convertvector(load<Narrow>(x + f), Wide) * load<Wide>(w + f);
        second +=
            __builtin_convertvector(load<Narrow>(x + f + lanes), Wide) * load<Wide>(w + f + lanes);
    }
    if (f + lanes <= rows.features) {
        first += __builtin_convertvector(load<Narrow>(x + f), Wide) * load<Wide>(w + f);
        f += lanes;
    }
    first += second;
    for (std::int64_t k = 0; k < lanes; ++k) sum += first[k];
    for (; f < rows.features; ++f) sum += double(x[f]) * w[f];
    return sum;
}

// w += step * x_i, the constant feature included.
template <class T, int Bytes>
WM_INLINE void add_to(const LinearProblem<T>& problem, std::int64_t i, double step, double* w) {
    using Wide = typename Simd<double, Bytes>::Vector;
    using Narrow = typename Simd<T, int(Bytes * sizeof(T) / 8)>::Vector;
    constexpr std::int64_t lanes = Simd<double, Bytes>::lanes;
    const Rows<T>& rows = problem.rows;
    if (problem.constant != 0.0) w[rows.features] += step * problem.constant;
    if (rows.sparse()) {
        const std::int64_t begin = rows.row_start[i], end = rows.row_start[i + 1];
        if (rows.index32)
            for (std::int64_t e = begin; e < end; ++e)
                w[rows.index32[e]] += step * double(rows.values[e]);
        else
            for (std::int64_t e = begin; e < end; ++e)
                w[rows.index64[e]] += step * double(rows.values[e]);
        return;
    }
    const T* x = rows.values + i * rows.stride;
    std::int64_t f = 0;
    for (; f + lanes <= rows.features; f += lanes)
        store(w + f, load<Wide>(w + f) + step * __builtin_convertvector(load<Narrow>(x + f), Wide));
    for (; f < rows.features; ++f) w[f] += step * double(x[f]);
}

// Rows in pieces that threads take and whose sums are added in order: as many as the problem says,
// never as many as there are threads. `sums` is the number of doubles that each piece keeps.
template <class T>
struct Pieces {
    std::int64_t count, rows;

    Pieces(const LinearProblem<T>& problem, std::int64_t sums) : rows(problem.rows.count) {
        // Adding up a piece's sums shall cost a quarter of its rows at most.
        const std::int64_t worthwhile = problem.stored() / (4 * std::max<std::int64_t>(1, sums));
        const std::int64_t affordable = most_memory / (8 * std::max<std::int64_t>(1, sums));
        count = std::min({most, worthwhile, affordable, rows / fewest_rows});
        count = std::max<std::int64_t>(1, count);
    }
    std::int64_t begin(std::int64_t piece) const { return piece * rows / count; }

    static constexpr std::int64_t most = 64, fewest_rows = 256,
                                  most_memory = std::int64_t(64) << 20;
};

}  // namespace widemargin
