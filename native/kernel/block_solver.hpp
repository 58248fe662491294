// Coordinate descent on one block, whose kernel matrix is at hand, by working sets of its rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/coordinate.hpp"
#include "core/interrupt.hpp"
#include "kernel/selection.hpp"
#include "kernel/working_set.hpp"

namespace widemargin {

struct BlockLimits {
    double gap;                // sum of gap shares that is good enough
    std::int64_t sets;         // working sets allowed
    std::int64_t working_set;  // rows of each
    int threads;
};

// Improves duals in place and keeps the margins of the block's rows up to date; returns the working
// sets it took, fewer than allowed if the gap is good enough, nothing moves or it is interrupted.
// kernel[i][j] = k(i, j) for rows of the block. Ties are broken as for Selection.
template <class T>
std::int64_t solve_block(std::vector<Coordinate>& block, const T* const* kernel, const Loss& loss,
                         const BlockLimits& limits, const std::vector<std::uint32_t>& tie_breaker,
                         Interrupt& interrupt);

}  // namespace widemargin
