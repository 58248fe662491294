// The hot loop for CSR rows most of whose features are rare, as in text.
//
// Two such rows share few features: most products that panels would compute are with zeros. A block
// of packed rows is therefore held in two forms. Features that are common (many rows of the
// streamed set store them: `Rows::common`) are columns of panels, as in tile.hpp, but numbered anew
// and only those that the block has. Of a rare feature the block keeps the rows that store it:
//
//     for stored (f, x) of a streamed row, f rare:    for (j, z) in list[f]:  sum[j] += x * z
//     for stored (f, x) of a streamed row, f common:  for panels p:  sum[p] += x * column[f][p]
//
// The order of a pair's additions depends on the streamed set, not on the block, and features that
// the block lacks would add zeros: a pair's value has the same bits in every block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernel/consume.hpp"
#include "kernel/tile.hpp"

namespace widemargin {

// One task: index a block of packed rows, stream all rows past it. Not for laplacian, where a
// feature that only one row of a pair stores counts too.
template <class T, int Bytes, Family F>
class SparseBlockRunner {
    static_assert(F != Family::laplacian);
    using Shape = Tile<T, Bytes>;
    using Vector = typename Shape::Vector;
    static constexpr int lanes = panel_lanes<T>, vectors = Shape::vectors;
    // One chain of additions per pair, eight vectors of them: enough to hide the latency.
    static constexpr int panels = 8 / vectors, strip_lanes = panels * lanes;
    static constexpr int rows_at_once = Shape::sparse_rows;
    // Streamed rows that meet a strip while it is in the first cache.
    static constexpr std::int64_t rows_together = 24;
    // Packed rows of a block: the more, the less it costs per pair to find a list; and what bounds
    // its memory.
    static constexpr std::int64_t most_rows = 2048, most_entries = 1 << 19;
    static constexpr std::int64_t most_panel_bytes = 1 << 22;
    static_assert(rows_together % rows_at_once == 0 && most_rows % strip_lanes == 0);
    static_assert(ActiveOutputs::group_rows % rows_at_once == 0);

    struct Entry {
        std::int32_t at;  // a packed row, a column of the panels, the start or the length of a list
        T value;
    };

public:
    static WM_INLINE void run(const BlockTask<T>& task) {
        const std::int64_t rows = std::min(most_rows, task.last - task.first);
        const std::int64_t width = (rows + strip_lanes - 1) / strip_lanes * strip_lanes;
        ZeroedBuffer<std::int32_t> place(std::max<std::int64_t>(task.packed.features, 1));
        ZeroedBuffer<T> norm(width), found(rows_together * width);
        ZeroedBuffer<double> sums(width * task.outputs);
        SparseBlockRunner runner(task, width, place.get(), norm.get(), found.get(), sums.get());
        for (runner.begin_ = task.first; runner.begin_ < task.last; runner.begin_ = runner.end_) {
            runner.number_features();
            runner.fill();
            runner.stream();
            runner.clear();
            if (task.interrupt && task.interrupt->stop()) return;
        }
    }

private:
    SparseBlockRunner(const BlockTask<T>& task, std::int64_t width, std::int32_t* place, T* norm,
                      T* found, double* sums)
        : task_(task), width_(width), place_(place), norm_(norm), found_(found), sums_(sums) {}

    // Chooses the rows of the block, and gives each of its features a place: a common one -1 - its
    // column, a rare one the start of its list, from 1 on.
    void number_features() {
        const std::uint8_t* common = task_.streamed.common;
        const std::int64_t last = std::min(task_.last, begin_ + most_rows);
        std::int64_t entries = 0;
        columns_ = 0;
        rare_features_.clear();
        for (end_ = begin_; end_ < last; ++end_) {
            const std::int64_t bytes = columns_ * (end_ - begin_) * std::int64_t(sizeof(T));
            if (end_ > begin_ && (end_ - begin_) % strip_lanes == 0 &&
                (entries > most_entries || bytes > most_panel_bytes))
                break;
            task_.packed.for_each_stored(end_, [&](std::int64_t f, T) {
                ++entries;
                if (!common[f]) {
                    if (++place_[f] == 1) rare_features_.push_back(f);
                } else if (place_[f] == 0) {
                    place_[f] = -std::int32_t(++columns_);
                }
            });
        }
        std::int32_t next = 1;
        for (std::int64_t f : rare_features_) {
            const std::int32_t length = place_[f];
            place_[f] = next;
            next += 1 + length;
        }
        lists_.resize(std::size_t(next));
        for (std::int64_t f : rare_features_) lists_[std::size_t(place_[f])].at = 0;
    }

    // A list starts with its length.
    void fill() {
        const T scale = Shape::template norm_scale<F>(task_.spec);
        const std::int64_t strips = (end_ - begin_ + strip_lanes - 1) / strip_lanes;
        panels_.assign(std::size_t(strips * columns_ * strip_lanes), T(0));
        for (std::int64_t k = begin_; k < end_; ++k) {
            const std::int64_t j = k - begin_;
            T* lane = panels_.data() + j / strip_lanes * columns_ * strip_lanes + j % strip_lanes;
            task_.packed.for_each_stored(k, [&](std::int64_t f, T value) {
                const std::int32_t place = place_[f];
                if (place < 0) {
                    lane[std::int64_t(-1 - place) * strip_lanes] = value;
                } else {
                    Entry* list = &lists_[std::size_t(place)];
                    list[++list->at] = {std::int32_t(j), value};
                }
            });
            norm_[j] = scale * norm_of(task_.packed, k);
        }
    }

    // Hands over the sums, and forgets the places.
    void clear() {
        for (std::int64_t k = begin_; k < end_; ++k)
            task_.packed.for_each_stored(k, [&](std::int64_t f, T) { place_[f] = 0; });
        Consumer<T, Bytes>::take(task_, begin_, end_, sums_);
    }

    WM_INLINE void stream() {
        const std::int64_t count = task_.streamed.count;
        for (std::int64_t first = 0; first < count; first += rows_together) {
            const std::int64_t rows = std::min(rows_together, count - first);
            std::fill_n(found_, rows * width_, T(0));
            meet_lists(first, rows);
            for (std::int64_t b = begin_; b < end_; b += strip_lanes) {
                std::int64_t r = 0;
                for (; r + rows_at_once <= rows; r += rows_at_once) tile<rows_at_once>(first, r, b);
                for (; r < rows; ++r) tile<1>(first, r, b);
            }
            if (task_.interrupt && task_.interrupt->stop()) return;
        }
    }

    WM_INLINE void meet_lists(std::int64_t first, std::int64_t rows) {
        const Rows<T>& streamed = task_.streamed;
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t source = streamed.source(first + r);
            const std::int64_t start = streamed.row_start[source];
            const std::int64_t count = streamed.row_start[source + 1] - start;
            if (streamed.index32)
                meet_lists(r, streamed.values + start, streamed.index32 + start, count);
            else
                meet_lists(r, streamed.values + start, streamed.index64 + start, count);
        }
    }

    // Adds the products of row r with the rare features, and collects its common ones.
    template <class Index>
    WM_INLINE void meet_lists(std::int64_t r, const T* values, const Index* index,
                              std::int64_t count) {
        std::int64_t columns = common_start_[r], listed = 0;
        if (std::int64_t(common_.size()) < columns + count)
            common_.resize(std::size_t(columns + count));
        if (std::int64_t(rare_.size()) < count) rare_.resize(std::size_t(count));
        Entry *common = common_.data(), *rare = rare_.data();
        const Entry* lists = lists_.data();
        for (std::int64_t e = 0; e < count; ++e) {  // without a branch that nothing could predict
            const std::int32_t place = place_[index[e]];
            common[columns] = {-1 - place, values[e]};
            columns += place < 0;
            rare[listed] = {place, values[e]};
            listed += place > 0;
            __builtin_prefetch(lists + std::max(place, 0));
        }
        common_start_[r + 1] = columns;
        T* sum = found_ + r * width_;
        for (std::int64_t n = 0; n < listed; ++n) {
            const T value = rare[n].value;
            const Entry* list = lists + rare[n].at;
            for (std::int32_t k = 1, length = list->at; k <= length; ++k)
                sum[list[k].at] += value * list[k].value;
        }
    }

    // Streamed rows first + r … first + r + R - 1, and the strip that starts at packed row b.
    template <int R>
    WM_INLINE void tile(std::int64_t first, std::int64_t r, std::int64_t b) const {
        typename Shape::template Values<R, panels> values;
        for (int k = 0; k < R; ++k) accumulate<R>(r + k, b - begin_, k, values);
        const T scale = Shape::template norm_scale<F>(task_.spec);
        T row_norm[R];
        for (int k = 0; k < R; ++k) row_norm[k] = scale * norm_of(task_.streamed, first + r + k);
        for (int p = 0; p < panels && b + p * lanes < end_; ++p) {
            auto& panel = reinterpret_cast<typename Shape::template Values<R, 1>&>(values[p]);
            const std::int64_t from = b + p * lanes;
            Shape::template apply<F, R, 1>(task_.spec, row_norm, norm_ + (from - begin_), panel);
            Consumer<T, Bytes>::template consume<R, 1>(
                task_, first + r, from, std::min<std::int64_t>(from + lanes, end_),
                sums_ + (from - begin_) * task_.outputs, panel);
        }
    }

    // Products of row r with the strip at row j of the block, as row k of `values`.
    template <int R>
    WM_INLINE void accumulate(std::int64_t r, std::int64_t j, int k,
                              typename Shape::template Values<R, panels>& values) const {
        const T* found = found_ + r * width_ + j;
        const T* strip = panels_.data() + j * columns_;
        Vector sum[panels][vectors];
        for (int p = 0; p < panels; ++p)
            for (int v = 0; v < vectors; ++v)
                sum[p][v] = load<Vector>(found + p * lanes + v * Shape::width);
        for (std::int64_t e = common_start_[r]; e < common_start_[r + 1]; ++e) {
            const T* column = strip + std::int64_t(common_[std::size_t(e)].at) * strip_lanes;
            asm("" : "+r"(column));  // one register, the loads at fixed distances from it
            const T value = common_[std::size_t(e)].value;
            for (int p = 0; p < panels; ++p)
                for (int v = 0; v < vectors; ++v)
                    sum[p][v] += value * Shape::template at<panels>(column, 0, p, v);
        }
        for (int p = 0; p < panels; ++p)
            for (int v = 0; v < vectors; ++v) values[p][k][v] = sum[p][v];
    }

    const BlockTask<T>& task_;
    const std::int64_t width_;          // rows of the largest block, filled up to whole strips
    std::int32_t* const place_;         // of each feature; 0: the block lacks it
    T *const norm_, *const found_;      // found_: rows_together x width_ sums over rare features
    double* const sums_;                // panels x outputs x lanes
    std::int64_t begin_ = 0, end_ = 0;  // packed rows of the block at hand
    std::int64_t columns_ = 0;          // common features of the block
    std::vector<T> panels_;             // strips x columns_ x strip_lanes
    std::vector<Entry> lists_;          // of the rare features of the block
    std::vector<std::int64_t> rare_features_;
    std::vector<Entry> common_, rare_;  // stored entries of the rows at hand: columns, lists
    std::int64_t common_start_[rows_together + 1] = {};
};

}  // namespace widemargin
