#include "kernel/near_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/interrupt.hpp"
#include "core/parallel.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

// Rows of a group at most; more where there would be too many groups.
constexpr Index group_rows_at_most = 256, groups_about = 4096;
// Features of a box at most, and the rows by which they and the splits are chosen.
constexpr Index boxed_at_most = 64, sampled = 256;

struct Split {
    Index slot = -1;  // -1: the rows do not differ
    double at = 0.0;
};

template <class T>
class Grouping {
public:
    Grouping(const Rows<T>& rows, std::vector<Index> boxed) : rows_(rows) {
        out_.boxed = boxed.empty() ? varying_features() : std::move(boxed);
        slot_.assign(std::size_t(rows.features), -1);
        for (std::size_t s = 0; s < out_.boxed.size(); ++s) slot_[out_.boxed[s]] = Index(s);
        order_.resize(std::size_t(rows.count));
        std::iota(order_.begin(), order_.end(), Index(0));
    }

    RowGroups run() {
        const Index n = rows_.count, largest = std::max(group_rows_at_most, n / groups_about);
        std::vector<std::pair<Index, Index>> waiting;
        if (n > 0) waiting.push_back({0, n});
        auto& start = out_.members.start;
        while (!waiting.empty()) {
            const auto [begin, end] = waiting.back();
            waiting.pop_back();
            const Index middle = end - begin > largest ? halved(begin, end) : end;
            if (middle < end) {
                waiting.push_back({middle, end});
                waiting.push_back({begin, middle});
                continue;
            }
            // Rows that coincide are cut anywhere.
            for (Index at = begin; at < end; at += largest) start.push_back(at);
        }
        start.push_back(n);
        out_.members.rows = std::move(order_);
        finish();
        return std::move(out_);
    }

private:
    // Calls visit(slot, value) for the boxed features that a row stores.
    template <class Visit>
    void for_each_boxed(Index row, Visit&& visit) const {
        rows_.for_each_stored(row, [&](Index f, T value) {
            if (slot_[f] >= 0) visit(slot_[f], double(value));
        });
    }

    double value(Index row, Index slot) const {
        const Index feature = out_.boxed[slot];
        if (!rows_.sparse()) return double(rows_.dense(row)[feature]);
        double found = 0.0;
        rows_.for_each_stored(row, [&](Index f, T v) {
            if (f == feature) found = double(v);
        });
        return found;
    }

    std::vector<Index> varying_features() const {
        std::vector<Index> found(std::size_t(rows_.features));
        std::iota(found.begin(), found.end(), Index(0));
        if (rows_.features <= boxed_at_most) return found;
        std::vector<double> sum(found.size()), square(found.size());
        const Index step = std::max<Index>(1, rows_.count / (4 * sampled));
        double seen = 0.0;
        for (Index k = 0; k < rows_.count; k += step, seen += 1.0)
            rows_.for_each_stored(k, [&](Index f, T v) {
                sum[f] += double(v);
                square[f] += double(v) * double(v);
            });
        for (std::size_t f = 0; f < found.size(); ++f) square[f] -= sum[f] * sum[f] / seen;
        std::partial_sort(found.begin(), found.begin() + boxed_at_most, found.end(),
                          [&](Index l, Index r) {
                              return square[l] != square[r] ? square[l] > square[r] : l < r;
                          });
        found.resize(std::size_t(boxed_at_most));
        return found;
    }

    Split widest(Index begin, Index end, Index step) const {
        std::vector<double> sum(out_.boxed.size()), square(out_.boxed.size());
        double seen = 0.0;
        for (Index k = begin; k < end; k += step, seen += 1.0)
            for_each_boxed(order_[k], [&](Index s, double v) {
                sum[s] += v;
                square[s] += v * v;
            });
        Split best;
        double most = 0.0;
        for (std::size_t s = 0; s < sum.size(); ++s) {
            const double spread = square[s] - sum[s] * sum[s] / seen;
            if (spread > most) {
                most = spread;
                best = {Index(s), sum[s] / seen};
            }
        }
        return best;
    }

    // Sorts the rows of a range into two sides; returns where the second begins, `end` if there is
    // no telling them apart.
    Index halved(Index begin, Index end) {
        for (const Index step : {std::max<Index>(1, (end - begin) / sampled), Index(1)}) {
            const Split split = widest(begin, end, step);
            if (split.slot < 0) continue;
            const auto first = order_.begin() + begin, last = order_.begin() + end;
            const auto middle = std::stable_partition(
                first, last, [&](Index row) { return value(row, split.slot) <= split.at; });
            if (middle != first && middle != last) return middle - order_.begin();
        }
        return end;
    }

    void finish() {
        const Index groups = out_.count(), width = Index(out_.boxed.size());
        out_.group.resize(std::size_t(rows_.count));
        out_.low.assign(std::size_t(groups * width), 0.0);
        out_.high.assign(std::size_t(groups * width), 0.0);
        std::vector<Index> stored(std::size_t(width), 0);
        for (Index g = 0; g < groups; ++g) {
            double *low = &out_.low[g * width], *high = &out_.high[g * width];
            std::fill(stored.begin(), stored.end(), 0);
            for (Index k = out_.members.start[g]; k < out_.members.start[g + 1]; ++k) {
                const Index row = out_.members.rows[k];
                out_.group[row] = std::int32_t(g);
                for_each_boxed(row, [&](Index s, double v) {
                    low[s] = stored[s] ? std::fmin(low[s], v) : v;
                    high[s] = stored[s] ? std::fmax(high[s], v) : v;
                    ++stored[s];
                });
            }
            for (Index s = 0; s < width; ++s)
                if (stored[s] < out_.size(g)) {  // some rows have zero there
                    low[s] = std::fmin(low[s], 0.0);
                    high[s] = std::fmax(high[s], 0.0);
                }
        }
    }

    const Rows<T>& rows_;
    RowGroups out_;
    std::vector<Index> slot_;   // of every feature, -1 if it is not boxed
    std::vector<Index> order_;  // row numbers; a group to be is a range of them
};

// The distance of two boxes, or something above `limit` if it is above.
double distance(const double* low_a, const double* high_a, const double* low_b,
                const double* high_b, Index width, bool squared, double limit) {
    double sum = 0.0;
    for (Index first = 0; first < width && sum <= limit; first += 16) {
        const Index last = std::min(width, first + 16);
        for (Index s = first; s < last; ++s) {
            const double apart =
                std::max(0.0, std::max(low_a[s] - high_b[s], low_b[s] - high_a[s]));
            sum += squared ? apart * apart : apart;
        }
    }
    return sum;
}

}  // namespace

GroupedRows RowGroups::sorted(const std::vector<Index>& rows, std::vector<Index>* place) const {
    GroupedRows out;
    out.start.assign(members.start.size(), 0);
    for (Index row : rows) ++out.start[std::size_t(group[row]) + 1];
    std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
    std::vector<Index> next(out.start.begin(), out.start.end() - 1);
    out.rows.resize(rows.size());
    if (place) place->resize(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const Index at = next[std::size_t(group[rows[k]])]++;
        out.rows[at] = rows[k];
        if (place) (*place)[k] = at;
    }
    return out;
}

template <class T>
RowGroups group_rows(const Rows<T>& rows, std::vector<Index> boxed) {
    return Grouping<T>(rows, std::move(boxed)).run();
}

template RowGroups group_rows<float>(const Rows<float>&, std::vector<Index>);
template RowGroups group_rows<double>(const Rows<double>&, std::vector<Index>);

NearGroups::NearGroups(std::shared_ptr<const RowGroups> to, std::shared_ptr<const RowGroups> from,
                       const KernelSpec& spec, double cutoff, int threads)
    : to_(std::move(to)), from_(std::move(from)), words_((from_->count() + 63) / 64),
      bits_(std::size_t(to_->count() * words_)) {
    if (spec.kind != KernelKind::rbf && spec.kind != KernelKind::laplacian)
        throw std::invalid_argument("only radial kernels vanish far away.");
    if (to_->boxed != from_->boxed)
        throw std::invalid_argument("both sets of groups need boxes of the same features.");
    const bool squared = spec.kind == KernelKind::rbf;
    // A little further, for the rounding of the distance.
    const double limit = -std::log(cutoff) / spec.gamma * (1.0 + 1e-9);
    const Index width = Index(to_->boxed.size());
    std::vector<double> pairs(std::size_t(to_->count()), 0.0);
    Interrupt never(nullptr);
    parallel_for(to_->count(), threads, never, [&](Index g) {
        for (Index h = 0; h < from_->count(); ++h)
            if (distance(&to_->low[g * width], &to_->high[g * width], &from_->low[h * width],
                         &from_->high[h * width], width, squared, limit) <= limit) {
                bits_[std::size_t(g * words_ + h / 64)] |= std::uint64_t(1) << (h % 64);
                pairs[g] += double(to_->size(g)) * double(from_->size(h));
            }
    });
    const double all = double(to_->group.size()) * double(from_->group.size());
    share_ = all > 0.0 ? std::accumulate(pairs.begin(), pairs.end(), 0.0) / all : 1.0;
}

}  // namespace widemargin
