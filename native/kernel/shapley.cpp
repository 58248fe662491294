#include "kernel/shapley.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"
#include "core/simd.hpp"

namespace widemargin {
namespace {

constexpr std::int64_t width = 8;           // support vectors in a block
constexpr std::int64_t at_once = 4;         // nodes whose products advance together
constexpr std::int64_t chunk_blocks = 512;  // blocks of a task
constexpr std::int64_t polled = 16;         // blocks between looks at the interrupt
// Sums of the tasks of a batch of queries, in bytes, and the bounds of the batch.
constexpr std::int64_t batch_bytes = std::int64_t(1) << 26, least_batch = 16, most_batch = 256;
// Products below this are nothing beside a share of at least 1 / features. Set to zero every
// `between` factors, they never become denormal, which would cost a hundred cycles each.
constexpr double vanishing = 1e-60;
constexpr std::int64_t between = 8;

// Support vectors, eight beside each other, feature by feature. A block lists the features that one
// of its vectors stores: all of them for dense rows.
struct Blocks {
    std::vector<std::int64_t> start;    // of each block in `feature`
    std::vector<std::int32_t> feature;  // ascending within a block
    std::vector<double> value;          // (feature, width)
    std::vector<double> coef;           // (block, outputs, width)
    std::int64_t widest = 0;            // features of the block with the most of them

    std::int64_t count() const { return std::int64_t(start.size()) - 1; }
};

Blocks packed(const ShapleyProblem& problem) {
    const Rows<double>& rows = problem.basis;
    Blocks blocks;
    blocks.start.push_back(0);
    std::vector<std::int64_t> place(std::size_t(rows.features), -1);
    for (std::int64_t first = 0; first < rows.count; first += width) {
        const std::int64_t here = std::min(width, rows.count - first), begin = blocks.start.back();
        for (std::int64_t i = 0; i < here; ++i)
            rows.for_each_stored(first + i, [&](std::int64_t f, double) {
                if (place[f] >= begin) return;
                place[f] = begin;  // listed; its place is known once they are sorted
                blocks.feature.push_back(std::int32_t(f));
            });
        std::sort(blocks.feature.begin() + begin, blocks.feature.end());
        const auto end = std::int64_t(blocks.feature.size());
        for (std::int64_t k = begin; k < end; ++k) place[blocks.feature[k]] = k;
        blocks.value.resize(std::size_t(end * width), 0.0);
        for (std::int64_t i = 0; i < here; ++i)
            rows.for_each_stored(first + i, [&](std::int64_t f, double value) {
                blocks.value[place[f] * width + i] = value;
            });
        for (std::int64_t o = 0; o < problem.outputs; ++o)
            for (std::int64_t i = 0; i < width; ++i)
                blocks.coef.push_back(i < here ? problem.coef[(first + i) * problem.outputs + o]
                                               : 0.0);
        blocks.start.push_back(end);
        blocks.widest = std::max(blocks.widest, end - begin);
    }
    return blocks;
}

// A row as an array, with the features where it is not zero.
struct Spread {
    std::vector<double> value;
    std::vector<std::int32_t> stored;

    Spread(const Rows<double>& rows, std::int64_t row) : value(std::size_t(rows.features), 0.0) {
        rows.for_each_stored(row, [&](std::int64_t f, double entry) {
            if (entry == 0.0) return;
            value[f] = entry;
            stored.push_back(std::int32_t(f));
        });
    }
};

// The pairs of one query with the vectors of a block: a slot per feature that matters in one of
// them.
struct Slots {
    std::vector<std::int32_t> feature;
    std::vector<double> off, step;  // (slot, width): factors are off + t * step
    std::vector<double> share;      // (slot, width): integral of the product of the other factors
    std::vector<double> before;     // (slot, at_once, lanes): products of the slots before
    double scale[width];            // of all products of a pair

    // Makes room for so many slots.
    void grow(std::int64_t count) {
        if (count <= std::int64_t(feature.size())) return;
        feature.resize(std::size_t(count));
        for (std::vector<double>* each : {&off, &step, &share})
            each->resize(std::size_t(count * width));
        before.resize(std::size_t(count * width * at_once));
    }
};

// One query against a chunk of the blocks.
template <class T>
struct Task {
    const ShapleyProblem& problem;
    const Blocks& blocks;
    const std::vector<double>& node;  // padded to a multiple of `at_once`
    const std::vector<double>& weight;
    std::int64_t query, first, last;  // its row, its blocks
    double* sums;                     // (features, outputs)
    Interrupt& interrupt;
};

template <int Bytes>
WM_INLINE auto exponent(const KernelSpec& spec, double x, const double* vectors) {
    using V = typename Simd<double, Bytes>::Vector;
    const double rate = -spec.gamma * 1.4426950408889634;  // of 2, not of e
    const V apart = x - load<V>(vectors);
    return spec.kind == KernelKind::rbf ? apart * apart * rate : absolute(apart) * rate;
}

inline bool all_equal(const double* vectors, double x) {
    bool equal = true;
    for (std::int64_t i = 0; i < width; ++i) equal &= vectors[i] == x;
    return equal;
}

// Factors of features outside a coalition are 1.
template <int Bytes>
WM_INLINE void place(Slots& slots, std::int64_t& count, const KernelSpec& spec, std::int32_t f,
                     double x, const double* vectors) {
    using V = typename Simd<double, Bytes>::Vector;
    if (all_equal(vectors, x)) return;  // the factor is 1 in any coalition
    slots.feature[count] = f;
    for (std::int64_t v = 0; v < width; v += Simd<double, Bytes>::lanes) {
        const V on = exp2_of_nonpositive<Bytes>(exponent<Bytes>(spec, x, vectors + v));
        store(&slots.step[count * width + v], on - 1.0);
    }
    ++count;
}

// They are those of a background row. The larger factor of the two goes into the scale, so that
// products of hundreds of small ones do not vanish before they are compared.
template <int Bytes>
WM_INLINE void place(Slots& slots, std::int64_t& count, const KernelSpec& spec, std::int32_t f,
                     double x, double b, const double* vectors) {
    using V = typename Simd<double, Bytes>::Vector;
    const bool differ = x != b;
    for (std::int64_t v = 0; v < width; v += Simd<double, Bytes>::lanes) {
        const V on = exponent<Bytes>(spec, x, vectors + v);
        const V off = exponent<Bytes>(spec, b, vectors + v);
        const V larger = on > off ? on : off;
        store(slots.scale + v, load<V>(slots.scale + v) + larger);
        if (!differ) continue;
        const V outside = exp2_of_nonpositive<Bytes>(off - larger);
        store(&slots.off[count * width + v], outside);
        store(&slots.step[count * width + v], exp2_of_nonpositive<Bytes>(on - larger) - outside);
    }
    if (differ) slots.feature[count++] = f;
}

// Integrates the products that leave one slot out, for every slot.
template <int Bytes, bool Background>
WM_INLINE void integrate(Slots& slots, std::int64_t count, const Task<double>& task) {
    using V = typename Simd<double, Bytes>::Vector;
    constexpr std::int64_t lanes = Simd<double, Bytes>::lanes;
    std::fill_n(slots.share.begin(), count * width, 0.0);
    const auto nodes = std::int64_t(task.node.size());
    for (std::int64_t v = 0; v < width; v += lanes) {
        const double *const off = slots.off.data() + v, *const step = slots.step.data() + v;
        double *const share = slots.share.data() + v, *const before = slots.before.data();
        for (std::int64_t n = 0; n < nodes; n += at_once) {
            V t[at_once], product[at_once];
            for (std::int64_t g = 0; g < at_once; ++g) {
                t[g] = V{} + task.node[n + g];
                product[g] = V{} + 1.0;
            }
            auto advance = [&](std::int64_t s, auto&& visit) WM_LAMBDA {
                const V change = load<V>(step + s * width);
                V outside = V{} + 1.0;
                if constexpr (Background) outside = load<V>(off + s * width);
                for (std::int64_t g = 0; g < at_once; ++g) {
                    visit(g);
                    product[g] *= outside + t[g] * change;
                }
            };
            auto sweep = [&]() WM_LAMBDA {
                for (std::int64_t g = 0; g < at_once; ++g)
                    product[g] = product[g] < vanishing ? V{} : product[g];
            };
            for (std::int64_t s = 0; s < count; ++s) {
                advance(s, [&](std::int64_t g) WM_LAMBDA {
                    store(before + (s * at_once + g) * lanes, product[g]);
                });
                if (s % between == between - 1) sweep();
            }
            for (std::int64_t g = 0; g < at_once; ++g) product[g] = V{} + task.weight[n + g];
            for (std::int64_t s = count - 1; s >= 0; --s) {
                V sum = load<V>(share + s * width);
                advance(s, [&](std::int64_t g) WM_LAMBDA {
                    sum += load<V>(before + (s * at_once + g) * lanes) * product[g];
                });
                store(share + s * width, sum);
                if (s % between == 0) sweep();
            }
        }
    }
}

template <class T, int Bytes>
WM_INLINE void explain(Task<T>& task) {
    using V = typename Simd<double, Bytes>::Vector;
    constexpr std::int64_t lanes = Simd<double, Bytes>::lanes;
    const ShapleyProblem& problem = task.problem;
    const Blocks& blocks = task.blocks;
    const std::int64_t features = problem.basis.features, outputs = problem.outputs;
    const bool against = problem.background.count > 0;
    const std::int64_t rounds = against ? problem.background.count : 1;
    const Spread x(problem.queries, task.query);
    static constexpr double zeros[width] = {};
    Slots slots;
    std::vector<double> sums(std::size_t(features * outputs * width), 0.0);
    std::vector<std::int64_t> seen(std::size_t(features), -1);
    for (std::int64_t r = 0; r < rounds; ++r) {
        const Spread other = against ? Spread(problem.background, r) : x;
        const auto extra = std::int64_t(x.stored.size() + (against ? other.stored.size() : 0));
        slots.grow(std::min(features, blocks.widest + extra));
        for (std::int64_t b = task.first; b < task.last; ++b) {
            if (b % polled == 0 && task.interrupt.stop()) return;
            std::int64_t count = 0;
            std::fill_n(slots.scale, width, 0.0);
            const std::int64_t visit = r * blocks.count() + b;
            auto add = [&](std::int32_t f, const double* vectors) WM_LAMBDA {
                seen[f] = visit;
                if (against)
                    place<Bytes>(slots, count, problem.spec, f, x.value[f], other.value[f],
                                 vectors);
                else
                    place<Bytes>(slots, count, problem.spec, f, x.value[f], vectors);
            };
            for (std::int64_t k = blocks.start[b]; k < blocks.start[b + 1]; ++k)
                add(blocks.feature[k], &blocks.value[k * width]);
            if (blocks.start[b + 1] - blocks.start[b] < features)  // the vectors store no others
                for (const Spread* row : {&x, &other})
                    for (std::int32_t f : row->stored)
                        if (seen[f] != visit) add(f, zeros);
            if (against) {
                bool far = true;
                for (std::int64_t v = 0; v < width; v += lanes) {
                    const V scale = exp2_of_nonpositive<Bytes>(load<V>(slots.scale + v));
                    store(slots.scale + v, scale / double(rounds));
                }
                for (double scale : slots.scale) far &= scale == 0.0;
                if (far) continue;
                integrate<Bytes, true>(slots, count, task);
            } else {
                std::fill_n(slots.scale, width, 1.0);
                integrate<Bytes, false>(slots, count, task);
            }
            const double* coef = &blocks.coef[b * outputs * width];
            for (std::int64_t s = 0; s < count; ++s) {
                double* to = &sums[slots.feature[s] * outputs * width];
                for (std::int64_t v = 0; v < width; v += lanes) {
                    const V value = load<V>(&slots.step[s * width + v]) *
                                    load<V>(&slots.share[s * width + v]) * load<V>(slots.scale + v);
                    for (std::int64_t o = 0; o < outputs; ++o) {
                        double* at = to + o * width + v;
                        store(at, load<V>(at) + value * load<V>(coef + o * width + v));
                    }
                }
            }
        }
    }
    for (std::int64_t k = 0; k < features * outputs; ++k) {
        double total = 0.0;
        for (std::int64_t i = 0; i < width; ++i) total += sums[k * width + i];
        task.sums[k] = total;
    }
}
WM_VERSIONS(explain_version, explain, (Task<T> & task), (task))

}  // namespace

void shapley_values(const ShapleyProblem& problem, double* values, int threads,
                    Interrupt& interrupt) {
    const Blocks blocks = packed(problem);
    std::vector<double> node(problem.node, problem.node + problem.nodes);
    std::vector<double> weight(problem.weight, problem.weight + problem.nodes);
    while (node.size() % at_once) {
        node.push_back(0.5);
        weight.push_back(0.0);
    }
    const std::int64_t size = problem.basis.features * problem.outputs;
    const std::int64_t chunks =
        std::max<std::int64_t>(1, (blocks.count() + chunk_blocks - 1) / chunk_blocks);
    const std::int64_t fitting =
        batch_bytes / std::max<std::int64_t>(1, chunks * size * std::int64_t(sizeof(double)));
    const std::int64_t batch = std::clamp(fitting, least_batch, most_batch);
    std::vector<double> sums;
    for (std::int64_t first = 0; first < problem.queries.count; first += batch) {
        const std::int64_t here = std::min(batch, problem.queries.count - first);
        sums.assign(std::size_t(here * chunks * size), 0.0);
        parallel_for(here * chunks, threads, interrupt, [&](std::int64_t number) {
            const std::int64_t begin = number % chunks * chunk_blocks;
            Task<double> task{problem,
                              blocks,
                              node,
                              weight,
                              first + number / chunks,
                              begin,
                              std::min(begin + chunk_blocks, blocks.count()),
                              &sums[number * size],
                              interrupt};
            explain_version<double>(task);
        });
        if (interrupt.stop()) return;
        for (std::int64_t q = 0; q < here; ++q) {
            double* to = values + (first + q) * size;
            std::fill_n(to, size, 0.0);
            for (std::int64_t c = 0; c < chunks; ++c)
                for (std::int64_t k = 0; k < size; ++k) to[k] += sums[(q * chunks + c) * size + k];
        }
    }
}

}  // namespace widemargin
