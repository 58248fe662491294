#include "kernel/working_set.hpp"

#include <algorithm>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "core/simd.hpp"

namespace widemargin {
namespace {

constexpr std::int64_t lanes = 8;  // doubles to a cache line: no instruction set takes more

// One pass: adds change * column to the margins and finds the coordinate that wants most.
template <class T, int Bytes>
WM_INLINE void descend_all(WorkingSet& set, const Loss& loss, double reduction,
                           std::int64_t max_steps) {
    using V = typename Simd<T, Bytes>::Vector;
    using B = typename Simd<T, Bytes>::Bits;
    constexpr int width = Simd<T, Bytes>::lanes;
    double change = 0.0, target = -1.0;
    std::int64_t best = 0;
    for (std::int64_t taken = 0;; ++taken) {
        const double* column = set.block.data() + best * set.padded;
        V most = V{} - 1.0, step_of_most = {};
        B where = {}, index = {};
        for (int l = 0; l < width; ++l) index[l] = l;
        for (std::int64_t i = 0; i < set.padded; i += width, index += width) {
            const V margin = load<V>(&set.margin[i]) + change * load<V>(column + i);
            store(&set.margin[i], margin);
            const V dual = load<V>(&set.dual[i]), bound = load<V>(&set.bound[i]);
            const V rest = margin - load<V>(&set.diagonal[i]) * dual;
            V positive = (loss.a - rest) * load<V>(&set.inverse_below[i]);
            positive = positive > 0 ? positive : V{};
            positive = positive < bound ? positive : bound;
            V negative = (loss.b - rest) * load<V>(&set.inverse_above[i]);
            negative = negative < 0 ? negative : V{};
            const V floor = load<V>(&set.floor[i]);
            negative = negative > floor ? negative : floor;
            const V wanted = positive + negative, step = wanted - dual;
            const V curvature =
                wanted < 0 ? load<V>(&set.curvature_above[i]) : load<V>(&set.curvature_below[i]);
            const V score = step * step * curvature;
            const B better = score > most;
            most = better ? score : most;
            step_of_most = better ? step : step_of_most;
            where = better ? index : where;
        }
        int lane = 0;
        for (int l = 1; l < width; ++l)
            if (most[l] > most[lane] || (most[l] == most[lane] && where[l] < where[lane])) lane = l;
        if (target < 0.0) target = reduction * most[lane];
        if (taken == max_steps || most[lane] <= target || most[lane] <= 0.0) return;
        best = where[lane];
        change = step_of_most[lane];
        set.dual[best] += change;
    }
}

WM_VERSIONS(descend_versions, descend_all,
            (WorkingSet & set, const Loss& loss, double reduction, std::int64_t max_steps),
            (set, loss, reduction, max_steps))

}  // namespace

void WorkingSet::resize(std::int64_t count) {
    rows = count;
    padded = (count + lanes - 1) / lanes * lanes;
    block.resize(std::size_t(rows * padded));
    for (auto* array : {&dual, &margin, &diagonal, &bound, &floor, &curvature_below,
                        &curvature_above, &inverse_below, &inverse_above})
        array->assign(std::size_t(padded), 0.0);
}

void WorkingSet::set(std::int64_t i, double dual_, double margin_, double diagonal_,
                     const LossRow& loss) {
    constexpr double tiny = 1e-290;  // keeps reciprocals finite where a coordinate is linear
    const auto k = std::size_t(i);
    dual[k] = dual_;
    margin[k] = margin_;
    diagonal[k] = diagonal_;
    bound[k] = loss.bound;
    floor[k] = loss.floor;
    curvature_below[k] = std::max(diagonal_ + loss.below, tiny);
    curvature_above[k] = std::max(diagonal_ + loss.above, tiny);
    inverse_below[k] = 1.0 / curvature_below[k];
    inverse_above[k] = 1.0 / curvature_above[k];
}

void descend_greedily(WorkingSet& set, const Loss& loss, double reduction, std::int64_t max_steps) {
    if (set.rows > 0) descend_versions<double>(set, loss, reduction, max_steps);
}

}  // namespace widemargin
