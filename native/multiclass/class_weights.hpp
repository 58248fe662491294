// Weights of a range of classes, kept feature by feature: what a row with few features needs of
// many classes lies together.
//
// A feature's weights are dense from the start, or a list of (class, weight) that becomes dense
// when half of the classes have a weight: memory follows the weights that there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/large_block.hpp"
#include "multiclass/problem.hpp"

namespace widemargin {

// A class of the range (counted from its first) and what to add for it.
struct ClassChange {
    std::int32_t at;
    double step;
};

class ClassWeights {
public:
    typedef double Four __attribute__((vector_size(32)));
    // Classes that are worked on at a time.
    template <int Bytes>
    static constexpr std::int64_t lanes = Bytes > 32 ? Bytes / 8 : 4;

    ClassWeights(std::int64_t size, std::int64_t width, bool dense)
        : size_(size), width_(width), stride_(width > 4 ? (width + 7) / 8 * 8 : 4) {
        if (dense)
            block_ = zeroed_block<double>(std::size_t(size * stride_));
        else
            lists_.resize(std::size_t(size));
    }

    std::int64_t size() const { return size_; }
    std::int64_t width() const { return width_; }
    std::int64_t stride() const { return stride_; }  // doubles that `scores` fills
    bool dense() const { return bool(block_); }
    // All weights, feature by feature; `dense` only.
    double* block() { return block_.get(); }
    const double* block() const { return block_.get(); }

    // out[c] = x_i . w_c for all classes. A row is gone through once for as many classes as there
    // are registers for their sums: weights of a feature lie together, and memory is what it waits
    // for.
    template <int Bytes, class T>
    WM_INLINE void scores(const MulticlassProblem<T>& problem, std::int64_t i, double* out) const {
        if (!dense()) return scores_of_lists(problem, i, out);
        if (stride_ == 4) return chunk<1, 32>(problem, i, 0, out);
        constexpr int vector = 8 * int(lanes<Bytes>), most = vector > 32 ? 16 : 14;
        constexpr std::int64_t classes = most * lanes<Bytes>;
        std::int64_t c = 0;
        for (; c + classes <= stride_; c += classes) chunk<most, vector>(problem, i, c, out);
        last_chunk<most - 1, vector>(problem, i, c, out);
    }

    // x_i . w_c for one class.
    template <class T>
    WM_INLINE double score(const MulticlassProblem<T>& problem, std::int64_t i,
                           std::int64_t c) const {
        double sum = 0.0;
        if (dense()) {
            const double* w = block_.get() + c;
            problem.for_each(i, [&](std::int64_t f, double x, std::int64_t next) WM_LAMBDA {
                __builtin_prefetch(w + next * stride_);
                sum += x * w[f * stride_];
            });
        } else {
            problem.for_each(i, [&](std::int64_t f, double x, std::int64_t next) WM_LAMBDA {
                __builtin_prefetch(lists_.data() + next);
                sum += x * lists_[std::size_t(f)].at(std::int32_t(c));
            });
        }
        return sum;
    }

    // The same for some classes; `dense` only.
    template <class T>
    WM_INLINE void scores_of(const MulticlassProblem<T>& problem, std::int64_t i,
                             const std::int32_t* classes, std::int64_t count, double* out) const {
        std::int64_t from = 0;
        for (; from + 4 < count; from += 8) some<8>(problem, i, classes, from, count, out);
        for (; from < count; from += 4) some<4>(problem, i, classes, from, count, out);
    }

    // w_c += step x_i for several classes, in ascending order.
    template <class T>
    WM_INLINE void add(const MulticlassProblem<T>& problem, std::int64_t i,
                       const std::vector<ClassChange>& changes) {
        if (changes.empty()) return;
        const ClassChange *from = changes.data(), *to = from + changes.size();
        problem.for_each(i, [&](std::int64_t f, double x, std::int64_t) WM_LAMBDA {
            if (x == 0.0) return;
            if (dense()) {
                double* w = block_.get() + f * stride_;
                for (const ClassChange* c = from; c != to; ++c) w[c->at] += x * c->step;
            } else {
                lists_[std::size_t(f)].add(from, to, x, width_);
            }
        });
    }

    template <class T>
    WM_INLINE void add_one(const MulticlassProblem<T>& problem, std::int64_t i,
                           ClassChange change) {
        problem.for_each(i, [&](std::int64_t f, double x, std::int64_t) WM_LAMBDA {
            if (x == 0.0) return;
            if (dense())
                block_[std::size_t(f * stride_ + change.at)] += x * change.step;
            else
                lists_[std::size_t(f)].add(&change, &change + 1, x, width_);
        });
    }

    // The same for most classes at once: step has a (padded) entry per class. `dense` only.
    template <int Bytes, class T>
    WM_INLINE void add_all(const MulticlassProblem<T>& problem, std::int64_t i,
                           const double* step) {
        if (stride_ == 4) return add_vectors<4>(problem, i, step);
        add_vectors<lanes<Bytes>>(problem, i, step);
    }

    // Calls visit(feature, class, weight) for every weight that may differ from 0.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::int64_t f = 0; f < size_; ++f) {
            if (dense())
                for (std::int64_t c = 0; c < width_; ++c)
                    visit(f, c, block_[std::size_t(f * stride_ + c)]);
            else
                lists_[std::size_t(f)].for_each(width_, [&](auto c, double w) { visit(f, c, w); });
        }
    }

    // out[c * size + f] = w_c[f], out being zeros.
    void transpose(double* out) const {
        if (!dense()) {
            for_each([&](std::int64_t f, std::int64_t c, double w) { out[c * size_ + f] = w; });
            return;
        }
        // A cache line of features at a time: single ones would write every line eight times.
        for (std::int64_t f = 0; f < size_; f += 8)
            for (std::int64_t c = 0; c < width_; ++c)
                for (std::int64_t k = f; k < std::min(f + 8, size_); ++k)
                    out[c * size_ + k] = block_[std::size_t(k * stride_ + c)];
    }

    void clear() {
        if (dense()) std::fill_n(block_.get(), size_ * stride_, 0.0);
        for (List& list : lists_) list = List();
    }

private:
    // One feature's weights: sorted by class, or (`classes` null, `count` > 0) one for every class.
    struct List {
        std::unique_ptr<double[]> values;
        std::unique_ptr<std::int32_t[]> classes;
        std::int32_t count = 0, capacity = 0;

        bool every() const { return !classes && count > 0; }

        double at(std::int32_t c) const {
            if (every()) return values[c];
            const std::int32_t *begin = classes.get(), *end = begin + count;
            const std::int32_t* place = std::lower_bound(begin, end, c);
            return place != end && *place == c ? values[place - begin] : 0.0;
        }

        template <class Visit>
        WM_INLINE void for_each(std::int64_t, Visit&& visit) const {
            if (every())
                for (std::int32_t c = 0; c < count; ++c) visit(c, values[c]);
            else
                for (std::int32_t e = 0; e < count; ++e) visit(classes[e], values[e]);
        }

        void add(const ClassChange* from, const ClassChange* to, double x, std::int64_t width) {
            if (!every()) make_room(from, to, width);
            if (every()) {
                for (const ClassChange* c = from; c != to; ++c) values[c->at] += x * c->step;
                return;
            }
            std::int32_t e = 0;
            for (const ClassChange* c = from; c != to; ++c) {
                while (classes[e] < c->at) ++e;
                values[e] += x * c->step;
            }
        }

        // Makes a place for every class that changes, with weight 0 if it is new.
        void make_room(const ClassChange* from, const ClassChange* to, std::int64_t width) {
            const std::int32_t missing = count_missing(from, to);
            if (missing == 0) return;
            const std::int32_t wanted = count + missing;
            if (2 * wanted > width) return spread(width);
            if (wanted > capacity) grow(wanted, width);
            std::int32_t old_place = count - 1, place = wanted - 1;
            for (const ClassChange* c = to; c != from;) {
                --c;
                while (old_place >= 0 && classes[old_place] > c->at) move(old_place--, place--);
                if (old_place >= 0 && classes[old_place] == c->at) {
                    move(old_place--, place--);
                } else {
                    classes[place] = c->at;
                    values[place--] = 0.0;
                }
            }
            count = wanted;
        }

        std::int32_t count_missing(const ClassChange* from, const ClassChange* to) const {
            std::int32_t e = 0, missing = 0;
            for (const ClassChange* c = from; c != to; ++c) {
                while (e < count && classes[e] < c->at) ++e;
                missing += e == count || classes[e] != c->at;
            }
            return missing;
        }

        void move(std::int32_t from, std::int32_t to) {
            classes[to] = classes[from];
            values[to] = values[from];
        }

        void grow(std::int32_t wanted, std::int64_t width) {
            // Room for a quarter more: with many classes these lists are most of the memory.
            capacity = std::int32_t(std::min<std::int64_t>(width, wanted + wanted / 4));
            std::unique_ptr<double[]> more(new double[std::size_t(capacity)]);
            std::unique_ptr<std::int32_t[]> ids(new std::int32_t[std::size_t(capacity)]);
            std::copy_n(values.get(), count, more.get());
            std::copy_n(classes.get(), count, ids.get());
            values = std::move(more);
            classes = std::move(ids);
        }

        void spread(std::int64_t width) {
            std::unique_ptr<double[]> all(new double[std::size_t(width)]());
            for (std::int32_t e = 0; e < count; ++e) all[classes[e]] = values[e];
            values = std::move(all);
            classes.reset();
            count = capacity = std::int32_t(width);
        }
    };

    // What is left from class `from` on, at most `Vectors` vectors; of 32 bytes an even number.
    template <int Vectors, int Bytes, class T>
    WM_INLINE void last_chunk(const MulticlassProblem<T>& problem, std::int64_t i,
                              std::int64_t from, double* out) const {
        if constexpr (Vectors > 0) {
            if constexpr (Bytes > 32 || Vectors % 2 == 0)
                if (stride_ - from == Vectors * (Bytes / 8))
                    return chunk<Vectors, Bytes>(problem, i, from, out);
            last_chunk<Vectors - 1, Bytes>(problem, i, from, out);
        }
    }

    template <int Vectors, int Bytes, class T>
    WM_INLINE void chunk(const MulticlassProblem<T>& problem, std::int64_t i, std::int64_t from,
                         double* out) const {
        using Vector = typename Simd<double, Bytes>::Vector;
        constexpr int width = Bytes / 8, line = 8;
        Vector sum[Vectors] = {};
        const double* block = block_.get() + from;
        problem.for_each(i, [&](std::int64_t f, double x, std::int64_t next) WM_LAMBDA {
            for (int v = 0; v < Vectors * width; v += line)
                __builtin_prefetch(block + next * stride_ + v);
            const double* w = block + f * stride_;
            for (int v = 0; v < Vectors; ++v) sum[v] += x * load<Vector>(w + width * v);
        });
        for (int v = 0; v < Vectors; ++v) store(out + from + width * v, sum[v]);
    }

    // Scores of classes[from … from + Many), as far as there are any.
    template <int Many, class T>
    WM_INLINE void some(const MulticlassProblem<T>& problem, std::int64_t i,
                        const std::int32_t* classes, std::int64_t from, std::int64_t count,
                        double* out) const {
        std::int64_t at[Many];
        for (int k = 0; k < Many; ++k) at[k] = classes[std::min(from + k, count - 1)];
        double sum[Many] = {};
        problem.for_each(i, [&](std::int64_t f, double x, std::int64_t next) WM_LAMBDA {
            const double *w = block_.get() + f * stride_, *soon = block_.get() + next * stride_;
            for (int k = 0; k < Many; ++k) __builtin_prefetch(soon + at[k]);
            for (int k = 0; k < Many; ++k) sum[k] += x * w[at[k]];
        });
        for (int k = 0; k < Many && from + k < count; ++k) out[from + k] = sum[k];
    }

    template <std::int64_t Lanes, class T>
    WM_INLINE void add_vectors(const MulticlassProblem<T>& problem, std::int64_t i,
                               const double* step) {
        using Vector = typename Simd<double, int(8 * Lanes)>::Vector;
        problem.for_each(i, [&](std::int64_t f, double x, std::int64_t next) WM_LAMBDA {
            __builtin_prefetch(block_.get() + next * stride_);
            double* w = block_.get() + f * stride_;
            for (std::int64_t c = 0; c < stride_; c += Lanes)
                store(w + c, load<Vector>(w + c) + x * load<Vector>(step + c));
        });
    }

    template <class T>
    WM_INLINE void scores_of_lists(const MulticlassProblem<T>& problem, std::int64_t i,
                                   double* out) const {
        std::fill_n(out, stride_, 0.0);
        problem.for_each(i, [&](std::int64_t f, double x, std::int64_t next) WM_LAMBDA {
            __builtin_prefetch(lists_.data() + next);
            lists_[std::size_t(f)].for_each(
                width_, [&](std::int32_t c, double w) WM_LAMBDA { out[c] += x * w; });
        });
    }

    std::int64_t size_, width_, stride_;
    Block<double> block_;      // size * stride, or nothing
    std::vector<List> lists_;  // nothing, or one per feature
};

}  // namespace widemargin
