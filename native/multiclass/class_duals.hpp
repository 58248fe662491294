// Multipliers of rows: per row the classes whose multiplier is not zero, in ascending order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace widemargin {

struct DualRow {
    std::vector<std::int32_t> classes;
    std::vector<double> values;

    // Where classes from `first` on begin.
    std::size_t place(std::int64_t first) const {
        return std::size_t(std::lower_bound(classes.begin(), classes.end(), first) -
                           classes.begin());
    }

    // Puts (ids, numbers) in place of the entries [begin, end); memory fits what is kept.
    void replace(std::size_t begin, std::size_t end, const std::vector<std::int32_t>& ids,
                 const std::vector<double>& numbers) {
        const std::size_t removed = end - begin, common = std::min(removed, ids.size());
        std::copy_n(ids.begin(), common, classes.begin() + std::ptrdiff_t(begin));
        std::copy_n(numbers.begin(), common, values.begin() + std::ptrdiff_t(begin));
        const auto at = std::ptrdiff_t(begin + common);
        if (ids.size() > removed) {
            const std::size_t length = classes.size() + ids.size() - removed;
            if (length > classes.capacity()) {  // a quarter more than needed, not as much again
                classes.reserve(length + length / 4);
                values.reserve(length + length / 4);
            }
            classes.insert(classes.begin() + at, ids.begin() + std::ptrdiff_t(common), ids.end());
            values.insert(values.begin() + at, numbers.begin() + std::ptrdiff_t(common),
                          numbers.end());
        } else if (removed > ids.size()) {
            const auto last = std::ptrdiff_t(end);
            classes.erase(classes.begin() + at, classes.begin() + last);
            values.erase(values.begin() + at, values.begin() + last);
        }
    }
};

}  // namespace widemargin
