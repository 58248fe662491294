#include "linear/sgd.hpp"

#include <algorithm>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "linear/iterates.hpp"

namespace widemargin {
namespace {

template <class T>
struct SgdTask {
    const LinearProblem<T>& problem;
    const std::int64_t* order;
    const SgdSchedule& schedule;
    double* dual;
    Iterates iterates;
    double square;  // |w|^2, kept up to date where w has to stay within a radius
    Interrupt& interrupt;

    bool within() const { return std::isfinite(schedule.radius); }
};

template <class T, int Bytes>
WM_INLINE void add_row(SgdTask<T>& task, std::int64_t i, double step) {
    const LinearProblem<T>& problem = task.problem;
    if (task.within()) {
        double own = problem.constant * problem.constant;
        problem.rows.for_each_stored(
            i, [&](std::int64_t, T value) { own += double(value) * double(value); });
        task.square +=
            step * (2.0 * task.iterates.template product<T, Bytes>(problem, i) + step * own);
    }
    task.iterates.template add<T, Bytes>(problem, i, step);
}

template <class T>
void project(SgdTask<T>& task) {
    const double radius = task.schedule.radius;
    if (!task.within() || task.square <= radius * radius) return;
    task.iterates.shrink(radius / std::sqrt(task.square));
    task.square = radius * radius;
}

template <class T, int Bytes>
WM_INLINE void descend_once(SgdTask<T>& task) {
    const LinearProblem<T>& problem = task.problem;
    const std::int64_t n = problem.rows.count, batch = task.schedule.batch;
    double t = task.schedule.first;
    for (std::int64_t begin = 0; begin < n; begin += batch, t += 1.0) {
        if ((begin / batch & 1023) == 0 && task.interrupt.stop()) break;
        const std::int64_t end = std::min(n, begin + batch);
        for (std::int64_t k = begin; k < end; ++k) {
            if (k + 4 < n) fetch_soon(problem.rows, task.order[k + 4]);
            const std::int64_t i = task.order[k];
            const double m =
                problem.margin(i, task.iterates.template product<T, Bytes>(problem, i));
            task.dual[i] = problem.loss.implied_dual(problem.row(i), m);
        }
        const double step = 1.0 / (task.schedule.offset + t);
        task.iterates.shrink(1.0 - step);
        task.square *= (1.0 - step) * (1.0 - step);
        const double share = double(n) / double(end - begin);
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t i = task.order[k];
            if (task.dual[i] != 0.0)
                add_row<T, Bytes>(task, i, step * share * task.dual[i] * double(problem.label[i]));
        }
        project(task);
        task.iterates.count();
    }
    task.iterates.finish();
}

WM_VERSIONS(sgd_version, descend_once, (SgdTask<T> & task), (task))

}  // namespace

template <class T>
void sgd_steps(const LinearProblem<T>& problem, const std::int64_t* order,
               const SgdSchedule& schedule, double* dual, double* w, double* sum,
               Interrupt& interrupt) {
    double square = 0.0;
    for (std::int64_t f = 0; f < problem.size(); ++f) square += w[f] * w[f];
    SgdTask<T> task{problem, order,    schedule, dual, {w, nullptr, sum, problem.size()},
                    square,  interrupt};
    sgd_version<T>(task);
}

template void sgd_steps(const LinearProblem<float>&, const std::int64_t*, const SgdSchedule&,
                        double*, double*, double*, Interrupt&);
template void sgd_steps(const LinearProblem<double>&, const std::int64_t*, const SgdSchedule&,
                        double*, double*, double*, Interrupt&);

}  // namespace widemargin
