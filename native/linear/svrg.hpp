// Variance-reduced steps for linear problems (Johnson and Zhang, 2013).
//
//     w <- w - step * ((w - w0) + (g0_i - g_i(w)) y_i x_i / p_i + gradient at w0)
//
// with g_i(w) the dual that row i's margin implies, g0_i the same at the stage's start w0, and p_i
// = L_i / sum of L the share of the row's smoothness L_i. The gradient at w0 is w0 - v with v = sum
// of g0_i y_i x_i, so that the step is
//
//     w <- (1 - step) w + step v + step (g_i(w) - g0_i) y_i x_i / p_i
//
// and costs O(stored values of its row), however many features there are (linear_iterates.hpp).
//
// Departures: (1) g0 comes from the pass that gave the gradient, so that a step evaluates one
// gradient, not two; (2) rows are drawn without replacement, see draw_rows; (3) iterates are summed
// up, for their mean.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"

namespace widemargin {

// `count` row numbers in random order. Row i is there count * share_i / sum of shares times,
// rounded up or down by chance (systematic sampling): all rows once if shares are equal and count =
// rows.
void draw_rows(const double* share, std::int64_t rows, std::int64_t count, std::uint64_t seed,
               std::int64_t* order);

// What a stage's steps start from.
struct StageStart {
    const double* smoothness;  // L_i of this problem's rows
    double total;  // sum of L over all rows: more than these, when they are one part of several
    const double* dual;  // g0 of this problem's rows
    const double* v;     // sum over all rows
    double step;
};

// Steps on the rows order[0 … count), from w, which becomes the last iterate. Iterates after step
// `from` and later are added to `sum`.
template <class T>
void svrg_steps(const LinearProblem<T>& problem, const std::int64_t* order, std::int64_t count,
                const StageStart& start, std::int64_t from, double* w, double* sum,
                Interrupt& interrupt);

}  // namespace widemargin
