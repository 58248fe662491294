#include "multiclass/class_bundle.hpp"

#include <algorithm>

#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"
#include "multiclass/row_products.hpp"

namespace widemargin {
namespace {

// Loss of one row, given the scores of all classes; reads them in fours. The own class's score is
// replaced by one that costs nothing, and put back.
template <class T>
WM_INLINE double row_loss(const MulticlassProblem<T>& problem, Formulation formulation,
                          std::int64_t i, double* score, double scale) {
    using Four = ClassWeights::Four;
    constexpr double harmless = -1e300;
    const std::int64_t classes = problem.classes, label = problem.label[i];
    const double own = score[label];
    const double offset = acts_on_own_class(formulation) ? problem.band.lower - scale * own : 1.0;
    score[label] = harmless;
    for (std::int64_t c = classes; c % 4 != 0; ++c) score[c] = harmless;
    Four sum{}, largest{};
    for (std::int64_t c = 0; c < classes; c += 4) {
        const Four slope = offset + scale * load<Four>(score + c);
        const Four loss = slope > 0.0 ? slope : Four{};
        sum += loss;
        largest = loss > largest ? loss : largest;
    }
    score[label] = own;
    const double worst =
        std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
    if (formulation == Formulation::crammer_singer) return worst;
    if (formulation == Formulation::margin_distribution) {
        const MarginBand& band = problem.band;
        if (!band.rival) return 0.5 * worst * worst;
        const double excess = std::max(0.0, scale * (own - score[band.rival[i]]) - band.upper);
        return 0.5 * (worst * worst + band.upsilon * excess * excess);
    }
    const double others = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    if (formulation == Formulation::one_vs_rest) return others + std::max(0.0, 1.0 - scale * own);
    return others;
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
    std::vector<double> score(std::size_t(classes + 8));  // bundles fill up to seven beyond theirs
    for (std::int64_t i = task.begin; i < task.end; ++i) {
        if ((i & 63) == 0 && task.interrupt.stop()) return;
        if (task.problem.bound[i] == 0.0) continue;
        for (const ClassBundle* bundle : task.bundles)
            bundle->weights.template scores<Bytes>(task.problem, i, score.data() + bundle->first);
        if (task.mean) {
            const double mean = dot_with(task.problem, i, task.mean);
            for (std::int64_t c = 0; c < classes; ++c) score[std::size_t(c)] += mean;
        }
        for (std::size_t k = 0; k < task.scales.size(); ++k)
            task.sums[k] += task.problem.bound[i] * row_loss(task.problem, task.formulation, i,
                                                             score.data(), task.scales[k]);
    }
}

WM_VERSIONS(lose_version, lose, (LossTask<T> & task), (task))

}  // namespace

template <class T>
void add_weights(const MulticlassProblem<T>& problem, Formulation formulation,
                 const ClassBundle& home, ClassBundle& away, Interrupt& interrupt) {
    const bool to_own = acts_on_own_class(formulation);
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

template <class T>
DualSums dual_sums(const MulticlassProblem<T>& problem, Formulation formulation,
                   const ClassBundle& bundle) {
    DualSums sums;
    for (std::size_t r = 0; r < bundle.rows.size(); ++r) {
        const std::vector<double>& values = bundle.duals[r].values;
        if (formulation != Formulation::margin_distribution) {
            for (double a : values) sums.linear += a;
        } else if (!values.empty()) {
            const double bound = problem.bound[bundle.rows[r]];
            double positive = 0.0, negative = 0.0;
            for (double a : values) (a > 0.0 ? positive : negative) += a;
            sums.linear += problem.band.lower * positive + problem.band.upper * negative;
            sums.quadratic += 0.5 * positive * positive / bound;
            if (negative < 0.0)
                sums.quadratic += 0.5 * negative * negative / (problem.band.upsilon * bound);
        }
    }
    return sums;
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

#define WM_INSTANTIATE(T)                                                                      \
    template void add_weights(const MulticlassProblem<T>&, Formulation, const ClassBundle&,    \
                              ClassBundle&, Interrupt&);                                       \
    template DualSums dual_sums(const MulticlassProblem<T>&, Formulation, const ClassBundle&); \
    template void total_losses(const MulticlassProblem<T>&, Formulation,                       \
                               const std::vector<const ClassBundle*>&, const double*,          \
                               const std::vector<double>&, std::vector<double>&, int, Interrupt&);
WM_INSTANTIATE(float)
WM_INSTANTIATE(double)

}  // namespace widemargin
