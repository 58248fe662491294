// Push-Sum (Kempe, Dobra and Gehrke, 2003) over links that lose, repeat, delay and reorder.
//
// A site holds a value and a mass, and gives shares of both to its neighbours; value / mass tends
// to the sum of all values over the sum of all masses. What a message carries is not the share but
// the running sum of all shares that the link was ever given (Hadjicostis, Vaidya and
// Dominguez-Garcia, 2016). The receiver adds what is new to it. So a lost share arrives with the
// next message, a repeated message brings nothing, and an older one is not read. At any time
//
//     sum over sites of what is held + sum over links of (sent - received)
//
// is what it was in the beginning, plus what sites have added since.
//
// Messages are numbered and acknowledged. From a neighbour that falls silent, shares that it has
// not acknowledged are taken back: the running sum goes down again. Should it have received them
// after all, it gives them back when it reads the lower sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "gossip/site_state.hpp"

namespace widemargin {

class PushSum {
public:
    PushSum(std::int64_t size, std::int64_t links, double mass)
        : length_(size + 1), held_(std::size_t(length_), 0.0),
          sent_(std::size_t(length_ * links), 0.0), received_(std::size_t(length_ * links), 0.0),
          acknowledged_(std::size_t(length_ * links), 0.0), unread_(std::size_t(links)) {
        held_.back() = mass;
    }

    std::int64_t size() const { return length_ - 1; }
    std::int64_t message_size() const { return length_; }
    double* value() { return held_.data(); }
    const double* held() const { return held_.data(); }  // the mass is last
    double mass() const { return held_.back(); }
    // A site that has just joined has no mass, and no opinion, before it has heard of others.
    double mean(std::int64_t k) const {
        return mass() > 0.0 ? held_[std::size_t(k)] / mass() : 0.0;
    }

    // Puts fraction[l] of what is held on its way through link l.
    void give(const double* fraction, std::int64_t links) {
        double kept = 1.0;
        for (std::int64_t l = 0; l < links; ++l) {
            if (fraction[l] == 0.0) continue;
            kept -= fraction[l];
            double* sent = sent_.data() + l * length_;
            for (std::int64_t k = 0; k < length_; ++k)
                sent[k] += fraction[l] * held_[std::size_t(k)];
        }
        for (double& h : held_) h *= kept;
    }
    void write(std::int64_t link, std::int64_t number, double* message) {
        const double* sent = sent_.data() + link * length_;
        for (std::int64_t k = 0; k < length_; ++k) message[k] = sent[k];
        auto& unread = unread_[std::size_t(link)];
        const double* last =
            unread.empty() ? acknowledged_.data() + link * length_ : unread.back().second.data();
        // Of what is left out here, more than needed may be taken back, and comes again.
        if (unread.size() < SiteState::most_queued && !std::equal(sent, sent + length_, last))
            unread.emplace_back(number, std::vector<double>(sent, sent + length_));
    }
    // The neighbour has read all messages up to this number.
    void acknowledge(std::int64_t link, std::int64_t number) {
        auto& unread = unread_[std::size_t(link)];
        for (; !unread.empty() && unread.front().first <= number; unread.pop_front())
            std::copy(unread.front().second.begin(), unread.front().second.end(),
                      acknowledged_.begin() + link * length_);
    }
    void take_back(std::int64_t link) {
        double* sent = sent_.data() + link * length_;
        const double* acknowledged = acknowledged_.data() + link * length_;
        for (std::int64_t k = 0; k < length_; ++k) {
            held_[std::size_t(k)] += sent[k] - acknowledged[k];
            sent[k] = acknowledged[k];
        }
        unread_[std::size_t(link)].clear();
    }
    void read(std::int64_t link, const double* message) {
        double* received = received_.data() + link * length_;
        for (std::int64_t k = 0; k < length_; ++k) {
            held_[std::size_t(k)] += message[k] - received[k];
            received[k] = message[k];
        }
    }

    const double* sent(std::int64_t link) const { return sent_.data() + link * length_; }
    const double* received(std::int64_t link) const { return received_.data() + link * length_; }
    // The neighbour is gone: takes back what it did not receive. The link may be used anew.
    void close(std::int64_t link, const double* received_there) {
        double* sent = sent_.data() + link * length_;
        double* received = received_.data() + link * length_;
        for (std::int64_t k = 0; k < length_; ++k) {
            held_[std::size_t(k)] += sent[k] - received_there[k];
            sent[k] = received[k] = acknowledged_[std::size_t(link * length_ + k)] = 0.0;
        }
        unread_[std::size_t(link)].clear();
    }
    // The neighbour is gone, and what it received is not known: all shares ever sent come back, and
    // all ever received are given up. The sum over all sites stays what it was if the neighbour
    // does the same, or comes back as a site that never heard of anybody.
    void undo(std::int64_t link) { close(link, received(link)); }
    // Leaves everything to another site.
    void hand_over(PushSum& heir) {
        for (std::int64_t k = 0; k < length_; ++k) {
            heir.held_[std::size_t(k)] += held_[std::size_t(k)];
            held_[std::size_t(k)] = 0.0;
        }
    }

    void state(SiteState& fields) {
        const std::size_t each = std::size_t(length_);
        fields.vector(held_);
        fields.per_link(sent_, each);
        fields.per_link(received_, each);
        fields.per_link(acknowledged_, each);
        fields.per_link(unread_, each);
    }

private:
    std::int64_t length_;  // of the value and its mass
    std::vector<double> held_, sent_, received_, acknowledged_;
    // Running sums that were sent and not yet acknowledged, with the first message of each.
    std::vector<std::deque<std::pair<std::int64_t, std::vector<double>>>> unread_;
};

}  // namespace widemargin
