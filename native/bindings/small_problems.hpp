// Python's way to small problems that share a kernel matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "kernel/small_problems.hpp"

namespace widemargin {

// Returns primal, dual, working sets, rows and success of every problem; `coef` is improved in
// place. `stop` is asked now and then; true ends the call.
inline nb::tuple py_solve_small_problems(
    Matrix<const double> kernel, Vector<const double> diagonal, Vector<const std::int64_t> code,
    double lower_margin, double upper_margin, Vector<const double> below,
    Vector<const double> above, Vector<const double> bound, Vector<const std::int64_t> positive,
    Vector<const std::int64_t> negative, Matrix<double> coef, double relative_gap,
    bool last_digits, std::int64_t sets, std::int64_t working_set, std::int64_t whole_set, int threads,
    std::uint64_t seed, const std::function<bool()>& stop) {
    const std::size_t n = kernel.shape(0), count = positive.shape(0);
    require(kernel.shape(1) == n, "the kernel matrix must be square.");
    for (std::size_t length :
         {diagonal.shape(0), code.shape(0), below.shape(0), above.shape(0), bound.shape(0)})
        require(length == n, "every array needs one entry per row.");
    require(negative.shape(0) == count, "one negative class per positive one.");
    require(coef.shape(0) == count && coef.shape(1) == n, "`coef` must be problems by rows.");
    require(working_set > 0 && threads > 0, "`working_set` and `threads` must be positive.");
    const SmallProblems problems{std::int64_t(n),
                                 kernel.data(),
                                 diagonal.data(),
                                 code.data(),
                                 {lower_margin, upper_margin},
                                 below.data(),
                                 above.data(),
                                 bound.data(),
                                 std::int64_t(count),
                                 positive.data(),
                                 negative.data()};
    const SmallLimits limits{relative_gap, last_digits, sets, working_set, whole_set, threads, seed};
    std::vector<SmallResult> results(count);
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
        solve_small_problems(problems, limits, coef.data(), results.data(), interrupt);
    }
    signal.raise_if_any();
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
    return nb::make_tuple(new_array(primal, count), new_array(dual, count),
                          new_array(taken, count), new_array(rows, count),
                          new_array(solved, count));
}

}  // namespace widemargin
