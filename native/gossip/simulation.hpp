// A network of sites in one process: who talks to whom, when, and what goes wrong on the way.
//
// Cycle-driven: in a round every site steps, then the messages of one or more exchanges are written
// and, unless delayed, read. Asynchronous: a round is as many wake-ups as there are sites, of sites
// drawn at random; one that wakes reads what has arrived, steps, and writes.
//
// A slow site takes part in some rounds only: it neither steps nor writes nor reads in the others,
// and finds what was sent to it meanwhile. Links may carry messages in one direction only, or in
// some rounds of a period only.
//
// What happens to a message depends on the seed, the link and the message's number alone, so that a
// run is the same on any number of threads.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/interrupt.hpp"
#include "gossip/site.hpp"

namespace widemargin {

// Links in both directions, those of a site side by side: link e of site s has
// start[s] <= e < start[s + 1] and leads to other[e]; reverse[e] is the same link seen from there.
struct NetworkLinks {
    const std::int64_t *start, *other, *reverse;
    // Per round of a period and link: of what is held, how much goes through it; 0: no message.
    const double* fraction;
    std::int64_t sites, period = 1;

    std::int64_t count() const { return start[sites]; }
    const double* fraction_in(std::int64_t round) const {
        return fraction + (round % period) * count();
    }
};

enum class Talk : int { all, one };  // to every neighbour, or to one drawn at random

struct NetworkFaults {
    double loss = 0.0, repeat = 0.0;  // probabilities per message
    std::int64_t delay = 0;           // in rounds, at most
};

// What a faulty site sends: the opposite of what it ought to, or noise; or what it ought to,
// shifted against its model: always alike, ever farther, or to and fro; or false figures and a
// counter by which all sites would be content.
enum class Fault : std::uint8_t { none, opposite, noise, push, drift, swing, figures };

enum class Event : std::int64_t { crash, come_back, leave, join };
struct ScheduledEvent {
    std::int64_t round, site;
    Event event;
};

struct NetworkOptions {
    Talk talk = Talk::all;
    std::int64_t exchanges = 1;  // per step
    bool asynchronous = false;
    NetworkFaults faults{};
    double fault_scale = 10.0;  // of what faulty sites send
    std::int64_t patience = 1;  // counter at which a site stops; see gossip_site.hpp
    bool paper_rule = false;    // stop when |w| was quiet once at every site, instead
    std::uint64_t seed = 0;
    int threads = 1;
};

template <class T>
class GossipNetwork {
public:
    using Sites = std::vector<std::unique_ptr<GossipSite<T>>>;

    // `weights` are the sites' sums of row weights; `events` are sorted by round; `speed` is the
    // share of the rounds that a site takes part in.
    GossipNetwork(Sites sites, const NetworkLinks& links, std::vector<double> weights,
                  std::vector<ScheduledEvent> events, std::vector<Fault> faulty,
                  std::vector<double> speed, const NetworkOptions& options);

    // Goes on for so many rounds, or until the sites stop; returns the rounds done.
    std::int64_t run(std::int64_t rounds, Interrupt& interrupt);

    bool stopped() const { return stopped_; }
    std::int64_t round() const { return round_; }
    std::int64_t messages() const { return messages_; }
    std::int64_t message_size() const { return sites_[0]->message_size(); }
    // Numbers of a message that travel in single precision.
    std::int64_t message_singles() const { return sites_[0]->single() ? sites_[0]->values() : 0; }
    bool present(std::int64_t s) const { return state_[std::size_t(s)] == State::up; }
    const GossipSite<T>& site(std::int64_t s) const { return *sites_[std::size_t(s)]; }
    // Held by all sites and on its way between them: values, mass last.
    std::vector<double> total() const;

private:
    enum class State : std::uint8_t { up, down, absent };
    struct Message {
        std::int64_t number, due;
        std::vector<double> content;
    };
    struct Link {
        std::deque<Message> way;
        std::vector<double> spare;  // storage of the last message read
        std::int64_t written = 0, read = 0;
    };

    void happen();
    void bring_in(std::int64_t s);
    void take_out(std::int64_t s);
    void share_out();
    template <class Work>
    void for_sites(Work&& work, Interrupt& interrupt);
    void round_together(Interrupt& interrupt);
    void round_apart(Interrupt& interrupt);
    void write_all(std::int64_t s, std::int64_t now);
    void send(std::int64_t link, std::int64_t s, std::int64_t now);
    void falsify(std::int64_t s, Message& message, RandomNumbers& fate) const;
    void read_all(std::int64_t s, std::int64_t now);
    bool acts(std::int64_t s) const;
    bool all_stopped() const;

    Sites sites_;
    NetworkLinks links_;
    std::vector<double> weights_;
    std::vector<ScheduledEvent> events_;
    std::vector<Fault> faulty_;
    std::vector<double> speed_;
    NetworkOptions options_;
    std::vector<State> state_;
    std::vector<Link> link_;
    std::vector<std::int64_t> sent_;  // messages per site
    std::size_t next_event_ = 0;
    std::int64_t round_ = 0, exchange_ = 0, messages_ = 0;
    bool stopped_ = false;
};

}  // namespace widemargin
