// The module as Python sees it. Only this file, python_arrays.hpp and grouped_bindings.hpp know
// Python: they turn arrays into views, let other threads run meanwhile, and carry Ctrl-C across.
// Arrays are checked for shape and type here; values by the Python layer.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/block.hpp"
#include "bindings/class_block.hpp"
#include "bindings/gossip.hpp"
#include "bindings/grouped.hpp"
#include "bindings/linear.hpp"
#include "bindings/multiclass.hpp"
#include "bindings/near.hpp"
#include "bindings/python_arrays.hpp"
#include "bindings/row_scan.hpp"
#include "bindings/site.hpp"
#include "bindings/small_problems.hpp"
#include "kernel/block_descent.hpp"
#include "kernel/kernel_evaluation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace widemargin {
namespace {

KernelKind kind_of(const std::string& name) {
    if (name == "linear") return KernelKind::linear;
    if (name == "rbf") return KernelKind::rbf;
    if (name == "laplacian") return KernelKind::laplacian;
    if (name == "poly") return KernelKind::polynomial;
    if (name == "sigmoid") return KernelKind::sigmoid;
    if (name == "precomputed") return KernelKind::precomputed;
    throw std::invalid_argument("unknown kernel '" + name + "'");
}

template <class T>
auto py_kernel_block(const RowSet<T>& a, const RowSet<T>& b, const KernelSpec& spec,
                     RowNumbers a_rows, RowNumbers b_rows, int threads) {
    const bool precomputed = spec.kind == KernelKind::precomputed;
    require(a.features() == b.features(), "both sets of rows need the same features.");
    require(!precomputed || !a.sparse(), "a precomputed kernel must be dense.");
    const Rows<T> left = picked(a, spec.kind, a_rows, a.count());
    Rows<T> right = picked(b, spec.kind, b_rows, precomputed ? a.features() : b.count());
    if (precomputed && !b_rows) right.count = a.features();
    std::unique_ptr<T[]> values(new T[std::size_t(left.count * right.count)]);
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        std::vector<T*> out;
        for (std::int64_t i = 0; i < left.count; ++i) out.push_back(&values[i * right.count]);
        Interrupt interrupt([&] { return signal.poll(); });
        kernel_block(left, right, spec, out.data(), threads, interrupt);
    }
    signal.raise_if_any();
    return new_array(values, left.count, right.count);
}

// Into memory of the caller's, which knows about large pages.
template <class T>
void py_kernel_matrix(const RowSet<T>& rows, const KernelSpec& spec, RowNumbers order,
                      Matrix<T> out, int threads) {
    require(spec.kind != KernelKind::precomputed, "a precomputed kernel has its matrix.");
    const Rows<T> all = picked(rows, spec.kind, order, rows.count());
    require(std::int64_t(out.shape(0)) == all.count && std::int64_t(out.shape(1)) == all.count,
            "the matrix needs a line and a column for every row.");
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        kernel_matrix(all, spec, out.data(), threads, interrupt);
    }
    signal.raise_if_any();
}

template <class T>
auto py_kernel_product(const RowSet<T>& queries, const RowSet<T>& basis, const KernelSpec& spec,
                       Matrix<const double> coef, RowNumbers basis_rows, int threads,
                       RowNumbers query_rows) {
    require(spec.kind != KernelKind::precomputed, "a precomputed kernel needs no product.");
    require(queries.features() == basis.features(), "both sets of rows need the same features.");
    const Rows<T> from = picked(basis, spec.kind, basis_rows, basis.count());
    const Rows<T> to = picked(queries, spec.kind, query_rows, queries.count());
    require(std::int64_t(coef.shape(0)) == from.count, "one row of `coef` per basis row.");
    const std::int64_t outputs = std::int64_t(coef.shape(1));
    std::unique_ptr<double[]> sums(new double[std::size_t(outputs * to.count)]());
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        const std::vector<T> narrowed(coef.data(), coef.data() + coef.size());
        Interrupt interrupt([&] { return signal.poll(); });
        kernel_product(to, from, spec, narrowed.data(), outputs, sums.get(), threads, interrupt);
    }
    signal.raise_if_any();
    return new_array(sums, outputs, to.count);
}

template <class T>
auto py_kernel_diagonal(const RowSet<T>& rows, const KernelSpec& spec) {
    require(
        spec.kind != KernelKind::precomputed || (!rows.sparse() && rows.features() >= rows.count()),
        "a precomputed kernel must be dense, with a column for every row.");
    std::unique_ptr<double[]> out(new double[std::size_t(rows.count())]);
    kernel_diagonal(rows.view(spec.kind), spec, out.get());
    return new_array(out, rows.count());
}

const char* name_of(DescentOutcome outcome) {
    switch (outcome) {
        case DescentOutcome::converged:
            return "converged";
        case DescentOutcome::iterations:
            return "iterations";
        case DescentOutcome::stopped:
            return "stopped";
        default:
            return "stalled";
    }
}

using Report = std::function<bool(std::int64_t, double, double, std::int64_t, std::int64_t)>;

template <class T>
const char* py_descend(const RowSet<T>& rows, const KernelSpec& spec, Vector<const double> label,
                       Vector<const double> diagonal, double lower_margin, double upper_margin,
                       Vector<const double> below, Vector<const double> above,
                       Vector<const double> bound, Vector<const double> floor,
                       Vector<double> net_dual, Vector<double> margin,
                       const DescentOptions& options, const Report& report, const NearGroups* near,
                       std::optional<Vector<const double>> offset) {
    const std::size_t n = std::size_t(rows.count());
    for (std::size_t length : {label.shape(0), diagonal.shape(0), below.shape(0), above.shape(0),
                               bound.shape(0), floor.shape(0), net_dual.shape(0), margin.shape(0)})
        require(length == n, "every array needs one entry per row.");
    require(!offset || offset->shape(0) == n, "`offset` needs one entry per row.");
    require(
        spec.kind != KernelKind::precomputed || (!rows.sparse() && rows.features() >= rows.count()),
        "a precomputed kernel must be dense, with a column for every row.");
    require(!near || (near->to().group.size() == n && near->from().group.size() == n),
            "`near` must be made of these rows.");
    const DescentProblem<T> problem{rows.view(spec.kind),
                                    spec,
                                    label.data(),
                                    diagonal.data(),
                                    {lower_margin, upper_margin},
                                    below.data(),
                                    above.data(),
                                    bound.data(),
                                    floor.data(),
                                    offset ? offset->data() : nullptr,
                                    near};
    PendingSignal signal;
    DescentOutcome outcome;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        auto tell = [&](const DescentState& s) {
            if (signal.poll()) return true;
            nb::gil_scoped_acquire gil;
            try {
                return report(s.iteration, s.primal, s.dual, s.active, s.kernel_entries);
            } catch (nb::python_error& error) {
                signal.keep(std::move(error));
                return true;
            }
        };
        outcome = descend(problem, options, net_dual.data(), margin.data(), interrupt, tell);
    }
    signal.raise_if_any();
    return name_of(outcome);
}

template <class T>
void bind_precision(nb::module_& m, const char* name) {
    nb::class_<RowSet<T>>(m, name)
        .def(nb::init<Matrix<const T>>(), "values"_a)
        .def(nb::init<Vector<const T>, nb::object, Vector<const std::int64_t>, std::int64_t>(),
             "data"_a, "indices"_a, "indptr"_a, "features"_a)
        .def_prop_ro("count", &RowSet<T>::count)
        .def_prop_ro("features", &RowSet<T>::features)
        .def_prop_ro("sparse", &RowSet<T>::sparse);
    m.def("kernel_block", &py_kernel_block<T>, "a"_a, "b"_a, "spec"_a,
          "a_rows"_a.none() = nb::none(), "b_rows"_a.none() = nb::none(), "threads"_a = 1);
    m.def("kernel_matrix", &py_kernel_matrix<T>, "rows"_a, "spec"_a, "order"_a.none(),
          "out"_a.noconvert(), "threads"_a = 1);
    m.def("kernel_product", &py_kernel_product<T>, "queries"_a, "basis"_a, "spec"_a, "coef"_a,
          "basis_rows"_a.none() = nb::none(), "threads"_a = 1, "query_rows"_a.none() = nb::none());
    m.def("nearest_group", &py_nearest_group<T>, "queries"_a, "basis"_a, "spec"_a, "coef"_a,
          "group_start"_a, "offset"_a, "threads"_a = 1, "query_rows"_a.none() = nb::none());
    m.def("routed_product", &py_routed_product<T>, "queries"_a, "basis"_a, "spec"_a, "coef"_a,
          "query_rows"_a, "query_start"_a, "basis_start"_a, "threads"_a = 1);
    m.def("kernel_diagonal", &py_kernel_diagonal<T>, "rows"_a, "spec"_a);
    m.def("descend", &py_descend<T>, "rows"_a, "spec"_a, "label"_a, "diagonal"_a, "lower_margin"_a,
          "upper_margin"_a, "below"_a, "above"_a, "bound"_a, "floor"_a, "net_dual"_a.noconvert(),
          "margin"_a.noconvert(), "options"_a, "report"_a, "near"_a.none() = nb::none(),
          "offset"_a.none() = nb::none());
    bind_near_products<T>(m);
    m.def("fill_block", &py_fill_block<T>, "rows"_a, "spec"_a, "block_rows"_a, "slots"_a,
          "kernel"_a.noconvert(), "threads"_a = 1);
    m.def("solve_block", &py_solve_block<T>, "kernel"_a.noconvert(), "label"_a, "diagonal"_a,
          "lower_margin"_a, "upper_margin"_a, "below"_a, "above"_a, "bound"_a, "floor"_a,
          "net_dual"_a.noconvert(), "margin"_a.noconvert(), nb::kw_only(), "gap"_a, "sets"_a,
          "working_set"_a, "threads"_a, "seed"_a);
}

}  // namespace
}  // namespace widemargin

NB_MODULE(_native, m) {
    using namespace widemargin;
    m.doc() = "Native core of widemargin: kernel evaluation and block descent.";
    m.def("instruction_set", &instruction_set);
    nb::class_<KernelSpec>(m, "KernelSpec")
        .def(
            "__init__",
            [](KernelSpec* self, const std::string& kind, double gamma, double coef0, int degree,
               double constant) {
                new (self) KernelSpec{kind_of(kind), gamma, coef0, degree, constant};
            },
            "kind"_a, "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 3, "constant"_a = 0.0);
    nb::class_<DescentOptions>(m, "DescentOptions")
        .def(
            "__init__",
            [](DescentOptions* self, double relative_gap, std::int64_t max_iterations,
               std::int64_t block, std::int64_t working_set, std::int64_t cache_bytes,
               bool shrinking, int threads, std::uint64_t seed) {
                new (self) DescentOptions{relative_gap, max_iterations, block,   working_set,
                                          cache_bytes,  shrinking,      threads, seed};
            },
            nb::kw_only(), "relative_gap"_a, "max_iterations"_a, "block"_a, "working_set"_a,
            "cache_bytes"_a, "shrinking"_a, "threads"_a, "seed"_a);
    bind_near_groups(m);
    bind_precision<float>(m, "Rows32");
    bind_precision<double>(m, "Rows64");
    m.def("measure_class_rows", &py_measure_class_rows, "formulation"_a, "code"_a, "bound"_a,
          "diagonal"_a, "coef"_a, "score"_a, "error"_a = 0.0, "threads"_a = 1);
    bind_class_block<float>(m);
    bind_class_block<double>(m);
    bind_row_scan<float>(m);
    bind_row_scan<double>(m);
    m.def("solve_small_problems", &py_solve_small_problems, "kernel"_a.noconvert().none(),
          "diagonal"_a, "code"_a, "lower_margin"_a, "upper_margin"_a, "below"_a, "above"_a,
          "bound"_a, "floor"_a, "positive"_a, "negative"_a, "coef"_a.noconvert(), nb::kw_only(),
          "relative_gap"_a, "last_digits"_a, "sets"_a, "working_set"_a, "whole_set"_a, "threads"_a,
          "seed"_a, "stop"_a, "points"_a.none() = nb::none(), "spec"_a.none() = nb::none(),
          "order"_a.none() = nb::none());
    m.def("decide_small_folds", &py_decide_small_folds, "kernel"_a.noconvert(), "diagonal"_a,
          "code"_a, "out"_a, "lower_margin"_a, "upper_margin"_a, "below"_a, "above"_a, "bound"_a,
          "floor"_a, "positive"_a, "negative"_a, "coef"_a, nb::kw_only(), "relative_gap"_a,
          "sets"_a, "working_set"_a, "whole_set"_a, "threads"_a, "seed"_a, "stop"_a);
    bind_linear<float>(m, "LinearProblem32");
    bind_linear<double>(m, "LinearProblem64");
    bind_bundle(m);
    bind_multiclass<float>(m, "MulticlassProblem32");
    bind_multiclass<double>(m, "MulticlassProblem64");
    bind_gossip_settings(m);
    bind_gossip<float>(m, "GossipNetwork32");
    bind_gossip<double>(m, "GossipNetwork64");
    bind_site_settings(m);
    bind_site<float>(m, "GossipSite32");
    bind_site<double>(m, "GossipSite64");
    m.def("draw_rows", &py_draw_rows, nb::arg("share"), nb::arg("count"), nb::arg("seed"));
}
