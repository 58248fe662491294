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
#include "multiclass/band_step.hpp"
#include "multiclass/class_step.hpp"

namespace widemargin {

// What all rows have in common: one of the formulations that act on the row's own class.
struct ClassRule {
    Formulation formulation;
    MarginBand band;  // its rivals are not used: rows have them

    bool with_band() const { return formulation == Formulation::margin_distribution; }
};

// Rows with their scores and coefficients, class by class: entry c * count + i is of row i.
struct ClassRows {
    ClassRule rule;
    std::int64_t count, classes;  // of rows, of classes
    const std::int64_t* code;     // class of each row
    const std::int32_t* rival;    // against which its margin may be too large; nullptr: none
    const double* bound;          // C_i
    const double* diagonal;       // k(x_i, x_i)
    double* coef;                 // b_ic
    double* score;                // f_c(x_i)

    std::int64_t rival_of(std::int64_t i) const { return rival ? rival[i] : -1; }
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
    std::int64_t rival = -1;  // place of the rival's, or -1

    void resize(std::int64_t classes) {
        for (auto* each : {&slope, &before, &after, &wish}) each->resize(std::size_t(classes - 1));
    }
};

// Puts a row's slopes and multipliers on the desk; `stride` is between classes.
WM_INLINE void read_row(const ClassRule& rule, std::int64_t own, std::int64_t rival,
                        std::int64_t classes, const double* score, const double* coef,
                        std::int64_t stride, ClassDesk& desk) {
    const double offset = rule.band.lower - score[own * stride];
    std::size_t k = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
        if (c == own) continue;
        desk.slope[k] = offset + score[c * stride];
        desk.before[k++] = -coef[c * stride];
    }
    desk.rival = rival > own ? rival - 1 : rival;
}

// How much the row's margin against its rival is too large.
WM_INLINE double excess_of(const ClassRule& rule, const ClassDesk& desk) {
    if (desk.rival < 0) return 0.0;
    const double slope = desk.slope[std::size_t(desk.rival)];
    return std::max(0.0, rule.band.lower - rule.band.upper - slope);
}

// Whether there is nothing to change: most rows have no multiplier and want none.
WM_INLINE bool is_idle(const ClassRule& rule, const ClassDesk& desk) {
    bool idle = true;
    for (std::size_t k = 0; k < desk.slope.size(); ++k)
        idle = idle && desk.before[k] == 0.0 && desk.slope[k] <= 0.0;
    return idle && excess_of(rule, desk) == 0.0;
}

// The multipliers of a row that acts on no score: they follow the slopes alone.
WM_INLINE void follow_slopes(const ClassRule& rule, double bound, ClassDesk& desk) {
    const auto steepest =
        std::size_t(std::max_element(desk.slope.begin(), desk.slope.end()) - desk.slope.begin());
    for (std::size_t k = 0; k < desk.slope.size(); ++k) {
        const bool wanted = rule.formulation == Formulation::weston_watkins || k == steepest;
        const double most = rule.with_band() ? bound * desk.slope[k] : bound;
        desk.after[k] = wanted && desk.slope[k] > 0.0 ? most : 0.0;
    }
}

// Finds the best multipliers of the row on the desk; returns the rise of the dual objective.
WM_INLINE double improve_row(const ClassRule& rule, double bound, double diagonal,
                             ClassDesk& desk) {
    const std::size_t count = desk.slope.size();
    std::copy(desk.before.begin(), desk.before.end(), desk.after.begin());
    if (bound == 0.0 || is_idle(rule, desk)) return 0.0;
    double rise = 0.0;
    if (diagonal <= 0.0) {
        follow_slopes(rule, bound, desk);
        if (rule.with_band()) {
            double before = 0.0, after = 0.0;
            for (std::size_t k = 0; k < count; ++k)
                before += desk.before[k], after += desk.after[k];
            rise = (before * before - after * after) / (2.0 * bound);
        }
    } else {
        double before = 0.0;
        for (std::size_t k = 0; k < count; ++k) {
            before += desk.before[k];
            desk.wish[k] = desk.before[k] + desk.slope[k] / diagonal;
        }
        if (rule.with_band()) {
            const BandStep step =
                find_band_step(rule.band, bound, diagonal, desk.before, desk.wish, desk.rival);
            for (std::size_t k = 0; k < count; ++k)
                desk.after[k] = std::max(0.0, desk.wish[k] - step.shift);
            if (step.rival < 0.0) desk.after[std::size_t(desk.rival)] = step.rival;
            rise = step.gain;
        } else {
            const auto [shift, upper] = class_step(rule.formulation, desk.wish.data(),
                                                   std::int64_t(count), before, bound, 0);
            for (std::size_t k = 0; k < count; ++k)
                desk.after[k] = std::min(upper, std::max(0.0, desk.wish[k] - shift));
        }
    }
    double squares = 0.0, total = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
        const double change = desk.after[k] - desk.before[k];
        rise += change * desk.slope[k];
        squares += change * change;
        total += change;
    }
    return std::max(0.0, rise - 0.5 * diagonal * (squares + total * total));
}

// The largest share of the gap of any slopes that are off by up to `error`, and the loss as it is.
WM_INLINE RowShares shares_of(const ClassRule& rule, double bound, double error,
                              const ClassDesk& desk) {
    double sum = 0.0, largest = 0.0, off = 0.0, largest_off = 0.0, along = 0.0;
    double positive = 0.0, negative = 0.0;
    for (std::size_t k = 0; k < desk.slope.size(); ++k) {
        const double slope = desk.slope[k], a = desk.before[k];
        const double up = std::max(0.0, slope + error), down = std::max(0.0, slope - error);
        sum += std::max(0.0, slope);
        largest = std::max(largest, slope);
        off += std::max(bound * up - a * (slope + error), bound * down - a * (slope - error));
        largest_off = std::max(largest_off, up);
        along += a * slope;
        (a > 0.0 ? positive : negative) += a;
    }
    // b_i . s_i = sum a (s_y - s_c) = sum a (lower - slope)
    const double product = rule.band.lower * (positive + negative) - along;
    switch (rule.formulation) {
        case Formulation::weston_watkins:
            return {0.0, off, bound * sum, product};
        case Formulation::crammer_singer:
            return {0.0, bound * largest_off - along + error * positive, bound * largest, product};
        default: {
            const MarginBand& band = rule.band;
            const double excess = excess_of(rule, desk);
            const double excess_off = excess > 0.0 || error > 0.0 ? excess + error : 0.0;
            const double square = largest * largest, square_off = largest_off * largest_off;
            double dual =
                band.lower * positive + band.upper * negative - positive * positive / (2.0 * bound);
            double loss = square, loss_off = square_off;
            if (desk.rival >= 0) {
                dual -= negative * negative / (2.0 * band.upsilon * bound);
                loss += band.upsilon * excess * excess;
                loss_off += band.upsilon * excess_off * excess_off;
            }
            const double slack = error * (positive - negative);
            return {0.0, 0.5 * bound * loss_off + product + slack - dual, 0.5 * bound * loss,
                    product};
        }
    }
}

}  // namespace widemargin
