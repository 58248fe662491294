// The losses as their solvers see them: one family, convex and piecewise quadratic.
//
//     phi_i(g) = p_i/2 g+^2 + n_i/2 g-^2 - a g+ + b g-,   floor_i <= g <= bound_i
//
//                 a          b          p_i           n_i                 floor_i    bound_i
// hinge           1          inf        0             -                   0          C w_i
// squared hinge   1          inf        1/(2 C w_i)   -                   0          inf
// ODM             1 - theta  1 + theta  1/(C w_i)     1/(upsilon C w_i)   -inf       inf
// absolute        -epsilon   epsilon    0             0                   -C w_i     C w_i
//
// `a` and `b` are the margins below and above which a row is penalised; b = inf means never above.
// Where rows have targets (regression), m is the residual: the margin less the row's offset.
#pragma once

#include <cmath>
#include <cstdint>

namespace widemargin {

struct LossRow {
    double below, above;  // curvatures p_i, n_i
    double bound, floor;  // greatest and least net dual
};

struct Loss {
    double a, b;

    // argmin over g of q/2 g^2 + r g + phi(g), where r is the margin without this row's own part.
    double minimiser(const LossRow& row, double q, double r) const {
        if (r < a) {
            const double curvature = q + row.below;
            return curvature > 0.0 ? std::fmin((a - r) / curvature, row.bound) : row.bound;
        }
        if (r > b) {
            const double curvature = q + row.above;
            return curvature > 0.0 ? std::fmax((b - r) / curvature, row.floor) : row.floor;
        }
        return 0.0;
    }

    // The dual that margin m implies, minus the loss's slope there.
    double implied_dual(const LossRow& row, double m) const { return minimiser(row, 0.0, m); }

    double phi(const LossRow& row, double g) const {
        return g > 0.0   ? (0.5 * row.below * g - a) * g
               : g < 0.0 ? (0.5 * row.above * g - b) * g
                         : 0.0;
    }

    // The primal loss of margin m: the conjugate of phi at -m.
    double primal(const LossRow& row, double m) const {
        if (m < a) {
            const double shortfall = a - m;
            if (row.below <= 0.0) return row.bound * shortfall;
            const double reach = row.bound * row.below;  // where the dual meets its bound
            if (shortfall <= reach) return 0.5 * shortfall * shortfall / row.below;
            return row.bound * (shortfall - 0.5 * reach);
        }
        if (m > b) {
            const double excess = m - b;
            if (row.above <= 0.0) return -row.floor * excess;
            const double reach = -row.floor * row.above;
            if (excess <= reach) return 0.5 * excess * excess / row.above;
            return -row.floor * (excess - 0.5 * reach);
        }
        return 0.0;
    }
};

}  // namespace widemargin
