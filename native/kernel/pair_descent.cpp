#include "kernel/pair_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/instruction_sets.hpp"
#include "core/simd.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

constexpr Index lanes = 8;  // doubles to a cache line: no instruction set takes more
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double tiny = 1e-290;          // keeps reciprocals finite where rows are copies
constexpr Index steps_at_a_time = 4096;  // between looks at the interrupt

struct PairState {
    Index rising = 0, falling = 0;  // the last pair
    double step = 0.0;              // what its margins still lack
    Index taken = 0;
    bool done = false;
};

// Kernel values as doubles; a row's last ones are read one by one, for nothing follows them.
template <class V, class T, int Bytes>
WM_INLINE V load_values(const T* row, Index at, Index rows) {
    constexpr int width = Simd<double, Bytes>::lanes;
    if (at + width <= rows) {
        if constexpr (sizeof(T) == sizeof(double)) {
            return load<V>(row + at);
        } else {
            using Half = typename Simd<float, Bytes / 2>::Vector;
            return __builtin_convertvector(load<Half>(row + at), V);
        }
    }
    V values = {};
    for (Index i = at; i < rows; ++i) values[i - at] = double(row[i]);
    return values;
}

// The lane with the smallest (or, negated, largest) value; the first row of several.
template <class V, class B>
WM_INLINE int best_lane(const V& value, const B& where, int width) {
    int lane = 0;
    for (int l = 1; l < width; ++l)
        if (value[l] < value[lane] || (value[l] == value[lane] && where[l] < where[lane])) lane = l;
    return lane;
}

template <class T, int Bytes>
WM_INLINE void take_pairs(PairBlock& block, const T* kernel, const PairLimits& limits,
                          PairState& state) {
    using V = typename Simd<double, Bytes>::Vector;
    using B = typename Simd<double, Bytes>::Bits;
    constexpr int width = Simd<double, Bytes>::lanes;
    const Index until = std::min(limits.steps, state.taken + steps_at_a_time);
    double *const dual = block.dual.data(), *const margin = block.margin.data();
    const double *const upper = block.upper.data(), *const diagonal = block.diagonal.data();
    while (true) {
        // Margins after the last pair; the lowest that may rise, the highest that may fall.
        const T* risen = kernel + state.rising * block.rows;
        const T* fallen = kernel + state.falling * block.rows;
        V lowest = V{} + infinite, highest = V{} - infinite;
        B where = {}, index = {};
        for (int l = 0; l < width; ++l) index[l] = l;
        for (Index i = 0; i < block.padded; i += width, index += width) {
            V here = load<V>(margin + i);
            if (state.step != 0.0) {
                here += state.step * (load_values<V, T, Bytes>(risen, i, block.rows) -
                                      load_values<V, T, Bytes>(fallen, i, block.rows));
                store(margin + i, here);
            }
            const V at = load<V>(dual + i);
            const V may_rise = at < load<V>(upper + i) ? here : V{} + infinite;
            const V may_fall = at > 0 ? here : V{} - infinite;
            const B lower = may_rise < lowest;
            lowest = lower ? may_rise : lowest;
            where = lower ? index : where;
            highest = may_fall > highest ? may_fall : highest;
        }
        state.step = 0.0;
        const int first = best_lane(lowest, where, width);
        const double low = lowest[first];
        double high = highest[0];
        for (int l = 1; l < width; ++l) high = std::max(high, double(highest[l]));
        const bool none = low == infinite || high == -infinite;
        if (none || high - low <= limits.violation || state.taken == limits.steps) {
            state.done = true;
            return;
        }
        if (state.taken == until) return;
        // The partner with which the objective falls most.
        const Index rising = where[first];
        const T* row = kernel + rising * block.rows;
        V best = {};
        B partner = {};
        for (int l = 0; l < width; ++l) index[l] = l;
        for (Index i = 0; i < block.padded; i += width, index += width) {
            const V above = load<V>(margin + i) - low;
            V curvature = load<V>(diagonal + i) + diagonal[rising] -
                          2.0 * load_values<V, T, Bytes>(row, i, block.rows);
            curvature = curvature > tiny ? curvature : V{} + tiny;
            const V fall = (load<V>(dual + i) > 0) & (above > 0) ? above * above / curvature : V{};
            const B better = fall > best;
            best = better ? fall : best;
            partner = better ? index : partner;
        }
        const Index falling = partner[best_lane(-best, partner, width)];
        const double curvature =
            std::max(diagonal[rising] + diagonal[falling] - 2.0 * double(row[falling]), tiny);
        const double room = upper[rising] - dual[rising], left = dual[falling];
        const double step = std::min({(margin[falling] - low) / curvature, room, left});
        dual[rising] = step == room ? upper[rising] : dual[rising] + step;
        dual[falling] = step == left ? 0.0 : dual[falling] - step;
        state.rising = rising;
        state.falling = falling;
        state.step = step;
        ++state.taken;
    }
}

WM_VERSIONS(take_pairs_versions, take_pairs,
            (PairBlock & block, const T* kernel, const PairLimits& limits, PairState& state),
            (block, kernel, limits, state))

}  // namespace

PairBlock::PairBlock(std::int64_t rows_)
    : rows(rows_), padded((rows_ + lanes - 1) / lanes * lanes) {
    for (auto* array : {&dual, &margin, &upper, &diagonal}) array->assign(std::size_t(padded), 0.0);
}

template <class T>
std::int64_t descend_pairs(PairBlock& block, const T* kernel, const PairLimits& limits,
                           Interrupt& interrupt) {
    PairState state;
    // Between two calls no change is left to be added to the margins.
    while (!state.done && !interrupt.stop()) take_pairs_versions<T>(block, kernel, limits, state);
    return state.taken;
}

template std::int64_t descend_pairs<float>(PairBlock&, const float*, const PairLimits&, Interrupt&);
template std::int64_t descend_pairs<double>(PairBlock&, const double*, const PairLimits&,
                                            Interrupt&);

}  // namespace widemargin
