// One view for dense and CSR rows, optionally through a list of picked rows.
//
// Algorithms never ask which of the two it is; only the packing and the dot-product tile do.
#pragma once

#include <cstdint>

namespace widemargin {

template <class T>
struct Rows {
    std::int64_t count = 0;     // rows seen through this view
    std::int64_t features = 0;  // columns

    // Dense: row i starts at values + i * stride. CSR: values of all rows, one after the other.
    const T* values = nullptr;
    std::int64_t stride = 0;

    // CSR only (null for dense). Exactly one of the two index arrays is set.
    const std::int64_t* row_start = nullptr;
    const std::int32_t* index32 = nullptr;
    const std::int64_t* index64 = nullptr;

    // Squared norms (dot-product kernels) or 1-norms (laplacian) of the underlying rows.
    const T* norm = nullptr;

    // CSR only: 1 for the features that many of the underlying rows store. Null unless a good part
    // of the stored entries are of other, rare, features.
    const std::uint8_t* common = nullptr;

    // Row k of the view is row pick[k] of the data; null means k itself.
    const std::int64_t* pick = nullptr;

    bool sparse() const { return row_start != nullptr; }
    std::int64_t source(std::int64_t k) const { return pick ? pick[k] : k; }
    const T* dense(std::int64_t k) const { return values + source(k) * stride; }

    Rows picked(const std::int64_t* rows, std::int64_t n) const {
        Rows view = *this;
        view.pick = rows;
        view.count = n;
        return view;
    }

    // Rows [begin, end) of this view.
    Rows slice(std::int64_t begin, std::int64_t end) const {
        Rows view = *this;
        view.count = end - begin;
        if (pick) {
            view.pick += begin;
            return view;
        }
        if (sparse())
            view.row_start += begin;
        else
            view.values += begin * stride;
        if (norm) view.norm += begin;
        return view;
    }

    // Calls visit(column, value) for the stored entries of row k.
    template <class Visit>
    void for_each_stored(std::int64_t k, Visit&& visit) const {
        if (!sparse()) {
            const T* row = dense(k);
            for (std::int64_t f = 0; f < features; ++f) visit(f, row[f]);
            return;
        }
        const std::int64_t begin = row_start[source(k)], end = row_start[source(k) + 1];
        if (index32)
            for (std::int64_t e = begin; e < end; ++e) visit(std::int64_t(index32[e]), values[e]);
        else
            for (std::int64_t e = begin; e < end; ++e) visit(index64[e], values[e]);
    }
};

}  // namespace widemargin
