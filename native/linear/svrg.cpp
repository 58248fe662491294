#include "linear/svrg.hpp"

#include <random>
#include <utility>

#include "core/instruction_sets.hpp"
#include "linear/iterates.hpp"

namespace widemargin {
namespace {

template <class T>
struct StepsTask {
    const LinearProblem<T>& problem;
    const std::int64_t* order;
    std::int64_t count;
    const StageStart& start;
    std::int64_t from;
    Iterates iterates;
    Interrupt& interrupt;
};

template <class T>
WM_INLINE void fetch_soon(const StepsTask<T>& task, std::int64_t k) {
    if (k >= task.count) return;
    const std::int64_t i = task.order[k];
    fetch_soon(task.problem.rows, i);
    __builtin_prefetch(task.start.smoothness + i);
    __builtin_prefetch(task.start.dual + i);
}

template <class T, int Bytes>
WM_INLINE void step_through(StepsTask<T>& task) {
    const LinearProblem<T>& problem = task.problem;
    const StageStart& start = task.start;
    Iterates& w = task.iterates;
    for (std::int64_t k = 0; k < task.count; ++k) {
        if ((k & 1023) == 0 && task.interrupt.stop()) break;
        fetch_soon(task, k + 4);
        const std::int64_t i = task.order[k];
        const double label = double(problem.label[i]);
        const double m = problem.margin(i, w.template product<T, Bytes>(problem, i));
        const double change = problem.loss.implied_dual(problem.row(i), m) - start.dual[i];
        w.shrink(1.0 - start.step);
        if (change != 0.0) {
            const double per_share = start.total / start.smoothness[i];
            w.template add<T, Bytes>(problem, i, start.step * per_share * change * label);
        }
        if (k >= task.from) w.count();
    }
    w.finish();
}

WM_VERSIONS(steps_version, step_through, (StepsTask<T> & task), (task))

}  // namespace

void draw_rows(const double* share, std::int64_t rows, std::int64_t count, std::uint64_t seed,
               std::int64_t* order) {
    std::mt19937_64 random(seed);
    double sum = 0.0;
    for (std::int64_t i = 0; i < rows; ++i) sum += share[i];
    const double offset = double(random() >> 11) * 0x1p-53;  // in [0, 1)
    double reached = 0.0;
    std::int64_t drawn = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        reached += share[i];
        const double until = reached / sum * double(count) - offset;
        while (drawn < count && double(drawn) < until) order[drawn++] = i;
    }
    // Rounding may leave the last one out.
    for (; drawn < count; ++drawn) order[drawn] = drawn > 0 ? order[drawn - 1] : rows - 1;
    for (std::int64_t k = count - 1; k > 0; --k)
        std::swap(order[k], order[std::int64_t(random() % std::uint64_t(k + 1))]);
}

template <class T>
void svrg_steps(const LinearProblem<T>& problem, const std::int64_t* order, std::int64_t count,
                const StageStart& start, std::int64_t from, double* w, double* sum,
                Interrupt& interrupt) {
    StepsTask<T> task{problem,  order, count, start, from, {w, start.v, sum, problem.size()},
                      interrupt};
    steps_version<T>(task);
}

template void svrg_steps(const LinearProblem<float>&, const std::int64_t*, std::int64_t,
                         const StageStart&, std::int64_t, double*, double*, Interrupt&);
template void svrg_steps(const LinearProblem<double>&, const std::int64_t*, std::int64_t,
                         const StageStart&, std::int64_t, double*, double*, Interrupt&);

}  // namespace widemargin
