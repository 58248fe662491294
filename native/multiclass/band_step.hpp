// The best multipliers of one row for several classes, for margin_distribution.
//
// With square = |x|^2, d_c = a_c' - a_c, D = sum of d_c, p = sum of [a_c'] and n = [-a_r'], the
// objective is, up to a constant,
//
//     lower p - p^2 / 2C - upper n - n^2 / (2 upsilon C) - sum_c (s_y - s_c) d_c
//     - square / 2 (sum_c d_c^2 + D^2).
//
// Multipliers above zero are a_c' = wish_c - shift with wish_c = a_c + (lower - s_y + s_c) / square
// and shift = D + p / (C square). One below zero is the rival's,
//
//     a_r' = share (wish_r + (upper - lower) / square - D),
//     share = upsilon C square / (1 + upsilon C square).
//
// Either way D is linear in p, so p is linear in the shift: what is left is the equation of
// class_step.hpp. The rival's multiplier is below zero if that of the first case has
// D > wish_r + (upper - lower) / square, as lower <= upper.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "multiclass/class_step.hpp"
#include "multiclass/problem.hpp"

namespace widemargin {

struct BandStep {
    double shift = 0.0;
    double rival = 0.0;  // the rival's multiplier if it is below zero
    // What the objective gains beside sum_c (lower - s_y + s_c) d_c and the squares of changes.
    double gain = 0.0;
};

// `rival` is a place among the multipliers, -1 for none; its wish is overwritten if its multiplier
// ends below zero.
WM_INLINE BandStep find_band_step(const MarginBand& band, double bound, double square,
                                  const std::vector<double>& before, std::vector<double>& wish,
                                  std::int64_t rival) {
    const double unbounded = std::numeric_limits<double>::infinity();
    const std::int64_t count = std::int64_t(wish.size());
    double positive = 0.0, negative = 0.0;
    for (double a : before) (a > 0.0 ? positive : negative) += a;
    const double total = positive + negative, weight = bound * square;
    BandStep step;

    double slope = weight / (1.0 + weight);
    step.shift = find_shift(wish.data(), count, unbounded, slope, slope * total, 0.0);
    double sum = shifted_sum(wish.data(), count, unbounded, step.shift).sum;
    if (rival >= 0) {
        const double far = wish[std::size_t(rival)] + (band.upper - band.lower) / square;
        if (sum - total > far) {
            const double share = band.upsilon * weight / (1.0 + band.upsilon * weight);
            const double origin = (share * far - total) / (1.0 + share);
            slope = 1.0 / (1.0 / (1.0 + share) + 1.0 / weight);
            wish[std::size_t(rival)] = -1e300;
            step.shift =
                find_shift(wish.data(), count, unbounded, slope, -slope * origin, step.shift);
            sum = shifted_sum(wish.data(), count, unbounded, step.shift).sum;
            const double change = (sum + share * far - total) / (1.0 + share);
            step.rival = std::min(0.0, share * (far - change));
        }
    }
    step.gain = (band.upper - band.lower) * (step.rival - negative) -
                (sum * sum - positive * positive) / (2.0 * bound);
    if (rival >= 0)
        step.gain -= (step.rival * step.rival - negative * negative) / (2.0 * band.upsilon * bound);
    return step;
}

}  // namespace widemargin
