// Which coordinates to work on next.
#pragma once

#include <cstdint>
#include <vector>

#include "core/coordinate.hpp"

namespace widemargin {

// Half of a selection are the most violating coordinates, those that push the decision up and
// those that push it down in equal parts (one kind alone would overshoot and be undone); the other
// half stay from the last selection, so that what two selections do to each other settles. Ties
// (all rows tie at the start) are broken at random.
class Selection {
public:
    // `tie_breaker` is by row, in the caller's numbering.
    explicit Selection(const std::vector<std::uint32_t>& tie_breaker) : tie_breaker_(tie_breaker) {}

    // Chooses up to `size` of the coordinates; fewer if not so many violate optimality.
    void choose(const std::vector<Coordinate>& from, const Loss& loss, std::int64_t size);

    // Forgets coordinates that were dropped: `kept` lists, ascending, those that were not.
    void renumber(const std::vector<std::int64_t>& kept);

    const std::vector<std::int64_t>& chosen() const { return chosen_; }  // oldest first

private:
    void take_most_violating(const std::vector<Coordinate>& from, std::vector<std::int64_t>& side,
                             std::int64_t count);

    const std::vector<std::uint32_t>& tie_breaker_;
    std::vector<std::int64_t> chosen_, up_, down_;
    std::vector<char> is_chosen_;
    std::vector<double> violation_;
};

}  // namespace widemargin
