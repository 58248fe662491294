// Python's way to groups of rows and to products that leave far groups out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "kernel/near_groups.hpp"

namespace widemargin {

inline void require_radial(const KernelSpec& spec, double cutoff) {
    require(spec.kind == KernelKind::rbf || spec.kind == KernelKind::laplacian,
            "only radial kernels (rbf, laplacian) vanish far away.");
    require(cutoff > 0.0 && cutoff < 1.0, "`cutoff` must lie between 0 and 1.");
}

template <class T>
NearGroups py_near_groups(const RowSet<T>& rows, const KernelSpec& spec, double cutoff,
                          int threads) {
    require_radial(spec, cutoff);
    nb::gil_scoped_release release;
    const auto groups =
        std::make_shared<const RowGroups>(group_rows(rows.view(KernelKind::linear), {}));
    return NearGroups(groups, groups, spec, cutoff, threads);
}

// Groups of `queries` beside those of the basis that `near` was made of.
template <class T>
NearGroups py_near_queries(const RowSet<T>& queries, const NearGroups& near, const KernelSpec& spec,
                           double cutoff, int threads) {
    require_radial(spec, cutoff);
    for (std::int64_t f : near.from().boxed)
        require(f < queries.features(), "both sets of rows need the same features.");
    nb::gil_scoped_release release;
    const auto groups = std::make_shared<const RowGroups>(
        group_rows(queries.view(KernelKind::linear), near.from().boxed));
    return NearGroups(groups, near.shared_from(), spec, cutoff, threads);
}

template <class T>
nb::tuple py_near_product(const RowSet<T>& queries, const RowSet<T>& basis, const KernelSpec& spec,
                          Matrix<const double> coef, Vector<const std::int64_t> basis_rows,
                          const NearGroups& near, int threads) {
    require(queries.features() == basis.features(), "both sets of rows need the same features.");
    require(std::size_t(queries.count()) == near.to().group.size() &&
                std::size_t(basis.count()) == near.from().group.size(),
            "`near` must be made of these rows.");
    require(coef.shape(0) == basis_rows.shape(0), "one row of `coef` per basis row.");
    const std::vector<std::int64_t> rows(basis_rows.data(),
                                         basis_rows.data() + basis_rows.shape(0));
    for (std::int64_t row : rows)
        require(row >= 0 && row < basis.count(), "`basis_rows` must number rows of the basis.");
    const Rows<T> to = queries.view(spec.kind), from = basis.view(spec.kind);
    const auto outputs = std::int64_t(coef.shape(1));
    std::unique_ptr<double[]> out(new double[std::size_t(outputs * to.count)]);
    std::int64_t entries = 0;
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        std::vector<std::int64_t> place;
        const GroupedRows basis_by_group = near.from().sorted(rows, &place);
        std::vector<T> by_group(coef.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::int64_t o = 0; o < outputs; ++o)
                by_group[place[i] * outputs + o] = T(coef.data()[i * outputs + o]);
        const GroupedRows& all = near.to().members;
        std::vector<double> sums(std::size_t(outputs * to.count), 0.0);
        entries = near_product(to, all, from, basis_by_group, near, spec, by_group.data(), outputs,
                               sums.data(), threads, interrupt);
        for (std::int64_t o = 0; o < outputs; ++o)
            for (std::int64_t k = 0; k < to.count; ++k)
                out[o * to.count + all.rows[k]] = sums[o * to.count + k];
    }
    signal.raise_if_any();
    return nb::make_tuple(new_array(out, outputs, to.count), entries);
}

template <class T>
void bind_near_products(nb::module_& m) {
    m.def("near_groups", &py_near_groups<T>, nb::arg("rows"), nb::arg("spec"), nb::arg("cutoff"),
          nb::arg("threads") = 1);
    m.def("near_queries", &py_near_queries<T>, nb::arg("queries"), nb::arg("near"), nb::arg("spec"),
          nb::arg("cutoff"), nb::arg("threads") = 1);
    m.def("near_product", &py_near_product<T>, nb::arg("queries"), nb::arg("basis"),
          nb::arg("spec"), nb::arg("coef"), nb::arg("basis_rows"), nb::arg("near"),
          nb::arg("threads") = 1);
}

inline void bind_near_groups(nb::module_& m) {
    nb::class_<NearGroups>(m, "NearGroups")
        .def_prop_ro("share", &NearGroups::share)
        .def_prop_ro("n_groups", [](const NearGroups& near) { return near.to().count(); })
        .def_prop_ro(
            "group",
            [](const NearGroups& near) {
                const auto& group = near.to().group;
                std::unique_ptr<std::int64_t[]> out(new std::int64_t[group.size()]);
                std::copy(group.begin(), group.end(), out.get());
                return new_array(out, std::int64_t(group.size()));
            },
            nb::rv_policy::automatic);
}

}  // namespace widemargin
