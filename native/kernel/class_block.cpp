#include "kernel/class_block.hpp"

#include <algorithm>
#include <numeric>

#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"
#include "kernel/kernel_evaluation.hpp"

namespace widemargin {
namespace {

using Index = std::int64_t;

// Rows of a working set are visited until a round over all of them gains this fraction of what the
// first round gained, in at most so many rounds.
constexpr double inner_reduction = 1e-2;
constexpr int inner_rounds = 40;
// Rounds in between leave out rows whose last visit gained less than this fraction of the mean;
constexpr double worth_a_visit = 0.3;
// every so many rounds take all.
constexpr int all_every = 4;
// Rows that are measured together.
constexpr Index rows_at_once = 256;

// The rows of a working set: their kernel matrix, scores class by class, and multipliers' signs.
struct ClassSet {
    Formulation formulation;
    Index rows, padded, classes;
    std::vector<double> kernel;  // padded entries a line
    std::vector<double> score;   // class by class, padded
    std::vector<double> coef;    // class by class, padded
    std::vector<double> bound, diagonal, gain;
    std::vector<Index> code;
};

// Adds step * line to the scores of one class.
template <int Bytes>
WM_INLINE void add_line(const double* line, double step, Index padded, double* score) {
    using V = typename Simd<double, Bytes>::Vector;
    constexpr int width = Simd<double, Bytes>::lanes;
    for (Index j = 0; j < padded; j += width)
        store(score + j, load<V>(score + j) + step * load<V>(line + j));
}

template <int Bytes>
WM_INLINE double visit_row(ClassSet& set, Index i, ClassDesk& desk) {
    const auto at = std::size_t(i);
    const Index own = set.code[at];
    read_row(own, set.classes, &set.score[at], &set.coef[at], set.padded, desk);
    const double gain = improve_row(set.formulation, set.bound[at], set.diagonal[at], desk);
    if (gain == 0.0) return 0.0;
    const double* line = &set.kernel[at * std::size_t(set.padded)];
    double total = 0.0;
    std::size_t k = 0;
    for (Index c = 0; c < set.classes; ++c) {
        if (c == own) continue;
        const double after = desk.after[k], change = desk.before[k++] - after;
        total += after;
        if (change == 0.0) continue;
        set.coef[std::size_t(c * set.padded + i)] = -after;
        add_line<Bytes>(line, change, set.padded, &set.score[std::size_t(c * set.padded)]);
    }
    double& mine = set.coef[std::size_t(own * set.padded + i)];
    add_line<Bytes>(line, total - mine, set.padded, &set.score[std::size_t(own * set.padded)]);
    mine = total;
    return gain;
}

template <class T, int Bytes>
WM_INLINE void descend_all(ClassSet& set) {
    ClassDesk desk;
    desk.resize(set.classes);
    double first = -1.0, worth = 0.0;
    set.gain.assign(std::size_t(set.rows), 0.0);
    for (int round = 0; round < inner_rounds; ++round) {
        const bool all = round % all_every == 0;
        double total = 0.0;
        Index visited = 0;
        for (Index i = 0; i < set.rows; ++i) {
            if (!all && set.gain[std::size_t(i)] < worth) continue;
            set.gain[std::size_t(i)] = visit_row<Bytes>(set, i, desk);
            total += set.gain[std::size_t(i)];
            ++visited;
        }
        if (total == 0.0) {
            if (all) return;
            round += all_every - 1 - round % all_every;  // on to the next round of all
            continue;
        }
        worth = worth_a_visit * total / double(visited);
        if (!all) continue;
        if (first < 0.0) first = total;
        else if (total <= inner_reduction * first) return;
    }
}

WM_VERSIONS(descend_versions, descend_all, (ClassSet & set), (set))

template <class T, int Bytes>
WM_INLINE void measure_some(const ClassRows& rows, Index begin, Index end, double error,
                            RowShares* shares) {
    ClassDesk desk;
    desk.resize(rows.classes);
    for (Index i = begin; i < end; ++i) {
        read_row(rows.code[i], rows.classes, rows.score + i, rows.coef + i, rows.count, desk);
        shares[i] = shares_of(rows.formulation, rows.bound[i], error, desk);
        shares[i].gain = improve_row(rows.formulation, rows.bound[i], rows.diagonal[i], desk);
    }
}

WM_VERSIONS(measure_versions, measure_some,
            (const ClassRows& rows, Index begin, Index end, double error, RowShares* shares),
            (rows, begin, end, error, shares))

template <class T>
class ClassDescent {
public:
    ClassDescent(ClassRows& rows, const T* const* kernel,
                 const std::vector<std::uint32_t>& tie_breaker, int threads)
        : rows_(rows), kernel_(kernel), tie_breaker_(tie_breaker), threads_(threads),
          shares_(std::size_t(rows.count)) {}

    // Measures all rows; returns the gap.
    double measure() {
        Interrupt never(nullptr);
        measure_rows(rows_, 0.0, shares_.data(), threads_, never);
        double gap = 0.0;
        for (const RowShares& each : shares_) gap += each.gap;
        return gap;
    }

    // Half of the last working set stays, and the rows come that would gain most.
    bool choose(Index size) {
        const Index stay = std::min(Index(chosen_.size()), size / 2);
        chosen_.erase(chosen_.begin(), chosen_.end() - std::ptrdiff_t(stay));
        std::vector<char> taken(shares_.size(), 0);
        for (Index i : chosen_) taken[std::size_t(i)] = 1;
        std::vector<Index> wanting;
        for (Index i = 0; i < rows_.count; ++i)
            if (!taken[std::size_t(i)] && shares_[std::size_t(i)].gain > 0.0) wanting.push_back(i);
        const auto more = [&](Index l, Index r) {
            const double a = shares_[std::size_t(l)].gain, b = shares_[std::size_t(r)].gain;
            if (a != b) return a > b;
            const auto tl = tie_breaker_[std::size_t(l)], tr = tie_breaker_[std::size_t(r)];
            return tl != tr ? tl < tr : l < r;
        };
        const auto count = std::ptrdiff_t(std::min(size - stay, Index(wanting.size())));
        std::nth_element(wanting.begin(), wanting.begin() + count, wanting.end(), more);
        std::sort(wanting.begin(), wanting.begin() + count, more);
        chosen_.insert(chosen_.end(), wanting.begin(), wanting.begin() + count);
        for (Index i : chosen_)
            if (shares_[std::size_t(i)].gain > 0.0) return true;
        return false;
    }

    void descend() {
        load_set();
        descend_versions<double>(set_);
        store_set();
    }

private:
    void load_set() {
        const auto w = Index(chosen_.size());
        set_.formulation = rows_.formulation;
        set_.rows = w, set_.padded = (w + 7) / 8 * 8, set_.classes = rows_.classes;
        set_.kernel.assign(std::size_t(w * set_.padded), 0.0);
        for (auto* each : {&set_.score, &set_.coef})
            each->assign(std::size_t(rows_.classes * set_.padded), 0.0);
        for (auto* each : {&set_.bound, &set_.diagonal}) each->resize(std::size_t(w));
        set_.code.resize(std::size_t(w));
        for (Index i = 0; i < w; ++i) {
            const Index row = chosen_[std::size_t(i)];
            double* line = &set_.kernel[std::size_t(i * set_.padded)];
            for (Index j = 0; j < w; ++j) line[j] = double(kernel_[row][chosen_[std::size_t(j)]]);
            line[i] = rows_.diagonal[row];
            set_.bound[std::size_t(i)] = rows_.bound[row];
            set_.diagonal[std::size_t(i)] = rows_.diagonal[row];
            set_.code[std::size_t(i)] = rows_.code[row];
            for (Index c = 0; c < rows_.classes; ++c) {
                set_.score[std::size_t(c * set_.padded + i)] = rows_.score[c * rows_.count + row];
                set_.coef[std::size_t(c * set_.padded + i)] = rows_.coef[c * rows_.count + row];
            }
        }
    }

    // Takes the coefficients over, and adds what changed to the scores of all rows of the block.
    void store_set() {
        const Index n = rows_.count;
        lines_.resize(std::size_t(rows_.classes)), steps_.resize(std::size_t(rows_.classes));
        for (Index c = 0; c < rows_.classes; ++c) {
            auto& lines = lines_[std::size_t(c)];
            auto& steps = steps_[std::size_t(c)];
            lines.clear(), steps.clear();
            for (Index i = 0; i < set_.rows; ++i) {
                const Index row = chosen_[std::size_t(i)];
                double& coef = rows_.coef[c * n + row];
                const double after = set_.coef[std::size_t(c * set_.padded + i)];
                const double change = after - coef;
                if (change == 0.0) continue;
                lines.push_back(kernel_[row]), steps.push_back(change);
                // The row's own entry is the diagonal that was given.
                rows_.score[c * n + row] += change * (rows_.diagonal[row] - double(kernel_[row][row]));
                coef = after;
            }
        }
        constexpr Index chunk = 512;
        Interrupt never(nullptr);  // coefficients and scores must not part
        parallel_for((n + chunk - 1) / chunk, n < 2 * chunk ? 1 : threads_, never, [&](Index task) {
            const Index begin = task * chunk, end = std::min(n, begin + chunk);
            for (std::size_t c = 0; c < lines_.size(); ++c)
                add_scaled_rows(lines_[c].data(), steps_[c].data(), Index(steps_[c].size()), begin,
                                end, rows_.score + Index(c) * n);
        });
    }

    ClassRows& rows_;
    const T* const* kernel_;
    const std::vector<std::uint32_t>& tie_breaker_;
    int threads_;
    std::vector<RowShares> shares_;
    std::vector<Index> chosen_;
    ClassSet set_{};
    std::vector<std::vector<const T*>> lines_;
    std::vector<std::vector<double>> steps_;
};

}  // namespace

void measure_rows(const ClassRows& rows, double error, RowShares* shares, int threads,
                  Interrupt& interrupt) {
    const Index tasks = (rows.count + rows_at_once - 1) / rows_at_once;
    const int used = rows.count * rows.classes < 100000 ? 1 : threads;
    parallel_for(tasks, used, interrupt, [&](Index task) {
        const Index begin = task * rows_at_once;
        measure_versions<double>(rows, begin, std::min(rows.count, begin + rows_at_once), error,
                                 shares);
    });
}

template <class T>
std::int64_t solve_class_block(ClassRows& rows, const T* const* kernel,
                               const ClassBlockLimits& limits,
                               const std::vector<std::uint32_t>& tie_breaker,
                               Interrupt& interrupt) {
    ClassDescent<T> descent(rows, kernel, tie_breaker, limits.threads);
    Index sets = 0;
    while (sets < limits.sets && descent.measure() > limits.gap && !interrupt.stop()) {
        if (!descent.choose(limits.working_set)) break;
        descent.descend();
        ++sets;
    }
    return sets;
}

template std::int64_t solve_class_block<float>(ClassRows&, const float* const*,
                                               const ClassBlockLimits&,
                                               const std::vector<std::uint32_t>&, Interrupt&);
template std::int64_t solve_class_block<double>(ClassRows&, const double* const*,
                                                const ClassBlockLimits&,
                                                const std::vector<std::uint32_t>&, Interrupt&);

}  // namespace widemargin
