// Many linear models judged on the same rows: what each one's losses add up to, and the rows it
// gets right. A pass over the rows serves a block of models.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"

namespace widemargin {

// `models` holds `count` vectors of problem.size(); `loss[m]` takes the sum of the losses and
// `right[m]` the weight of the rows whose sign is right (a decision of 0 counts as negative).
template <class T>
void score_models(const LinearProblem<T>& problem, const double* models, std::int64_t count,
                  double* loss, double* right, int threads, Interrupt& interrupt);

}  // namespace widemargin
