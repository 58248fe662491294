// Arrays of Python as rows and back, and Ctrl-C on its way through native loops.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernel/kernel_evaluation.hpp"

namespace widemargin {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowNumbers = std::optional<Vector<const std::int64_t>>;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Rows that keep their arrays alive, with the norms and common features that kernels ask for.
template <class T>
class RowSet {
public:
    explicit RowSet(Matrix<const T> values) : keep_{nb::cast(values)} {
        rows_.count = std::int64_t(values.shape(0));
        rows_.features = std::int64_t(values.shape(1));
        rows_.values = values.data();
        rows_.stride = rows_.features;
    }

    RowSet(Vector<const T> data, nb::object indices, Vector<const std::int64_t> row_start,
           std::int64_t features)
        : keep_{nb::cast(data), indices, nb::cast(row_start)} {
        rows_.count = std::int64_t(row_start.shape(0)) - 1;
        rows_.features = features;
        rows_.values = data.data();
        rows_.row_start = row_start.data();
        Vector<const std::int32_t> narrow;
        Vector<const std::int64_t> wide;
        if (nb::try_cast(indices, narrow, false))
            rows_.index32 = narrow.data();
        else if (nb::try_cast(indices, wide, false))
            rows_.index64 = wide.data();
        else
            throw std::invalid_argument("CSR indices must be int32 or int64 and contiguous.");
        const std::size_t stored = rows_.index32 ? narrow.shape(0) : wide.shape(0);
        check_structure(std::int64_t(std::min(stored, data.shape(0))));
    }

    const Rows<T> view(KernelKind kind) const {
        Rows<T> rows = rows_;
        if (kind == KernelKind::rbf) rows.norm = norms(kind, square_norms_);
        if (kind == KernelKind::laplacian) rows.norm = norms(kind, one_norms_);
        if (rows.sparse()) rows.common = common_features();
        return rows;
    }

    std::int64_t count() const { return rows_.count; }
    std::int64_t features() const { return rows_.features; }
    bool sparse() const { return rows_.sparse(); }

private:
    // A wrong index would read or write outside the panel: check once, here.
    void check_structure(std::int64_t stored) const {
        require(rows_.count >= 0 && rows_.row_start[0] == 0, "CSR indptr must start at 0.");
        for (std::int64_t i = 0; i < rows_.count; ++i)
            require(rows_.row_start[i] <= rows_.row_start[i + 1], "CSR indptr must not decrease.");
        require(rows_.row_start[rows_.count] <= stored,
                "CSR indptr points past the stored values.");
        const std::int64_t end = rows_.row_start[rows_.count];
        const bool valid = rows_.index32 ? all_below(rows_.index32, end, rows_.features)
                                         : all_below(rows_.index64, end, rows_.features);
        require(valid, "CSR indices must be below the feature count.");
    }

    // Without a branch per entry, which would take as long as a pass of a solver.
    template <class Index>
    static bool all_below(const Index* index, std::int64_t end, std::int64_t features) {
        Index least = 0, most = -1;
        for (std::int64_t e = 0; e < end; ++e) {
            least = std::min(least, index[e]);
            most = std::max(most, index[e]);
        }
        return least >= 0 && std::int64_t(most) < features;
    }

    const T* norms(KernelKind kind, std::vector<T>& store) const {
        if (store.empty() && rows_.count > 0) {
            store.resize(std::size_t(rows_.count));
            row_norms(rows_, kind, store.data());
        }
        return store.data();
    }

    const std::uint8_t* common_features() const {
        if (!counted_) {
            common_.resize(std::size_t(rows_.features));
            if (!mark_common_features(rows_, common_.data())) common_ = {};
            counted_ = true;
        }
        return common_.empty() ? nullptr : common_.data();
    }

    std::vector<nb::object> keep_;
    Rows<T> rows_;
    mutable std::vector<std::uint8_t> common_;  // empty: nothing is gained by knowing them
    mutable bool counted_ = false;
    mutable std::vector<T> square_norms_, one_norms_;
};

// Lets Python's signal handlers run. What they raise is kept until the native loop has put its
// state in order, then raised.
class PendingSignal {
public:
    bool poll() {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) error_ = std::make_unique<nb::python_error>();
        return bool(error_);
    }
    void keep(nb::python_error&& error) {
        error_ = std::make_unique<nb::python_error>(std::move(error));
    }
    void raise_if_any() {
        if (error_) throw nb::python_error(std::move(*error_));
    }

private:
    std::unique_ptr<nb::python_error> error_;
};

template <class T>
Rows<T> picked(const RowSet<T>& set, KernelKind kind, const RowNumbers& numbers,
               std::int64_t limit) {
    Rows<T> rows = set.view(kind);
    if (!numbers) return rows;
    for (std::size_t k = 0; k < numbers->shape(0); ++k)
        require(numbers->data()[k] >= 0 && numbers->data()[k] < limit, "row number out of range.");
    return rows.picked(numbers->data(), std::int64_t(numbers->shape(0)));
}

template <class T, class... Shape>
auto new_array(std::unique_ptr<T[]>& memory, Shape... shape) {
    T* data = memory.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(data, {std::size_t(shape)...}, owner);
}

}  // namespace widemargin
