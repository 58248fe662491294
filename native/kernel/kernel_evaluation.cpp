#include "kernel/kernel_evaluation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"
#include "kernel/sparse_tile.hpp"
#include "kernel/tile.hpp"

namespace widemargin {
namespace {

// Whether lists of rare features serve a task.
template <class T>
bool by_lists(const Rows<T>& streamed, const Rows<T>& packed, const KernelSpec& spec) {
    return streamed.common && packed.sparse() && spec.kind != KernelKind::laplacian;
}

template <class T, int Bytes, Family F>
WM_INLINE void run_layout(const BlockTask<T>& task) {
    if constexpr (F != Family::laplacian)
        if (by_lists(task.streamed, task.packed, task.spec))
            return SparseBlockRunner<T, Bytes, F>::run(task);
    if (task.streamed.sparse())
        BlockRunner<T, Bytes, F, true>::run(task);
    else
        BlockRunner<T, Bytes, F, false>::run(task);
}

template <class T, int Bytes>
WM_INLINE void run_family(const BlockTask<T>& task) {
    switch (task.spec.kind) {
        case KernelKind::rbf:
            return run_layout<T, Bytes, Family::rbf>(task);
        case KernelKind::laplacian:
            return run_layout<T, Bytes, Family::laplacian>(task);
        default:
            return run_layout<T, Bytes, Family::products>(task);
    }
}

template <class T, int>
WM_INLINE void add_rows(const T* const* rows, const double* coef, std::int64_t count,
                        std::int64_t begin, std::int64_t end, double* sums) {
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {  // four at a time: a quarter of the traffic on `sums`
        const T *a = rows[i], *b = rows[i + 1], *c = rows[i + 2], *d = rows[i + 3];
        const double s = coef[i], t = coef[i + 1], u = coef[i + 2], v = coef[i + 3];
        for (std::int64_t j = begin; j < end; ++j)
            sums[j] +=
                (s * double(a[j]) + t * double(b[j])) + (u * double(c[j]) + v * double(d[j]));
    }
    for (; i < count; ++i)
        for (std::int64_t j = begin; j < end; ++j) sums[j] += coef[i] * double(rows[i][j]);
}

WM_VERSIONS(run_block, run_family, (const BlockTask<T>& task), (task))
WM_VERSIONS(add_rows_to, add_rows,
            (const T* const* rows, const double* coef, std::int64_t count, std::int64_t begin,
             std::int64_t end, double* sums),
            (rows, coef, count, begin, end, sums))

// Packed rows per task. Fixed by the problem, never by the number of threads; larger where
// zeroing a wide sparse panel is what costs, or finding lists: those that many rows share.
template <class T>
std::int64_t rows_per_task(const BlockTask<T>& task) {
    constexpr std::int64_t least = 256, most = 2048;
    if (task.packed.features > (1 << 14)) return most;
    if (!by_lists(task.streamed, task.packed, task.spec)) return least;
    return std::clamp((task.packed.count / 4 + least - 1) / least * least, least, most);
}

// With `symmetric`, streamed and packed rows are the same, and meet rows that do not come after
// them.
template <class T>
void run_tasks(BlockTask<T> task, int threads, Interrupt& interrupt, bool symmetric = false) {
    const std::int64_t step = rows_per_task(task), rows = task.packed.count;
    const std::int64_t tasks = (rows + step - 1) / step;
    task.interrupt = &interrupt;
    parallel_for(tasks, threads, interrupt, [&](std::int64_t t) {
        BlockTask<T> part = task;
        part.first = (symmetric ? tasks - 1 - t : t) * step;  // the longest first
        part.last = std::min(rows, part.first + step);
        if (symmetric) part.streamed.count = part.last;
        run_block(part);
    });
}

// Copies the upper triangle of a matrix to the lower one.
template <class T>
void mirror(T* values, std::int64_t size, int threads, Interrupt& interrupt) {
    constexpr std::int64_t chunk = 64;  // squares whose lines stay in cache
    parallel_for((size + chunk - 1) / chunk, threads, interrupt, [&](std::int64_t task) {
        const std::int64_t begin = task * chunk, end = std::min(size, begin + chunk);
        for (std::int64_t first = 0; first <= begin; first += chunk)
            for (std::int64_t j = begin; j < end; ++j) {
                const std::int64_t last = std::min(first + chunk, j);
                for (std::int64_t i = first; i < last; ++i)
                    values[j * size + i] = values[i * size + j];
            }
    });
}

template <class T>
void list_active_outputs(const T* coef, std::int64_t rows, std::int64_t outputs,
                         std::vector<std::int64_t>& start, std::vector<std::int32_t>& numbers) {
    std::vector<char> used(std::size_t(outputs), 0);
    start.push_back(0);
    for (std::int64_t first = 0; first < rows; first += ActiveOutputs::group_rows) {
        std::fill(used.begin(), used.end(), 0);
        const std::int64_t last = std::min(rows, first + ActiveOutputs::group_rows);
        for (std::int64_t i = first; i < last; ++i)
            for (std::int64_t o = 0; o < outputs; ++o)
                used[std::size_t(o)] |= char(coef[i * outputs + o] != 0);
        for (std::int64_t o = 0; o < outputs; ++o)
            if (used[std::size_t(o)]) numbers.push_back(std::int32_t(o));
        start.push_back(std::int64_t(numbers.size()));
    }
}

}  // namespace

const char* instruction_set() {
    static const char* names[] = {"baseline", "avx2", "avx512"};
    return names[int(chosen_instruction_set())];
}

template <class T>
void row_norms(const Rows<T>& rows, KernelKind kind, T* norms) {
    const bool absolute = kind == KernelKind::laplacian;
    auto term = [=](T v) { return absolute ? std::abs(double(v)) : double(v) * double(v); };
    std::int64_t k = 0;
    if (!rows.sparse())
        for (; k + 4 <= rows.count; k += 4) {  // four chains of additions hide their latency
            const T *a = rows.dense(k), *b = rows.dense(k + 1), *c = rows.dense(k + 2),
                    *d = rows.dense(k + 3);
            double sums[4] = {};
            for (std::int64_t f = 0; f < rows.features; ++f) {
                sums[0] += term(a[f]);
                sums[1] += term(b[f]);
                sums[2] += term(c[f]);
                sums[3] += term(d[f]);
            }
            for (int r = 0; r < 4; ++r) norms[k + r] = T(sums[r]);
        }
    for (; k < rows.count; ++k) {
        double sum = 0.0;
        rows.for_each_stored(k, [&](std::int64_t, T v) { sum += term(v); });
        norms[k] = T(sum);
    }
}

template <class T>
bool mark_common_features(const Rows<T>& rows, std::uint8_t* common) {
    // Measured with AVX2 and AVX-512: rows of text gain, those of categories, whose rare values
    // still have some per cent of the rows, lose.
    constexpr double common_share = 0.1, least_rare_share = 0.25, longest_mean_list = 0.04;
    if (!rows.sparse()) return false;
    std::vector<std::int64_t> rows_with(std::size_t(rows.features), 0);
    for (std::int64_t k = 0; k < rows.count; ++k)
        rows.for_each_stored(k, [&](std::int64_t f, T) { ++rows_with[std::size_t(f)]; });
    // `listed`: in how many other rows an entry of a rare feature finds it again.
    double stored = 0.0, rare = 0.0, listed = 0.0;
    for (std::int64_t f = 0; f < rows.features; ++f) {
        const auto count = double(rows_with[std::size_t(f)]);
        common[f] = count >= common_share * double(rows.count);
        stored += count;
        if (common[f]) continue;
        rare += count;
        listed += count * (count - 1);
    }
    return rare > 0 && rare >= least_rare_share * stored &&
           listed <= longest_mean_list * rare * double(rows.count - 1);
}

template <class T>
void kernel_diagonal(const Rows<T>& rows, const KernelSpec& spec, double* out) {
    for (std::int64_t k = 0; k < rows.count; ++k) {
        if (spec.kind == KernelKind::precomputed) {
            out[k] = double(rows.dense(k)[rows.source(k)]) + spec.constant;
            continue;
        }
        double square = 0.0;
        rows.for_each_stored(k, [&](std::int64_t, T v) { square += double(v) * double(v); });
        const double affine = spec.gamma * square + spec.coef0;
        double value = 1.0;  // rbf, laplacian
        if (spec.kind == KernelKind::linear) value = square;
        if (spec.kind == KernelKind::polynomial) value = std::pow(affine, spec.degree);
        if (spec.kind == KernelKind::sigmoid) value = std::tanh(affine);
        out[k] = value + spec.constant;
    }
}

template <class T>
void kernel_block(const Rows<T>& a, const Rows<T>& b, const KernelSpec& spec, T* const* out,
                  int threads, Interrupt& interrupt) {
    if (spec.kind == KernelKind::precomputed) {
        for (std::int64_t i = 0; i < a.count; ++i)
            for (std::int64_t j = 0; j < b.count; ++j)
                out[i][j] = a.dense(i)[b.source(j)] + T(spec.constant);
        return;
    }
    BlockTask<T> task;
    task.streamed = a;
    task.packed = b;
    task.spec = spec;
    task.out = out;
    run_tasks(task, threads, interrupt);
}

template <class T>
void kernel_matrix(const Rows<T>& rows, const KernelSpec& spec, T* out, int threads,
                   Interrupt& interrupt) {
    std::vector<T*> lines(static_cast<std::size_t>(rows.count));
    for (std::int64_t i = 0; i < rows.count; ++i) lines[std::size_t(i)] = out + i * rows.count;
    BlockTask<T> task;
    task.streamed = rows;
    task.packed = rows;
    task.spec = spec;
    task.out = lines.data();
    run_tasks(task, threads, interrupt, true);
    mirror(out, rows.count, threads, interrupt);
}

template <class T>
void kernel_product(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                    const T* coef, std::int64_t outputs, double* sums, int threads,
                    Interrupt& interrupt) {
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> numbers;
    if (outputs > 1) list_active_outputs(coef, basis.count, outputs, start, numbers);
    const ActiveOutputs active{start.data(), numbers.data()};
    BlockTask<T> task;
    task.streamed = basis;
    task.packed = queries;
    task.spec = spec;
    task.coef = coef;
    task.outputs = outputs;
    task.active = outputs > 1 ? &active : nullptr;
    task.sums = sums;
    run_tasks(task, threads, interrupt);
}

template <class T>
void nearest_group(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                   const double* coef, const std::int64_t* group_start, const double* offset,
                   std::int64_t groups, std::int64_t* best, double* score, int threads,
                   Interrupt& interrupt) {
    std::vector<std::int64_t> ended;
    for (std::int64_t i = 0, g = 0; i <= basis.count; ++i) {
        while (g < groups && group_start[g + 1] <= i) ++g;
        ended.push_back(g);
    }
    // Groups without rows that come before the first row.
    std::int64_t first = 0;
    double first_score = -std::numeric_limits<double>::infinity();
    for (std::int64_t g = 0; g < ended[0]; ++g)
        if (offset[g] > first_score) {
            first = g;
            first_score = offset[g];
        }
    constexpr int lanes = panel_lanes<T>;
    BlockTask<T> whole;
    whole.streamed = basis;
    whole.packed = queries;
    whole.spec = spec;
    const std::int64_t step = rows_per_task(whole);
    parallel_for((queries.count + step - 1) / step, threads, interrupt, [&](std::int64_t t) {
        BlockTask<T> task = whole;
        task.first = t * step;
        task.last = std::min(queries.count, task.first + step);
        task.interrupt = &interrupt;
        std::vector<PanelScores<T>> panels(
            std::size_t((task.last - task.first + lanes - 1) / lanes), {first, first_score});
        const GroupSearch<T> search{coef, offset, ended.data(), panels.data()};
        task.search = &search;
        run_block(task);
        for (std::int64_t j = task.first; j < task.last; ++j) {
            const PanelScores<T>& panel = panels[std::size_t((j - task.first) / lanes)];
            best[j] = panel.best[(j - task.first) % lanes];
            score[j] = panel.score[(j - task.first) % lanes];
        }
    });
}

template <class T>
void routed_product(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                    const T* coef, const std::int64_t* query_rows, const std::int64_t* query_start,
                    const std::int64_t* basis_start, std::int64_t groups, double* sums, int threads,
                    Interrupt& interrupt) {
    struct Part {
        std::int64_t group, first, last;
    };
    BlockTask<T> whole;
    whole.streamed = basis;
    whole.packed = queries;
    whole.spec = spec;
    const std::int64_t step = rows_per_task(whole);
    std::vector<Part> parts;
    for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t first = query_start[g]; first < query_start[g + 1]; first += step)
            parts.push_back({g, first, std::min(query_start[g + 1], first + step)});
    // The longest first, so that no thread is left alone with one at the end.
    auto pairs = [&](const Part& part) {
        return (part.last - part.first) * (basis_start[part.group + 1] - basis_start[part.group]);
    };
    std::stable_sort(parts.begin(), parts.end(),
                     [&](const Part& a, const Part& b) { return pairs(a) > pairs(b); });
    parallel_for(std::int64_t(parts.size()), threads, interrupt, [&](std::int64_t t) {
        const Part& part = parts[std::size_t(t)];
        std::vector<double> part_sums(std::size_t(part.last - part.first));
        BlockTask<T> task = whole;
        task.streamed = basis.slice(basis_start[part.group], basis_start[part.group + 1]);
        task.packed = queries.picked(query_rows + part.first, part.last - part.first);
        task.last = task.packed.count;
        task.coef = coef + basis_start[part.group];
        task.outputs = 1;
        task.sums = part_sums.data();
        task.interrupt = &interrupt;
        run_block(task);
        for (std::int64_t j = 0; j < task.last; ++j)
            sums[query_rows[part.first + j]] = part_sums[std::size_t(j)];
    });
}

template <class T>
std::int64_t near_product(const Rows<T>& queries, const GroupedRows& to, const Rows<T>& basis,
                          const GroupedRows& from, const NearGroups& near, const KernelSpec& spec,
                          const T* coef, std::int64_t outputs, double* sums, int threads,
                          Interrupt& interrupt) {
    const auto total = std::int64_t(to.rows.size());
    std::vector<double> constant(std::size_t(outputs), 0.0);
    if (spec.constant != 0.0)
        for (std::size_t i = 0; i < from.rows.size(); ++i)
            for (std::int64_t o = 0; o < outputs; ++o)
                constant[std::size_t(o)] += spec.constant * double(coef[i * outputs + o]);
    std::atomic<std::int64_t> entries{0};
    parallel_for(near.to().count(), threads, interrupt, [&](std::int64_t g) {
        const std::int64_t begin = to.start[g], count = to.start[g + 1] - begin;
        if (count == 0) return;
        std::vector<std::int64_t> rows;
        std::vector<T> weights;
        for (std::int64_t h = 0; h < near.from().count(); ++h) {
            const std::int64_t first = from.start[h], last = from.start[h + 1];
            if (first == last || !near.near(g, h)) continue;
            rows.insert(rows.end(), &from.rows[first], &from.rows[first] + (last - first));
            weights.insert(weights.end(), coef + first * outputs, coef + last * outputs);
        }
        std::vector<double> found(std::size_t(outputs * count), 0.0);
        BlockTask<T> task;
        task.streamed = basis.picked(rows.data(), std::int64_t(rows.size()));
        task.packed = queries.picked(&to.rows[begin], count);
        task.spec = spec;
        task.spec.constant = 0.0;
        task.last = count;
        task.coef = weights.data();
        task.outputs = outputs;
        task.sums = found.data();
        task.interrupt = &interrupt;
        if (!rows.empty()) run_block(task);
        entries += count * std::int64_t(rows.size());
        for (std::int64_t o = 0; o < outputs; ++o)
            for (std::int64_t k = 0; k < count; ++k)
                sums[o * total + begin + k] += found[o * count + k] + constant[o];
    });
    return entries;
}

template <class T>
void add_scaled_rows(const T* const* rows, const double* coef, std::int64_t count,
                     std::int64_t begin, std::int64_t end, double* sums) {
    add_rows_to<T>(rows, coef, count, begin, end, sums);
}

#define WM_INSTANTIATE(T)                                                                          \
    template void row_norms<T>(const Rows<T>&, KernelKind, T*);                                    \
    template bool mark_common_features<T>(const Rows<T>&, std::uint8_t*);                          \
    template void kernel_diagonal<T>(const Rows<T>&, const KernelSpec&, double*);                  \
    template void kernel_block<T>(const Rows<T>&, const Rows<T>&, const KernelSpec&, T* const*,    \
                                  int, Interrupt&);                                                \
    template void kernel_matrix<T>(const Rows<T>&, const KernelSpec&, T*, int, Interrupt&);        \
    template void kernel_product<T>(const Rows<T>&, const Rows<T>&, const KernelSpec&, const T*,   \
                                    std::int64_t, double*, int, Interrupt&);                       \
    template void nearest_group<T>(const Rows<T>&, const Rows<T>&, const KernelSpec&,              \
                                   const double*, const std::int64_t*, const double*,              \
                                   std::int64_t, std::int64_t*, double*, int, Interrupt&);         \
    template void routed_product<T>(const Rows<T>&, const Rows<T>&, const KernelSpec&, const T*,   \
                                    const std::int64_t*, const std::int64_t*, const std::int64_t*, \
                                    std::int64_t, double*, int, Interrupt&);                       \
    template std::int64_t near_product<T>(                                                         \
        const Rows<T>&, const GroupedRows&, const Rows<T>&, const GroupedRows&, const NearGroups&, \
        const KernelSpec&, const T*, std::int64_t, double*, int, Interrupt&);                      \
    template void add_scaled_rows<T>(const T* const*, const double*, std::int64_t, std::int64_t,   \
                                     std::int64_t, double*);
WM_INSTANTIATE(float)
WM_INSTANTIATE(double)

}  // namespace widemargin
