// The best multipliers of one row for several classes, all others staying as they are.
//
// With square = |x|^2, d_c = a_c' - a_c and D = sum of d_c, the objective changes by
//
//     sum_c slope_c d_c - square / 2 (sum_c d_c^2 + coupling D^2),
//     coupling = 1 (weston_watkins, crammer_singer), -1/k (lee_lin_wahba), 0 (independent classes),
//
// so that a_c' = clip(wish_c - coupling D, 0, C_i) with wish_c = a_c + slope_c / square. One
// number, the shift coupling D, is left to find: Newton's method on a piecewise linear equation,
// kept between bounds. crammer_singer has sum a' <= C_i in place of the upper bounds: if it binds,
// the shift is what makes the sum C_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/simd.hpp"
#include "multiclass/problem.hpp"

namespace widemargin {

struct ShiftedSum {
    double sum;   // of clip(wish - shift, 0, bound)
    double free;  // how many are strictly between
};

WM_INLINE ShiftedSum shifted_sum(const double* wish, std::int64_t count, double bound,
                                 double shift) {
    double sum = 0.0, free = 0.0;
    for (std::int64_t c = 0; c < count; ++c) {
        const double v = wish[c] - shift;
        const double clipped = v < 0.0 ? 0.0 : (v > bound ? bound : v);
        sum += clipped;
        free += clipped == v ? 1.0 : 0.0;
    }
    return {sum, free};
}

// The nearest shift, up or down, at which a multiplier reaches or leaves a bound.
inline double next_edge(const double* wish, std::int64_t count, double bound, double shift,
                        bool up) {
    double nearest =
        up ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    for (std::int64_t c = 0; c < count; ++c)
        for (const double edge : {wish[c], wish[c] - bound}) {
            if (up && edge > shift) nearest = std::min(nearest, edge);
            if (!up && edge < shift) nearest = std::max(nearest, edge);
        }
    return nearest;
}

// Solves  sum clip(wish - shift, 0, bound) - slope * shift = target  for the shift, from a guess.
// The left-hand side falls for slope >= 0 and rises for slope <= -count: it crosses once.
WM_INLINE double find_shift(const double* wish, std::int64_t count, double bound, double slope,
                            double target, double shift) {
    const double infinity = std::numeric_limits<double>::infinity();
    double low = -infinity, high = infinity;
    for (int round = 0; round < 200; ++round) {
        const ShiftedSum at = shifted_sum(wish, count, bound, shift);
        const double excess = at.sum - slope * shift - target;
        const double rounding = 1e-15 * (at.sum + std::fabs(slope * shift) + std::fabs(target));
        if (std::fabs(excess) <= rounding) break;
        ((slope < 0.0) == (excess < 0.0) ? low : high) = shift;
        const double steepness = at.free + slope;
        double next = steepness != 0.0 ? shift + excess / steepness : shift;
        // Newton's method may go round in circles: halve what is left, or if there is no other
        // bound yet, go to where the next one moves.
        if (!(next > low && next < high))
            next = std::isinf(low) || std::isinf(high)
                       ? next_edge(wish, count, bound, shift, std::isinf(high))
                       : 0.5 * (low + high);
        if (!(next > low && next < high)) break;
        shift = next;
    }
    return shift;
}

struct ClassStep {
    double shift;  // what all wishes have in common
    double upper;  // bound of each multiplier: a_c' = clip(wish_c - shift, 0, upper)
};

// The best multipliers of a row, given their wishes and what they add up to before.
WM_INLINE ClassStep class_step(Formulation formulation, const double* wish, std::int64_t count,
                               double before, double bound, std::int64_t classes) {
    const double infinity = std::numeric_limits<double>::infinity();
    switch (formulation) {
        case Formulation::weston_watkins:
            return {find_shift(wish, count, bound, 1.0, before, 0.0), bound};
        case Formulation::lee_lin_wahba:
            return {find_shift(wish, count, bound, -double(classes), before, 0.0), bound};
        case Formulation::crammer_singer: {
            const double shift = find_shift(wish, count, infinity, 1.0, before, 0.0);
            if (shifted_sum(wish, count, infinity, shift).sum <= bound) return {shift, infinity};
            return {find_shift(wish, count, infinity, 0.0, bound, shift), infinity};
        }
        default:
            return {0.0, bound};
    }
}

}  // namespace widemargin
