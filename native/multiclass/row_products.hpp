// Products of one row with a vector.
#pragma once

#include "multiclass/problem.hpp"

namespace widemargin {

template <class T>
WM_INLINE double dot_with(const MulticlassProblem<T>& problem, std::int64_t i, const double* w) {
    double sum = 0.0;
    problem.for_each(i, [&](std::int64_t f, double x, std::int64_t) WM_LAMBDA { sum += x * w[f]; });
    return sum;
}

template <class T>
WM_INLINE void add_scaled(const MulticlassProblem<T>& problem, std::int64_t i, double step,
                          double* w) {
    problem.for_each(i,
                     [&](std::int64_t f, double x, std::int64_t) WM_LAMBDA { w[f] += step * x; });
}

}  // namespace widemargin
