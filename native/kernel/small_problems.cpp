#include "kernel/small_problems.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "core/coordinate.hpp"
#include "core/parallel.hpp"
#include "kernel/block_solver.hpp"
#include "kernel/kernel_evaluation.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

// A descent aims a little below the gap that is asked for, but takes off no more than this at a
// time: the primal will have fallen by then.
constexpr double safety = 0.9, reduction = 0.1;

// Solves problem after problem, with the same memory.
class SmallSolver {
public:
    SmallSolver(const SmallProblems& problems, const SmallLimits& limits,
                const std::vector<std::uint32_t>& tie_breaker, Interrupt& interrupt)
        : problems_(problems), limits_(limits), tie_breaker_(tie_breaker), interrupt_(interrupt) {}

    SmallResult solve(Index problem, double* coef) {
        choose_rows(problem, coef);
        find_lines();
        compute_margins();
        SmallResult result;
        result.rows = Index(block_.size());
        const Index set = result.rows <= limits_.whole_set ? result.rows : limits_.working_set;
        for (measure(result); !good_enough(result); measure(result)) {
            const double gap = result.primal - result.dual;
            const double target = safety * limits_.relative_gap * result.primal;
            const Index taken = solve_block(
                block_, lines_.data(), problems_.loss,
                {std::fmax(target, reduction * gap), limits_.sets - result.sets, set, 1},
                tie_breaker_, interrupt_);
            result.sets += taken;
            if (taken == 0) break;  // rounding has the last word, or an interrupt
        }
        std::fill(coef, coef + problems_.rows, 0.0);
        for (const Coordinate& c : block_) coef[c.row] = c.label * c.dual;
        return result;
    }

private:
    // The rows that take part, with their duals moved into the loss's domain.
    void choose_rows(Index problem, const double* coef) {
        const SmallProblems& all = problems_;
        const Index positive = all.positive[problem], negative = all.negative[problem];
        const double lowest = std::isfinite(all.loss.b) ? -HUGE_VAL : 0.0;
        block_.clear();
        for (Index i = 0; i < all.rows; ++i) {
            const bool up = all.code[i] == positive;
            if (!up && negative != SmallProblems::rest && all.code[i] != negative) continue;
            const double label = up ? 1.0 : -1.0;
            const double dual = std::fmin(std::fmax(label * coef[i], lowest), all.bound[i]);
            block_.push_back({dual,
                              0.0,
                              all.diagonal[i],
                              label,
                              {all.below[i], all.above[i], all.bound[i]},
                              i});
        }
    }

    // Where the kernel values of the problem's rows are: in the shared matrix, or copied out of it.
    void find_lines() {
        const std::size_t n = block_.size(), all = std::size_t(problems_.rows);
        lines_.resize(n);
        if (n < all && capacity_ < n * n) {
            values_.reset(new double[n * n]);
            capacity_ = n * n;
        }
        for (std::size_t i = 0; i < n; ++i) {
            const double* shared = problems_.kernel + std::size_t(block_[i].row) * all;
            lines_[i] = shared;
            if (n == all) continue;
            double* own = &values_[i * n];
            for (std::size_t j = 0; j < n; ++j) own[j] = shared[block_[j].row];
            lines_[i] = own;
        }
    }

    void compute_margins() {
        std::vector<const double*> lines;
        std::vector<double> coef;
        for (std::size_t i = 0; i < block_.size(); ++i) {
            if (block_[i].dual == 0.0) continue;
            lines.push_back(lines_[i]);
            coef.push_back(block_[i].label * block_[i].dual);
        }
        if (coef.empty()) return;
        std::vector<double> sums(block_.size(), 0.0);
        add_scaled_rows(lines.data(), coef.data(), Index(coef.size()), 0, Index(block_.size()),
                        sums.data());
        for (std::size_t i = 0; i < block_.size(); ++i)
            block_[i].margin = block_[i].label * sums[i];
    }

    void measure(SmallResult& result) const {
        double quadratic = 0.0, phi = 0.0, losses = 0.0;
        for (const Coordinate& c : block_) {
            quadratic += c.dual * c.margin;
            phi += problems_.loss.phi(c.loss, c.dual);
            losses += problems_.loss.primal(c.loss, c.margin);
        }
        result.primal = 0.5 * quadratic + losses;
        result.dual = -(0.5 * quadratic + phi);
    }

    bool good_enough(const SmallResult& result) const {
        const double gap = result.primal - result.dual;
        // Overflow makes no comparison true, and ends the descent, too.
        const bool apart = gap > limits_.relative_gap * result.primal;
        return !apart || result.sets >= limits_.sets || interrupt_.stop();
    }

    const SmallProblems& problems_;
    const SmallLimits& limits_;
    const std::vector<std::uint32_t>& tie_breaker_;  // by row
    Interrupt& interrupt_;
    // Invariant between descents: margin = label * (sum_j label_j g_j k_ij) over the problem's rows.
    std::vector<Coordinate> block_;
    std::vector<const double*> lines_;  // of the problem's kernel matrix
    std::unique_ptr<double[]> values_;  // what was copied of it
    std::size_t capacity_ = 0;
};

}  // namespace

void solve_small_problems(const SmallProblems& problems, const SmallLimits& limits, double* coef,
                          SmallResult* results, Interrupt& interrupt) {
    std::mt19937_64 random(limits.seed);
    std::vector<std::uint32_t> tie_breaker(static_cast<std::size_t>(problems.rows));
    for (auto& t : tie_breaker) t = std::uint32_t(random());
    std::atomic<Index> next{0};
    // As many tasks as threads, so that each keeps its memory from problem to problem.
    const Index workers = std::min<Index>(limits.threads, problems.count);
    parallel_for(workers, limits.threads, interrupt, [&](Index) {
        SmallSolver solver(problems, limits, tie_breaker, interrupt);
        for (Index p; (p = next.fetch_add(1)) < problems.count && !interrupt.stop();)
            results[p] = solver.solve(p, coef + p * problems.rows);
    });
}

}  // namespace widemargin
