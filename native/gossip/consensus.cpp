#include "gossip/consensus.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
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
        const double end = c.dual > 0.0 ? c.loss.bound : c.loss.floor;
        const double steep = c.dual != 0.0 && std::isfinite(end) ? end : c.dual;
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
          before_(std::size_t(this->size()), 0.0), pull_(std::size_t(this->size()), 0.0),
          z_(std::size_t(this->size() * settings.links), 0.0),
          distance_(std::size_t(settings.links), 0.0), strength_(distance_), moved_(distance_),
          counts_(std::size_t(settings.links), 0), fresh_(counts_),
          level_(std::size_t(settings.links), 0), apart_for_(std::size_t(settings.links), 0),
          excess_for_(apart_for_) {
        double weight[2] = {0.0, 0.0};
        std::int64_t count[2] = {0, 0};
        for (std::int64_t i = 0; i < this->rows(); ++i) {
            order_[std::size_t(i)] = i;
            double square = problem.constant * problem.constant;
            problem.rows.for_each_stored(
                i, [&](std::int64_t, T value) { square += double(value) * double(value); });
            squares_[std::size_t(i)] = square;
            weight[problem.label[i] > 0] += problem.weight_of(i);
            ++count[problem.label[i] > 0];
        }
        judges_ = std::min(count[0], count[1]) >= fewest &&
                  std::fmin(weight[0], weight[1]) >= least * (weight[0] + weight[1]);
    }

    // The vector and the level that it is for; below zero: there is no model yet.
    std::int64_t body_size() const override { return this->size() + 1; }
    std::int64_t values() const override { return this->size(); }
    bool single() const override { return options_.single; }
    void model(double* w) const override { std::copy(w_.begin(), w_.end(), w); }
    const double* dual() const override { return dual_.data(); }
    double apart() const override {
        double farthest = 0.0;
        for (std::int64_t l = 0; l < this->settings_.links; ++l)
            if (counts(l) && trusted(l)) farthest = std::fmax(farthest, distance_[std::size_t(l)]);
        return farthest;
    }
    double apart(std::int64_t link) const override { return distance_[std::size_t(link)]; }
    double suspicion(std::int64_t link) const override {
        return bound_ > 0.0 ? strength_[std::size_t(link)] / bound_ : 0.0;
    }
    // A vector that is not replaced would pull for ever.
    void disregard(std::int64_t link) override {
        if (!counts(link)) return;
        counts_[std::size_t(link)] = fresh_[std::size_t(link)] = 0;
        open_body(link);
    }
    bool content() const override {
        if (this->steps() == 0 || this->figures_.mass() <= 0.0) return false;
        const double tol = this->settings_.stopping.tol;
        // Figures may be false; this site's own are not.
        if (bounds() && own_gap_ > alone * tol * own_objective_) return false;
        return apart() <= this->agreement() * norm_ && this->estimate() <= tol;
    }

protected:
    void local_step() override {
        double kappa = this->settings_.share;
        for (std::int64_t l = 0; l < this->settings_.links; ++l)
            if (counts(l)) kappa += rho(l);
        if (kappa <= 0.0) return;  // neither rows nor neighbours
        if (this->steps() % recount == 0) recount_own();
        before_ = w_;
        add_up_links();
        for (std::int64_t f = 0; f < this->size(); ++f)
            w_[std::size_t(f)] = (pull_[std::size_t(f)] + own_[std::size_t(f)]) / kappa;
        RowPass<T> pass{this->problem_, order_.data(), squares_.data(),
                        kappa,          dual_.data(),  w_.data()};
        const std::int64_t epochs = informed_ ? options_.epochs : most_epochs();
        for (std::int64_t e = 0; e < epochs; ++e) {
            shuffle(e);
            pass.loss = pass.gap = pass.slope = 0.0;
            ascend_version<T>(pass);
        }
        informed_ = 1;
        double square = 0.0, moved = 0.0;
        for (std::int64_t f = 0; f < this->size(); ++f) {
            const double w = w_[std::size_t(f)], change = w - before_[std::size_t(f)];
            own_[std::size_t(f)] = kappa * w - pull_[std::size_t(f)];
            square += w * w;
            moved += change * change;
        }
        norm_ = std::sqrt(square);
        this->note_norm(norm_);
        own_objective_ = 0.5 * this->settings_.share * square + pass.loss;
        own_gap_ = pass.gap;
        this->report(objective_part, own_objective_);
        this->report(gap_part, own_gap_);
        this->report(slope_part, pass.slope);
        double apart = 0.0;
        for (std::int64_t l = 0; l < this->settings_.links; ++l)
            if (counts(l) && trusted(l)) apart += rho(l) * distance_[std::size_t(l)];
        this->report(residual_part, apart);
        for (std::int64_t l = 0; l < this->settings_.links; ++l)
            if (this->open_[std::size_t(l)] && !counts(l)) open_body(l);
        tune(std::sqrt(moved));
        set_bound(std::sqrt(moved));
    }

    void write_body(std::int64_t link, std::int64_t, double* message) override {
        const double *z = z_.data() + link * this->size(), twice = 2.0 * rho(link);
        for (std::int64_t f = 0; f < this->size(); ++f)
            message[f] = twice * w_[std::size_t(f)] - z[f];
        message[this->size()] = informed_ ? double(level_[std::size_t(link)]) : -1.0;
    }
    void read_body(std::int64_t link, const double* message) override {
        const double said = message[this->size()];
        if (said < 0.0) return;
        const std::int64_t level = std::int64_t(std::fmin(said, double(options_.levels)));
        if (level > level_[std::size_t(link)]) raise(link, level);
        // A late message is for a lower level.
        const double now = rho(link), shift = now - std::ldexp(options_.rho, int(level));
        double* z = z_.data() + link * this->size();
        double far = 0.0, length = 0.0;
        for (std::int64_t f = 0; f < this->size(); ++f) {
            const double w = w_[std::size_t(f)], q = message[f] + shift * w;
            const double change = q - z[f], twice_pull = q + z[f] - 2.0 * now * w;
            far += change * change;
            length += twice_pull * twice_pull;
        }
        distance_[std::size_t(link)] = std::sqrt(far) / (2.0 * now);
        const double strength = strength_[std::size_t(link)] = 0.5 * std::sqrt(length);
        if (excludes(link)) return disregard(link);
        const double kept = bounds() && strength > bound_ ? bound_ / strength : 1.0;
        for (std::int64_t f = 0; f < this->size(); ++f) {
            const double w = w_[std::size_t(f)], told = 2.0 * now * w - z[f];
            const double q = message[f] + shift * w;
            z[f] += options_.relaxation * (told + kept * (q - told) - z[f]);
        }
        counts_[std::size_t(link)] = fresh_[std::size_t(link)] = 1;
    }

    // As if both ends had agreed on this site's model all along.
    void open_body(std::int64_t link) override {
        double* z = z_.data() + link * this->size();
        for (std::int64_t f = 0; f < this->size(); ++f) z[f] = rho(link) * w_[std::size_t(f)];
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
        for (auto* each : {&distance_, &strength_, &moved_}) fields.per_link(*each);
        for (auto* each : {&counts_, &fresh_}) fields.per_link(*each);
        for (auto* each : {&level_, &apart_for_, &excess_for_}) fields.per_link(*each);
        for (std::int64_t level : level_)
            SiteState::require(level >= 0 && level <= options_.levels);
        for (double* each : {&norm_, &bound_, &own_objective_, &own_gap_}) fields.value(*each);
        fields.value(doubt_);
        for (auto* each : {&informed_, &unlike_}) fields.value(*each);
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
    bool counts(std::int64_t link) const {
        return this->open_[std::size_t(link)] && counts_[std::size_t(link)];
    }
    double rho(std::int64_t link) const {
        return std::ldexp(options_.rho, int(level_[std::size_t(link)]));
    }
    std::int64_t most_epochs() const { return std::max(first_epochs, options_.epochs); }
    bool defended() const {
        return options_.liars > 0 && judges_ && this->open_links() > 2 * options_.liars;
    }
    bool bounds() const { return defended() && !unlike_; }
    bool excluded(std::int64_t link) const {
        return this->open_[std::size_t(link)] &&
               excess_for_[std::size_t(link)] >= messages_of_excess;
    }
    // Whether the neighbour is not followed at all, after what was just read of it.
    bool excludes(std::int64_t link) {
        const double strength = strength_[std::size_t(link)];
        std::int64_t& messages = excess_for_[std::size_t(link)];
        if (!bounds() || strength <= bound_) {
            messages = 0;
            return false;
        }
        if (messages >= messages_of_excess) return true;
        messages = strength > far_beyond * bound_ ? messages + 1 : 0;
        if (messages < messages_of_excess) return false;
        std::int64_t all = 0;
        for (std::int64_t l = 0; l < this->settings_.links; ++l) all += excluded(l);
        if (all <= options_.liars) return true;
        --messages;
        return false;
    }
    // Links whose pull is cut do not keep the others from agreeing, unless they are too many.
    bool trusted(std::int64_t link) const {
        if (!bounds() || strength_[std::size_t(link)] <= bound_) return true;
        std::int64_t cut = 0;
        for (std::int64_t l = 0; l < this->settings_.links; ++l)
            cut += counts(l) && strength_[std::size_t(l)] > bound_;
        return cut > options_.liars;
    }
    void raise(std::int64_t link, std::int64_t level) {
        const double more = std::ldexp(options_.rho, int(level)) - rho(link);
        double* z = z_.data() + link * this->size();
        for (std::int64_t f = 0; f < this->size(); ++f) z[f] += more * w_[std::size_t(f)];
        level_[std::size_t(link)] = level;
        apart_for_[std::size_t(link)] = 0;
    }
    void tune(double moved) {
        // Later on, chance has had more opportunities.
        const std::int64_t enough = steps_apart + this->steps() / steps_more;
        for (std::int64_t l = 0; l < this->settings_.links; ++l) {
            if (!counts(l) || level_[std::size_t(l)] >= options_.levels) continue;
            double& since = moved_[std::size_t(l)];
            since += moved;
            if (!fresh_[std::size_t(l)]) continue;
            std::int64_t& steps = apart_for_[std::size_t(l)];
            steps = distance_[std::size_t(l)] > stuck * since ? steps + 1 : 0;
            since = 0.0;
            fresh_[std::size_t(l)] = 0;
            // Ends stay apart while a pull is cut, which may end soon.
            const bool cut = bounds() && strength_[std::size_t(l)] > bound_;
            if (steps >= (cut ? patience * enough : enough)) raise(l, level_[std::size_t(l)] + 1);
        }
    }
    void set_bound(double moved) {
        double spread = 0.0;
        for (std::int64_t i = 0; i < this->rows(); ++i)
            spread += dual_[std::size_t(i)] * dual_[std::size_t(i)] * squares_[std::size_t(i)];
        // Gradients of sites alike differ by chance, and flow to where they add up to nothing: in
        // a complete network sqrt(2) of a site's spread over the number of sites through a link,
        // more where there are more sites than links.
        const double ends = double(this->open_links()) + 1.0;
        const double crowd = std::fmax(1.0, this->settings_.sites / ends);
        bound_ = chances * std::sqrt(2.0 * spread * crowd) / ends;
        if (!defended()) return;
        judge(moved);
        std::vector<double> pulls;
        for (std::int64_t l = 0; l < this->settings_.links; ++l) {
            if (!counts(l)) continue;
            const double *z = z_.data() + l * this->size(), rho_l = rho(l);
            double square = 0.0;
            for (std::int64_t f = 0; f < this->size(); ++f) {
                const double p = z[f] - rho_l * w_[std::size_t(f)];
                square += p * p;
            }
            pulls.push_back(std::sqrt(square));
        }
        std::sort(pulls.begin(), pulls.end(), std::greater<>());
        if (std::int64_t(pulls.size()) > options_.liars)
            bound_ = std::fmax(bound_, std::fmax(times, per_other * (ends - 2.0)) *
                                           pulls[std::size_t(options_.liars)]);
    }
    // Whether honest neighbours differ by more than chance: more of them pull too hard than may
    // lie, for some steps in which this site's model is calm. (A liar that makes models swing makes
    // all pulls long.)
    void judge(double moved) {
        if (options_.strict) return;
        std::vector<double> asked;
        double stiffest = 0.0;
        for (std::int64_t l = 0; l < this->settings_.links; ++l) {
            if (!counts(l) && !excluded(l)) continue;
            asked.push_back(strength_[std::size_t(l)]);
            stiffest = std::fmax(stiffest, rho(l));
        }
        if (std::int64_t(asked.size()) <= options_.liars) return;
        const auto next = asked.begin() + options_.liars;
        std::nth_element(asked.begin(), next, asked.end(), std::greater<>());
        const bool unlike = *next > bound_ && (unlike_ || stiffest * moved <= calm * *next);
        doubt_ = unlike != bool(unlike_) ? doubt_ + 1 : 0;
        if (doubt_ < steps_of_doubt) return;
        unlike_ = unlike;
        doubt_ = 0;
        std::fill(apart_for_.begin(), apart_for_.end(), 0);
    }
    void add_up_links() {
        std::fill(pull_.begin(), pull_.end(), 0.0);
        for (std::int64_t l = 0; l < this->settings_.links; ++l) {
            if (!counts(l)) continue;
            const double* z = z_.data() + l * this->size();
            for (std::int64_t f = 0; f < this->size(); ++f) pull_[std::size_t(f)] += z[f];
        }
    }
    void forget(std::int64_t link) {
        std::fill_n(z_.begin() + link * this->size(), this->size(), 0.0);
        distance_[std::size_t(link)] = strength_[std::size_t(link)] = moved_[std::size_t(link)] =
            0.0;
        counts_[std::size_t(link)] = fresh_[std::size_t(link)] = 0;
        level_[std::size_t(link)] = apart_for_[std::size_t(link)] = excess_for_[std::size_t(link)] =
            0;
    }
    // `own` is carried along from step to step; rounding is not to pile up.
    void recount_own() {
        std::fill(own_.begin(), own_.end(), 0.0);
        OwnPart<T> part{this->problem_, dual_.data(), own_.data()};
        add_up_version<T>(part);
    }
    void shuffle(std::int64_t epoch) {
        RandomNumbers random(this->settings_.seed, std::uint64_t(this->settings_.number),
                             std::uint64_t(this->steps() * most_epochs() + epoch));
        for (std::int64_t k = this->rows() - 1; k > 0; --k)
            std::swap(order_[std::size_t(k)], order_[std::size_t(random.below(k + 1))]);
    }

    static constexpr std::int64_t recount = 64;
    // Models that differ by d cost other sites' rows at most slope * |x_i| d each, of signs that
    // differ: so many times the root of the sum of squares is rarely exceeded.
    static constexpr double chance = 5.0;
    // Passes over the rows in the first step, which no neighbour disturbs.
    static constexpr std::int64_t first_epochs = 5;
    // rho doubles if the ends of a link were so many times farther apart than this site's model
    // moved, for so many steps in a row.
    static constexpr double stuck = 3.0;
    static constexpr std::int64_t steps_apart = 3, steps_more = 32;
    // The bound of pulls: so many times what is likely between sites alike. With 2.5 a9a costs less
    // under a liar, but honest networks of few rows do not quite reach the optimum; with 6 a liar
    // costs more than a point.
    static constexpr double chances = 4.0;
    // A liar's pull on a site spreads over the site's other links, and must not raise its own bound
    // by as much: with 1.5 at four links, and a large rho, bounds grew without end.
    static constexpr double times = 1.1, per_other = 0.35;
    // Honest neighbours are unlike if they pull too hard for so many steps in which this model
    // moves, times rho, by so small a part of the pull. With 0.25 a liar that swings over lossy
    // links had a site trust it.
    static constexpr std::int64_t steps_of_doubt = 4;
    static constexpr double calm = 0.05;
    // So many times as many steps until rho doubles where a pull is cut: rho cannot help there, and
    // too large a rho is slow when the pull is no longer cut. Never is worse: a larger rho calms
    // what a liar stirs up.
    static constexpr std::int64_t patience = 4;
    // A neighbour is excluded after so many messages in a row that ask for a pull so many times the
    // bound, until it asks for one within the bound.
    static constexpr std::int64_t messages_of_excess = 24;
    static constexpr double far_beyond = 3.0;
    // Rows that a site that judges has of either class, and their part of the weight.
    static constexpr std::int64_t fewest = 10;
    static constexpr double least = 0.01;
    // A site's own gap may be so many times the tolerated one where it does not trust others'.
    static constexpr double alone = 3.0;

    ConsensusOptions options_;
    std::vector<double> dual_, squares_;
    std::vector<std::int64_t> order_;
    std::vector<double> own_, w_, before_, pull_;
    // Per link: z; |q - z| / (2 rho) and the length of the pull asked for, when last read; whether
    // anything was read; the level of rho, and steps since its ends are far apart; messages in a
    // row that asked for far too much.
    std::vector<double> z_, distance_, strength_, moved_;
    std::vector<std::uint8_t> counts_, fresh_;
    std::vector<std::int64_t> level_, apart_for_, excess_for_;
    double norm_ = 0.0, bound_ = 0.0, own_objective_ = 0.0, own_gap_ = 0.0;
    std::int64_t doubt_ = 0;     // steps that speak against `unlike_` as it is
    std::uint8_t informed_ = 0;  // there is a model
    std::uint8_t unlike_ = 0;    // more neighbours than may lie differ from this site
    bool judges_ = false;
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
