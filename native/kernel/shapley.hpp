// Exact Shapley values of machines whose kernel is a product over the features.
//
// A machine f(x) = sum_i coef_i prod_j k_j(x_j, s_ij) is a game of its features for every x.
// Features outside a coalition S take the factor 1,
//
//     v(S) = sum_i coef_i prod_{j in S} k_j(x_j, s_ij)                                 (no
//     background)
//
// or the factor of a background row b, averaged over these rows,
//
//     v(S) = mean_b sum_i coef_i prod_{j in S} k_j(x_j, s_ij) prod_{j not in S} k_j(b_j, s_ij).
//
// With on_l = k_l(x_l, s_l) and off_l = 1 or k_l(b_l, s_l), the value of feature j in a pair is
//
//     (on_j - off_j) * integral over t in [0, 1] of prod_{l != j} ((1 - t) off_l + t on_l):
//
// the weight q! (d - q - 1)! / d! of a coalition of size q is the integral of t^q (1 - t)^(d-q-1).
// The integrand is a polynomial, which a Gauss-Legendre rule of d / 2 nodes integrates exactly, all
// of its terms positive. Products that leave one feature out are products of those before and of
// those after it: no division, so that a factor may vanish. O(features * nodes) per pair.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "core/rows.hpp"
#include "kernel/kernel_spec.hpp"

namespace widemargin {

struct ShapleyProblem {
    Rows<double> queries;     // rows to explain
    Rows<double> basis;       // support vectors
    Rows<double> background;  // no rows: features outside a coalition take the factor 1
    KernelSpec spec;          // rbf or laplacian; its constant is no feature's doing
    const double* coef;       // (basis, outputs)
    std::int64_t outputs;
    const double* node;  // of the rule on [0, 1]
    const double* weight;
    std::int64_t nodes;
};

// Writes `values` as (queries, features, outputs). They do not depend on `threads`.
void shapley_values(const ShapleyProblem& problem, double* values, int threads,
                    Interrupt& interrupt);

}  // namespace widemargin
