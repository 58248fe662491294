// The binary problems of one classification on a dense kernel matrix that they share, in one call.
//
//     minimise  1/2 g'Qg + sum_i phi_i(g_i),   Q_ij = y_i y_j k_ij         (phi: loss_terms.hpp)
//
// over the rows of two classes, or of one class against all others, by coordinate descent. A
// problem of few rows is one working set (working_set.hpp), a larger one a block
// (block_solver.hpp). What small problems add to that:
//
//  1. Every kernel value is computed once, by the caller. A problem on some of the rows copies its
//     own matrix out of the shared one, so that its lines are contiguous. That is faster if the
//     rows of a class follow each other. Pairs of classes of more rows have no shared matrix: those
//     of single classes are kept, and a pair evaluates what is between its two classes, once.
//  2. A descent aims at the gap that is asked for, relative to the primal of the moment. That falls
//     on the way, so the descent is repeated until the gap is small relative to the last primal.
//  3. Kernel values, duals and margins are float64 throughout: the margins that the descent keeps
//     up to date differ from Q g by rounding only, and the primal and dual it returns are a
//     certificate for gaps well above rounding.
//  4. Where the last digits are asked for, the descent of a working set goes on until no margin is
//     off by more than rounding. Its convergence is linear, so that they cost as much as four or
//     five times the first three.
//
// Problems are independent of each other: results do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "core/loss_terms.hpp"
#include "core/rows.hpp"
#include "kernel/kernel_spec.hpp"

namespace widemargin {

struct SmallProblems {
    static constexpr std::int64_t rest = -1;  // as a negative class: all rows that are not positive

    std::int64_t rows;         // of the training set
    const double* kernel;      // rows x rows, or null: then see `points`
    const double* diagonal;    // of the kernel matrix
    const std::int64_t* code;  // class of each row
    Loss loss;
    const double* below;  // per row: p_i, n_i, bound_i, floor_i
    const double* above;
    const double* bound;
    const double* floor;
    std::int64_t count;            // problems
    const std::int64_t* positive;  // per problem: the class of label +1, and that of label -1
    const std::int64_t* negative;
    // Where there is no matrix: what it would be of. The rows of a class follow each other, and
    // every problem is a pair of classes.
    const Rows<double>* points = nullptr;
    const KernelSpec* spec = nullptr;
};

struct SmallLimits {
    double relative_gap;       // stop once (P - D) / P is this
    bool last_digits;          // go on to rounding in problems that are one working set
    std::int64_t sets;         // working sets allowed to each problem
    std::int64_t working_set;  // rows of each,
    std::int64_t whole_set;    // in problems of more rows than this; others are one working set
    int threads;
    std::uint64_t seed;  // breaks ties between rows that violate alike
};

struct SmallResult {
    double primal = 0.0, dual = 0.0;
    std::int64_t sets = 0, rows = 0;  // working sets taken; rows of the problem
    bool solved = false;              // as far as the limits ask
};

// Folds of the rows: each leaves some out, whose margins are wanted. Rows that are left out have
// losses that keep their duals at 0.
struct SmallFolds {
    std::int64_t count;
    const std::int64_t* out;  // per row: the fold that leaves it out, or a number that none has
    const double* below;  // count x rows: p_i, n_i, bound_i, floor_i of the problems in each fold
    const double* above;
    const double* bound;
    const double* floor;
};

// Improves the coefficients y_i g_i of every problem in place: `coef` has a line of all rows per
// problem, in the end zero where a row takes no part. An interrupt leaves them as they are by then.
void solve_small_problems(const SmallProblems& problems, const SmallLimits& limits, double* coef,
                          SmallResult* results, Interrupt& interrupt);

// Solves every problem once for each fold, from the coefficients given, and writes the decisions on
// the rows left out: a line of all problems per row, 0 where a row takes no part in a problem.
// `results` has a line of all folds per problem.
void decide_small_folds(const SmallProblems& problems, const SmallFolds& folds,
                        const SmallLimits& limits, const double* coef, double* decisions,
                        SmallResult* results, Interrupt& interrupt);

}  // namespace widemargin
