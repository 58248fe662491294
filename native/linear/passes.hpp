// Passes over all rows of a linear problem: what second-order methods and certificates ask for.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"

namespace widemargin {

// Which piece of its loss a row is on; the curvature there is weight / below, weight / above, or 0.
enum class Piece : std::int8_t { flat = 0, below = 1, above = 2 };

// The state of the second derivative, brought up to date by every pass that is given it.
//
// `gram` = sum over i of v_i r_i x_i x_i^T (upper triangle, row by row) with v the weights and r =
// 1 below, `below / above` above: the Hessian is I + gram / below. Only rows that changed their
// piece are added or taken away, so that the last passes of a solver cost next to nothing.
struct Curvature {
    std::int8_t* piece = nullptr;  // one per row; null: not wanted
    double* gram = nullptr;        // size x size; null: not wanted
};

struct PassResult {
    double loss = 0.0;  // sum of the losses
    double plain =
        0.0;  // the same without multipliers and below (the hinge proper); else equal to `loss`
    double phi = 0.0;  // sum of phi_i(g_i) - t_i g_i over the implied duals, of the loss proper
    std::int64_t curved = 0;  // rows with curvature
};

// Losses at w, the implied duals g, and `sum` = sum over i of g_i y_i x_i. `dual` takes g if it is
// not null.
template <class T>
PassResult evaluate(const LinearProblem<T>& problem, const double* w, double* sum, double* dual,
                    const Curvature& curvature, int threads, Interrupt& interrupt);

// out = sum over i of curvature_i (x_i . p) x_i. O(stored values of the rows with curvature).
template <class T>
void curvature_product(const LinearProblem<T>& problem, const std::int8_t* piece, const double* p,
                       double* out, int threads, Interrupt& interrupt);

// out = diagonal of the sum above.
template <class T>
void curvature_diagonal(const LinearProblem<T>& problem, const std::int8_t* piece, double* out,
                        int threads, Interrupt& interrupt);

// Sum of the losses at w + steps[k] p, in out[k].
template <class T>
void losses_along(const LinearProblem<T>& problem, const double* w, const double* p,
                  const double* steps, std::int64_t count, double* out, int threads,
                  Interrupt& interrupt);

// Sum of the losses at w; half of what `evaluate` costs.
template <class T>
double total_loss(const LinearProblem<T>& problem, const double* w, int threads,
                  Interrupt& interrupt);

// out = sum over i of coef_i x_i, and squares_i = |x_i|^2 (constant feature included).
template <class T>
void weighted_sum(const LinearProblem<T>& problem, const double* coef, double* out, int threads,
                  Interrupt& interrupt);
template <class T>
void squared_norms(const LinearProblem<T>& problem, double* squares, int threads,
                   Interrupt& interrupt);

}  // namespace widemargin
