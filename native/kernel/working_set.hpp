// Greedy coordinate descent on a small dense block: the innermost problem of a decomposition.
#pragma once

#include <cstdint>
#include <vector>

#include "core/loss_terms.hpp"

namespace widemargin {

// The block as arrays of equal, padded length. Invariant: margin = Q dual restricted to what the
// rows of the block contribute, plus a constant for the rest.
struct WorkingSet {
    explicit WorkingSet(std::int64_t capacity) { resize(capacity); }

    // Makes room for `rows`; the padding never asks for a step.
    void resize(std::int64_t rows);

    std::int64_t rows = 0, padded = 0;
    std::vector<double> block;  // rows x padded: Q
    std::vector<double> dual, margin, diagonal;
    std::vector<double> bound, floor;
    std::vector<double> curvature_below, curvature_above;  // of the whole coordinate
    std::vector<double> inverse_below, inverse_above;      // reciprocals, finite

    void set(std::int64_t i, double dual_, double margin_, double diagonal_, const LossRow& loss);
};

// Takes the coordinate with the largest step (in its own curvature) until that measure is at most
// `reduction` times its first value, or `max_steps` were taken.
void descend_greedily(WorkingSet& set, const Loss& loss, double reduction, std::int64_t max_steps);

}  // namespace widemargin
