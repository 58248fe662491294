#include "gossip/private.hpp"

#include <cmath>

#include "core/instruction_sets.hpp"
#include "gossip/secret_noise.hpp"

namespace widemargin {
namespace {

// sum = sum over rows of cut(g_i(w)) y_i x_i.
template <class T>
struct CutSlopes {
    const LinearProblem<T>& problem;
    const double* w;
    double bound;
    double* sum;
};
template <class T, int Bytes>
WM_INLINE void add_cut_slopes(CutSlopes<T>& task) {
    const LinearProblem<T>& problem = task.problem;
    for (std::int64_t i = 0; i < problem.rows.count; ++i) {
        const double label = double(problem.label[i]);
        const double margin = label * dot<T, Bytes>(problem, i, task.w);
        const double most = task.bound * problem.weight_of(i);
        // The hinge's slope jumps at its kink, which makes descent rattle: it rises over a margin
        // of one instead, as that of Huber's loss does.
        const LossRow row = problem.row(i);
        const double slope =
            row.below > 0.0 ? problem.loss.implied_dual(row, margin)
                            : row.bound * std::fmin(1.0, std::fmax(0.0, problem.loss.a - margin));
        const double dual = std::fmin(most, std::fmax(-most, slope));
        if (dual != 0.0) add_to<T, Bytes>(problem, i, label * dual, task.sum);
    }
}
WM_VERSIONS(cut_slopes_version, add_cut_slopes, (CutSlopes<T> & task), (task))

template <class T>
class PrivateSite final : public GossipSite<T> {
    using Site = GossipSite<T>;

public:
    PrivateSite(const LinearProblem<T>& problem, const SiteSettings& settings,
                const PrivateOptions& options)
        : Site(problem, settings), options_(options),
          push_(this->size(), settings.links, settings.founder ? 1.0 : 0.0),
          w_(std::size_t(this->size()), 0.0), previous_(w_), average_(w_), slope_(w_) {
        for (std::int64_t i = 0; i < this->rows(); ++i) {
            double square = problem.constant * problem.constant;
            problem.rows.for_each_stored(
                i, [&](std::int64_t, T value) { square += double(value) * double(value); });
            if (!(square <= options.reach * options.reach))
                throw std::invalid_argument("a row is longer than it was to be cut to.");
        }
    }

    std::int64_t body_size() const override { return push_.message_size(); }
    void model(double* w) const override {
        for (std::int64_t f = 0; f < this->size(); ++f) w[f] = push_.mean(f);
    }
    const PushSum* push_sum() const override { return &push_; }
    double apart() const override { return apart_; }
    bool content() const override {
        return made_ >= options_.releases && rested_ > 2 * options_.interval &&
               apart_ <= this->agreement() * norm_of(w_);
    }
    std::int64_t releases() const override { return made_; }
    void spend(std::int64_t releases) override {
        if (releases <= made_) return;
        made_ = releases;
        moving_ = 0;
    }

protected:
    void local_step() override {
        read_model();
        this->note_norm(norm_of(w_));
        if (made_ >= options_.releases) {
            if (++rested_ == options_.interval) settle();
            return;
        }
        if (push_.mass() <= 0.0 || ++rested_ < options_.interval) return;
        rested_ = 0;
        release();
        read_model();
    }

    void give(const double* fraction) override { push_.give(fraction, this->settings_.links); }
    void acknowledge(std::int64_t link, std::int64_t number) override {
        push_.acknowledge(link, number);
    }
    void take_back(std::int64_t link) override { push_.take_back(link); }
    void write_body(std::int64_t link, std::int64_t number, double* message) override {
        push_.write(link, number, message);
    }
    void read_body(std::int64_t link, const double* message) override { push_.read(link, message); }
    void mix() override {
        const std::vector<double> before(w_);
        read_model();
        double square = 0.0;
        for (std::size_t f = 0; f < w_.size(); ++f)
            square += (w_[f] - before[f]) * (w_[f] - before[f]);
        apart_ = std::sqrt(square);
    }
    void close_body(std::int64_t link, Site& other, std::int64_t its_link) override {
        auto& there = static_cast<PrivateSite&>(other);
        const std::int64_t length = push_.message_size();
        const std::vector<double> received(push_.received(link), push_.received(link) + length);
        push_.close(link, there.push_.received(its_link));
        there.push_.close(its_link, received.data());
    }
    void hand_over_body(Site& heir) override {
        push_.hand_over(static_cast<PrivateSite&>(heir).push_);
    }
    void abandon_body(std::int64_t link) override { push_.undo(link); }
    void body_state(SiteState& fields) override {
        push_.state(fields);
        for (auto* each : {&w_, &previous_, &average_}) fields.vector(*each);
        fields.value(apart_);
        fields.value(made_);
        fields.value(rested_);
        fields.value(moving_);
        fields.value(averaged_);
    }
    // Nothing is told of objectives, so that nothing is known of gaps.
    double estimated_gap() const override { return 1.0; }

private:
    void read_model() {
        for (std::size_t f = 0; f < w_.size(); ++f) w_[f] = push_.mean(std::int64_t(f));
    }
    static double norm_of(const std::vector<double>& v) {
        double square = 0.0;
        for (double x : v) square += x * x;
        return std::sqrt(square);
    }
    std::int64_t late() const { return options_.releases - (options_.releases + 2) / 3; }

    void release() {
        if (made_ > late()) average_in();  // what has come of the release before
        std::fill(slope_.begin(), slope_.end(), 0.0);
        CutSlopes<T> task{this->problem_, w_.data(), options_.bound, slope_.data()};
        cut_slopes_version<T>(task);
        const double scale = options_.noise * options_.bound * options_.reach;
        // The same key is used by one process only, and a number of a step by one release only.
        SecretNoise noise(options_.key, std::uint64_t(this->steps()));
        // Sums of doubles have gaps that tell what was added up: results are put on a coarse grid.
        const double grid = scale * 0x1p-20;
        for (double& s : slope_) s = std::nearbyint((s + scale * noise.normal()) / grid) * grid;
        ++made_;
        double* value = push_.value();
        const double mass = push_.mass(), step = options_.step;
        const double sound = std::fmin(1.0, 3.0 * mass);  // as in gradient.cpp
        for (std::size_t f = 0; f < w_.size(); ++f) {
            const double before = w_[f];
            const double moved = moving_ == 0 ? 0.0 : options_.momentum * (before - previous_[f]);
            value[f] +=
                mass * (moved - step * before) + sound * step * this->settings_.sites * slope_[f];
            previous_[f] = before;
        }
        moving_ = 1;
    }
    // Just before a step: just after it, the model still leans to this site's rows.
    void average_in() {
        const double share = 1.0 / double(++averaged_);
        for (std::size_t f = 0; f < w_.size(); ++f) average_[f] += share * (w_[f] - average_[f]);
    }
    // The last release is behind: from now on averages are averaged.
    void settle() {
        average_in();
        for (std::size_t f = 0; f < w_.size(); ++f) push_.value()[f] = push_.mass() * average_[f];
        read_model();
    }

    PrivateOptions options_;
    PushSum push_;
    std::vector<double> w_, previous_, average_, slope_;
    double apart_ = 0.0;
    std::int64_t made_ = 0, rested_ = 0;      // releases, and steps since the last one
    std::int64_t moving_ = 0, averaged_ = 0;  // whether there is a previous model; models averaged
};

}  // namespace

template <class T>
std::unique_ptr<GossipSite<T>> make_private_site(const LinearProblem<T>& problem,
                                                 const SiteSettings& settings,
                                                 const PrivateOptions& options) {
    return std::make_unique<PrivateSite<T>>(problem, settings, options);
}
template std::unique_ptr<GossipSite<float>> make_private_site(const LinearProblem<float>&,
                                                              const SiteSettings&,
                                                              const PrivateOptions&);
template std::unique_ptr<GossipSite<double>> make_private_site(const LinearProblem<double>&,
                                                               const SiteSettings&,
                                                               const PrivateOptions&);

}  // namespace widemargin
