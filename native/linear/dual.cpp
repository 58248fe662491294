#include "linear/dual.hpp"

#include <cmath>
#include <utility>

#include "core/coordinate.hpp"
#include "core/instruction_sets.hpp"
#include "core/random_numbers.hpp"

namespace widemargin {
namespace {

template <class T>
struct EpochTask {
    const LinearProblem<T>& problem;
    const double* squares;
    double slack;
    std::int64_t* order;
    std::int64_t active;
    double *dual, *w;
    Interrupt& interrupt;
    EpochResult result{};
};

// What is kept of a row beside its values.
template <class T>
WM_INLINE void fetch_numbers(const EpochTask<T>& task, std::int64_t i) {
    __builtin_prefetch(task.dual + i);
    __builtin_prefetch(task.squares + i);
    __builtin_prefetch(task.problem.label + i);
    if (task.problem.target) __builtin_prefetch(task.problem.target + i);
    if (task.problem.rows.sparse()) __builtin_prefetch(task.problem.rows.row_start + i);
}

template <class T, int Bytes>
WM_INLINE void visit_all(EpochTask<T>& task) {
    const LinearProblem<T>& problem = task.problem;
    EpochResult& result = task.result;
    std::int64_t active = task.active;
    for (std::int64_t k = 0; k < active; ++k) {
        if ((k & 1023) == 0 && task.interrupt.stop()) break;
        const std::int64_t i = task.order[k];
        if (k + 8 < active) fetch_numbers(task, task.order[k + 8]);
        if (k + 4 < active) fetch_soon(problem.rows, task.order[k + 4]);
        const double label = double(problem.label[i]);
        const double margin = problem.margin(i, dot<T, Bytes>(problem, i, task.w));
        const Coordinate c{task.dual[i], margin, task.squares[i], label, problem.row(i), i};
        const double violation = margin_violation(problem.loss, c);
        result.violation = std::fmax(result.violation, violation);
        result.gap += gap_share(problem.loss, c);
        if (violation == 0.0 && settled(problem.loss, c, task.slack)) {
            std::swap(task.order[k--], task.order[--active]);
            continue;
        }
        const double step = wish_of(problem.loss, c).step;
        if (step == 0.0) continue;
        result.gain += problem.loss.phi(c.loss, c.dual) - problem.loss.phi(c.loss, c.dual + step) -
                       step * (margin + 0.5 * step * c.diagonal);
        task.dual[i] += step;
        add_to<T, Bytes>(problem, i, label * step, task.w);
    }
    result.active = active;
}

WM_VERSIONS(visit_version, visit_all, (EpochTask<T> & task), (task))

}  // namespace

template <class T>
EpochResult dual_epoch(const LinearProblem<T>& problem, const double* squares, double slack,
                       std::uint64_t seed, std::int64_t* order, std::int64_t active, double* dual,
                       double* w, Interrupt& interrupt) {
    RandomNumbers random(seed);
    for (std::int64_t k = active - 1; k > 0; --k) std::swap(order[k], order[random.below(k + 1)]);
    EpochTask<T> task{problem, squares, slack, order, active, dual, w, interrupt};
    visit_version<T>(task);
    return task.result;
}

template EpochResult dual_epoch(const LinearProblem<float>&, const double*, double, std::uint64_t,
                                std::int64_t*, std::int64_t, double*, double*, Interrupt&);
template EpochResult dual_epoch(const LinearProblem<double>&, const double*, double, std::uint64_t,
                                std::int64_t*, std::int64_t, double*, double*, Interrupt&);

}  // namespace widemargin
