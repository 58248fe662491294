#include "class_bundle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "class_step.hpp"
#include "instruction_sets.hpp"
#include "parallel.hpp"

namespace widemargin {
namespace {

// What a row's visit works on; kept between visits so that nothing is allocated.
struct Desk {
    std::vector<double> score;
    std::vector<std::int32_t> at;       // candidates: classes counted from the bundle's first
    std::vector<double> before, slope;  // their multipliers and slopes
    std::vector<double> wish;
    std::vector<std::int32_t> ids;  // multipliers to keep
    std::vector<double> values;
    std::vector<ClassChange> changes, own_change;
    std::vector<double> step;
    std::vector<std::int32_t> fresh;  // candidates whose multiplier was zero

    void clear() {
        at.clear(), before.clear(), slope.clear(), wish.clear();
        ids.clear(), values.clear(), changes.clear(), fresh.clear();
    }
};

template <class T>
struct Visit {
    const MulticlassProblem<T>& problem;
    Formulation formulation;
    ClassBundle &home, &away;
    double* mean;
    const VisitOptions& options;
    Interrupt& interrupt;
    VisitResult result{};

    bool same() const { return &home == &away; }
    bool to_own_class() const {  // whether other classes' multipliers act on the row's own weights
        return formulation == Formulation::weston_watkins ||
               formulation == Formulation::crammer_singer;
    }
    bool with_mean() const {
        return formulation == Formulation::lee_lin_wahba ||
               formulation == Formulation::lee_lin_wahba_fixed_mean;
    }
    // A row has a multiplier for its own class too.
    bool own_multiplier() const { return formulation == Formulation::one_vs_rest; }
};

template <class T>
WM_INLINE double dot_with(const MulticlassProblem<T>& problem, std::int64_t i, const double* w) {
    double sum = 0.0;
    problem.for_each(i, [&](std::int64_t f, double x, std::int64_t) WM_LAMBDA { sum += x * w[f]; });
    return sum;
}

template <class T>
WM_INLINE void add_scaled(const MulticlassProblem<T>& problem, std::int64_t i, double step,
                          double* w) {
    problem.for_each(i,
                     [&](std::int64_t f, double x, std::int64_t) WM_LAMBDA { w[f] += step * x; });
}

// slope_c = offset + sign_c s_c; the row's own class is apart.
template <class T>
WM_INLINE double offset_of(const Visit<T>& v, std::int64_t i, std::int64_t own,
                           const double* score) {
    if (v.with_mean()) return 1.0 + dot_with(v.problem, i, v.mean);
    if (!v.to_own_class()) return 1.0;
    if (v.same()) return 1.0 - score[own];
    return 1.0 - v.home.weights.score(v.problem, i, v.problem.label[i] - v.home.first);
}

// Keeps the steepest `limit` of the candidates that were zero; equals are told apart by the row, so
// that rows take up different classes.
WM_INLINE void thin_out(Desk& desk, std::size_t limit, std::int64_t row, std::int64_t width) {
    if (desk.fresh.size() <= limit) return;
    const auto turned = [&](std::int32_t k) {
        return (std::int64_t(desk.at[std::size_t(k)]) + 7919 * row) % width;
    };
    std::nth_element(desk.fresh.begin(), desk.fresh.begin() + std::ptrdiff_t(limit),
                     desk.fresh.end(), [&](std::int32_t a, std::int32_t b) {
                         const double first = desk.slope[std::size_t(a)],
                                      second = desk.slope[std::size_t(b)];
                         return first != second ? first > second : turned(a) < turned(b);
                     });
    for (std::size_t k = limit; k < desk.fresh.size(); ++k)
        desk.before[std::size_t(desk.fresh[k])] = -1.0;  // marks what goes
    std::size_t kept = 0;
    for (std::size_t k = 0; k < desk.at.size(); ++k) {
        if (desk.before[k] < 0.0) continue;
        desk.at[kept] = desk.at[k];
        desk.before[kept] = desk.before[k];
        desk.slope[kept++] = desk.slope[k];
    }
    desk.at.resize(kept), desk.before.resize(kept), desk.slope.resize(kept);
}

// Collects the classes of the bundle whose multiplier is not zero or wants to grow; returns the
// loss.
template <class T>
WM_INLINE double collect(const Visit<T>& v, std::int64_t i, std::int64_t own, const DualRow& dual,
                         std::size_t begin, std::size_t end, Desk& desk) {
    const double* score = desk.score.data();
    const double offset = offset_of(v, i, own, score);
    // lee_lin_wahba's shift may raise a multiplier whose slope is negative.
    const bool every = v.formulation == Formulation::lee_lin_wahba && !v.options.active_only;
    double loss = 0.0, largest = 0.0;
    std::size_t e = begin;
    const std::int64_t width = v.away.weights.width(), first = v.away.first;
    for (std::int64_t c = 0; c < width; ++c) {
        double slope = offset + score[c];
        if (c == own) {
            if (!v.own_multiplier()) continue;
            slope = offset - score[c];
        }
        const bool known = e < end && dual.classes[e] == std::int32_t(first + c);
        if (slope > 0.0) {
            loss += slope;
            largest = std::max(largest, slope);
        }
        if (known) {
            desk.at.push_back(std::int32_t(c));
            desk.before.push_back(dual.values[e++]);
            desk.slope.push_back(slope);
        } else if (every || (slope > 0.0 && !v.options.active_only)) {
            desk.fresh.push_back(std::int32_t(desk.at.size()));
            desk.at.push_back(std::int32_t(c));
            desk.before.push_back(0.0);
            desk.slope.push_back(slope);
        }
    }
    return v.formulation == Formulation::crammer_singer ? largest : loss;
}

// The same for the classes whose multiplier is not zero, without looking at others.
template <class T>
WM_INLINE double collect_active(const Visit<T>& v, std::int64_t i, std::int64_t own,
                                const DualRow& dual, std::size_t begin, std::size_t end,
                                Desk& desk) {
    for (std::size_t e = begin; e < end; ++e) {
        desk.at.push_back(std::int32_t(dual.classes[e] - v.away.first));
        desk.before.push_back(dual.values[e]);
    }
    const std::size_t count = desk.at.size();
    const bool own_score = v.to_own_class() && v.same();
    if (own_score) desk.at.push_back(std::int32_t(own));
    desk.slope.resize(desk.at.size());
    v.away.weights.scores_of(v.problem, i, desk.at.data(), std::int64_t(desk.at.size()),
                             desk.slope.data());
    double offset = 1.0;
    if (own_score)
        offset -= desk.slope[count];
    else
        offset = offset_of(v, i, own, desk.slope.data());
    desk.at.resize(count);
    desk.slope.resize(count);
    double loss = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
        const bool up = v.own_multiplier() && desk.at[k] == own;
        desk.slope[k] = up ? offset - desk.slope[k] : offset + desk.slope[k];
        loss += std::max(0.0, desk.slope[k]);
    }
    return loss;
}

// The shift that all wishes have in common; see class_step.hpp.
template <class T>
WM_INLINE double shift_of(const Visit<T>& v, const Desk& desk, double bound, double& upper) {
    const double* wish = desk.wish.data();
    const std::int64_t count = std::int64_t(desk.wish.size());
    double before = 0.0;
    for (double a : desk.before) before += a;
    upper = bound;
    switch (v.formulation) {
        case Formulation::weston_watkins:
            return find_shift(wish, count, bound, 1.0, before, 0.0);
        case Formulation::lee_lin_wahba:
            return find_shift(wish, count, bound, -double(v.problem.classes), before, 0.0);
        case Formulation::crammer_singer: {
            upper = std::numeric_limits<double>::infinity();
            const double shift = find_shift(wish, count, upper, 1.0, before, 0.0);
            if (shifted_sum(wish, count, upper, shift).sum <= bound) return shift;
            return find_shift(wish, count, upper, 0.0, bound, shift);
        }
        default:
            return 0.0;
    }
}

template <class T>
WM_INLINE void visit_row(Visit<T>& v, std::size_t r, Desk& desk) {
    const std::int64_t i = v.home.rows[r];
    const double bound = v.problem.bound[i], square = v.problem.square[i];
    if (bound == 0.0 || square == 0.0) return;  // nothing to gain: see the certificate
    DualRow& dual = v.home.duals[r];
    const std::int64_t first = v.away.first, width = v.away.weights.width();
    const std::size_t begin = dual.place(first), end = dual.place(first + width);
    if (v.options.active_only && (begin == end || v.home.gains[r] < v.options.skip_below)) return;
    v.home.gains[r] = 0.0;
    const std::int64_t label = v.problem.label[i];
    const std::int64_t own = label >= first && label < first + width ? label - first : -1;
    desk.clear();
    // Few classes are cheaper one by one than all of the bundle together.
    if (v.options.active_only && v.away.weights.dense() && 4 * std::int64_t(end - begin) < width) {
        v.result.loss += bound * collect_active(v, i, own, dual, begin, end, desk);
    } else {
        v.away.weights.scores(v.problem, i, desk.score.data());
        v.result.loss += bound * collect(v, i, own, dual, begin, end, desk);
    }
    if (v.options.fewest_new > 0) {
        const double mass = std::ceil(v.options.new_mass / (bound * square));
        const double limit = std::max(double(v.options.fewest_new), mass);
        if (double(desk.fresh.size()) > limit) thin_out(desk, std::size_t(limit), i, width);
    }
    if (desk.at.empty()) return;
    for (std::size_t k = 0; k < desk.at.size(); ++k)
        desk.wish.push_back(desk.before[k] + desk.slope[k] / square);
    double upper = bound;
    const double shift = shift_of(v, desk, bound, upper);
    double total = 0.0, squares = 0.0, rise = 0.0;
    for (std::size_t k = 0; k < desk.at.size(); ++k) {
        const double after = std::min(upper, std::max(0.0, desk.wish[k] - shift));
        const double change = after - desk.before[k];
        if (after > 0.0) {
            desk.ids.push_back(std::int32_t(first + desk.at[k]));
            desk.values.push_back(after);
        }
        if (change == 0.0) continue;
        total += change;
        squares += change * change;
        rise += change * desk.slope[k];
        const bool up = v.own_multiplier() && desk.at[k] == own;
        desk.changes.push_back({desk.at[k], up ? change : -change});
    }
    if (desk.changes.empty()) return;
    v.result.changed += std::int64_t(desk.changes.size());
    double coupling = 0.0;
    if (v.to_own_class()) {
        coupling = 1.0;
        if (v.same()) {
            const auto place =
                std::lower_bound(desk.changes.begin(), desk.changes.end(), own,
                                 [](const ClassChange& c, std::int64_t at) { return c.at < at; });
            desk.changes.insert(place, {std::int32_t(own), total});
        } else {
            desk.own_change[0] = {std::int32_t(label - v.home.first), total};
            v.home.weights.add(v.problem, i, desk.own_change);
        }
    } else if (v.formulation == Formulation::lee_lin_wahba) {
        coupling = -1.0 / double(v.problem.classes);
        add_scaled(v.problem, i, total / double(v.problem.classes), v.mean);
    }
    v.home.gains[r] = rise - 0.5 * square * (squares + coupling * total * total);
    v.result.gain += v.home.gains[r];
    if (v.away.weights.dense() && 4 * std::int64_t(desk.changes.size()) > width) {
        std::fill(desk.step.begin(), desk.step.end(), 0.0);
        for (const ClassChange& change : desk.changes)
            desk.step[std::size_t(change.at)] = change.step;
        v.away.weights.add_all(v.problem, i, desk.step.data());
    } else {
        v.away.weights.add(v.problem, i, desk.changes);
    }
    dual.replace(begin, end, desk.ids, desk.values);
}

void mix(std::vector<std::int64_t>& order, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t r = order.size(); r > 1; --r) std::swap(order[r - 1], order[random() % r]);
}

void take_part(const ClassBundle& bundle, const VisitOptions& options, std::int64_t sign,
               std::vector<std::int64_t>& into) {
    const std::int64_t count = std::int64_t(bundle.order.size());
    for (std::int64_t k = options.part * count / options.parts;
         k < (options.part + 1) * count / options.parts; ++k)
        into.push_back(sign > 0 ? bundle.order[std::size_t(k)] : -1 - bundle.order[std::size_t(k)]);
}

// Rows of both bundles in one random order: one bundle after the other would let each undo what the
// other has done.
template <class T, int Bytes>
WM_INLINE void visit_all(Visit<T>& v) {
    Visit<T> back{v.problem, v.formulation, v.away, v.home, v.mean, v.options, v.interrupt};
    // Rows of `away` have negative numbers, from -1 on.
    std::vector<std::int64_t> order;
    take_part(v.home, v.options, 1, order);
    if (!v.same()) {
        take_part(v.away, v.options, -1, order);
        mix(order, v.options.seed);
    }
    Desk desk;
    const std::int64_t widest = std::max(v.home.weights.stride(), v.away.weights.stride());
    desk.score.resize(std::size_t(widest));
    desk.step.resize(std::size_t(widest));
    desk.own_change.resize(1);
    for (std::size_t k = 0; k < order.size(); ++k) {
        if ((k & 63) == 0 && v.interrupt.stop()) break;
        if (order[k] >= 0)
            visit_row(v, std::size_t(order[k]), desk);
        else
            visit_row(back, std::size_t(-1 - order[k]), desk);
    }
    v.result.add(back.result);
}

WM_VERSIONS(visit_version, visit_all, (Visit<T> & v), (v))

// Loss of one row, given the scores of all classes.
WM_INLINE double row_loss(Formulation formulation, const double* score, std::int64_t classes,
                          std::int64_t label, double scale) {
    double sum = 0.0, largest = 0.0;
    switch (formulation) {
        case Formulation::weston_watkins:
        case Formulation::crammer_singer:
            for (std::int64_t c = 0; c < classes; ++c) {
                const double slope = c == label ? 0.0 : 1.0 - scale * (score[label] - score[c]);
                sum += slope > 0.0 ? slope : 0.0;
                largest = slope > largest ? slope : largest;
            }
            return formulation == Formulation::crammer_singer ? largest : sum;
        case Formulation::one_vs_rest:
            for (std::int64_t c = 0; c < classes; ++c) {
                const double slope = c == label ? 1.0 - scale * score[c] : 1.0 + scale * score[c];
                sum += slope > 0.0 ? slope : 0.0;
            }
            return sum;
        default:
            for (std::int64_t c = 0; c < classes; ++c) {
                const double slope = c == label ? 0.0 : 1.0 + scale * score[c];
                sum += slope > 0.0 ? slope : 0.0;
            }
            return sum;
    }
}

template <class T>
struct LossTask {
    const MulticlassProblem<T>& problem;
    Formulation formulation;
    const std::vector<const ClassBundle*>& bundles;
    const double* mean;
    const std::vector<double>& scales;
    std::int64_t begin, end;
    Interrupt& interrupt;
    double* sums;  // one per scale
};

template <class T, int Bytes>
WM_INLINE void lose(LossTask<T>& task) {
    const std::int64_t classes = task.problem.classes;
    std::vector<double> score(std::size_t(classes + 4));  // bundles fill up to three beyond theirs
    for (std::int64_t i = task.begin; i < task.end; ++i) {
        if ((i & 63) == 0 && task.interrupt.stop()) return;
        if (task.problem.bound[i] == 0.0) continue;
        for (const ClassBundle* bundle : task.bundles)
            bundle->weights.scores(task.problem, i, score.data() + bundle->first);
        if (task.mean) {
            const double mean = dot_with(task.problem, i, task.mean);
            for (std::int64_t c = 0; c < classes; ++c) score[std::size_t(c)] += mean;
        }
        for (std::size_t k = 0; k < task.scales.size(); ++k)
            task.sums[k] +=
                task.problem.bound[i] * row_loss(task.formulation, score.data(), classes,
                                                 task.problem.label[i], task.scales[k]);
    }
}

WM_VERSIONS(lose_version, lose, (LossTask<T> & task), (task))

template <class T, int Bytes>
WM_INLINE void add_all_rows(const MulticlassProblem<T>& problem, Formulation formulation,
                            const ClassBundle& home, ClassBundle& away, Interrupt& interrupt) {
    const bool to_own =
        formulation == Formulation::weston_watkins || formulation == Formulation::crammer_singer;
    std::vector<ClassChange> changes;
    for (std::size_t r = 0; r < home.rows.size(); ++r) {
        if ((r & 63) == 0 && interrupt.stop()) return;
        const DualRow& dual = home.duals[r];
        const std::int64_t i = home.rows[r], label = problem.label[i];
        const std::size_t begin = dual.place(away.first),
                          end = dual.place(away.first + away.weights.width());
        changes.clear();
        for (std::size_t e = begin; e < end; ++e) {
            const bool up = formulation == Formulation::one_vs_rest && dual.classes[e] == label;
            changes.push_back({std::int32_t(dual.classes[e] - away.first),
                               up ? dual.values[e] : -dual.values[e]});
        }
        if (to_own && &home == &away && !dual.values.empty()) {
            double total = 0.0;
            for (double a : dual.values) total += a;
            const std::int32_t own = std::int32_t(label - away.first);
            const auto place =
                std::lower_bound(changes.begin(), changes.end(), own,
                                 [](const ClassChange& c, std::int32_t at) { return c.at < at; });
            changes.insert(place, {own, total});
        }
        away.weights.add(problem, i, changes);
    }
}

}  // namespace

template <class T>
VisitResult visit_rows(const MulticlassProblem<T>& problem, Formulation formulation,
                       ClassBundle& home, ClassBundle& away, double* mean,
                       const VisitOptions& options, Interrupt& interrupt) {
    Visit<T> visit{problem, formulation, home, away, mean, options, interrupt};
    visit_version<T>(visit);
    return visit.result;
}

template <class T>
void add_weights(const MulticlassProblem<T>& problem, Formulation formulation,
                 const ClassBundle& home, ClassBundle& away, Interrupt& interrupt) {
    add_all_rows<T, 16>(problem, formulation, home, away, interrupt);
}

template <class T>
void total_losses(const MulticlassProblem<T>& problem, Formulation formulation,
                  const std::vector<const ClassBundle*>& bundles, const double* mean,
                  const std::vector<double>& scales, std::vector<double>& losses, int threads,
                  Interrupt& interrupt) {
    const std::int64_t count = problem.rows.count, width = std::int64_t(scales.size());
    const std::int64_t pieces = std::clamp<std::int64_t>(count / 64, 1, 64);
    std::vector<double> sums(std::size_t(pieces * width), 0.0);
    parallel_for(pieces, threads, interrupt, [&](std::int64_t piece) {
        LossTask<T> task{problem,
                         formulation,
                         bundles,
                         mean,
                         scales,
                         piece * count / pieces,
                         (piece + 1) * count / pieces,
                         interrupt,
                         sums.data() + piece * width};
        lose_version<T>(task);
    });
    losses.assign(scales.size(), 0.0);
    for (std::size_t k = 0; k < sums.size(); ++k) losses[k % scales.size()] += sums[k];
}

void shuffle(ClassBundle& bundle, std::uint64_t seed) { mix(bundle.order, seed); }

#define WM_INSTANTIATE(T)                                                                    \
    template VisitResult visit_rows(const MulticlassProblem<T>&, Formulation, ClassBundle&,  \
                                    ClassBundle&, double*, const VisitOptions&, Interrupt&); \
    template void add_weights(const MulticlassProblem<T>&, Formulation, const ClassBundle&,  \
                              ClassBundle&, Interrupt&);                                     \
    template void total_losses(const MulticlassProblem<T>&, Formulation,                     \
                               const std::vector<const ClassBundle*>&, const double*,        \
                               const std::vector<double>&, std::vector<double>&, int, Interrupt&);
WM_INSTANTIATE(float)
WM_INSTANTIATE(double)

}  // namespace widemargin
