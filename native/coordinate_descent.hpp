// Dual coordinate descent over working sets of the most violating rows, with cached kernel rows.
//
//     minimise  1/2 g'Qg + sum_i phi_i(g_i),   Q_ij = y_i y_j k(x_i, x_j)       (phi:
//     loss_terms.hpp)
//
// Coordinate descent as in Hsieh et al. (2008), every loss in closed form; the coordinate with the
// largest step in its own curvature goes first. Departures from the textbook:
//  1. Coordinates are taken from a working set of the `working_set` most violating rows; its
//     kernel rows are fetched together (the register tile wants many) and kept in a cache.
//  2. Margins of all active rows are kept up to date once per working set, not per step.
//  3. Rows that sit at 0 or at their bound by more than the largest violation of any row are
//     dropped (shrinking) and the cached rows shortened. The caller checks them at the end.
#pragma once

#include <cstdint>
#include <functional>

#include "interrupt.hpp"
#include "kernel_spec.hpp"
#include "loss_terms.hpp"
#include "rows.hpp"

namespace widemargin {

template <class T>
struct DescentProblem {
    Rows<T> rows;
    KernelSpec spec;
    const double* label;     // +1 or -1
    const double* diagonal;  // of Q: k(x_i, x_i), or more where the caller lifts the diagonal
    Loss loss;
    const double* below;  // per row: p_i, n_i, bound_i
    const double* above;
    const double* bound;
};

struct DescentOptions {
    double relative_gap = 1e-3;  // stop once (P - D) / P over the active rows is at most this
    std::int64_t max_iterations = 10000;
    std::int64_t working_set = 256;
    std::int64_t cache_bytes = std::int64_t(1) << 30;
    bool shrinking = true;
    int threads = 1;
    std::uint64_t seed = 0;  // for the first working set: before it all rows violate alike
};

struct DescentState {  // what the caller is told after each working set
    std::int64_t iteration = 0;
    double primal = 0.0, dual = 0.0;
    std::int64_t active = 0;
    std::int64_t kernel_entries = 0;  // evaluated so far
};

enum class DescentOutcome { converged, iterations, stopped, stalled };

// Improves `net_dual` in place, given `margin` = Q net_dual, which it keeps up to date for the
// rows that stay active. `report` returns true to stop.
template <class T>
DescentOutcome descend(const DescentProblem<T>& problem, const DescentOptions& options,
                       double* net_dual, double* margin, Interrupt& interrupt,
                       const std::function<bool(const DescentState&)>& report);

}  // namespace widemargin
