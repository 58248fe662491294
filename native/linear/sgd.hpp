// Stochastic gradient steps of shrinking length for linear problems.
//
//     w <- (1 - step) w + step (n / b) sum over the b rows of a batch of g_i(w) y_i x_i,
//     step = 1 / (offset + t)
//
// with g_i(w) the dual that row i's margin implies. With the hinge and offset 0 these are the steps
// of Pegasos (Shalev-Shwartz et al., 2011) for lambda = 1 / sum of the rows' weights. A step costs
// O(stored values of its rows), see linear_iterates.hpp.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"

namespace widemargin {

struct SgdSchedule {
    std::int64_t batch;
    double first, offset;  // number t of the first step, and what is added to it
    double radius;         // w is kept within; infinite: it is not
};

// Steps on all rows once, in the order given. `dual` takes each row's implied dual when it was
// visited; the iterates are added to `sum`.
template <class T>
void sgd_steps(const LinearProblem<T>& problem, const std::int64_t* order,
               const SgdSchedule& schedule, double* dual, double* w, double* sum,
               Interrupt& interrupt);

}  // namespace widemargin
