// Moments of columns and copies among rows, as Python asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "core/row_scan.hpp"

namespace widemargin {

using Labels = Vector<const std::int64_t>;

inline auto as_array(const std::vector<std::int64_t>& values) {
    std::unique_ptr<std::int64_t[]> memory(new std::int64_t[values.size()]);
    std::copy(values.begin(), values.end(), memory.get());
    return new_array(memory, values.size());
}

template <class T>
auto py_column_moments(const RowSet<T>& set) {
    const std::size_t features = std::size_t(set.features());
    std::unique_ptr<double[]> sum(new double[features]()), square(new double[features]());
    {
        nb::gil_scoped_release release;
        column_moments(set.view(KernelKind::linear), sum.get(), square.get());
    }
    return nb::make_tuple(new_array(sum, features), new_array(square, features));
}

template <class T>
auto py_row_keys(const RowSet<T>& set, Labels label, int threads) {
    const std::size_t n = std::size_t(set.count());
    require(label.shape(0) == n, "`label` needs one entry per row.");
    std::unique_ptr<std::uint64_t[]> key(new std::uint64_t[n]);
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        row_keys(set.view(KernelKind::linear), label.data(), key.get(), threads, interrupt);
    }
    signal.raise_if_any();
    return new_array(key, n);
}

template <class T>
auto py_copies(const RowSet<T>& set, Labels label, int key_bits, int threads) {
    const std::size_t n = std::size_t(set.count());
    require(label.shape(0) == n, "`label` needs one entry per row.");
    require(key_bits >= 1 && key_bits <= 64, "`key_bits` must be from 1 to 64.");
    std::unique_ptr<std::int64_t[]> group(new std::int64_t[n]);
    std::vector<std::int64_t> first;
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        first = copies(set.view(KernelKind::linear), label.data(), group.get(),
                       ~std::uint64_t(0) >> (64 - key_bits), threads, interrupt);
    }
    signal.raise_if_any();
    return nb::make_tuple(new_array(group, n), as_array(first));
}

template <class T>
void bind_row_scan(nb::module_& m) {
    using namespace nb::literals;
    m.def("column_moments", &py_column_moments<T>, "rows"_a);
    m.def("row_keys", &py_row_keys<T>, "rows"_a, "label"_a, "threads"_a = 1);
    m.def("copies", &py_copies<T>, "rows"_a, "label"_a, "key_bits"_a = 64, "threads"_a = 1);
}

}  // namespace widemargin
