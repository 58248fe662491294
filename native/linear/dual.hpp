// Dual coordinate descent for linear problems (Hsieh et al., 2008): one unknown per row, w kept.
//
//     minimise over g  1/2 |w(g)|^2 + sum over i of phi_i(g_i) - t_i g_i,
//     w(g) = sum over i of g_i y_i x_i
//
// Departures: (1) one loop for all losses, the minimiser comes from loss_terms.hpp; (2) a row is
// set aside when its margin is further inside its flat piece than the last epoch's largest
// violation, in units of margin; (3) the gap is estimated on the way from margins that are exact
// when they are looked at, so that the true gap, a pass over all rows, is computed only when it is
// likely to do.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"

namespace widemargin {

struct EpochResult {
    std::int64_t active = 0;  // rows not set aside: the first ones of `order` now
    double violation = 0.0;   // largest, in units of margin
    double gap = 0.0;         // sum of the gap shares of the rows visited
    double gain = 0.0;        // by how much the dual objective has grown
};

// One visit to each of order[0 … active), in a new random order. `slack` infinite: nothing is set
// aside. `squares` are |x_i|^2.
template <class T>
EpochResult dual_epoch(const LinearProblem<T>& problem, const double* squares, double slack,
                       std::uint64_t seed, std::int64_t* order, std::int64_t active, double* dual,
                       double* w, Interrupt& interrupt);

}  // namespace widemargin
