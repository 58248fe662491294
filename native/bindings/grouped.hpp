// Python's way to sums over groups of rows. Every index is checked here: a wrong one would read or
// write outside an array.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/python_arrays.hpp"

namespace widemargin {

using Starts = Vector<const std::int64_t>;

// Group g has the entries [starts[g], starts[g + 1]) of `end` in all.
inline void require_starts(const char* name, const Starts& starts, std::int64_t end,
                           const char* entries) {
    const std::int64_t* at = starts.data();
    const std::string rule = std::string("`") + name + "` must begin with 0, never decrease and " +
                             "end with the number of " + entries + " (" + std::to_string(end) +
                             "); ";
    const std::size_t length = starts.shape(0);
    if (length == 0) throw std::invalid_argument(rule + "got an empty array.");
    if (at[0] != 0)
        throw std::invalid_argument(rule + "it begins with " + std::to_string(at[0]) + ".");
    for (std::size_t g = 1; g < length; ++g)
        if (at[g] < at[g - 1])
            throw std::invalid_argument(rule + "entry " + std::to_string(g) + " is " +
                                        std::to_string(at[g]) + ", the one before it " +
                                        std::to_string(at[g - 1]) + ".");
    if (at[length - 1] != end)
        throw std::invalid_argument(rule + "it ends with " + std::to_string(at[length - 1]) + ".");
}

inline void require_length(const char* name, std::size_t length, std::int64_t wanted,
                           const char* per) {
    if (std::int64_t(length) != wanted)
        throw std::invalid_argument(std::string("`") + name + "` needs one entry per " + per +
                                    " (" + std::to_string(wanted) + "); got " +
                                    std::to_string(length) + ".");
}

template <class T>
void require_kernel_between(const RowSet<T>& queries, const RowSet<T>& basis,
                            const KernelSpec& spec) {
    require(spec.kind != KernelKind::precomputed,
            "a precomputed kernel has no rows to evaluate; use another kernel.");
    require(queries.features() == basis.features(), "both sets of rows need the same features.");
}

template <class T>
nb::tuple py_nearest_group(const RowSet<T>& queries, const RowSet<T>& basis, const KernelSpec& spec,
                           Vector<const double> coef, Starts group_start,
                           Vector<const double> offset, int threads, RowNumbers query_rows) {
    require_kernel_between(queries, basis, spec);
    require_length("coef", coef.shape(0), basis.count(), "basis row");
    require_starts("group_start", group_start, basis.count(), "basis rows");
    const std::int64_t groups = std::int64_t(group_start.shape(0)) - 1;
    require(groups > 0, "at least one group is required; `group_start` has one entry only.");
    require_length("offset", offset.shape(0), groups, "group");
    const Rows<T> from = basis.view(spec.kind);
    const Rows<T> to = picked(queries, spec.kind, query_rows, queries.count());
    std::unique_ptr<std::int64_t[]> best(new std::int64_t[std::size_t(to.count)]);
    std::unique_ptr<double[]> score(new double[std::size_t(to.count)]);
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        nearest_group(to, from, spec, coef.data(), group_start.data(), offset.data(), groups,
                      best.get(), score.get(), threads, interrupt);
    }
    signal.raise_if_any();
    return nb::make_tuple(new_array(best, to.count), new_array(score, to.count));
}

// Two threads would write to the place of a query that is named twice.
inline void require_each_once(const Vector<const std::int64_t>& rows, std::int64_t count) {
    std::vector<bool> named(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        const std::int64_t row = rows.data()[k];
        if (row < 0 || row >= count)
            throw std::invalid_argument("`query_rows` must be in [0, " + std::to_string(count) +
                                        "); entry " + std::to_string(k) + " is " +
                                        std::to_string(row) + ".");
        if (named[std::size_t(row)])
            throw std::invalid_argument("`query_rows` must name a query at most once; it names " +
                                        std::to_string(row) + " again at entry " +
                                        std::to_string(k) + ".");
        named[std::size_t(row)] = true;
    }
}

template <class T>
auto py_routed_product(const RowSet<T>& queries, const RowSet<T>& basis, const KernelSpec& spec,
                       Vector<const double> coef, Vector<const std::int64_t> query_rows,
                       Starts query_start, Starts basis_start, int threads) {
    require_kernel_between(queries, basis, spec);
    require_length("coef", coef.shape(0), basis.count(), "basis row");
    require_each_once(query_rows, queries.count());
    require_starts("query_start", query_start, std::int64_t(query_rows.shape(0)), "`query_rows`");
    require_starts("basis_start", basis_start, basis.count(), "basis rows");
    require_length("basis_start", basis_start.shape(0), std::int64_t(query_start.shape(0)),
                   "entry of `query_start`");
    const Rows<T> from = basis.view(spec.kind), to = queries.view(spec.kind);
    std::unique_ptr<double[]> sums(new double[std::size_t(to.count)]());
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        const std::vector<T> narrowed(coef.data(), coef.data() + coef.size());
        Interrupt interrupt([&] { return signal.poll(); });
        routed_product(to, from, spec, narrowed.data(), query_rows.data(), query_start.data(),
                       basis_start.data(), std::int64_t(query_start.shape(0)) - 1, sums.get(),
                       threads, interrupt);
    }
    signal.raise_if_any();
    return new_array(sums, to.count);
}

}  // namespace widemargin
