#include "gossip/gradient.hpp"

#include <cmath>

#include "core/instruction_sets.hpp"
#include "gossip/neighbours.hpp"

namespace widemargin {
namespace {

// sum = sum over some rows of g_i(w) y_i x_i, and their losses.
template <class T>
struct Slopes {
    const LinearProblem<T>& problem;
    const std::int64_t* rows;  // null: the first `count`
    std::int64_t count;
    const double* w;
    double* sum;  // null: losses only
    double loss = 0.0;
};
template <class T, int Bytes>
WM_INLINE void add_slopes(Slopes<T>& task) {
    const LinearProblem<T>& problem = task.problem;
    for (std::int64_t k = 0; k < task.count; ++k) {
        const std::int64_t i = task.rows ? task.rows[k] : k;
        const double label = double(problem.label[i]);
        const double margin = label * dot<T, Bytes>(problem, i, task.w);
        const LossRow row = problem.row(i);
        task.loss += problem.loss.primal(row, margin);
        if (!task.sum) continue;
        const double dual = problem.loss.implied_dual(row, margin);
        if (dual != 0.0) add_to<T, Bytes>(problem, i, label * dual, task.sum);
    }
}
WM_VERSIONS(slopes_version, add_slopes, (Slopes<T> & task), (task))

double norm_of(const std::vector<double>& v) {
    double square = 0.0;
    for (double x : v) square += x * x;
    return std::sqrt(square);
}

template <class T>
class GradientSite final : public GossipSite<T> {
    using Site = GossipSite<T>;

public:
    GradientSite(const LinearProblem<T>& problem, const SiteSettings& settings,
                 const GradientOptions& options)
        : Site(problem, settings), options_(options),
          push_(this->size() * (options.tracking ? 2 : 1), settings.links,
                settings.founder || options.exchange != Exchange::push_sum ? 1.0 : 0.0),
          w_(std::size_t(this->size()), 0.0), average_(w_), slope_(w_), earlier_(w_) {
        if (options.exchange != Exchange::push_sum)
            neighbours_ = std::make_unique<NeighbourModels>(this->size(), settings.links);
    }

    std::int64_t body_size() const override {
        return neighbours_ ? this->size() : push_.message_size();
    }
    void model(double* w) const override {
        for (std::int64_t f = 0; f < this->size(); ++f)
            w[f] = options_.averaging ? average_[std::size_t(f)] : push_.mean(f);
    }
    const PushSum* push_sum() const override { return neighbours_ ? nullptr : &push_; }
    double apart() const override { return apart_; }
    bool content() const override {
        return compared_ && apart_ <= this->agreement() * norm_of(w_) &&
               this->estimate() <= this->settings_.stopping.tol;
    }

protected:
    void local_step() override {
        read_model();
        const double t = double(this->steps());
        this->note_norm(norm_of(w_));
        const double late = 4.0 / (t + 3.0);
        for (std::size_t f = 0; f < w_.size(); ++f) average_[f] += late * (w_[f] - average_[f]);
        if (t >= next_check_) look_back(t);
        if (options_.total > 0.0) begin_anew();
        if (options_.tracking)
            track(1.0 / (options_.offset + options_.decay * t));
        else
            descend(1.0 / (options_.offset + t));
        project();
        read_model();
    }

    void give(const double* fraction) override {
        if (neighbours_) return neighbours_->remember(fraction);
        push_.give(fraction, this->settings_.links);
    }
    void acknowledge(std::int64_t link, std::int64_t number) override {
        if (!neighbours_) push_.acknowledge(link, number);
    }
    void take_back(std::int64_t link) override {
        if (!neighbours_) push_.take_back(link);
    }
    void write_body(std::int64_t link, std::int64_t number, double* message) override {
        if (!neighbours_) return push_.write(link, number, message);
        std::copy(w_.begin(), w_.end(), message);
    }
    void read_body(std::int64_t link, const double* message) override {
        if (!neighbours_) return push_.read(link, message);
        neighbours_->read(link, message);
    }
    void mix() override {
        const std::vector<double> before(w_);
        if (neighbours_) {
            const auto mixed = options_.exchange == Exchange::clipped
                                   ? neighbours_->clipped(w_, options_.clip)
                                   : neighbours_->trimmed(w_, options_.trim);
            for (std::size_t f = 0; f < w_.size(); ++f) push_.value()[f] = mixed[f] * push_.mass();
        }
        read_model();
        double square = 0.0;
        for (std::size_t f = 0; f < w_.size(); ++f)
            square += (w_[f] - before[f]) * (w_[f] - before[f]);
        apart_ = std::sqrt(square);
    }
    void close_body(std::int64_t link, Site& other, std::int64_t its_link) override {
        auto& there = static_cast<GradientSite&>(other);
        if (neighbours_) {
            neighbours_->forget(link);
            there.neighbours_->forget(its_link);
            return;
        }
        const std::int64_t length = push_.message_size();
        const std::vector<double> received(push_.received(link), push_.received(link) + length);
        push_.close(link, there.push_.received(its_link));
        there.push_.close(its_link, received.data());
    }
    void hand_over_body(Site& heir) override {
        if (neighbours_) return;
        // Its rows count no longer, and neither does its gradient in what is tracked.
        if (options_.tracking)
            for (std::size_t f = 0; f < w_.size(); ++f) push_.value()[w_.size() + f] -= earlier_[f];
        push_.hand_over(static_cast<GradientSite&>(heir).push_);
    }
    void abandon_body(std::int64_t link) override {
        if (neighbours_) return neighbours_->forget(link);
        push_.undo(link);
    }
    void body_state(SiteState& fields) override {
        push_.state(fields);
        if (neighbours_) neighbours_->state(fields);
        for (auto* each : {&w_, &average_, &earlier_}) fields.vector(*each);
        for (auto* each : {&apart_, &next_check_, &seen_[0], &seen_[1], &fall_})
            fields.value(*each);
        fields.value(checks_);
        fields.value(compared_);
    }
    double estimated_gap() const override {
        return compared_ ? fall_ : this->figures_.mean(objective_part);
    }

private:
    void read_model() {
        for (std::size_t f = 0; f < w_.size(); ++f) w_[f] = push_.mean(std::int64_t(f));
    }
    void begin_anew() {
        std::copy(w_.begin(), w_.end(), push_.value());
        push_.value()[push_.size()] = 1.0;  // the mass
    }
    void descend(double step) {
        double* value = push_.value();
        for (std::size_t f = 0; f < w_.size(); ++f) value[f] *= 1.0 - step;
        const std::int64_t n = this->rows();
        if (n == 0) return;
        const bool all = options_.batch == 0 || options_.batch >= n;
        draw(all ? 0 : options_.batch);
        std::fill(slope_.begin(), slope_.end(), 0.0);
        Slopes<T> task{this->problem_, all ? nullptr : drawn_.data(), all ? n : options_.batch,
                       w_.data(), slope_.data()};
        slopes_version<T>(task);
        const double rows =
            options_.total > 0.0 ? options_.total : this->settings_.sites * double(n);
        const double length = sound() * step * rows / double(task.count);
        for (std::size_t f = 0; f < w_.size(); ++f) value[f] += length * slope_[f];
    }
    void track(double step) {
        double *value = push_.value(), *gradient = value + w_.size();
        std::fill(slope_.begin(), slope_.end(), 0.0);
        Slopes<T> task{this->problem_, nullptr, this->rows(), w_.data(), slope_.data()};
        slopes_version<T>(task);
        for (std::size_t f = 0; f < w_.size(); ++f) {
            const double now = this->settings_.sites * (this->settings_.share * w_[f] - slope_[f]);
            gradient[f] += now - earlier_[f];
            earlier_[f] = now;
            value[f] -= sound() * step * gradient[f];
        }
    }
    // Steps do not depend on the mass, unless most of it is away: w is the value over what is left.
    double sound() const { return std::fmin(1.0, 3.0 * push_.mass() / this->settings_.mass); }
    void draw(std::int64_t count) {
        RandomNumbers random(this->settings_.seed, std::uint64_t(this->settings_.number),
                             std::uint64_t(this->steps()));
        drawn_.resize(std::size_t(count));
        for (auto& row : drawn_) row = random.below(this->rows());
    }
    void project() {
        if (!std::isfinite(options_.radius)) return;
        read_model();
        const double norm = norm_of(w_);
        if (norm <= options_.radius) return;
        for (std::size_t f = 0; f < w_.size(); ++f) push_.value()[f] *= options_.radius / norm;
    }
    // What the network's mean objective fell by since half as many steps ago.
    void look_back(double t) {
        const double objective = this->figures_.mean(objective_part);
        compared_ = checks_ >= 3;
        fall_ = std::fabs(seen_[checks_ % 2] - objective);
        seen_[checks_++ % 2] = objective;
        std::vector<double> own(w_.size());
        model(own.data());
        Slopes<T> task{this->problem_, nullptr, this->rows(), own.data(), nullptr};
        slopes_version<T>(task);
        const double norm = norm_of(own);
        this->report(objective_part, 0.5 * this->settings_.share * norm * norm + task.loss);
        next_check_ = std::ceil(t * check_ratio);
    }

    static constexpr double check_ratio = 1.4142135623730951;

    GradientOptions options_;
    PushSum push_;
    std::unique_ptr<NeighbourModels> neighbours_;
    std::vector<double> w_, average_, slope_, earlier_;
    std::vector<std::int64_t> drawn_;
    double apart_ = 0.0, next_check_ = 8.0, seen_[2] = {}, fall_ = 0.0;
    std::int64_t checks_ = 0;
    bool compared_ = false;
};

}  // namespace

template <class T>
std::unique_ptr<GossipSite<T>> make_gradient_site(const LinearProblem<T>& problem,
                                                  const SiteSettings& settings,
                                                  const GradientOptions& options) {
    return std::make_unique<GradientSite<T>>(problem, settings, options);
}
template std::unique_ptr<GossipSite<float>> make_gradient_site(const LinearProblem<float>&,
                                                               const SiteSettings&,
                                                               const GradientOptions&);
template std::unique_ptr<GossipSite<double>> make_gradient_site(const LinearProblem<double>&,
                                                                const SiteSettings&,
                                                                const GradientOptions&);

}  // namespace widemargin
