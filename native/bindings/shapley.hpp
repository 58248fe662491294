// Python's way to Shapley values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bindings/python_arrays.hpp"
#include "kernel/shapley.hpp"

namespace widemargin {

inline auto py_shapley_values(const RowSet<double>& queries, const RowSet<double>& basis,
                              const KernelSpec& spec, Matrix<const double> coef,
                              Vector<const double> node, Vector<const double> weight,
                              const RowSet<double>* background, int threads) {
    require(spec.kind == KernelKind::rbf || spec.kind == KernelKind::laplacian,
            "the kernel must be a product over the features (rbf, laplacian).");
    require(queries.features() == basis.features() &&
                (!background || background->features() == basis.features()),
            "all sets of rows need the same features.");
    require(std::int64_t(coef.shape(0)) == basis.count(), "one row of `coef` per basis row.");
    require(node.shape(0) == weight.shape(0) && node.shape(0) > 0, "one weight per node.");
    require(!background || background->count() > 0, "`background` needs a row.");
    constexpr KernelKind plain = KernelKind::linear;  // no norms are wanted
    const ShapleyProblem problem{queries.view(plain),
                                 basis.view(plain),
                                 background ? background->view(plain) : Rows<double>{},
                                 spec,
                                 coef.data(),
                                 std::int64_t(coef.shape(1)),
                                 node.data(),
                                 weight.data(),
                                 std::int64_t(node.shape(0))};
    const std::int64_t rows = queries.count(), features = basis.features();
    std::unique_ptr<double[]> values(new double[std::size_t(rows * features * problem.outputs)]());
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        shapley_values(problem, values.get(), threads, interrupt);
    }
    signal.raise_if_any();
    return new_array(values, rows, features, problem.outputs);
}

inline void bind_shapley(nb::module_& m) {
    m.def("shapley_values", &py_shapley_values, nb::arg("queries"), nb::arg("basis"),
          nb::arg("spec"), nb::arg("coef"), nb::arg("node"), nb::arg("weight"),
          nb::arg("background").none() = nb::none(), nb::arg("threads") = 1);
}

}  // namespace widemargin
