// What neighbours last said, for exchanges that do not trust them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gossip/site_state.hpp"

namespace widemargin {

class NeighbourModels {
public:
    NeighbourModels(std::int64_t size, std::int64_t links)
        : size_(std::size_t(size)), fraction_(std::size_t(links), 0.0),
          known_(std::size_t(links), 0), model_(size_ * std::size_t(links), 0.0) {}

    void remember(const double* fraction) {
        std::copy_n(fraction, fraction_.size(), fraction_.begin());
    }
    void read(std::int64_t link, const double* message) {
        std::copy_n(message, size_, model_.begin() + link * std::int64_t(size_));
        known_[std::size_t(link)] = 1;
    }
    void forget(std::int64_t link) { known_[std::size_t(link)] = 0; }
    void state(SiteState& fields) {
        fields.per_link(fraction_);
        fields.per_link(known_);
        fields.per_link(model_, size_);
    }

    // own + sum over links of fraction * difference, no difference longer than `factor` times the
    // lower median of the lengths: at least half of the neighbours are taken to be sound.
    std::vector<double> clipped(const std::vector<double>& own, double factor) const {
        std::vector<double> length(fraction_.size(), 0.0), sorted;
        for (std::size_t l = 0; l < fraction_.size(); ++l) {
            if (!known_[l]) continue;
            for (std::size_t f = 0; f < size_; ++f) {
                const double difference = model_[l * size_ + f] - own[f];
                length[l] += difference * difference;
            }
            sorted.push_back(length[l] = std::sqrt(length[l]));
        }
        if (sorted.empty()) return own;
        std::sort(sorted.begin(), sorted.end());
        const double longest = factor * sorted[(sorted.size() - 1) / 2];
        std::vector<double> mixed(own);
        for (std::size_t l = 0; l < fraction_.size(); ++l) {
            if (!known_[l] || length[l] == 0.0) continue;
            const double weight = fraction_[l] * std::min(1.0, longest / length[l]);
            for (std::size_t f = 0; f < size_; ++f)
                mixed[f] += weight * (model_[l * size_ + f] - own[f]);
        }
        return mixed;
    }

    // Weight by weight, the mean of what is left without the `count` lowest and highest; sites of
    // too few neighbours keep what they have.
    std::vector<double> trimmed(const std::vector<double>& own, std::int64_t count) const {
        std::vector<double> mixed(own), said;
        for (std::size_t f = 0; f < size_; ++f) {
            said.assign(1, own[f]);
            for (std::size_t l = 0; l < fraction_.size(); ++l)
                if (known_[l]) said.push_back(model_[l * size_ + f]);
            const std::int64_t left = std::int64_t(said.size()) - 2 * count;
            if (left < 1) return own;
            std::sort(said.begin(), said.end());
            double sum = 0.0;
            for (std::int64_t k = count; k < count + left; ++k) sum += said[std::size_t(k)];
            mixed[f] = sum / double(left);
        }
        return mixed;
    }

private:
    std::size_t size_;
    std::vector<double> fraction_;  // weights of the links in this exchange
    std::vector<std::uint8_t> known_;
    std::vector<double> model_;
};

}  // namespace widemargin
