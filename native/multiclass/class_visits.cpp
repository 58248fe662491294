#include <random>

#include "core/instruction_sets.hpp"
#include "multiclass/row_visit.hpp"

namespace widemargin {
namespace {

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

// Changes of so many classes that they are better added to all, a vector of them at a time.
template <int Bytes, class T>
WM_INLINE bool nearly_all(const Visit<T>& v, const std::vector<ClassChange>& changes) {
    const std::int64_t lanes = ClassWeights::lanes<Bytes>;
    return v.away.weights.dense() && lanes * std::int64_t(changes.size()) > v.away.weights.width();
}

WM_INLINE void spread(const std::vector<ClassChange>& changes, std::vector<double>& step) {
    std::fill(step.begin(), step.end(), 0.0);
    for (const ClassChange& change : changes) step[std::size_t(change.at)] = change.step;
}

// Rows of both bundles in one random order: one bundle after the other, as printed, would let each
// undo what the other has done.
template <class T, int Bytes>
WM_INLINE void visit_all(Visit<T>& there) {
    Visit<T> back{there.problem, there.formulation, there.away,     there.home,
                  there.mean,    there.options,     there.interrupt};
    std::vector<std::int64_t> order;  // rows of `away` have negative numbers, from -1 on
    take_part(there.home, there.options, 1, order);
    if (!there.same()) {
        take_part(there.away, there.options, -1, order);
        if (!there.options.in_turn) mix(order, there.options.seed);
    }
    const std::size_t widest =
        std::size_t(std::max(there.home.weights.stride(), there.away.weights.stride()));
    std::vector<double> score(widest), step(widest);
    Desk desk;
    RowPlan plan;
    const auto at = [](std::int64_t number) {
        return std::size_t(number >= 0 ? number : -1 - number);
    };
    for (std::size_t k = 0; k < order.size(); ++k) {
        if ((k & 63) == 0 && there.interrupt.stop()) break;
        Visit<T>& v = order[k] >= 0 ? there : back;
        if (k + 8 < order.size())
            fetch_multipliers(order[k + 8] >= 0 ? there : back, at(order[k + 8]));
        if (k + 3 < order.size()) fetch_row(order[k + 3] >= 0 ? there : back, at(order[k + 3]));
        if (!plan_row<Bytes>(v, at(order[k]), plan)) continue;
        measure<Bytes>(v, plan, desk.at, score.data());
        decide(v, plan, score.data(), measure_apart(v, plan), desk);
        if (nearly_all<Bytes>(v, desk.changes)) {
            spread(desk.changes, step);
            v.away.weights.template add_all<Bytes>(v.problem, plan.i, step.data());
        } else {
            v.away.weights.add(v.problem, plan.i, desk.changes);
        }
        apply_apart(v, plan, desk.total);
    }
    there.result.add(back.result);
}

WM_VERSIONS(visit_version, visit_all, (Visit<T> & v), (v))

}  // namespace

template <class T>
VisitResult visit_rows(const MulticlassProblem<T>& problem, Formulation formulation,
                       ClassBundle& home, ClassBundle& away, double* mean,
                       const VisitOptions& options, Interrupt& interrupt) {
    Visit<T> visit{problem, formulation, home, away, mean, options, interrupt};
    visit_version<T>(visit);
    return visit.result;
}

void shuffle(ClassBundle& bundle, std::uint64_t seed) { mix(bundle.order, seed); }

template VisitResult visit_rows(const MulticlassProblem<float>&, Formulation, ClassBundle&,
                                ClassBundle&, double*, const VisitOptions&, Interrupt&);
template VisitResult visit_rows(const MulticlassProblem<double>&, Formulation, ClassBundle&,
                                ClassBundle&, double*, const VisitOptions&, Interrupt&);

}  // namespace widemargin
