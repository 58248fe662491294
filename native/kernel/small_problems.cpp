#include "kernel/small_problems.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <vector>

#include "core/coordinate.hpp"
#include "core/large_block.hpp"
#include "core/parallel.hpp"
#include "kernel/block_solver.hpp"
#include "kernel/kernel_evaluation.hpp"
#include "kernel/working_set.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

// A descent aims a little below the gap that is asked for, but takes off no more than this at a
// time: the primal will have fallen by then.
constexpr double safety = 0.9, reduction = 0.1;
// The coordinates of a problem that is one working set are descended until the violation of the
// worst is this fraction of what it was, in at most so many steps for each row, before the gap is
// looked at again.
constexpr double inner_reduction = 1e-2;
constexpr Index inner_steps = 10;
// A margin this close to where it should be, relative to the largest, is off by rounding only.
constexpr double rounding = 1e-13;

// Kernel matrices of the rows of single classes, which all pairs of a class share.
class ClassMatrices {
public:
    ClassMatrices(const SmallProblems& problems, int threads, Interrupt& interrupt) {
        if (problems.kernel) return;
        Index total = 0;
        for (Index i = 0; i < problems.rows; ++i)
            if (i == 0 || problems.code[i] != problems.code[i - 1]) first_.push_back(i);
        std::vector<Index> place;
        for (std::size_t k = 0; k < first_.size(); ++k) {
            const Index end = k + 1 < first_.size() ? first_[k + 1] : problems.rows;
            place.push_back(total);
            total += (end - first_[k]) * (end - first_[k]);
        }
        values_ = large_block<double>(std::size_t(total));
        for (Index at : place) matrices_.push_back(values_.get() + at);
        parallel_for(Index(first_.size()), threads, interrupt, [&](Index k) {
            const Index end = k + 1 < Index(first_.size()) ? first_[k + 1] : problems.rows;
            kernel_matrix(problems.points->slice(first_[k], end), *problems.spec, matrices_[k], 1,
                          interrupt);
        });
    }

    // Of the class whose rows begin with this one.
    const double* beginning_with(Index row) const {
        const auto place = std::lower_bound(first_.begin(), first_.end(), row);
        return matrices_[std::size_t(place - first_.begin())];
    }

private:
    std::vector<Index> first_;  // row of each class
    std::vector<double*> matrices_;
    Block<double> values_;
};

// Solves problem after problem, with the same memory.
class SmallSolver {
public:
    SmallSolver(const SmallProblems& problems, const ClassMatrices& of_classes,
                const SmallLimits& limits, const std::vector<std::uint32_t>& tie_breaker,
                Interrupt& interrupt)
        : problems_(problems), of_classes_(of_classes), loss_(problems.loss), limits_(limits),
          tie_breaker_(tie_breaker), interrupt_(interrupt) {}

    SmallResult solve(Index problem, double* coef) {
        choose_rows(problem);
        take_matrix();
        const SmallResult result =
            descend({problems_.below, problems_.above, problems_.bound, problems_.floor}, coef);
        std::fill(coef, coef + problems_.rows, 0.0);
        for (const Coordinate& c : block_) coef[c.row] = c.label * c.dual;
        return result;
    }

    void decide(Index problem, const SmallFolds& folds, const double* coef, double* decisions,
                SmallResult* results) {
        choose_rows(problem);
        take_matrix();
        for (Index f = 0; f < folds.count; ++f) {
            const Index begin = f * problems_.rows;
            results[f] = descend({folds.below + begin, folds.above + begin, folds.bound + begin,
                                  folds.floor + begin},
                                 coef);
            for (const Coordinate& c : block_)
                if (folds.out[c.row] == f)
                    decisions[c.row * problems_.count + problem] = c.label * c.margin;
        }
    }

private:
    struct Terms {
        const double *below, *above, *bound, *floor;  // per row of the training set
    };

    // Rows that follow each other in the training set and in the problem; of one class, where there
    // is no matrix of all rows.
    struct Run {
        Index place, row, length;  // the first in the problem and in the training set
    };

    // The rows that take part.
    void choose_rows(Index problem) {
        const SmallProblems& all = problems_;
        const Index positive = all.positive[problem], negative = all.negative[problem];
        block_.clear();
        runs_.clear();
        labels_.clear();
        for (Index i = 0; i < all.rows; ++i) {
            const bool up = all.code[i] == positive;
            if (!up && negative != SmallProblems::rest && all.code[i] != negative) continue;
            const double label = up ? 1.0 : -1.0;
            const Index place = Index(labels_.size());
            const bool follows = !runs_.empty() && runs_.back().row + runs_.back().length == i;
            const bool apart = !all.kernel && i > 0 && all.code[i] != all.code[i - 1];
            if (!follows || apart) runs_.push_back({place, i, 0});
            ++runs_.back().length;
            labels_.push_back(label);
            block_.push_back({0.0, 0.0, all.diagonal[i], label, {}, i});
        }
    }

    bool whole() const { return Index(block_.size()) <= limits_.whole_set; }

    void take_matrix() {
        if (!problems_.kernel) evaluate_pair();
        if (whole())
            copy_set();
        else if (problems_.kernel)
            find_lines();
    }

    // From the coefficients of all rows, the duals moved into the losses' domain.
    SmallResult descend(const Terms& terms, const double* coef) {
        for (Coordinate& c : block_) {
            c.loss = {terms.below[c.row], terms.above[c.row], terms.bound[c.row],
                      terms.floor[c.row]};
            c.dual = std::fmin(std::fmax(c.label * coef[c.row], c.loss.floor), c.loss.bound);
            c.margin = 0.0;
        }
        SmallResult result;
        result.rows = Index(block_.size());
        if (whole())
            descend_whole(result);
        else
            descend_by_sets(result);
        return result;
    }

    const double* shared_line(const Coordinate& c) const {
        return problems_.kernel + c.row * problems_.rows;
    }

    void copy_set() {
        const Index n = Index(block_.size());
        set_.resize(n);
        for (Index i = 0; i < n; ++i) {
            const Coordinate& c = block_[i];
            const double* line = problems_.kernel ? shared_line(c) : lines_[std::size_t(i)];
            double* q = &set_.block[i * set_.padded];
            for (const Run& run : runs_) {
                const double* values = line + (problems_.kernel ? run.row : run.place);
                for (Index j = 0; j < run.length; ++j)
                    q[run.place + j] = c.label * labels_[run.place + j] * values[j];
            }
            q[i] = c.diagonal;
        }
    }

    // One working set of all rows.
    void descend_whole(SmallResult& result) {
        const Index n = result.rows;
        for (Index i = 0; i < n; ++i) {
            const Coordinate& c = block_[i];
            set_.set(i, c.dual, c.margin, c.diagonal, c.loss);
        }
        compute_set_margins();
        for (bool fresh = true;; fresh = false) {
            result.solved = small_gap(result) && (!limits_.last_digits || settled());
            if (result.solved && (fresh || !limits_.last_digits)) return;
            if (result.solved) {  // by margins that were kept up to date: check it by exact ones
                compute_set_margins();
                fresh = small_gap(result) && settled();
                if (fresh) return;
            }
            if (result.sets >= limits_.sets || interrupt_.stop()) return;
            descend_greedily(set_, loss_, inner_reduction, inner_steps * n);
            ++result.sets;
            take_set();
        }
    }

    void compute_set_margins() {
        std::fill(set_.margin.begin(), set_.margin.end(), 0.0);
        lines_.clear();
        coef_.clear();
        for (Index i = 0; i < set_.rows; ++i) {
            if (set_.dual[i] == 0.0) continue;
            lines_.push_back(&set_.block[i * set_.padded]);
            coef_.push_back(set_.dual[i]);
        }
        if (!coef_.empty())
            add_scaled_rows(lines_.data(), coef_.data(), Index(coef_.size()), 0, set_.rows,
                            set_.margin.data());
        take_set();
    }

    void take_set() {
        for (Index i = 0; i < set_.rows; ++i) {
            block_[i].dual = set_.dual[i];
            block_[i].margin = set_.margin[i];
        }
    }

    // Working sets of some rows.
    void descend_by_sets(SmallResult& result) {
        compute_margins();
        while (!(result.solved = small_gap(result))) {
            if (result.sets >= limits_.sets || interrupt_.stop()) return;
            const double gap = result.primal - result.dual;
            const double target = safety * limits_.relative_gap * result.primal;
            const BlockLimits limits{std::fmax(target, reduction * gap), limits_.sets - result.sets,
                                     limits_.working_set, 1};
            const Index taken =
                solve_block(block_, lines_.data(), loss_, limits, tie_breaker_, interrupt_);
            result.sets += taken;
            if (taken == 0) return;  // rounding has the last word
        }
    }

    void reserve(std::size_t values) {
        if (capacity_ >= values) return;
        values_.reset();
        values_ = large_block<double>(values);
        capacity_ = values;
    }

    // The matrix of two classes, from those of each.
    void evaluate_pair() {
        const Index n = Index(block_.size());
        reserve(std::size_t(n * n));
        lines_.resize(std::size_t(n));
        std::vector<double*> beside;
        for (Index i = 0; i < n; ++i) lines_[std::size_t(i)] = &values_[i * n];
        for (const Run& run : runs_) {
            const double* own = of_classes_.beginning_with(run.row);
            for (Index i = 0; i < run.length; ++i)
                std::copy_n(own + i * run.length, run.length,
                            &values_[(run.place + i) * n + run.place]);
        }
        if (runs_.size() < 2) return;
        const Run &first = runs_[0], &second = runs_[1];
        for (Index i = 0; i < first.length; ++i) beside.push_back(&values_[i * n + second.place]);
        kernel_block(problems_.points->slice(first.row, first.row + first.length),
                     problems_.points->slice(second.row, second.row + second.length),
                     *problems_.spec, beside.data(), 1, interrupt_);
        constexpr Index chunk = 64;  // squares whose lines stay in cache
        for (Index i0 = 0; i0 < first.length; i0 += chunk)
            for (Index j = 0; j < second.length; ++j) {
                double* out = &values_[(second.place + j) * n];
                for (Index i = i0; i < std::min(i0 + chunk, first.length); ++i)
                    out[i] = beside[std::size_t(i)][j];
            }
    }

    // Where the kernel values of the problem's rows are: in the shared matrix, or copied out of it.
    void find_lines() {
        const std::size_t n = block_.size();
        const bool all = Index(n) == problems_.rows;
        lines_.resize(n);
        if (!all) reserve(n * n);
        for (std::size_t i = 0; i < n; ++i) {
            lines_[i] = shared_line(block_[i]);
            if (all) continue;
            double* own = &values_[i * n];
            for (const Run& run : runs_)
                std::copy_n(lines_[i] + run.row, run.length, own + run.place);
            lines_[i] = own;
        }
    }

    void compute_margins() {
        std::vector<const double*> lines;
        coef_.clear();
        for (std::size_t i = 0; i < block_.size(); ++i) {
            if (block_[i].dual == 0.0) continue;
            lines.push_back(lines_[i]);
            coef_.push_back(block_[i].label * block_[i].dual);
        }
        if (coef_.empty()) return;
        std::vector<double> sums(block_.size(), 0.0);
        add_scaled_rows(lines.data(), coef_.data(), Index(coef_.size()), 0, Index(block_.size()),
                        sums.data());
        for (std::size_t i = 0; i < block_.size(); ++i)
            block_[i].margin = block_[i].label * sums[i];
    }

    // Measures primal and dual; whether they are as close as is asked for.
    bool small_gap(SmallResult& result) const {
        double quadratic = 0.0, phi = 0.0, losses = 0.0;
        for (const Coordinate& c : block_) {
            quadratic += c.dual * c.margin;
            phi += loss_.phi(c.loss, c.dual);
            losses += loss_.primal(c.loss, c.margin);
        }
        result.primal = 0.5 * quadratic + losses;
        result.dual = -(0.5 * quadratic + phi);
        return result.primal - result.dual <= limits_.relative_gap * result.primal;
    }

    // Whether no margin is off by more than rounding.
    bool settled() const {
        double worst = 0.0, largest = 1.0;
        for (const Coordinate& c : block_) {
            worst = std::fmax(worst, margin_violation(loss_, c));
            largest = std::fmax(largest, std::fabs(c.margin));
        }
        return worst <= rounding * largest;
    }

    const SmallProblems& problems_;
    const ClassMatrices& of_classes_;
    const Loss& loss_;
    const SmallLimits& limits_;
    const std::vector<std::uint32_t>& tie_breaker_;  // by row
    Interrupt& interrupt_;
    // Invariant between descents: margin = label * (sum_j label_j g_j k_ij) over the problem's
    // rows.
    std::vector<Coordinate> block_;
    std::vector<Run> runs_;             // block_[k].row: few, if the rows are sorted by class,
    std::vector<double> labels_;        // and block_[k].label, side by side
    WorkingSet set_{0};                 // all of the block, if that is small
    std::vector<const double*> lines_;  // of the problem's kernel matrix
    std::vector<double> coef_;
    Block<double> values_;  // what was copied of it
    std::size_t capacity_ = 0;
};

}  // namespace

// Calls `work(solver, p)` for every problem p, on all threads.
template <class Work>
static void for_each_problem(const SmallProblems& problems, const SmallLimits& limits,
                             Interrupt& interrupt, const Work& work) {
    std::mt19937_64 random(limits.seed);
    std::vector<std::uint32_t> tie_breaker(static_cast<std::size_t>(problems.rows));
    for (auto& t : tie_breaker) t = std::uint32_t(random());
    const ClassMatrices of_classes(problems, limits.threads, interrupt);
    std::atomic<Index> next{0};
    // As many tasks as threads, so that each keeps its memory from problem to problem.
    const Index workers = std::min<Index>(limits.threads, problems.count);
    parallel_for(workers, limits.threads, interrupt, [&](Index) {
        SmallSolver solver(problems, of_classes, limits, tie_breaker, interrupt);
        for (Index p; (p = next.fetch_add(1)) < problems.count && !interrupt.stop();)
            work(solver, p);
    });
}

void solve_small_problems(const SmallProblems& problems, const SmallLimits& limits, double* coef,
                          SmallResult* results, Interrupt& interrupt) {
    for_each_problem(problems, limits, interrupt, [&](SmallSolver& solver, Index p) {
        results[p] = solver.solve(p, coef + p * problems.rows);
    });
}

void decide_small_folds(const SmallProblems& problems, const SmallFolds& folds,
                        const SmallLimits& limits, const double* coef, double* decisions,
                        SmallResult* results, Interrupt& interrupt) {
    for_each_problem(problems, limits, interrupt, [&](SmallSolver& solver, Index p) {
        solver.decide(p, folds, coef + p * problems.rows, decisions, results + p * folds.count);
    });
}

}  // namespace widemargin
