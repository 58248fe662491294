#include "gossip/consensus.hpp"

#include <cmath>
#include <utility>

#include "core/coordinate.hpp"
#include "core/instruction_sets.hpp"

namespace widemargin {
namespace {

// One pass over a site's rows.
template <class T>
struct RowPass {
    const LinearProblem<T>& problem;
    const std::int64_t* order;
    const double* squares;
    double kappa;
    double *dual, *w;
    double loss = 0.0, gap = 0.0, slope = 0.0;  // as the rows were found
};

template <class T, int Bytes>
WM_INLINE void ascend(RowPass<T>& pass) {
    const LinearProblem<T>& problem = pass.problem;
    const std::int64_t n = problem.rows.count;
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t i = pass.order[k];
        if (k + 4 < n) fetch_soon(problem.rows, pass.order[k + 4]);
        const double label = double(problem.label[i]);
        const double margin = label * dot<T, Bytes>(problem, i, pass.w);
        const Coordinate c{pass.dual[i], margin,         pass.squares[i] / pass.kappa,
                           label,        problem.row(i), i};
        pass.loss += problem.loss.primal(c.loss, margin);
        pass.gap += gap_share(problem.loss, c);
        // On a kink the loss is steeper on one side than the dual says.
        const double steep = c.dual != 0.0 && std::isfinite(c.loss.bound) ? c.loss.bound : c.dual;
        pass.slope += steep * steep * pass.squares[i];
        const double step = wish_of(problem.loss, c).step;
        if (step == 0.0) continue;
        pass.dual[i] += step;
        add_to<T, Bytes>(problem, i, label * step / pass.kappa, pass.w);
    }
}
WM_VERSIONS(ascend_version, ascend, (RowPass<T> & pass), (pass))

// own = sum over rows of g_i y_i x_i.
template <class T>
struct OwnPart {
    const LinearProblem<T>& problem;
    const double* dual;
    double* own;
};
template <class T, int Bytes>
WM_INLINE void add_up(OwnPart<T>& part) {
    const LinearProblem<T>& problem = part.problem;
    for (std::int64_t i = 0; i < problem.rows.count; ++i)
        if (part.dual[i] != 0.0)
            add_to<T, Bytes>(problem, i, part.dual[i] * double(problem.label[i]), part.own);
}
WM_VERSIONS(add_up_version, add_up, (OwnPart<T> & part), (part))

template <class T>
class ConsensusSite final : public GossipSite<T> {
    using Site = GossipSite<T>;

public:
    ConsensusSite(const LinearProblem<T>& problem, const SiteSettings& settings,
                  const ConsensusOptions& options)
        : Site(problem, settings), options_(options), dual_(std::size_t(this->rows()), 0.0),
          squares_(std::size_t(this->rows())), order_(std::size_t(this->rows())),
          own_(std::size_t(this->size()), 0.0), w_(std::size_t(this->size()), 0.0),
          pull_(std::size_t(this->size()), 0.0),
          z_(std::size_t(this->size() * settings.links), 0.0),
          distance_(std::size_t(settings.links), 0.0) {
        for (std::int64_t i = 0; i < this->rows(); ++i) {
            order_[std::size_t(i)] = i;
            double square = problem.constant * problem.constant;
            problem.rows.for_each_stored(
                i, [&](std::int64_t, T value) { square += double(value) * double(value); });
            squares_[std::size_t(i)] = square;
        }
    }

    std::int64_t body_size() const override { return this->size(); }
    void model(double* w) const override { std::copy(w_.begin(), w_.end(), w); }
    const double* dual() const override { return dual_.data(); }
    double apart() const override {
        double farthest = 0.0;
        for (double d : distance_) farthest = std::fmax(farthest, d);
        return farthest / (2.0 * options_.rho);
    }
    double apart(std::int64_t link) const override {
        return distance_[std::size_t(link)] / (2.0 * options_.rho);
    }
    bool content() const override {
        if (this->steps() == 0 || this->figures_.mass() <= 0.0) return false;
        const bool agreed = apart() <= this->agreement() * norm_;
        return agreed && this->estimate() <= this->settings_.stopping.tol;
    }

protected:
    void local_step() override {
        const double kappa = this->settings_.share + options_.rho * double(this->open_links());
        if (kappa <= 0.0) return;  // neither rows nor neighbours
        if (this->steps() % recount == 0) recount_own();
        add_up_links();
        for (std::int64_t f = 0; f < this->size(); ++f)
            w_[std::size_t(f)] = (pull_[std::size_t(f)] + own_[std::size_t(f)]) / kappa;
        RowPass<T> pass{this->problem_, order_.data(), squares_.data(),
                        kappa,          dual_.data(),  w_.data()};
        for (std::int64_t e = 0; e < options_.epochs; ++e) {
            shuffle(e);
            pass.loss = pass.gap = pass.slope = 0.0;
            ascend_version<T>(pass);
        }
        double square = 0.0;
        for (std::int64_t f = 0; f < this->size(); ++f) {
            own_[std::size_t(f)] = kappa * w_[std::size_t(f)] - pull_[std::size_t(f)];
            square += w_[std::size_t(f)] * w_[std::size_t(f)];
        }
        norm_ = std::sqrt(square);
        this->note_norm(norm_);
        this->report(objective_part, 0.5 * this->settings_.share * square + pass.loss);
        this->report(gap_part, pass.gap);
        this->report(slope_part, pass.slope);
        double apart = 0.0;
        for (double d : distance_) apart += d;
        this->report(residual_part, 0.5 * apart);
    }

    void write_body(std::int64_t link, std::int64_t, double* message) override {
        const double* z = z_.data() + link * this->size();
        for (std::int64_t f = 0; f < this->size(); ++f)
            message[f] = 2.0 * options_.rho * w_[std::size_t(f)] - z[f];
    }
    void read_body(std::int64_t link, const double* message) override {
        double* z = z_.data() + link * this->size();
        double square = 0.0;
        for (std::int64_t f = 0; f < this->size(); ++f) {
            const double change = message[f] - z[f];
            square += change * change;
            z[f] += options_.relaxation * change;
        }
        distance_[std::size_t(link)] = std::sqrt(square);
    }

    // As if both ends had agreed on this site's model all along.
    void open_body(std::int64_t link) override {
        double* z = z_.data() + link * this->size();
        for (std::int64_t f = 0; f < this->size(); ++f) z[f] = options_.rho * w_[std::size_t(f)];
    }
    void close_body(std::int64_t link, Site& other, std::int64_t its_link) override {
        forget(link);
        static_cast<ConsensusSite&>(other).forget(its_link);
    }

    void abandon_body(std::int64_t link) override { forget(link); }
    void body_state(SiteState& fields) override {
        const std::size_t size = std::size_t(this->size());
        for (auto* each : {&dual_, &own_, &w_}) fields.vector(*each);
        fields.vector(order_);
        for (std::int64_t i : order_) SiteState::require(i >= 0 && i < this->rows());
        fields.per_link(z_, size);
        fields.per_link(distance_);
        fields.value(norm_);
    }
    double estimated_gap() const override {
        const double sites = this->settings_.sites;
        const double residual = this->figures_.mean(residual_part) * sites;
        const double slope = std::sqrt(std::fmax(0.0, this->figures_.mean(slope_part) * sites));
        return this->figures_.mean(gap_part) +
               (0.5 * residual * residual +
                chance * slope * apart() * std::sqrt(this->settings_.stopping.diameter)) /
                   sites;
    }

private:
    void add_up_links() {
        std::fill(pull_.begin(), pull_.end(), 0.0);
        for (std::int64_t l = 0; l < this->settings_.links; ++l) {
            if (!this->open_[std::size_t(l)]) continue;
            const double* z = z_.data() + l * this->size();
            for (std::int64_t f = 0; f < this->size(); ++f) pull_[std::size_t(f)] += z[f];
        }
    }
    void forget(std::int64_t link) {
        std::fill_n(z_.begin() + link * this->size(), this->size(), 0.0);
        distance_[std::size_t(link)] = 0.0;
    }
    // `own` is carried along from step to step; rounding is not to pile up.
    void recount_own() {
        std::fill(own_.begin(), own_.end(), 0.0);
        OwnPart<T> part{this->problem_, dual_.data(), own_.data()};
        add_up_version<T>(part);
    }
    void shuffle(std::int64_t epoch) {
        RandomNumbers random(this->settings_.seed, std::uint64_t(this->settings_.number),
                             std::uint64_t(this->steps() * options_.epochs + epoch));
        for (std::int64_t k = this->rows() - 1; k > 0; --k)
            std::swap(order_[std::size_t(k)], order_[std::size_t(random.below(k + 1))]);
    }

    static constexpr std::int64_t recount = 64;
    // Models that differ by d cost other sites' rows at most slope * |x_i| d each, of signs that
    // differ: so many times the root of the sum of squares is rarely exceeded.
    static constexpr double chance = 5.0;

    ConsensusOptions options_;
    std::vector<double> dual_, squares_;
    std::vector<std::int64_t> order_;
    std::vector<double> own_, w_, pull_;
    std::vector<double> z_, distance_;  // per link; distance: |q - z| when last read
    double norm_ = 0.0;
};

}  // namespace

template <class T>
std::unique_ptr<GossipSite<T>> make_consensus_site(const LinearProblem<T>& problem,
                                                   const SiteSettings& settings,
                                                   const ConsensusOptions& options) {
    return std::make_unique<ConsensusSite<T>>(problem, settings, options);
}
template std::unique_ptr<GossipSite<float>> make_consensus_site(const LinearProblem<float>&,
                                                                const SiteSettings&,
                                                                const ConsensusOptions&);
template std::unique_ptr<GossipSite<double>> make_consensus_site(const LinearProblem<double>&,
                                                                 const SiteSettings&,
                                                                 const ConsensusOptions&);

}  // namespace widemargin
