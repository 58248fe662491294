// A bundle of classes: their weights, some rows, and the multipliers of these rows.
//
// weston_watkins, crammer_singer, lee_lin_wahba and margin_distribution: the rows are those of the
// bundle's classes, with their multipliers for all classes. Independent classes: all rows, with
// their multipliers for the bundle's classes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/interrupt.hpp"
#include "multiclass/class_duals.hpp"
#include "multiclass/class_weights.hpp"
#include "multiclass/problem.hpp"

namespace widemargin {

struct ClassBundle {
    ClassBundle(std::int64_t first, std::int64_t width, std::int64_t size, bool dense,
                std::vector<std::int64_t> rows)
        : first(first), weights(size, width, dense), rows(std::move(rows)),
          duals(this->rows.size()), order(this->rows.size()), gains(this->rows.size(), 0.0) {
        for (std::size_t r = 0; r < order.size(); ++r) order[r] = std::int64_t(r);
    }
    ClassBundle(const ClassBundle&) = delete;
    ClassBundle& operator=(const ClassBundle&) = delete;

    std::int64_t first;  // number of its first class
    ClassWeights weights;
    std::vector<std::int64_t> rows;   // rows of the problem
    std::vector<DualRow> duals;       // of rows[r]
    std::vector<std::int64_t> order;  // in which rows are visited: a permutation
    std::vector<double> gains;        // of rows[r], at its last visit
};

// How rows are gone through.
struct VisitOptions {
    std::uint64_t seed = 0;            // mixes the rows of two bundles,
    bool in_turn = false;              // unless one bundle's rows all come before the other's
    std::int64_t part = 0, parts = 1;  // only one of several parts of each bundle's order
    bool active_only = false;          // only multipliers that are not zero,
    double skip_below = 0.0;           // and rows whose last visit gained as much as this
    // A visit takes up at most max(fewest_new, new_mass / (C_i |x_i|^2)) classes whose multiplier
    // was zero, those with the steepest slope: multipliers and weights stay few on the way. 0: no
    // limit.
    std::int64_t fewest_new = 0;
    double new_mass = 0.0;
};

struct VisitResult {
    double loss = 0.0;  // sum of C_i loss, each row with the weights as its visit found them
    double gain = 0.0;  // in the dual objective

    void add(const VisitResult& other) {
        loss += other.loss;
        gain += other.gain;
    }
};

// Puts the rows of a bundle into another order.
void shuffle(ClassBundle& bundle, std::uint64_t seed);

// Visits the rows of `home` once, for the classes of `away`, and the other way round, and updates
// the multipliers and weights of both. `mean` is the m of lee_lin_wahba, which is updated unless it
// is to stay fixed.
template <class T>
VisitResult visit_rows(const MulticlassProblem<T>& problem, Formulation formulation,
                       ClassBundle& home, ClassBundle& away, double* mean,
                       const VisitOptions& options, Interrupt& interrupt);

// Recomputes the weights of `away` from the multipliers of `home`'s rows, adding to what is there.
// Where `away` is `home` the share of the rows' own classes is added too.
template <class T>
void add_weights(const MulticlassProblem<T>& problem, Formulation formulation,
                 const ClassBundle& home, ClassBundle& away, Interrupt& interrupt);

// The dual objective of a bundle's multipliers without 1/2 sum |w_c|^2: linear - quadratic. Their
// t-fold has t linear - t^2 quadratic.
struct DualSums {
    double linear = 0.0, quadratic = 0.0;
};

template <class T>
DualSums dual_sums(const MulticlassProblem<T>& problem, Formulation formulation,
                   const ClassBundle& bundle);

// Sums over all rows of C_i loss, with the weights times each of several scales, for bundles that
// are all classes in order.
template <class T>
void total_losses(const MulticlassProblem<T>& problem, Formulation formulation,
                  const std::vector<const ClassBundle*>& bundles, const double* mean,
                  const std::vector<double>& scales, std::vector<double>& losses, int threads,
                  Interrupt& interrupt);

}  // namespace widemargin
