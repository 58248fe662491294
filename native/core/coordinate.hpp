// One unknown of the dual problem: how far it is from optimal, measured in three ways.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/loss_terms.hpp"

namespace widemargin {

// What a coordinate needs, side by side.
struct Coordinate {
    double dual, margin, diagonal, label;
    LossRow loss;
    std::int64_t row;  // in the caller's numbering
};

// The step a coordinate wants, and how much it violates optimality: that step, squared, in the
// coordinate's own curvature.
struct Wish {
    double step, violation;
};

inline Wish wish_of(const Loss& loss, const Coordinate& c) {
    const double wanted = loss.minimiser(c.loss, c.diagonal, c.margin - c.diagonal * c.dual);
    const double step = wanted - c.dual;
    const double curvature = c.diagonal + (wanted < 0.0 ? c.loss.above : c.loss.below);
    return {step, step * step * std::fmax(curvature, 1e-12)};
}

// How far a coordinate is from optimal in units of margin: its projected gradient.
inline double margin_violation(const Loss& loss, const Coordinate& c) {
    if (c.dual > 0.0) {
        const double gradient = c.margin + c.loss.below * c.dual - loss.a;
        return c.dual >= c.loss.bound ? std::fmax(gradient, 0.0) : std::fabs(gradient);
    }
    if (c.dual < 0.0) {
        const double gradient = c.margin + c.loss.above * c.dual - loss.b;
        return c.dual <= c.loss.floor ? std::fmax(-gradient, 0.0) : std::fabs(gradient);
    }
    return std::fmax(0.0, std::fmax(loss.a - c.margin, c.margin - loss.b));
}

// A coordinate's share of the duality gap: P - D is the sum of these, and none is negative
// (Fenchel and Young).
inline double gap_share(const Loss& loss, const Coordinate& c) {
    return loss.primal(c.loss, c.margin) + loss.phi(c.loss, c.dual) + c.dual * c.margin;
}

// Whether an optimal row would still sit where it is with its margin off by `slack`.
inline bool settled(const Loss& loss, const Coordinate& c, double slack) {
    if (c.dual == 0.0) return c.margin > loss.a + slack && c.margin < loss.b - slack;
    if (c.dual == c.loss.bound) return c.margin < loss.a - slack;
    return c.dual == c.loss.floor && c.margin > loss.b + slack;
}

}  // namespace widemargin
