// Kernel rows within a number of bytes; the least recently used go first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace widemargin {

template <class T>
class RowCache {
public:
    RowCache(std::int64_t rows, std::int64_t length, std::int64_t bytes)
        : bytes_(bytes), length_(length), slots_(std::size_t(rows)) {}

    // How many rows of the current length fit.
    std::int64_t capacity() const {
        return std::max<std::int64_t>(bytes_ / (std::max<std::int64_t>(length_, 1) * sizeof(T)), 1);
    }

    T* find(std::int64_t row) { return slots_[std::size_t(row)].values.get(); }
    void touch(std::int64_t row) { slots_[std::size_t(row)].used = ++clock_; }

    // Room for rows to come: afterwards `incoming` more fit beside those touched since `since`.
    void make_room(std::int64_t incoming, std::int64_t since) {
        std::int64_t excess = held_ + incoming - capacity();
        if (excess <= 0) return;
        std::vector<std::int64_t> candidates;
        for (std::int64_t r = 0; r < std::int64_t(slots_.size()); ++r)
            if (slots_[std::size_t(r)].values && slots_[std::size_t(r)].used <= since)
                candidates.push_back(r);
        excess = std::min<std::int64_t>(excess, std::int64_t(candidates.size()));
        std::nth_element(candidates.begin(), candidates.begin() + excess, candidates.end(),
                         [&](std::int64_t l, std::int64_t r) {
                             return slots_[std::size_t(l)].used < slots_[std::size_t(r)].used;
                         });
        for (std::int64_t k = 0; k < excess; ++k) slots_[std::size_t(candidates[k])].values.reset();
        held_ -= excess;
    }

    T* insert(std::int64_t row) {
        Slot& slot = slots_[std::size_t(row)];
        slot.values.reset(new T[std::size_t(length_)]);
        ++held_;
        touch(row);
        return slot.values.get();
    }

    std::int64_t clock() const { return clock_; }

    // Keeps only the entries (and the rows) listed in `kept`, ascending; k-th becomes number k.
    void compact(const std::vector<std::int64_t>& kept) {
        const std::int64_t shorter = std::int64_t(kept.size());
        std::vector<Slot> slots(kept.size());
        held_ = 0;
        for (std::int64_t k = 0; k < shorter; ++k) {
            Slot& old = slots_[std::size_t(kept[std::size_t(k)])];
            if (!old.values) continue;
            std::unique_ptr<T[]> values(new T[std::size_t(shorter)]);
            for (std::int64_t j = 0; j < shorter; ++j) values[j] = old.values[kept[std::size_t(j)]];
            old.values.reset();  // at once, so that both copies exist for one row only
            slots[std::size_t(k)].values = std::move(values);
            slots[std::size_t(k)].used = old.used;
            ++held_;
        }
        slots_ = std::move(slots);
        length_ = shorter;
    }

private:
    struct Slot {
        std::unique_ptr<T[]> values;
        std::int64_t used = 0;
    };
    std::int64_t bytes_, length_, held_ = 0, clock_ = 0;
    std::vector<Slot> slots_;
};

}  // namespace widemargin
