#include "coordinate_descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernel_evaluation.hpp"
#include "parallel.hpp"
#include "row_cache.hpp"
#include "working_set.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

// What a coordinate needs, side by side. Invariant: margin = label * (sum_j label_j g_j k_ij) over
// every row j, as of the last finished working set.
struct Coordinate {
    double dual, margin, diagonal, label;
    LossRow loss;
    Index row;  // in the caller's numbering
};

// The step a coordinate wants, and how much it violates optimality: that step, squared, in the
// coordinate's own curvature.
struct Wish {
    double step, violation;
};

Wish wish_of(const Loss& loss, const Coordinate& c) {
    const double wanted = loss.minimiser(c.loss, c.diagonal, c.margin - c.diagonal * c.dual);
    const double step = wanted - c.dual;
    const double curvature = c.diagonal + (wanted < 0.0 ? c.loss.above : c.loss.below);
    return {step, step * step * std::fmax(curvature, 1e-12)};
}

// How far a coordinate is from optimal in units of margin: its projected gradient.
double margin_violation(const Loss& loss, const Coordinate& c) {
    if (c.dual > 0.0) {
        const double gradient = c.margin + c.loss.below * c.dual - loss.a;
        return c.dual >= c.loss.bound ? std::fmax(gradient, 0.0) : std::fabs(gradient);
    }
    if (c.dual < 0.0) return std::fabs(c.margin + c.loss.above * c.dual - loss.b);
    return std::fmax(0.0, std::fmax(loss.a - c.margin, c.margin - loss.b));
}

// Whether an optimal row would still sit where it is with its margin off by `slack`.
bool settled(const Loss& loss, const Coordinate& c, double slack) {
    if (c.dual == 0.0) return c.margin > loss.a + slack && c.margin < loss.b - slack;
    return c.dual == c.loss.bound && c.margin < loss.a - slack;
}

template <class T>
class Descent {
public:
    Descent(const DescentProblem<T>& problem, const DescentOptions& options, double* net_dual,
            double* margin, Interrupt& interrupt)
        : problem_(problem), options_(options), interrupt_(interrupt), out_dual_(net_dual),
          out_margin_(margin), cache_(problem.rows.count, problem.rows.count, options.cache_bytes) {
        const Index n = problem.rows.count;
        active_.reserve(std::size_t(n));
        for (Index i = 0; i < n; ++i)
            active_.push_back({net_dual[i],
                               margin[i],
                               problem.diagonal[i],
                               problem.label[i],
                               {problem.below[i], problem.above[i], problem.bound[i]},
                               i});
        source_.resize(std::size_t(n));
        std::iota(source_.begin(), source_.end(), Index(0));
        std::mt19937_64 random(options.seed);
        tie_breaker_.resize(std::size_t(n));
        for (auto& t : tie_breaker_) t = std::uint32_t(random());
    }

    DescentOutcome solve(const std::function<bool(const DescentState&)>& report) {
        DescentOutcome outcome = DescentOutcome::iterations;
        for (Index it = 0; it < options_.max_iterations; ++it) {
            const double gap = measure();
            state_.iteration = it;
            if (report(state_)) {
                outcome = DescentOutcome::stopped;
                break;
            }
            if (gap <= options_.relative_gap) {
                outcome = DescentOutcome::converged;
                break;
            }
            if (std::isnan(gap)) {  // overflow: nothing to be gained by going on
                outcome = DescentOutcome::stalled;
                break;
            }
            select_working_set();
            if (chosen_.empty() || hopeless(it)) {
                outcome = DescentOutcome::stalled;
                break;
            }
            fetch_kernel_rows();
            if (interrupt_.stop()) {
                outcome = DescentOutcome::stopped;
                break;
            }
            descend_within_working_set();
            update_margins();
            if (options_.shrinking && it % shrink_every == shrink_every - 1) shrink();
        }
        for (const Coordinate& c : active_) write_back(c);
        return outcome;
    }

private:
    static constexpr Index stall_window = 500, shrink_every = 8;
    static constexpr double least_progress = 1e-3;

    // Every so often: whether the dual rose too little to close the gap in a thousand times as
    // long.
    bool hopeless(Index iteration) {
        if (iteration % stall_window != 0) return false;
        const double risen = state_.dual - dual_before_;
        dual_before_ = state_.dual;
        return iteration > 0 && risen <= least_progress * std::fabs(state_.primal - state_.dual);
    }

    // Primal, dual and relative gap over the active rows (settled ones contribute no gap).
    double measure() {
        double quadratic = 0.0, phi = settled_phi_, losses = settled_losses_;
        for (const Coordinate& c : active_) {
            quadratic += c.dual * c.margin;
            phi += problem_.loss.phi(c.loss, c.dual);
            losses += problem_.loss.primal(c.loss, c.margin);
        }
        quadratic += settled_quadratic_;
        state_.primal = 0.5 * quadratic + losses;
        state_.dual = -(0.5 * quadratic + phi);
        state_.active = Index(active_.size());
        return (state_.primal - state_.dual) / std::fmax(state_.primal, 1e-300);
    }

    // Half of the working set are the most violating rows, those that push the decision up and
    // those that push it down in equal parts (one kind alone would overshoot and be undone); the
    // other half stay from the last set, so that what two sets do to each other settles. Ties (all
    // rows tie at the start) are broken at random.
    void select_working_set() {
        const Index n = Index(active_.size());
        const Index size = std::min(options_.working_set, cache_.capacity());
        score_.resize(std::size_t(n));
        slack_ = 0.0;
        up_.clear();
        down_.clear();
        for (Index k = 0; k < n; ++k) {
            const Coordinate& c = active_[k];
            const Wish wish = wish_of(problem_.loss, c);
            score_[k] = wish.violation;
            slack_ = std::fmax(slack_, margin_violation(problem_.loss, c));
            if (wish.violation > 0.0) (wish.step * c.label > 0.0 ? up_ : down_).push_back(k);
        }
        const Index stay = std::min<Index>(Index(chosen_.size()), size / 2);
        chosen_.erase(chosen_.begin(), chosen_.end() - stay);
        is_chosen_.assign(std::size_t(n), 0);
        for (Index k : chosen_) is_chosen_[k] = 1;
        const Index room = size - stay, half = room / 2;
        const Index ups = std::max(half, room - Index(down_.size()));
        take_most_violating(up_, ups);
        take_most_violating(down_, size - Index(chosen_.size()));
    }

    void take_most_violating(std::vector<Index>& from, Index count) {
        auto more_violating = [&](Index l, Index r) {
            if (score_[l] != score_[r]) return score_[l] > score_[r];
            const auto tl = tie_breaker_[active_[l].row], tr = tie_breaker_[active_[r].row];
            return tl != tr ? tl < tr : l < r;
        };
        from.erase(std::remove_if(from.begin(), from.end(), [&](Index k) { return is_chosen_[k]; }),
                   from.end());
        count = std::min(count, Index(from.size()));
        std::partial_sort(from.begin(), from.begin() + count, from.end(), more_violating);
        chosen_.insert(chosen_.end(), from.begin(), from.begin() + count);
    }

    void fetch_kernel_rows() {
        const Index before = cache_.clock();
        std::vector<Index> missing;
        for (Index k : chosen_)
            if (cache_.find(k))
                cache_.touch(k);
            else
                missing.push_back(k);
        cache_.make_room(Index(missing.size()), before);
        std::vector<Index> rows;
        std::vector<T*> out;
        for (Index k : missing) {
            rows.push_back(active_[k].row);
            out.push_back(cache_.insert(k));
        }
        kernel_block(problem_.rows.picked(rows.data(), Index(rows.size())),
                     problem_.rows.picked(source_.data(), Index(active_.size())), problem_.spec,
                     out.data(), options_.threads, interrupt_);
        state_.kernel_entries += Index(missing.size()) * Index(active_.size());
    }

    // Greedy coordinate descent on the working set alone, until its violation is a small fraction
    // of what it was.
    void descend_within_working_set() {
        const Index w = Index(chosen_.size());
        set_.resize(w);
        for (Index i = 0; i < w; ++i) {
            const Coordinate& c = active_[chosen_[i]];
            const T* row = cache_.find(chosen_[i]);
            double* q = &set_.block[i * set_.padded];
            for (Index j = 0; j < w; ++j)
                q[j] = c.label * active_[chosen_[j]].label * double(row[chosen_[j]]);
            q[i] = c.diagonal;
            set_.set(i, c.dual, c.margin, c.diagonal, c.loss);
        }
        descend_greedily(set_, problem_.loss, inner_reduction, inner_steps * w);
    }

    // margin_j += y_j sum over the working set of y_i change_i k_ij, in chunks of columns.
    void update_margins() {
        std::vector<const T*> rows;
        std::vector<double> coef;
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            Coordinate& c = active_[chosen_[i]];
            const double change = set_.dual[i] - c.dual;
            if (change == 0.0) continue;
            rows.push_back(cache_.find(chosen_[i]));
            coef.push_back(change * c.label);
            c.dual = set_.dual[i];
            // The row's own entry is the diagonal that was given, not what the tile rounds it to.
            c.margin += change * (c.diagonal - double(rows.back()[chosen_[i]]));
        }
        const Index n = Index(active_.size()), chunk = 4096;
        sums_.assign(std::size_t(n), 0.0);
        const int threads = Index(rows.size()) * n < 200000 ? 1 : options_.threads;
        Interrupt never(nullptr);  // duals and margins must not part
        parallel_for((n + chunk - 1) / chunk, threads, never, [&](Index task) {
            const Index begin = task * chunk, end = std::min(n, begin + chunk);
            add_scaled_rows(rows.data(), coef.data(), Index(rows.size()), begin, end, sums_.data());
            for (Index k = begin; k < end; ++k) active_[k].margin += active_[k].label * sums_[k];
        });
    }

    void shrink() {
        std::vector<Index> kept;
        for (Index k = 0; k < Index(active_.size()); ++k)
            if (!settled(problem_.loss, active_[k], slack_)) kept.push_back(k);
        // Shortening the cached rows costs a copy: do it only when it pays.
        if (kept.empty() || kept.size() > active_.size() * 9 / 10) return;
        std::vector<Coordinate> remaining;
        remaining.reserve(kept.size());
        std::size_t next = 0;
        for (std::size_t k = 0; k < active_.size(); ++k) {
            if (next < kept.size() && kept[next] == Index(k)) {
                remaining.push_back(active_[k]);
                ++next;
                continue;
            }
            const Coordinate& c = active_[k];
            settled_quadratic_ += c.dual * c.margin;
            settled_phi_ += problem_.loss.phi(c.loss, c.dual);
            settled_losses_ += problem_.loss.primal(c.loss, c.margin);
            write_back(c);
        }
        cache_.compact(kept);
        chosen_.erase(std::remove_if(chosen_.begin(), chosen_.end(),
                                     [&](Index& k) {
                                         const auto at =
                                             std::lower_bound(kept.begin(), kept.end(), k);
                                         if (at == kept.end() || *at != k) return true;
                                         k = Index(at - kept.begin());
                                         return false;
                                     }),
                      chosen_.end());
        active_ = std::move(remaining);
        source_.clear();
        for (const Coordinate& c : active_) source_.push_back(c.row);
    }

    void write_back(const Coordinate& c) {
        out_dual_[c.row] = c.dual;
        out_margin_[c.row] = c.margin;
    }

    static constexpr Index inner_steps = 10;
    static constexpr double inner_reduction = 1e-2;

    const DescentProblem<T>& problem_;
    const DescentOptions& options_;
    Interrupt& interrupt_;
    double *out_dual_, *out_margin_;
    RowCache<T> cache_;  // numbered like active_
    std::vector<Coordinate> active_;
    WorkingSet set_{0};
    std::vector<Index> source_;              // active_[k].row
    std::vector<Index> up_, down_, chosen_;  // chosen_: oldest first
    std::vector<char> is_chosen_;
    std::vector<std::uint32_t> tie_breaker_;  // by row
    std::vector<double> score_, sums_;
    double slack_ = INFINITY;  // largest margin violation when the working set was chosen
    // Sums over the rows dropped by shrinking, as of when they were dropped.
    double settled_quadratic_ = 0.0, settled_phi_ = 0.0, settled_losses_ = 0.0;
    double dual_before_ = 0.0;  // at the last look for progress
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
