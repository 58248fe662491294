// Descent on pairs of rows: a block whose duals have a fixed sum, and whose kernel matrix is at
// hand.
//
//     min 1/2 a'Ka   subject to   0 <= a_i <= upper_i,   sum of a as it was given
//
// The margins m = Ka are the gradient. A row whose dual may rise and one whose dual may fall
// violate optimality by the second margin minus the first; moving weight from the second to the
// first keeps the sum. Chosen as in Fan, Chen and Lin (2005), "Working set selection using second
// order information for training support vector machines": the lowest margin that may rise, and the
// partner with which the objective falls most.
#pragma once

#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"

namespace widemargin {

// The block as arrays of equal, padded length; the padding can neither rise nor fall. Margins may
// hold contributions from rows outside the block, which stay as they are.
struct PairBlock {
    explicit PairBlock(std::int64_t rows);

    std::int64_t rows, padded;
    std::vector<double> dual, margin, upper, diagonal;
};

struct PairLimits {
    double violation;    // the largest that is good enough
    std::int64_t steps;  // pairs allowed
};

// Improves duals in place and keeps the margins up to date; returns the pairs it took.
// kernel[i * rows + j] = k(i, j), its own diagonal included.
template <class T>
std::int64_t descend_pairs(PairBlock& block, const T* kernel, const PairLimits& limits,
                           Interrupt& interrupt);

}  // namespace widemargin
