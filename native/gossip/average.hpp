// Sites that have no rows, only a vector each, and want to know the mean of all.
#pragma once

#include <memory>

#include "gossip/site.hpp"

namespace widemargin {

template <class T>
class AverageSite final : public GossipSite<T> {
    using Site = GossipSite<T>;

public:
    AverageSite(const LinearProblem<T>& problem, const SiteSettings& settings, const double* value)
        : Site(problem, settings),
          push_(this->size(), settings.links, settings.founder ? 1.0 : 0.0) {
        if (settings.founder) std::copy_n(value, this->size(), push_.value());
    }
    std::int64_t body_size() const override { return push_.message_size(); }
    void model(double* w) const override {
        for (std::int64_t f = 0; f < this->size(); ++f) w[f] = push_.mean(f);
    }
    const PushSum* push_sum() const override { return &push_; }
    double apart() const override { return 0.0; }
    bool content() const override { return false; }

protected:
    void local_step() override {}
    void give(const double* fraction) override { push_.give(fraction, this->settings_.links); }
    void write_body(std::int64_t link, std::int64_t number, double* message) override {
        push_.write(link, number, message);
    }
    void acknowledge(std::int64_t link, std::int64_t number) override {
        push_.acknowledge(link, number);
    }
    void take_back(std::int64_t link) override { push_.take_back(link); }
    void read_body(std::int64_t link, const double* message) override { push_.read(link, message); }
    void close_body(std::int64_t link, Site& other, std::int64_t its_link) override {
        auto& there = static_cast<AverageSite&>(other);
        const std::int64_t length = push_.message_size();
        const std::vector<double> received(push_.received(link), push_.received(link) + length);
        push_.close(link, there.push_.received(its_link));
        there.push_.close(its_link, received.data());
    }
    void hand_over_body(Site& heir) override {
        push_.hand_over(static_cast<AverageSite&>(heir).push_);
    }
    void abandon_body(std::int64_t link) override { push_.undo(link); }
    void body_state(SiteState& fields) override { push_.state(fields); }

private:
    PushSum push_;
};

}  // namespace widemargin
