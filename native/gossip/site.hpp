// One site of a network that learns together: its rows, its model, and what it tells neighbours.
//
//     minimise over w  1/2 |w|^2 + sum over all sites' rows i of loss_i(y_i x_i . w)
//
// A site knows nothing of how messages travel: a simulation and a network drive it alike, by
//
//     step()                local work on its own rows
//     prepare(fractions)    before the messages of one exchange are written
//     write(link, message)  what a neighbour is told; doubles, finite
//     read(link, message)   what a neighbour told
//     combine()             after the messages of one exchange were read
//
// Beside its method's own vectors, every message carries what sites need to know when to stop: a
// Push-Sum of figures (below) and a counter. A site is content when the figures say so; its counter
// is 1 + the smallest counter it heard of, 0 while it is not content. A counter of k therefore
// means that all sites within k links were content.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random_numbers.hpp"
#include "gossip/push_sum.hpp"
#include "linear/problem.hpp"

namespace widemargin {

// What stands in the figures: this site's parts of the objective and of the duality gap (or of an
// estimate of it), how far it is from its neighbours, and how steep its losses are.
enum Figure : std::int64_t { objective_part, gap_part, residual_part, slope_part, figures };

struct StoppingRule {
    double tol = 1e-2;       // relative gap, as far as sites can tell
    double diameter = 1.0;   // links between the sites farthest apart, at most
    double epsilon = 1e-3;   // the paper's rule: change of |w| that counts as none,
    std::int64_t quiet = 3;  // for so many steps in a row
};

struct SiteSettings {
    std::int64_t links = 0;
    std::int64_t number = 0;  // of the site
    double sites = 1.0;       // in the whole network, when it began
    double share = 0.0;       // of all rows' weight that is here
    std::uint64_t seed = 0;
    bool founder = true;       // not one that joins later
    double mass = 1.0;         // of Push-Sum here when all is well, if less than 1
    std::int64_t silence = 6;  // exchanges without a word after which a neighbour gets no share
    // Per link, whether the neighbour ever sends over it; empty: over all.
    std::vector<std::uint8_t> hears{};
    StoppingRule stopping{};
};

template <class T>
class GossipSite {
public:
    GossipSite(const LinearProblem<T>& problem, const SiteSettings& settings)
        : problem_(problem), settings_(settings), open_(std::size_t(settings.links), 1),
          heard_(std::size_t(settings.links), 0), silent_(std::size_t(settings.links), 0),
          written_(std::size_t(settings.links), 0), read_(std::size_t(settings.links), 0),
          figures_(figures, settings.links, settings.founder ? 1.0 : 0.0) {}
    virtual ~GossipSite() = default;

    void step() {
        ++steps_;
        local_step();
    }
    // Neighbours that are down would soak up all mass. They are still written to, so that both
    // ends of a link that fell silent hear of each other again.
    void prepare(const double* fraction) {
        std::vector<double> given(fraction, fraction + settings_.links);
        for (std::int64_t l = 0; l < settings_.links; ++l) {
            if (!hears(l)) continue;
            const std::int64_t silent = ++silent_[std::size_t(l)];
            if (silent <= settings_.silence) continue;
            given[std::size_t(l)] = 0.0;
            if (silent != 10 * settings_.silence) continue;
            // It is gone for now, rather than unlucky with its messages.
            figures_.take_back(l);
            take_back(l);
        }
        figures_.give(given.data(), settings_.links);
        give(given.data());
    }
    // A message: the method's body, the figures, the counter, its number, the last one read here.
    std::int64_t message_size() const { return body_size() + figures_.message_size() + 3; }
    void write(std::int64_t link, double* message) {
        const std::int64_t number = ++written_[std::size_t(link)];
        write_body(link, number, message);
        shorten(message);
        figures_.write(link, number, message + body_size());
        double* rest = message + body_size() + figures_.message_size();
        rest[0] = double(counter_);
        rest[1] = double(number);
        rest[2] = double(read_[std::size_t(link)]);
        if (hears(link)) return;
        // Nobody can acknowledge it: what goes one way is never taken back.
        acknowledge(link, number);
        figures_.acknowledge(link, number);
    }
    // Messages that are not newer than what was read before change nothing.
    void read(std::int64_t link, const double* message) {
        const double* rest = message + body_size() + figures_.message_size();
        const std::int64_t number = std::int64_t(rest[1]);
        if (number <= read_[std::size_t(link)]) return;
        read_[std::size_t(link)] = number;
        silent_[std::size_t(link)] = 0;
        read_body(link, message);
        acknowledge(link, std::int64_t(rest[2]));
        figures_.read(link, message + body_size());
        figures_.acknowledge(link, std::int64_t(rest[2]));
        heard_[std::size_t(link)] = std::int64_t(rest[0]);
    }
    void combine() {
        mix();
        std::int64_t lowest = most_counted;
        for (std::int64_t l = 0; l < settings_.links; ++l)
            if (open_[std::size_t(l)] && hears(l))
                lowest = std::min(lowest, heard_[std::size_t(l)]);
        counter_ = content() ? std::min(lowest + 1, most_counted) : 0;
    }

    // A neighbour came, or is gone for good; `gone` is the neighbour, whose end is `its_link`.
    void open(std::int64_t link) {
        open_[std::size_t(link)] = 1;
        heard_[std::size_t(link)] = silent_[std::size_t(link)] = 0;
        open_body(link);
    }
    static void close(GossipSite& one, std::int64_t link, GossipSite& other,
                      std::int64_t its_link) {
        const std::vector<double> there(one.figures_.received(link),
                                        one.figures_.received(link) + figures + 1);
        one.figures_.close(link, other.figures_.received(its_link));
        other.figures_.close(its_link, there.data());
        one.close_body(link, other, its_link);
        one.forget(link);
        other.forget(its_link);
        one.open_[std::size_t(link)] = other.open_[std::size_t(its_link)] = 0;
    }
    // The same where the neighbour cannot be asked: it is out of reach for good, or has forgotten
    // everything. See PushSum::undo.
    void abandon(std::int64_t link) {
        figures_.undo(link);
        abandon_body(link);
        forget(link);
        open_[std::size_t(link)] = 0;
    }
    // Follows the neighbour's last message no longer, until another is read.
    virtual void disregard(std::int64_t) {}
    void hand_over(GossipSite& heir) {
        for (std::int64_t f = 0; f < figures; ++f) report(Figure(f), 0.0);  // its rows are gone
        figures_.hand_over(heir.figures_);
        hand_over_body(heir);
    }
    void set_share(double share) { settings_.share = share; }
    // All that a step or an exchange may change; see site_state.hpp.
    void state(SiteState& fields) {
        fields.per_link(open_);
        for (auto* each : {&heard_, &silent_, &written_, &read_}) fields.per_link(*each);
        figures_.state(fields);
        for (double& each : reported_) fields.value(each);
        for (auto* each : {&steps_, &counter_, &streak_, &times_quiet_, &first_quiet_})
            fields.value(*each);
        fields.value(norm_);
        body_state(fields);
        fields.finish();
    }

    virtual std::int64_t body_size() const = 0;
    // The first so many numbers of a body are values of vectors.
    virtual std::int64_t values() const { return body_size(); }
    // Whether these travel in single precision. Not those of running sums: what one end has sent
    // and the other has read would no longer be the same.
    virtual bool single() const { return false; }
    void shorten(double* message) const {
        if (!single()) return;
        for (std::int64_t k = 0; k < values(); ++k)
            if (std::fabs(message[k]) <= double(std::numeric_limits<float>::max()))
                message[k] = double(float(message[k]));
    }
    virtual void model(double* w) const = 0;
    std::vector<double> model() const {
        std::vector<double> w(std::size_t(size()), 0.0);
        model(w.data());
        return w;
    }
    // The numbers of a Push-Sum of models, if the method has one.
    virtual const PushSum* push_sum() const { return nullptr; }
    // This site's dual unknowns, one per row, if the method has any.
    virtual const double* dual() const { return nullptr; }
    // How far the models of neighbours are from this one, the farthest of them or of one link.
    virtual double apart() const = 0;
    virtual double apart(std::int64_t) const { return apart(); }
    // How hard a neighbour pulls, in units of what this site would bear; 0 if the method has none.
    virtual double suspicion(std::int64_t) const { return 0.0; }
    virtual bool content() const = 0;
    // Noisy results about its rows that the site has let out, where the method counts them; and
    // that so many count as let out already.
    virtual std::int64_t releases() const { return 0; }
    virtual void spend(std::int64_t) {}

    std::int64_t counter() const { return counter_; }
    std::int64_t steps() const { return steps_; }
    const PushSum& figures_sum() const { return figures_; }
    std::int64_t links() const { return settings_.links; }
    // Of a link: the last counter heard, exchanges since, and numbers of messages.
    std::int64_t heard(std::int64_t link) const { return heard_[std::size_t(link)]; }
    std::int64_t silent(std::int64_t link) const { return silent_[std::size_t(link)]; }
    std::int64_t written(std::int64_t link) const { return written_[std::size_t(link)]; }
    std::int64_t last_read(std::int64_t link) const { return read_[std::size_t(link)]; }
    bool is_open(std::int64_t link) const { return open_[std::size_t(link)] != 0; }
    // Relative gap as this site sees it.
    double estimate() const {
        const double objective = figures_.mean(objective_part);
        return objective > 0.0 ? estimated_gap() / objective : 1.0;
    }
    // The paper's rule: steps at which |w| had hardly changed for so long, and the first of them.
    std::int64_t times_quiet() const { return times_quiet_; }
    std::int64_t first_quiet() const { return first_quiet_; }

    static constexpr std::int64_t most_counted = 1 << 30;
    // Neighbours may differ by so much of a model's length for the network to have agreed: what
    // differs from one to the next adds up, and costs the square of it.
    double agreement() const {
        const StoppingRule& rule = settings_.stopping;
        return 0.3 * std::sqrt(std::fmax(0.0, rule.tol)) / std::fmax(1.0, rule.diameter);
    }

protected:
    virtual void local_step() = 0;
    virtual void give(const double*) {}
    virtual void take_back(std::int64_t) {}
    virtual void acknowledge(std::int64_t, std::int64_t) {}
    virtual void write_body(std::int64_t link, std::int64_t number, double* message) = 0;
    virtual void read_body(std::int64_t link, const double* message) = 0;
    virtual void mix() {}
    virtual void open_body(std::int64_t) {}
    virtual void close_body(std::int64_t, GossipSite&, std::int64_t) {}
    virtual void hand_over_body(GossipSite&) {}
    virtual void abandon_body(std::int64_t) {}
    virtual void body_state(SiteState&) = 0;
    virtual double estimated_gap() const { return figures_.mean(gap_part); }

    bool hears(std::int64_t link) const {
        return settings_.hears.empty() || settings_.hears[std::size_t(link)] != 0;
    }
    std::int64_t size() const { return problem_.size(); }
    std::int64_t rows() const { return problem_.rows.count; }
    std::int64_t open_links() const {
        return std::count(open_.begin(), open_.end(), std::uint8_t(1));
    }
    // Tells the network that this site's part of a figure is now `value`.
    void report(Figure figure, double value) {
        figures_.value()[figure] += value - reported_[figure];
        reported_[figure] = value;
    }
    void note_norm(double norm) {
        streak_ = std::fabs(norm - norm_) < settings_.stopping.epsilon ? streak_ + 1 : 0;
        norm_ = norm;
        if (streak_ < settings_.stopping.quiet) return;
        streak_ = 0;
        if (++times_quiet_ == 1) first_quiet_ = steps_;
    }

    LinearProblem<T> problem_;
    SiteSettings settings_;
    std::vector<std::uint8_t> open_;
    std::vector<std::int64_t> heard_, silent_, written_,
        read_;  // per link: last counter, exchanges since
    PushSum figures_;

private:
    void forget(std::int64_t link) {
        for (auto* each : {&heard_, &silent_, &written_, &read_}) (*each)[std::size_t(link)] = 0;
    }

    double reported_[figures] = {};
    std::int64_t steps_ = 0, counter_ = 0;
    double norm_ = std::numeric_limits<double>::infinity();
    std::int64_t streak_ = 0, times_quiet_ = 0, first_quiet_ = -1;
};

}  // namespace widemargin
