// Groups of rows that lie close together, and which of them are near enough to matter.
//
// A narrow kernel is next to zero between most rows. Rows are put into groups, each inside a box
// low[f] <= x[f] <= high[f], and two groups whose boxes are so far apart that no kernel value
// between their rows can exceed `cutoff` are far: products leave such pairs out. With
//
//     d(g, h) = sum over f of max(0, low_g[f] - high_h[f], low_h[f] - high_g[f])^p,
//
// p = 2 for rbf and 1 for laplacian, every value between g and h is at most exp(-gamma d(g, h)).
// So a product with coefficients c is off by at most cutoff * sum |c|.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/rows.hpp"
#include "kernel/kernel_spec.hpp"

namespace widemargin {

// Some rows, sorted by group: those of group g are rows[start[g]] … rows[start[g + 1] - 1].
struct GroupedRows {
    std::vector<std::int64_t> rows, start;
};

struct RowGroups {
    GroupedRows members;              // every row
    std::vector<std::int32_t> group;  // of every row
    std::vector<std::int64_t> boxed;  // features that boxes are made of
    std::vector<double> low, high;    // groups x boxed

    std::int64_t count() const { return std::int64_t(members.start.size()) - 1; }
    std::int64_t size(std::int64_t g) const { return members.start[g + 1] - members.start[g]; }

    // Those of `rows` by group, in their order within each; `place[k]` is where the k-th went.
    GroupedRows sorted(const std::vector<std::int64_t>& rows,
                       std::vector<std::int64_t>* place = nullptr) const;
};

// Splits at the mean of the feature that varies most, until groups have at most so many rows. The
// boxes are made of `boxed` or, if that is empty, of the features that vary most.
template <class T>
RowGroups group_rows(const Rows<T>& rows, std::vector<std::int64_t> boxed);

class NearGroups {
public:
    NearGroups(std::shared_ptr<const RowGroups> to, std::shared_ptr<const RowGroups> from,
               const KernelSpec& spec, double cutoff, int threads);

    const RowGroups& to() const { return *to_; }
    const RowGroups& from() const { return *from_; }
    std::shared_ptr<const RowGroups> shared_from() const { return from_; }

    // Whether a kernel value between group g of `to` and group h of `from` may exceed the cutoff.
    bool near(std::int64_t g, std::int64_t h) const {
        return bits_[std::size_t(g * words_ + h / 64)] >> (h % 64) & 1;
    }

    // The share of all pairs of rows that lies in near groups.
    double share() const { return share_; }

private:
    std::shared_ptr<const RowGroups> to_, from_;
    std::int64_t words_;
    std::vector<std::uint64_t> bits_;
    double share_ = 0.0;
};

}  // namespace widemargin
