// Dual block descent: blocks of the most violating rows, each solved by coordinate descent.
//
//     minimise  1/2 g'Qg - t'g + sum_i phi_i(g_i),   Q_ij = y_i y_j k(x_i, x_j)
//
// with phi as in loss_terms.hpp and an offset t per row, the targets of a regression. Inside, rows
// have the margins (Qg)_i - t_i; callers give and get (Qg)_i.
//
// Working sets within working sets. All rows > a block of some thousand > a working set of some
// hundred > one coordinate, minimised in closed form (Hsieh et al., 2008); at each step inwards the
// most violating go first, and what lies outside waits. So a coordinate's step costs the working
// set, a working set's result costs the block, and only a block's result costs all rows: few passes
// over the kernel matrix, and almost all arithmetic inside the processor's caches.
//
// Departures from the textbook (Joachims, 1999):
//  1. Half of a selection stays from the last one, the other half is new, in equal parts rows that
//     push the decision up and rows that push it down (selection.hpp).
//  2. Kernel values of a block are evaluated anew for the update of all rows, unless they cost more
//     than reading them back (kernel_source.hpp).
//  3. Rows that sit at 0 or at their bound by more than the largest violation of any row are
//     dropped (shrinking). The caller checks them at the end.
#pragma once

#include <cstdint>
#include <functional>

#include "core/interrupt.hpp"
#include "core/loss_terms.hpp"
#include "core/rows.hpp"
#include "kernel/kernel_spec.hpp"
#include "kernel/near_groups.hpp"

namespace widemargin {

template <class T>
struct DescentProblem {
    Rows<T> rows;
    KernelSpec spec;
    const double* label;     // +1 or -1
    const double* diagonal;  // of Q: k(x_i, x_i), or more where the caller lifts the diagonal
    Loss loss;
    const double* below;  // per row: p_i, n_i, bound_i, floor_i
    const double* above;
    const double* bound;
    const double* floor;
    const double* offset = nullptr;    // per row: t_i; null: all are 0
    const NearGroups* near = nullptr;  // leaves far rows out of updates; null: none are far
};

struct DescentOptions {
    double relative_gap = 1e-3;           // stop once (P - D) / P over the active rows is this
    std::int64_t max_iterations = 10000;  // working sets
    std::int64_t block = 4096;            // rows of a block
    std::int64_t working_set = 384;       // rows of a working set
    std::int64_t cache_bytes = 0;         // for kernel rows kept; 0 evaluates them anew
    bool shrinking = true;
    int threads = 1;
    std::uint64_t seed = 0;  // for the first selections: before them all rows violate alike
};

struct DescentState {  // what the caller is told after each block
    std::int64_t iteration = 0;
    double primal = 0.0, dual = 0.0;
    std::int64_t active = 0;
    std::int64_t kernel_entries = 0;  // evaluated so far
};

enum class DescentOutcome { converged, iterations, stopped, stalled };

// Improves `net_dual` in place, given `margin` = Q net_dual, which it keeps up to date for the
// rows that stay active (not when stopped in the middle of a block). `report` returns true to stop.
template <class T>
DescentOutcome descend(const DescentProblem<T>& problem, const DescentOptions& options,
                       double* net_dual, double* margin, Interrupt& interrupt,
                       const std::function<bool(const DescentState&)>& report);

}  // namespace widemargin
