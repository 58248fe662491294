#include "kernel/selection.hpp"

#include <algorithm>

namespace widemargin {

void Selection::choose(const std::vector<Coordinate>& from, const Loss& loss, std::int64_t size) {
    const auto n = std::int64_t(from.size());
    violation_.resize(std::size_t(n));
    up_.clear();
    down_.clear();
    for (std::int64_t k = 0; k < n; ++k) {
        const Wish wish = wish_of(loss, from[k]);
        violation_[k] = wish.violation;
        if (wish.violation > 0.0) (wish.step * from[k].label > 0.0 ? up_ : down_).push_back(k);
    }
    const std::int64_t stay = std::min<std::int64_t>(std::int64_t(chosen_.size()), size / 2);
    chosen_.erase(chosen_.begin(), chosen_.end() - stay);
    is_chosen_.assign(std::size_t(n), 0);
    for (std::int64_t k : chosen_) is_chosen_[k] = 1;
    const std::int64_t room = size - stay;
    take_most_violating(from, up_, std::max(room / 2, room - std::int64_t(down_.size())));
    take_most_violating(from, down_, size - std::int64_t(chosen_.size()));
}

void Selection::take_most_violating(const std::vector<Coordinate>& from,
                                    std::vector<std::int64_t>& side, std::int64_t count) {
    auto more_violating = [&](std::int64_t l, std::int64_t r) {
        if (violation_[l] != violation_[r]) return violation_[l] > violation_[r];
        const auto tl = tie_breaker_[from[l].row], tr = tie_breaker_[from[r].row];
        return tl != tr ? tl < tr : l < r;
    };
    side.erase(std::remove_if(side.begin(), side.end(),
                              [&](std::int64_t k) { return is_chosen_[k] != 0; }),
               side.end());
    count = std::min(count, std::int64_t(side.size()));
    std::nth_element(side.begin(), side.begin() + count, side.end(), more_violating);
    std::sort(side.begin(), side.begin() + count, more_violating);
    chosen_.insert(chosen_.end(), side.begin(), side.begin() + count);
}

void Selection::renumber(const std::vector<std::int64_t>& kept) {
    chosen_.erase(std::remove_if(chosen_.begin(), chosen_.end(),
                                 [&](std::int64_t& k) {
                                     const auto at = std::lower_bound(kept.begin(), kept.end(), k);
                                     if (at == kept.end() || *at != k) return true;
                                     k = std::int64_t(at - kept.begin());
                                     return false;
                                 }),
                  chosen_.end());
}

}  // namespace widemargin
