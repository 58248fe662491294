#include "linear/model_scores.hpp"

#include <algorithm>
#include <vector>

#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"

namespace widemargin {
namespace {

constexpr std::int64_t block = 16;  // models that share a pass

template <class T>
struct ScoreTask {
    const LinearProblem<T>& problem;
    const double* models;  // feature by feature, `block` models each
    double loss[block] = {}, right[block] = {};
    Interrupt& interrupt;
};

template <class T, int Bytes>
WM_INLINE void score_block(ScoreTask<T>& task) {
    using Wide = typename Simd<double, Bytes>::Vector;
    constexpr std::int64_t lanes = Simd<double, Bytes>::lanes, vectors = block / lanes;
    const LinearProblem<T>& problem = task.problem;
    for (std::int64_t i = 0; i < problem.rows.count; ++i) {
        if ((i & 1023) == 0 && task.interrupt.stop()) return;
        Wide sum[vectors] = {};
        auto add = [&](std::int64_t f, double value) {
            const double* weights = task.models + f * block;
            for (std::int64_t v = 0; v < vectors; ++v)
                sum[v] += value * load<Wide>(weights + v * lanes);
        };
        problem.rows.for_each_stored(i, [&](std::int64_t f, T value) { add(f, double(value)); });
        if (problem.constant != 0.0) add(problem.rows.features, problem.constant);
        const LossRow row = problem.row(i);
        const double label = double(problem.label[i]), weight = problem.weight_of(i);
        for (std::int64_t m = 0; m < block; ++m) {
            const double decision = sum[m / lanes][m % lanes];
            task.loss[m] += problem.loss.primal(row, label * decision);
            if ((decision > 0.0) == (label > 0.0)) task.right[m] += weight;
        }
    }
}
WM_VERSIONS(score_version, score_block, (ScoreTask<T> & task), (task))

}  // namespace

template <class T>
void score_models(const LinearProblem<T>& problem, const double* models, std::int64_t count,
                  double* loss, double* right, int threads, Interrupt& interrupt) {
    const std::int64_t size = problem.size();
    parallel_for((count + block - 1) / block, threads, interrupt, [&](std::int64_t b) {
        const std::int64_t first = b * block, here = std::min(block, count - first);
        std::vector<double> turned(std::size_t(size * block), 0.0);
        for (std::int64_t m = 0; m < here; ++m)
            for (std::int64_t f = 0; f < size; ++f)
                turned[std::size_t(f * block + m)] = models[(first + m) * size + f];
        ScoreTask<T> task{problem, turned.data(), {}, {}, interrupt};
        score_version<T>(task);
        std::copy_n(task.loss, here, loss + first);
        std::copy_n(task.right, here, right + first);
    });
}

template void score_models(const LinearProblem<float>&, const double*, std::int64_t, double*,
                           double*, int, Interrupt&);
template void score_models(const LinearProblem<double>&, const double*, std::int64_t, double*,
                           double*, int, Interrupt&);

}  // namespace widemargin
