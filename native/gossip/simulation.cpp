#include "gossip/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.hpp"

namespace widemargin {

template <class T>
GossipNetwork<T>::GossipNetwork(Sites sites, const NetworkLinks& links, std::vector<double> weights,
                                std::vector<ScheduledEvent> events, std::vector<Fault> faulty,
                                std::vector<double> speed, const NetworkOptions& options)
    : sites_(std::move(sites)), links_(links), weights_(std::move(weights)),
      events_(std::move(events)), faulty_(std::move(faulty)), speed_(std::move(speed)),
      options_(options), state_(std::size_t(links.sites), State::up),
      link_(std::size_t(links.count())), sent_(std::size_t(links.sites), 0) {
    for (const ScheduledEvent& e : events_)
        if (e.event == Event::join) state_[std::size_t(e.site)] = State::absent;
    for (std::int64_t s = 0; s < links_.sites; ++s)
        for (std::int64_t e = links_.start[s]; e < links_.start[s + 1]; ++e)
            if (s < links_.other[e] && (state_[std::size_t(s)] == State::absent ||
                                        state_[std::size_t(links_.other[e])] == State::absent)) {
                const std::int64_t t = links_.other[e];
                GossipSite<T>::close(*sites_[std::size_t(s)], e - links_.start[s],
                                     *sites_[std::size_t(t)], links_.reverse[e] - links_.start[t]);
            }
    share_out();
}

template <class T>
std::int64_t GossipNetwork<T>::run(std::int64_t rounds, Interrupt& interrupt) {
    const std::int64_t first = round_;
    while (round_ < first + rounds && !stopped_ && !interrupt.stop()) {
        happen();
        if (options_.asynchronous)
            round_apart(interrupt);
        else
            round_together(interrupt);
        ++round_;
        stopped_ = all_stopped();
    }
    messages_ = 0;
    for (std::int64_t sent : sent_) messages_ += sent;
    return round_ - first;
}

template <class T>
void GossipNetwork<T>::round_together(Interrupt& interrupt) {
    for_sites([&](std::int64_t s) { sites_[std::size_t(s)]->step(); }, interrupt);
    for (std::int64_t x = 0; x < options_.exchanges; ++x, ++exchange_) {
        const std::int64_t now = round_;
        for_sites([&](std::int64_t s) { write_all(s, now); }, interrupt);
        for_sites([&](std::int64_t s) { read_all(s, now); }, interrupt);
    }
}

template <class T>
void GossipNetwork<T>::round_apart(Interrupt& interrupt) {
    RandomNumbers random(options_.seed, 0x77616b65, std::uint64_t(round_));
    for (std::int64_t k = 0; k < links_.sites; ++k) {
        const std::int64_t s = random.below(links_.sites);
        if (!present(s)) continue;
        if (speed_[std::size_t(s)] < 1.0 && random.uniform() >= speed_[std::size_t(s)]) continue;
        if ((k & 63) == 0 && interrupt.stop()) return;
        const std::int64_t now = round_ * links_.sites + k;
        read_all(s, now);
        sites_[std::size_t(s)]->step();
        for (std::int64_t x = 0; x < options_.exchanges; ++x, ++exchange_) write_all(s, now);
    }
}

template <class T>
void GossipNetwork<T>::write_all(std::int64_t s, std::int64_t now) {
    const std::int64_t first = links_.start[s], count = links_.start[s + 1] - first;
    GossipSite<T>& site = *sites_[std::size_t(s)];
    std::vector<double> fraction(std::size_t(count), 0.0);
    const double* share = links_.fraction_in(round_) + first;
    if (options_.talk == Talk::all) {
        for (std::int64_t l = 0; l < count; ++l)
            if (site.is_open(l)) fraction[std::size_t(l)] = share[l];
    } else if (const std::int64_t partners = count - std::count(share, share + count, 0.0)) {
        RandomNumbers random(options_.seed ^ 0x6f6e65, std::uint64_t(s), std::uint64_t(exchange_));
        std::int64_t l = 0;
        for (std::int64_t left = random.below(partners); left > 0 || share[l] == 0.0; ++l)
            if (share[l] != 0.0) --left;
        if (site.is_open(l)) fraction[std::size_t(l)] = 0.5;
    }
    site.prepare(fraction.data());
    for (std::int64_t l = 0; l < count; ++l)
        if (fraction[std::size_t(l)] > 0.0) send(first + l, s, now);
}

template <class T>
void GossipNetwork<T>::send(std::int64_t e, std::int64_t s, std::int64_t now) {
    Link& link = link_[std::size_t(e)];
    GossipSite<T>& site = *sites_[std::size_t(s)];
    Message message{++link.written, now, std::move(link.spare)};
    message.content.resize(std::size_t(site.message_size()));
    site.write(e - links_.start[s], message.content.data());
    ++sent_[std::size_t(s)];
    RandomNumbers fate(options_.seed, std::uint64_t(e), std::uint64_t(message.number));
    if (faulty_[std::size_t(s)] != Fault::none) {
        falsify(s, message, fate);
        site.shorten(message.content.data());
    }
    const NetworkFaults& faults = options_.faults;
    const std::int64_t tick = options_.asynchronous ? links_.sites : 1;
    auto late = [&] { return faults.delay ? tick * fate.below(faults.delay + 1) : 0; };
    const bool lost = fate.uniform() < faults.loss, repeated = fate.uniform() < faults.repeat;
    if (repeated) link.way.push_back({message.number, now + late(), message.content});
    if (lost) {
        link.spare = std::move(message.content);
        return;
    }
    message.due = now + late();
    link.way.push_back(std::move(message));
}

template <class T>
void GossipNetwork<T>::falsify(std::int64_t s, Message& message, RandomNumbers& fate) const {
    const GossipSite<T>& site = *sites_[std::size_t(s)];
    const Fault fault = faulty_[std::size_t(s)];
    const double scale = options_.fault_scale;
    double* body = message.content.data();
    const std::int64_t size = site.values();
    double square = 0.0;
    for (std::int64_t k = 0; k < size; ++k) square += body[k] * body[k];
    if (fault == Fault::opposite)
        for (std::int64_t k = 0; k < size; ++k) body[k] *= -scale;
    else if (fault == Fault::noise)
        for (std::int64_t k = 0; k < size; ++k)
            body[k] = scale * std::sqrt(square / double(size)) * fate.normal();
    else if (fault == Fault::figures) {
        // The running sums of the figures but for their mass, and the counter.
        double* figure = body + site.body_size();
        const std::int64_t sums = site.figures_sum().size();
        for (std::int64_t k = 0; k < sums; ++k) figure[k] *= -scale;
        figure[sums + 1] = double(GossipSite<T>::most_counted);
    } else {
        const std::vector<double> own = site.model();
        double length = 0.0;
        for (double w : own) length += w * w;
        if (length == 0.0) return;
        double shift = -scale * std::sqrt(square / length);
        if (fault == Fault::drift) shift *= 0.01 * double(message.number);
        if (fault == Fault::swing && message.number % 2 == 0) shift = -shift;
        const std::int64_t whole = std::min(size, std::int64_t(own.size()));
        for (std::int64_t k = 0; k < whole; ++k) body[k] += shift * own[std::size_t(k)];
    }
}

template <class T>
void GossipNetwork<T>::read_all(std::int64_t s, std::int64_t now) {
    GossipSite<T>& site = *sites_[std::size_t(s)];
    for (std::int64_t e = links_.start[s]; e < links_.start[s + 1]; ++e) {
        Link& link = link_[std::size_t(links_.reverse[e])];
        for (std::size_t k = 0; k < link.way.size();) {
            if (link.way[k].due > now) {
                ++k;
                continue;
            }
            Message message = std::move(link.way[k]);
            link.way.erase(link.way.begin() + std::ptrdiff_t(k));
            if (message.number > link.read) {
                link.read = message.number;
                site.read(e - links_.start[s], message.content.data());
            }
            link.spare = std::move(message.content);
        }
    }
    site.combine();
}

template <class T>
template <class Work>
void GossipNetwork<T>::for_sites(Work&& work, Interrupt& interrupt) {
    auto range = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t s = begin; s < end; ++s)
            if (acts(s)) work(s);
    };
    if (options_.threads == 1) return range(0, links_.sites);
    const std::int64_t pieces = std::min<std::int64_t>(links_.sites, 8 * options_.threads);
    // An interrupt between two halves of a round would lose messages; rounds are short.
    (void)interrupt;
    Interrupt never(nullptr);
    parallel_for(pieces, options_.threads, never, [&](std::int64_t p) {
        range(p * links_.sites / pieces, (p + 1) * links_.sites / pieces);
    });
}

template <class T>
void GossipNetwork<T>::happen() {
    bool changed = false;
    for (; next_event_ < events_.size() && events_[next_event_].round <= round_; ++next_event_) {
        const ScheduledEvent& e = events_[next_event_];
        State& state = state_[std::size_t(e.site)];
        if (e.event == Event::crash && state == State::up) state = State::down;
        if (e.event == Event::come_back && state == State::down) state = State::up;
        if (e.event == Event::leave && state != State::absent) take_out(e.site), changed = true;
        if (e.event == Event::join && state == State::absent) bring_in(e.site), changed = true;
    }
    // What was sent to a site that is down is lost.
    for (std::int64_t s = 0; s < links_.sites; ++s)
        if (!present(s))
            for (std::int64_t e = links_.start[s]; e < links_.start[s + 1]; ++e)
                link_[std::size_t(links_.reverse[e])].way.clear();
    if (changed) share_out();
}

template <class T>
void GossipNetwork<T>::bring_in(std::int64_t s) {
    state_[std::size_t(s)] = State::up;
    for (std::int64_t e = links_.start[s]; e < links_.start[s + 1]; ++e) {
        const std::int64_t t = links_.other[e];
        if (state_[std::size_t(t)] == State::absent) continue;
        sites_[std::size_t(s)]->open(e - links_.start[s]);
        sites_[std::size_t(t)]->open(links_.reverse[e] - links_.start[t]);
    }
}

template <class T>
void GossipNetwork<T>::take_out(std::int64_t s) {
    GossipSite<T>& site = *sites_[std::size_t(s)];
    GossipSite<T>* heir = nullptr;
    for (std::int64_t e = links_.start[s]; e < links_.start[s + 1]; ++e) {
        const std::int64_t t = links_.other[e];
        if (!site.is_open(e - links_.start[s])) continue;
        GossipSite<T>::close(site, e - links_.start[s], *sites_[std::size_t(t)],
                             links_.reverse[e] - links_.start[t]);
        link_[std::size_t(e)].way.clear();
        link_[std::size_t(links_.reverse[e])].way.clear();
        if (!heir) heir = sites_[std::size_t(t)].get();
    }
    if (heir) site.hand_over(*heir);
    state_[std::size_t(s)] = State::absent;
}

template <class T>
void GossipNetwork<T>::share_out() {
    double total = 0.0;
    for (std::int64_t s = 0; s < links_.sites; ++s)
        if (state_[std::size_t(s)] != State::absent) total += weights_[std::size_t(s)];
    for (std::int64_t s = 0; s < links_.sites; ++s)
        sites_[std::size_t(s)]->set_share(total > 0.0 ? weights_[std::size_t(s)] / total : 0.0);
}

// A slow site takes part in evenly spaced rounds, which are other ones for other sites.
template <class T>
bool GossipNetwork<T>::acts(std::int64_t s) const {
    const double speed = speed_[std::size_t(s)];
    if (!present(s) || speed >= 1.0) return present(s);
    const double phase = RandomNumbers(options_.seed, 0x736c6f77, std::uint64_t(s)).uniform();
    return std::floor(phase + double(round_ + 1) * speed) >
           std::floor(phase + double(round_) * speed);
}

template <class T>
bool GossipNetwork<T>::all_stopped() const {
    bool any = false;
    for (std::int64_t s = 0; s < links_.sites; ++s) {
        if (!present(s)) continue;
        any = true;
        const GossipSite<T>& site = *sites_[std::size_t(s)];
        if (options_.paper_rule ? site.times_quiet() == 0 : site.counter() < options_.patience)
            return false;
    }
    return any && next_event_ == events_.size();
}

template <class T>
std::vector<double> GossipNetwork<T>::total() const {
    std::vector<double> sum;
    for (std::int64_t s = 0; s < links_.sites; ++s) {
        const PushSum* own = sites_[std::size_t(s)]->push_sum();
        if (!own) return {};
        const std::int64_t length = own->message_size();
        sum.resize(std::size_t(length), 0.0);
        for (std::int64_t k = 0; k < length; ++k) sum[std::size_t(k)] += own->held()[k];
        for (std::int64_t e = links_.start[s]; e < links_.start[s + 1]; ++e) {
            const std::int64_t t = links_.other[e];
            const double* sent = own->sent(e - links_.start[s]);
            const double* received =
                sites_[std::size_t(t)]->push_sum()->received(links_.reverse[e] - links_.start[t]);
            for (std::int64_t k = 0; k < length; ++k) sum[std::size_t(k)] += sent[k] - received[k];
        }
    }
    return sum;
}

template class GossipNetwork<float>;
template class GossipNetwork<double>;

}  // namespace widemargin
