// A visit to one row, in three steps: measure its scores, decide on its multipliers, apply what
// that means for the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "multiclass/class_bundle.hpp"
#include "multiclass/class_step.hpp"
#include "multiclass/row_products.hpp"

namespace widemargin {

// What a row's visit works on; kept between visits so that nothing is allocated.
struct Desk {
    std::vector<std::int32_t> at;       // candidates: classes counted from the bundle's first
    std::vector<double> before, slope;  // their multipliers and slopes
    std::vector<double> wish;
    std::vector<std::int32_t> ids;  // multipliers to keep
    std::vector<double> values;
    std::vector<ClassChange> changes;
    double total = 0.0;               // of all changes of multipliers
    std::vector<std::int32_t> fresh;  // candidates whose multiplier was zero

    void clear() {
        at.clear(), before.clear(), slope.clear(), wish.clear();
        ids.clear(), values.clear(), changes.clear(), fresh.clear();
        total = 0.0;
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

// A row that is to be visited.
struct RowPlan {
    std::size_t r;           // of the bundle
    std::int64_t i, own;     // row of the problem; its class counted from the bundle's first, or -1
    std::size_t begin, end;  // its multipliers for the bundle's classes
    bool few;                // whether only these are looked at, one by one
};

// Returns false if there is nothing to do.
template <int Bytes, class T>
WM_INLINE bool plan_row(Visit<T>& v, std::size_t r, RowPlan& plan) {
    const std::int64_t i = v.home.rows[r];
    if (v.problem.bound[i] == 0.0 || v.problem.square[i] == 0.0) return false;  // nothing to gain
    const DualRow& dual = v.home.duals[r];
    const std::int64_t first = v.away.first, width = v.away.weights.width();
    const std::size_t begin = dual.place(first), end = dual.place(first + width);
    const bool active = v.options.active_only;
    if (active && (begin == end || v.home.gains[r] < v.options.skip_below)) return false;
    v.home.gains[r] = 0.0;
    const std::int64_t own = v.problem.label[i] - first;
    // Few classes are cheaper one by one than all of the bundle together, a vector of them at a
    // time.
    const std::int64_t lanes = ClassWeights::lanes<Bytes>;
    const bool few = active && v.away.weights.dense() && lanes * std::int64_t(end - begin) < width;
    plan = {r, i, own >= 0 && own < width ? own : -1, begin, end, few};
    return true;
}

// Rows are visited in random order: what the next ones need is asked for in time, the multipliers
// of a row before it is known where they are.
template <class T>
WM_INLINE void fetch_multipliers(const Visit<T>& v, std::size_t r) {
    __builtin_prefetch(&v.home.duals[r]);
    __builtin_prefetch(&v.home.gains[r]);
}

template <class T>
WM_INLINE void fetch_row(const Visit<T>& v, std::size_t r) {
    const DualRow& dual = v.home.duals[r];
    if (v.options.active_only && v.home.gains[r] < v.options.skip_below) return;
    __builtin_prefetch(dual.classes.data());
    __builtin_prefetch(dual.values.data());
    const Rows<T>& rows = v.problem.rows;
    if (!rows.index32) return;
    const std::int64_t i = v.home.rows[r], begin = rows.row_start[i], end = rows.row_start[i + 1];
    for (std::int64_t e = begin; e < end; e += 16) {
        __builtin_prefetch(rows.index32 + e);
        __builtin_prefetch(rows.values + e);
    }
}

// Where the scores of a row are put that is visited for a few classes only: those with multipliers
// in their order, and then the row's own.
template <class T>
WM_INLINE void list_few(const Visit<T>& v, const RowPlan& plan, std::vector<std::int32_t>& at) {
    const DualRow& dual = v.home.duals[plan.r];
    at.clear();
    for (std::size_t e = plan.begin; e < plan.end; ++e)
        at.push_back(std::int32_t(dual.classes[e] - v.away.first));
    if (v.to_own_class() && v.same()) at.push_back(std::int32_t(plan.own));
}

template <int Bytes, class T>
WM_INLINE void measure(const Visit<T>& v, const RowPlan& plan, std::vector<std::int32_t>& at,
                       double* score) {
    if (!plan.few) return v.away.weights.template scores<Bytes>(v.problem, plan.i, score);
    list_few(v, plan, at);
    v.away.weights.scores_of(v.problem, plan.i, at.data(), std::int64_t(at.size()), score);
}

// The one score that is not among these: with m, or of the row's own class in another bundle.
template <class T>
WM_INLINE double measure_apart(const Visit<T>& v, const RowPlan& plan) {
    if (v.with_mean()) return dot_with(v.problem, plan.i, v.mean);
    if (!v.to_own_class() || v.same()) return 0.0;
    return v.home.weights.score(v.problem, plan.i, v.problem.label[plan.i] - v.home.first);
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

// slope_c = offset + s_c for classes other than the row's own.
template <class T>
WM_INLINE double offset_of(const Visit<T>& v, double own_score, double apart) {
    if (v.with_mean()) return 1.0 + apart;
    if (!v.to_own_class()) return 1.0;
    return 1.0 - (v.same() ? own_score : apart);
}

// Collects the classes of the bundle whose multiplier is not zero or wants to grow; returns the
// loss.
template <class T>
WM_INLINE double collect(const Visit<T>& v, const RowPlan& plan, const double* score, double apart,
                         Desk& desk) {
    const DualRow& dual = v.home.duals[plan.r];
    const double offset = offset_of(v, plan.own >= 0 ? score[plan.own] : 0.0, apart);
    // lee_lin_wahba's shift may raise a multiplier whose slope is negative.
    const bool every = v.formulation == Formulation::lee_lin_wahba && !v.options.active_only;
    double loss = 0.0, largest = 0.0;
    std::size_t e = plan.begin;
    const std::int64_t width = v.away.weights.width(), first = v.away.first;
    for (std::int64_t c = 0; c < width; ++c) {
        // Most classes have no multiplier and want none: four at a time.
        if (!every && c % 4 == 0 && c + 4 <= width &&
            (e == plan.end || dual.classes[e] >= first + c + 4)) {
            const auto wants = load<ClassWeights::Four>(score + c) > -offset;
            if (!(wants[0] | wants[1] | wants[2] | wants[3]) &&
                (c > plan.own || c + 4 <= plan.own)) {
                c += 3;
                continue;
            }
        }
        double slope = offset + score[c];
        if (c == plan.own) {
            if (!v.own_multiplier()) continue;
            slope = offset - score[c];
        }
        const bool known = e < plan.end && dual.classes[e] == std::int32_t(first + c);
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
WM_INLINE double collect_few(const Visit<T>& v, const RowPlan& plan, const double* score,
                             double apart, Desk& desk) {
    const DualRow& dual = v.home.duals[plan.r];
    const double offset = offset_of(v, score[plan.end - plan.begin], apart);
    double loss = 0.0;
    for (std::size_t e = plan.begin; e < plan.end; ++e) {
        const std::int32_t at = std::int32_t(dual.classes[e] - v.away.first);
        const double own = score[e - plan.begin];
        desk.at.push_back(at);
        desk.before.push_back(dual.values[e]);
        desk.slope.push_back(v.own_multiplier() && at == plan.own ? offset - own : offset + own);
        loss += std::max(0.0, desk.slope.back());
    }
    return loss;
}

// Gives the row its best multipliers; leaves the changes of the bundle's weights on the desk.
template <class T>
WM_INLINE void decide(Visit<T>& v, const RowPlan& plan, const double* score, double apart,
                      Desk& desk) {
    const double bound = v.problem.bound[plan.i], square = v.problem.square[plan.i];
    const std::int64_t first = v.away.first, width = v.away.weights.width();
    desk.clear();
    v.result.loss += bound * (plan.few ? collect_few(v, plan, score, apart, desk)
                                       : collect(v, plan, score, apart, desk));
    if (v.options.fewest_new > 0) {
        const double mass = std::ceil(v.options.new_mass / (bound * square));
        const double limit = std::max(double(v.options.fewest_new), mass);
        if (double(desk.fresh.size()) > limit) thin_out(desk, std::size_t(limit), plan.i, width);
    }
    if (desk.at.empty()) return;
    double before = 0.0;
    for (std::size_t k = 0; k < desk.at.size(); ++k) {
        before += desk.before[k];
        desk.wish.push_back(desk.before[k] + desk.slope[k] / square);
    }
    const auto [shift, upper] =
        class_step(v.formulation, desk.wish.data(), std::int64_t(desk.wish.size()), before, bound,
                   v.problem.classes);
    double squares = 0.0, rise = 0.0;
    for (std::size_t k = 0; k < desk.at.size(); ++k) {
        const double after = std::min(upper, std::max(0.0, desk.wish[k] - shift));
        const double change = after - desk.before[k];
        if (after > 0.0) {
            desk.ids.push_back(std::int32_t(first + desk.at[k]));
            desk.values.push_back(after);
        }
        if (change == 0.0) continue;
        desk.total += change;
        squares += change * change;
        rise += change * desk.slope[k];
        const bool up = v.own_multiplier() && desk.at[k] == plan.own;
        desk.changes.push_back({desk.at[k], up ? change : -change});
    }
    if (desk.changes.empty()) return;
    double coupling = 0.0;
    if (v.to_own_class()) coupling = 1.0;
    if (v.formulation == Formulation::lee_lin_wahba) coupling = -1.0 / double(v.problem.classes);
    v.home.gains[plan.r] = rise - 0.5 * square * (squares + coupling * desk.total * desk.total);
    v.result.gain += v.home.gains[plan.r];
    v.home.duals[plan.r].replace(plan.begin, plan.end, desk.ids, desk.values);
    if (v.to_own_class() && v.same()) {
        const auto place =
            std::lower_bound(desk.changes.begin(), desk.changes.end(), plan.own,
                             [](const ClassChange& c, std::int64_t at) { return c.at < at; });
        desk.changes.insert(place, {std::int32_t(plan.own), desk.total});
    }
}

// What changes beside the weights of the bundle: the row's own class in another one, or m.
template <class T>
WM_INLINE void apply_apart(Visit<T>& v, const RowPlan& plan, double total) {
    if (total == 0.0) return;
    if (v.to_own_class() && !v.same())
        v.home.weights.add_one(v.problem, plan.i,
                               {std::int32_t(v.problem.label[plan.i] - v.home.first), total});
    if (v.formulation == Formulation::lee_lin_wahba)
        add_scaled(v.problem, plan.i, total / double(v.problem.classes), v.mean);
}

}  // namespace widemargin
