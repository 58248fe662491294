// Python's way to small problems that share a kernel matrix.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "kernel/small_problems.hpp"

namespace widemargin {

// Checks what all problems share, and returns them; the losses' rows are to be filled in.
inline SmallProblems small_problems(std::size_t n, std::size_t columns, const double* kernel,
                                    const Vector<const double>& diagonal,
                                    const Vector<const std::int64_t>& code, const Loss& loss,
                                    const Vector<const std::int64_t>& positive,
                                    const Vector<const std::int64_t>& negative) {
    const std::size_t count = positive.shape(0);
    require(columns == n, "the kernel matrix must be square.");
    require(diagonal.shape(0) == n && code.shape(0) == n, "every array needs one entry per row.");
    require(negative.shape(0) == count, "one negative class per positive one.");
    return {std::int64_t(n), kernel,         diagonal.data(), code.data(), loss,
            nullptr,         nullptr,        nullptr,         nullptr,     std::int64_t(count),
            positive.data(), negative.data()};
}

// Calls `work(interrupt)` without the interpreter's lock. `stop` is asked now and then; true ends
// the call.
template <class Work>
void run_stoppable(const std::function<bool()>& stop, const Work& work) {
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] {
            if (signal.poll()) return true;
            nb::gil_scoped_acquire gil;
            try {
                return stop();
            } catch (nb::python_error& error) {
                signal.keep(std::move(error));
                return true;
            }
        });
        work(interrupt);
    }
    signal.raise_if_any();
}

// Returns primal, dual, working sets, rows and success of every problem; `coef` is improved in
// place. `kernel` is the matrix of all rows; without it, problems are pairs of classes, and the
// kernel of `points` is evaluated, whose rows come class by class.
inline nb::tuple py_solve_small_problems(
    std::optional<Matrix<const double>> kernel, Vector<const double> diagonal,
    Vector<const std::int64_t> code, double lower_margin, double upper_margin,
    Vector<const double> below, Vector<const double> above, Vector<const double> bound,
    Vector<const double> floor, Vector<const std::int64_t> positive,
    Vector<const std::int64_t> negative, Matrix<double> coef, double relative_gap, bool last_digits,
    std::int64_t sets, std::int64_t working_set, std::int64_t whole_set, int threads,
    std::uint64_t seed, const std::function<bool()>& stop, const RowSet<double>* points,
    const KernelSpec* spec, RowNumbers order) {
    const std::size_t n = diagonal.shape(0), count = positive.shape(0);
    SmallProblems problems =
        small_problems(kernel ? kernel->shape(0) : n, kernel ? kernel->shape(1) : n,
                       kernel ? kernel->data() : nullptr, diagonal, code,
                       {lower_margin, upper_margin}, positive, negative);
    Rows<double> all;
    if (!kernel) {
        require(points && spec, "without a kernel matrix, `points` and `spec` must be given.");
        require(spec->kind != KernelKind::precomputed, "a precomputed kernel has its matrix.");
        all = picked(*points, spec->kind, order, points->count());
        require(std::size_t(all.count) == n, "every array needs one entry per row.");
        for (std::size_t i = 1; i < n; ++i)
            require(code.data()[i - 1] <= code.data()[i], "rows must come class by class.");
        for (std::size_t p = 0; p < count; ++p)
            require(negative.data()[p] != SmallProblems::rest, "problems must be pairs.");
        problems.points = &all;
        problems.spec = spec;
    }
    for (std::size_t length : {below.shape(0), above.shape(0), bound.shape(0), floor.shape(0)})
        require(length == n, "every array needs one entry per row.");
    require(coef.shape(0) == count && coef.shape(1) == n, "`coef` must be problems by rows.");
    require(working_set > 0 && threads > 0, "`working_set` and `threads` must be positive.");
    problems.below = below.data();
    problems.above = above.data();
    problems.bound = bound.data();
    problems.floor = floor.data();
    const SmallLimits limits{relative_gap, last_digits, sets, working_set,
                             whole_set,    threads,     seed};
    std::vector<SmallResult> results(count);
    run_stoppable(stop, [&](Interrupt& interrupt) {
        solve_small_problems(problems, limits, coef.data(), results.data(), interrupt);
    });
    std::unique_ptr<double[]> primal(new double[count]), dual(new double[count]);
    std::unique_ptr<std::int64_t[]> taken(new std::int64_t[count]), rows(new std::int64_t[count]);
    std::unique_ptr<bool[]> solved(new bool[count]);
    for (std::size_t p = 0; p < count; ++p) {
        primal[p] = results[p].primal;
        dual[p] = results[p].dual;
        taken[p] = results[p].sets;
        rows[p] = results[p].rows;
        solved[p] = results[p].solved;
    }
    return nb::make_tuple(new_array(primal, count), new_array(dual, count), new_array(taken, count),
                          new_array(rows, count), new_array(solved, count));
}

// Returns the decisions on the rows left out, (rows, problems), and the relative gap of every
// problem in every fold, NaN where it was not reached.
inline nb::tuple py_decide_small_folds(
    Matrix<const double> kernel, Vector<const double> diagonal, Vector<const std::int64_t> code,
    Vector<const std::int64_t> out, double lower_margin, double upper_margin,
    Matrix<const double> below, Matrix<const double> above, Matrix<const double> bound,
    Matrix<const double> floor, Vector<const std::int64_t> positive,
    Vector<const std::int64_t> negative, Matrix<const double> coef, double relative_gap,
    std::int64_t sets, std::int64_t working_set, std::int64_t whole_set, int threads,
    std::uint64_t seed, const std::function<bool()>& stop) {
    const std::size_t n = kernel.shape(0), count = positive.shape(0), folds = below.shape(0);
    const SmallProblems problems = small_problems(n, kernel.shape(1), kernel.data(), diagonal, code,
                                                  {lower_margin, upper_margin}, positive, negative);
    require(out.shape(0) == n, "every array needs one entry per row.");
    for (const auto& each : {below, above, bound, floor})
        require(each.shape(0) == folds && each.shape(1) == n, "losses must be folds by rows.");
    require(coef.shape(0) == count && coef.shape(1) == n, "`coef` must be problems by rows.");
    require(working_set > 0 && threads > 0, "`working_set` and `threads` must be positive.");
    const SmallFolds left{std::int64_t(folds), out.data(),   below.data(),
                          above.data(),        bound.data(), floor.data()};
    const SmallLimits limits{relative_gap, false, sets, working_set, whole_set, threads, seed};
    std::vector<SmallResult> results(count * folds);
    for (SmallResult& each : results) each.primal = NAN;
    std::unique_ptr<double[]> decisions(new double[n * count]()), gaps(new double[count * folds]);
    run_stoppable(stop, [&](Interrupt& interrupt) {
        decide_small_folds(problems, left, limits, coef.data(), decisions.get(), results.data(),
                           interrupt);
    });
    for (std::size_t k = 0; k < count * folds; ++k)
        gaps[k] = (results[k].primal - results[k].dual) / std::fmax(results[k].primal, 1e-300);
    return nb::make_tuple(new_array(decisions, n, count), new_array(gaps, count, folds));
}

}  // namespace widemargin
