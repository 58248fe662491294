// Python's way to rows of a kernel machine for all classes at once.
#pragma once

#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bindings/multiclass.hpp"
#include "bindings/python_arrays.hpp"
#include "kernel/class_block.hpp"

namespace widemargin {

// Checks the arrays; `score` and `coef` are written to by those who solve alone.
template <class Scores>
ClassRows class_rows(const std::string& formulation, const Vector<const std::int64_t>& code,
                     const Vector<const double>& bound, const Vector<const double>& diagonal,
                     const Scores& coef, const Scores& score) {
    const std::size_t n = code.shape(0), classes = coef.shape(0);
    const Formulation kind = formulation_named(formulation);
    require(kind == Formulation::weston_watkins || kind == Formulation::crammer_singer,
            "kernel machines for all classes at once are 'ww' or 'cs'.");
    require(bound.shape(0) == n && diagonal.shape(0) == n, "every array needs one entry per row.");
    require(classes > 1 && score.shape(0) == classes && coef.shape(1) == n && score.shape(1) == n,
            "`coef` and `score` need a line for every class and a column for every row.");
    for (std::size_t i = 0; i < n; ++i)
        require(code.data()[i] >= 0 && std::size_t(code.data()[i]) < classes,
                "classes of rows must be numbers of lines.");
    return {kind,         std::int64_t(n),  std::int64_t(classes),
            code.data(),  bound.data(),     diagonal.data(),
            const_cast<double*>(coef.data()), const_cast<double*>(score.data())};
}

// Returns lines of the gains, shares of the gap, losses and products of all rows.
inline auto py_measure_class_rows(const std::string& formulation, Vector<const std::int64_t> code,
                                  Vector<const double> bound, Vector<const double> diagonal,
                                  Matrix<const double> coef, Matrix<const double> score,
                                  double error, int threads) {
    const ClassRows rows = class_rows(formulation, code, bound, diagonal, coef, score);
    const auto n = std::size_t(rows.count);
    std::unique_ptr<double[]> out(new double[4 * n]);
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        std::vector<RowShares> shares(n);
        Interrupt interrupt([&] { return signal.poll(); });
        measure_rows(rows, error, shares.data(), threads, interrupt);
        for (std::size_t i = 0; i < n; ++i) {
            out[i] = shares[i].gain, out[n + i] = shares[i].gap;
            out[2 * n + i] = shares[i].loss, out[3 * n + i] = shares[i].along;
        }
    }
    signal.raise_if_any();
    return new_array(out, 4, n);
}

// `score` may hold contributions from rows outside the block, which stay as they are.
template <class T>
std::int64_t py_solve_class_block(Matrix<const T> kernel, const std::string& formulation,
                                  Vector<const std::int64_t> code, Vector<const double> bound,
                                  Vector<const double> diagonal, Matrix<double> coef,
                                  Matrix<double> score, double gap, std::int64_t sets,
                                  std::int64_t working_set, int threads, std::uint64_t seed) {
    ClassRows rows = class_rows(formulation, code, bound, diagonal, coef, score);
    const auto n = std::size_t(rows.count);
    require(kernel.shape(0) == n && kernel.shape(1) == n,
            "the kernel matrix needs a line and a column for every row of the block.");
    std::vector<const T*> lines;
    std::vector<std::uint32_t> tie_breaker;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < n; ++i) {
        lines.push_back(kernel.data() + i * n);
        tie_breaker.push_back(std::uint32_t(random()));
    }
    PendingSignal signal;
    std::int64_t taken;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        taken = solve_class_block(rows, lines.data(), {gap, sets, working_set, threads},
                                  tie_breaker, interrupt);
    }
    signal.raise_if_any();
    return taken;
}

template <class T>
void bind_class_block(nb::module_& m) {
    using namespace nb::literals;
    m.def("solve_class_block", &py_solve_class_block<T>, "kernel"_a.noconvert(), "formulation"_a,
          "code"_a, "bound"_a, "diagonal"_a, "coef"_a.noconvert(), "score"_a.noconvert(),
          nb::kw_only(), "gap"_a, "sets"_a, "working_set"_a, "threads"_a, "seed"_a);
}

}  // namespace widemargin
