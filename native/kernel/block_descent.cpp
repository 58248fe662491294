#include "kernel/block_descent.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "core/coordinate.hpp"
#include "kernel/block_solver.hpp"
#include "kernel/kernel_source.hpp"
#include "kernel/selection.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

template <class T>
std::unique_ptr<KernelSource<T>> source_for(const DescentProblem<T>& problem,
                                            const DescentOptions& options) {
    if (options.cache_bytes > 0)
        return std::make_unique<CachedKernel<T>>(problem.rows, problem.spec, options.threads,
                                                 options.cache_bytes);
    return std::make_unique<EvaluatedKernel<T>>(problem.rows, problem.spec, options.threads,
                                                problem.near);
}

template <class T>
class Descent {
public:
    Descent(const DescentProblem<T>& problem, const DescentOptions& options, double* net_dual,
            double* margin, Interrupt& interrupt)
        : problem_(problem), loss_(problem.loss), options_(options), interrupt_(interrupt),
          out_dual_(net_dual), out_margin_(margin), kernel_(source_for(problem, options)),
          selection_(tie_breaker_) {
        const Index n = problem.rows.count;
        active_.reserve(std::size_t(n));
        rows_.resize(std::size_t(n));
        std::iota(rows_.begin(), rows_.end(), Index(0));
        if (problem.near) rows_ = problem.near->to().members.rows;
        for (Index i : rows_)
            active_.push_back(
                {net_dual[i],
                 margin[i] - offset(i),
                 problem.diagonal[i],
                 problem.label[i],
                 {problem.below[i], problem.above[i], problem.bound[i], problem.floor[i]},
                 i});
        std::mt19937_64 random(options.seed);
        tie_breaker_.resize(std::size_t(n));
        for (auto& t : tie_breaker_) t = std::uint32_t(random());
    }

    DescentOutcome solve(const std::function<bool(const DescentState&)>& report) {
        DescentOutcome outcome = DescentOutcome::iterations;
        for (Index blocks = 1;; ++blocks) {
            const double gap = measure();
            if (report(state_)) {
                outcome = DescentOutcome::stopped;
                break;
            }
            if (gap <= options_.relative_gap) {
                outcome = DescentOutcome::converged;
                break;
            }
            if (state_.iteration >= options_.max_iterations) break;
            // Overflow, or too little to be gained by going on.
            if (std::isnan(gap) || hopeless()) {
                outcome = DescentOutcome::stalled;
                break;
            }
            choose_block();
            if (chosen_.empty() || !kernel_->fetch(rows_, chosen_, interrupt_)) {
                outcome = chosen_.empty() ? DescentOutcome::stalled : DescentOutcome::stopped;
                break;
            }
            const Index sets = solve_chosen_block();
            state_.iteration += sets;
            if (interrupt_.stop()) {
                take_duals();
                outcome = DescentOutcome::stopped;
                break;
            }
            if (sets == 0) {  // no coordinate moves: rounding has the last word
                outcome = DescentOutcome::stalled;
                break;
            }
            update_margins();
            state_.kernel_entries = kernel_->entries();
            if (options_.shrinking && blocks % shrink_every == 0) shrink();
        }
        for (const Coordinate& c : active_) write_back(c);
        return outcome;
    }

private:
    static constexpr Index shrink_every = 2;
    // A block is solved until its share of the gap is this fraction of what it was.
    static constexpr double block_reduction = 0.1, share_of_spare = 0.5;
    static constexpr Index sets_per_block = 400;
    static constexpr Index stall_window = 500;
    static constexpr double least_progress = 1e-3, least_rise = 1e-6;

    // Every so often, when as many rows as are active have had their turn: whether the dual rose
    // too little to close the gap in a thousand times as long, and by next to nothing of itself. A
    // dual far below a primal that is itself far off says nothing about the time that is left.
    bool hopeless() {
        const bool first = next_look_ == 0;
        visited_ += Index(chosen_.size());
        if (!first && (state_.iteration < next_look_ || visited_ < Index(active_.size())))
            return false;
        next_look_ = state_.iteration + stall_window;
        visited_ = 0;
        const double risen = state_.dual - dual_before_;
        dual_before_ = state_.dual;
        return !first && risen <= least_progress * std::fabs(state_.primal - state_.dual) &&
               risen <= least_rise * std::fabs(state_.dual);
    }

    double offset(Index row) const { return problem_.offset ? problem_.offset[row] : 0.0; }

    // Primal, dual and relative gap over the active rows (settled ones contribute no gap). With
    // m = Qg - t, g'Qg / 2 is (g'm + g't) / 2, and the dual gains g't.
    double measure() {
        double quadratic = settled_quadratic_, phi = settled_phi_, losses = settled_losses_;
        double targets = settled_targets_;
        for (const Coordinate& c : active_) {
            quadratic += c.dual * c.margin;
            if (problem_.offset) targets += c.dual * problem_.offset[c.row];
            phi += loss_.phi(c.loss, c.dual);
            losses += loss_.primal(c.loss, c.margin);
        }
        state_.primal = 0.5 * quadratic + losses + 0.5 * targets;
        state_.dual = -(0.5 * quadratic + phi) + 0.5 * targets;
        state_.active = Index(active_.size());
        return (state_.primal - state_.dual) / std::fmax(state_.primal, 1e-300);
    }

    // All active rows if they make one block, else the most violating.
    void choose_block() {
        const Index size = std::min(options_.block, kernel_->most_rows());
        whole_ = Index(active_.size()) <= size;
        if (whole_) {
            chosen_.resize(active_.size());
            std::iota(chosen_.begin(), chosen_.end(), Index(0));
            return;
        }
        selection_.choose(active_, loss_, size);
        chosen_ = selection_.chosen();
    }

    Index solve_chosen_block() {
        block_.clear();
        double gap = 0.0;
        for (Index k : chosen_) {
            block_.push_back(active_[k]);
            gap += gap_share(loss_, active_[k]);
        }
        // No further than needed: what the other rows leave of the gap that is asked for, some of
        // which the block's changes will cost them.
        const double elsewhere = state_.primal - state_.dual - gap;
        const double spare = options_.relative_gap * state_.primal - elsewhere;
        const double enough = std::fmax(block_reduction * gap, share_of_spare * spare);
        const Index allowed = std::min(sets_per_block, options_.max_iterations - state_.iteration);
        return solve_block(block_, kernel_->block(), loss_,
                           {enough, allowed, options_.working_set, options_.threads}, tie_breaker_,
                           interrupt_);
    }

    void take_duals() {
        for (std::size_t i = 0; i < chosen_.size(); ++i) active_[chosen_[i]].dual = block_[i].dual;
    }

    // What the block's changes do to the margins of all active rows.
    void update_margins() {
        if (whole_) {
            active_ = block_;
            return;
        }
        std::vector<Index> changed;
        std::vector<double> coef;
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            Coordinate& c = active_[chosen_[i]];
            const double change = block_[i].dual - c.dual;
            if (change == 0.0) continue;
            changed.push_back(Index(i));
            coef.push_back(change * c.label);
            // The row's own entry is the diagonal that was given, not what the tile rounds it to.
            c.margin += change * (c.diagonal - double(kernel_->block()[i][i]));
        }
        take_duals();
        sums_.assign(active_.size(), 0.0);
        kernel_->add_changes(rows_, chosen_, changed, coef, sums_.data());
        for (std::size_t k = 0; k < active_.size(); ++k)
            active_[k].margin += active_[k].label * sums_[k];
    }

    void shrink() {
        if (whole_) return;  // outside the working sets its rows cost nothing
        double slack = 0.0;
        for (const Coordinate& c : active_) slack = std::fmax(slack, margin_violation(loss_, c));
        std::vector<Index> kept;
        for (Index k = 0; k < Index(active_.size()); ++k)
            if (!settled(loss_, active_[k], slack)) kept.push_back(k);
        // Shortening kept kernel rows costs a copy: do it only when it pays.
        if (kept.empty() || kept.size() > active_.size() * 9 / 10) return;
        std::vector<Coordinate> remaining;
        remaining.reserve(kept.size());
        std::size_t next = 0;
        for (std::size_t k = 0; k < active_.size(); ++k) {
            const Coordinate& c = active_[k];
            if (next < kept.size() && kept[next] == Index(k)) {
                remaining.push_back(c);
                ++next;
                continue;
            }
            settled_quadratic_ += c.dual * c.margin;
            settled_targets_ += c.dual * offset(c.row);
            settled_phi_ += loss_.phi(c.loss, c.dual);
            settled_losses_ += loss_.primal(c.loss, c.margin);
            write_back(c);
        }
        kernel_->drop(kept);
        selection_.renumber(kept);
        active_ = std::move(remaining);
        rows_.clear();
        for (const Coordinate& c : active_) rows_.push_back(c.row);
    }

    void write_back(const Coordinate& c) {
        out_dual_[c.row] = c.dual;
        out_margin_[c.row] = c.margin + offset(c.row);
    }

    const DescentProblem<T>& problem_;
    const Loss& loss_;
    const DescentOptions& options_;
    Interrupt& interrupt_;
    double *out_dual_, *out_margin_;
    std::unique_ptr<KernelSource<T>> kernel_;
    std::vector<std::uint32_t> tie_breaker_;  // by row
    Selection selection_;
    // Invariant: margin = label * (sum_j label_j g_j k_ij) - t_i over every row j, as of the last
    // finished block.
    std::vector<Coordinate> active_;
    std::vector<Index> rows_;    // active_[k].row
    std::vector<Index> chosen_;  // the block, as numbers into active_
    std::vector<Coordinate> block_;
    bool whole_ = false;  // the block is all of active_, in order
    std::vector<double> sums_;
    // Sums over the rows dropped by shrinking, as of when they were dropped.
    double settled_quadratic_ = 0.0, settled_phi_ = 0.0, settled_losses_ = 0.0;
    double settled_targets_ = 0.0;
    double dual_before_ = 0.0;  // at the last look for progress
    Index next_look_ = 0;
    Index visited_ = 0;  // rows in the blocks since then
    DescentState state_;
};

}  // namespace

template <class T>
DescentOutcome descend(const DescentProblem<T>& problem, const DescentOptions& options,
                       double* net_dual, double* margin, Interrupt& interrupt,
                       const std::function<bool(const DescentState&)>& report) {
    return Descent<T>(problem, options, net_dual, margin, interrupt).solve(report);
}

template DescentOutcome descend<float>(const DescentProblem<float>&, const DescentOptions&, double*,
                                       double*, Interrupt&,
                                       const std::function<bool(const DescentState&)>&);
template DescentOutcome descend<double>(const DescentProblem<double>&, const DescentOptions&,
                                        double*, double*, Interrupt&,
                                        const std::function<bool(const DescentState&)>&);

}  // namespace widemargin
