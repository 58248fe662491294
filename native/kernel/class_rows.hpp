// One row of a kernel machine for all classes at once: its loss, its share of the duality gap, and
// its best coefficients while those of all other rows stay.
//
// The problem and its formulations are those of multiclass/problem.hpp, with s_c = f_c(x_i) and
// f_c = sum_i b_ic k(x_i, .). Of a row, b_iy = sum of a_i and b_ic = -a_ic for other classes, so
// that the coefficients of a row sum to zero and are all that is kept of its multipliers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/simd.hpp"
#include "multiclass/class_step.hpp"

namespace widemargin {

// Rows with their scores and coefficients, class by class: entry c * count + i is of row i.
struct ClassRows {
    Formulation formulation;       // weston_watkins or crammer_singer
    std::int64_t count, classes;   // of rows, of classes
    const std::int64_t* code;      // class of each row
    const double* bound;           // C_i
    const double* diagonal;        // k(x_i, x_i)
    double* coef;                  // b_ic
    double* score;                 // f_c(x_i)
};

// What a row adds to the objectives.
struct RowShares {
    double gain;   // rise of the dual objective by the row's best coefficients
    double gap;    // of the duality gap
    double loss;   // of the primal objective: C_i loss(x_i)
    double along;  // sum over c of b_ic f_c(x_i)
};

// Multipliers of one row for the classes other than its own, in their order.
struct ClassDesk {
    std::vector<double> slope, before, after, wish;

    void resize(std::int64_t classes) {
        for (auto* each : {&slope, &before, &after, &wish}) each->resize(std::size_t(classes - 1));
    }
};

// Puts a row's slopes and multipliers on the desk; `stride` is between classes.
WM_INLINE void read_row(std::int64_t own, std::int64_t classes, const double* score,
                        const double* coef, std::int64_t stride, ClassDesk& desk) {
    const double offset = 1.0 - score[own * stride];
    std::size_t k = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
        if (c == own) continue;
        desk.slope[k] = offset + score[c * stride];
        desk.before[k++] = std::max(0.0, -coef[c * stride]);
    }
}

// Finds the best multipliers of the row on the desk; returns the rise of the dual objective.
WM_INLINE double improve_row(Formulation formulation, double bound, double diagonal,
                             ClassDesk& desk) {
    const std::size_t count = desk.slope.size();
    double before = 0.0;
    bool idle = true;  // nothing to change: most rows have no multiplier and want none
    for (std::size_t k = 0; k < count; ++k) {
        before += desk.before[k];
        idle = idle && desk.before[k] == 0.0 && desk.slope[k] <= 0.0;
    }
    std::copy(desk.before.begin(), desk.before.end(), desk.after.begin());
    if (idle || bound == 0.0) return 0.0;
    if (diagonal <= 0.0) {  // the row acts on no score: its multipliers follow the slopes
        const std::size_t steepest = std::size_t(
            std::max_element(desk.slope.begin(), desk.slope.end()) - desk.slope.begin());
        for (std::size_t k = 0; k < count; ++k) {
            const bool wanted = formulation == Formulation::weston_watkins || k == steepest;
            desk.after[k] = wanted && desk.slope[k] > 0.0 ? bound : 0.0;
        }
    } else {
        for (std::size_t k = 0; k < count; ++k)
            desk.wish[k] = desk.before[k] + desk.slope[k] / diagonal;
        const auto [shift, upper] =
            class_step(formulation, desk.wish.data(), std::int64_t(count), before, bound, 0);
        for (std::size_t k = 0; k < count; ++k)
            desk.after[k] = std::min(upper, std::max(0.0, desk.wish[k] - shift));
    }
    double rise = 0.0, squares = 0.0, total = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
        const double change = desk.after[k] - desk.before[k];
        rise += change * desk.slope[k];
        squares += change * change;
        total += change;
    }
    return std::max(0.0, rise - 0.5 * diagonal * (squares + total * total));
}

// The largest share of the gap of any slopes that are off by up to `error`, and the loss as it is.
WM_INLINE RowShares shares_of(Formulation formulation, double bound, double error,
                              const ClassDesk& desk) {
    double sum = 0.0, largest = 0.0, off = 0.0, largest_off = 0.0, along = 0.0, multipliers = 0.0;
    for (std::size_t k = 0; k < desk.slope.size(); ++k) {
        const double slope = desk.slope[k], a = desk.before[k];
        const double up = std::max(0.0, slope + error), down = std::max(0.0, slope - error);
        sum += std::max(0.0, slope);
        largest = std::max(largest, slope);
        off += std::max(bound * up - a * (slope + error), bound * down - a * (slope - error));
        largest_off = std::max(largest_off, up);
        along += a * slope;
        multipliers += a;
    }
    // b_i . s_i = sum a (s_y - s_c) = sum a (1 - slope)
    const double product = multipliers - along;
    if (formulation == Formulation::weston_watkins) return {0.0, off, bound * sum, product};
    return {0.0, bound * largest_off - along + error * multipliers, bound * largest, product};
}

}  // namespace widemargin
