#include "kernel/block_solver.hpp"

#include <algorithm>

#include "core/parallel.hpp"
#include "kernel/kernel_evaluation.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

// The coordinates of a working set are descended until the violation of the worst is this fraction
// of what it was, in at most so many steps for each of its rows.
constexpr double inner_reduction = 1e-2;
constexpr Index inner_steps = 10;

template <class T>
class BlockDescent {
public:
    BlockDescent(std::vector<Coordinate>& block, const T* const* kernel, const Loss& loss,
                 int threads)
        : block_(block), kernel_(kernel), loss_(loss), threads_(threads) {}

    double gap() const {
        double sum = 0.0;
        for (const Coordinate& c : block_) sum += gap_share(loss_, c);
        return sum;
    }

    void descend(const std::vector<Index>& chosen) {
        const auto w = Index(chosen.size());
        set_.resize(w);
        for (Index i = 0; i < w; ++i) {
            const Coordinate& c = block_[chosen[i]];
            const T* row = kernel_[chosen[i]];
            double* q = &set_.block[i * set_.padded];
            for (Index j = 0; j < w; ++j)
                q[j] = c.label * block_[chosen[j]].label * double(row[chosen[j]]);
            q[i] = c.diagonal;
            set_.set(i, c.dual, c.margin, c.diagonal, c.loss);
        }
        descend_greedily(set_, loss_, inner_reduction, inner_steps * w);
    }

    // margin_j += y_j sum over the working set of y_i change_i k_ij, in chunks of columns.
    void update_margins(const std::vector<Index>& chosen) {
        lines_.clear();
        coef_.clear();
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            Coordinate& c = block_[chosen[i]];
            const double change = set_.dual[i] - c.dual;
            if (change == 0.0) continue;
            lines_.push_back(kernel_[chosen[i]]);
            coef_.push_back(change * c.label);
            c.dual = set_.dual[i];
            // The row's own entry is the diagonal that was given, not what the tile rounds it to.
            c.margin += change * (c.diagonal - double(lines_.back()[chosen[i]]));
        }
        const auto n = Index(block_.size()), count = Index(lines_.size()), chunk = Index(1024);
        sums_.assign(std::size_t(n), 0.0);
        const int threads = count * n < 400000 ? 1 : threads_;
        Interrupt never(nullptr);  // duals and margins must not part
        parallel_for((n + chunk - 1) / chunk, threads, never, [&](Index task) {
            const Index begin = task * chunk, end = std::min(n, begin + chunk);
            add_scaled_rows(lines_.data(), coef_.data(), count, begin, end, sums_.data());
            for (Index k = begin; k < end; ++k) block_[k].margin += block_[k].label * sums_[k];
        });
    }

private:
    std::vector<Coordinate>& block_;
    const T* const* kernel_;
    const Loss& loss_;
    int threads_;
    WorkingSet set_{0};
    std::vector<const T*> lines_;
    std::vector<double> coef_, sums_;
};

}  // namespace

template <class T>
std::int64_t solve_block(std::vector<Coordinate>& block, const T* const* kernel, const Loss& loss,
                         const BlockLimits& limits, const std::vector<std::uint32_t>& tie_breaker,
                         Interrupt& interrupt) {
    BlockDescent<T> descent(block, kernel, loss, limits.threads);
    Selection selection(tie_breaker);
    Index sets = 0;
    while (sets < limits.sets && descent.gap() > limits.gap && !interrupt.stop()) {
        selection.choose(block, loss, limits.working_set);
        if (selection.chosen().empty()) break;
        descent.descend(selection.chosen());
        descent.update_margins(selection.chosen());
        ++sets;
    }
    return sets;
}

template std::int64_t solve_block<float>(std::vector<Coordinate>&, const float* const*, const Loss&,
                                         const BlockLimits&, const std::vector<std::uint32_t>&,
                                         Interrupt&);
template std::int64_t solve_block<double>(std::vector<Coordinate>&, const double* const*,
                                          const Loss&, const BlockLimits&,
                                          const std::vector<std::uint32_t>&, Interrupt&);

}  // namespace widemargin
