// Descent on one block of rows for all classes at once; the block's kernel matrix is at hand.
#pragma once

#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"
#include "kernel/class_rows.hpp"

namespace widemargin {

struct ClassBlockLimits {
    double gap;                // sum of the rows' shares of the gap that is good enough
    std::int64_t sets;         // working sets allowed
    std::int64_t working_set;  // rows of each
    int threads;
};

// Evaluates what every row adds to the objectives; slopes may be off by `error`.
void measure_rows(const ClassRows& rows, double error, RowShares* shares, int threads,
                  Interrupt& interrupt);

// Improves coefficients in place and keeps the scores of the block's rows up to date; returns the
// working sets it took, fewer than allowed if the gap is good enough, nothing moves or it is
// interrupted. kernel[i][j] = k(i, j) for rows of the block, but for the diagonal, which is
// rows.diagonal. Equals are told apart by `tie_breaker`.
template <class T>
std::int64_t solve_class_block(ClassRows& rows, const T* const* kernel,
                               const ClassBlockLimits& limits,
                               const std::vector<std::uint32_t>& tie_breaker, Interrupt& interrupt);

}  // namespace widemargin
