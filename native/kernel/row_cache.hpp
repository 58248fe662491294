// Kernel rows within a number of bytes; the least recently used go first.
//
// They lie in one piece of memory, line after line. Rows of their own would leave holes between
// them when they are shortened, which takes up to a sixth more memory than the limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/large_block.hpp"

namespace widemargin {

template <class T>
class RowCache {
public:
    RowCache(std::int64_t rows, std::int64_t length, std::int64_t bytes)
        : values_(std::max<std::int64_t>(
              std::min<std::int64_t>(bytes / std::int64_t(sizeof(T)), rows * length), length)),
          length_(length), slots_(std::size_t(rows)),
          memory_(large_block<T>(std::size_t(values_), smallest_on_large_pages)) {}

    // How many rows of the current length fit.
    std::int64_t capacity() const { return values_ / std::max<std::int64_t>(length_, 1); }

    T* find(std::int64_t row) {
        const std::int64_t line = slots_[std::size_t(row)].line;
        return line < 0 ? nullptr : memory_.get() + line * length_;
    }
    void touch(std::int64_t row) { slots_[std::size_t(row)].used = ++clock_; }

    // Room for rows to come: afterwards `incoming` more fit beside those touched since `since`.
    void make_room(std::int64_t incoming, std::int64_t since) {
        std::int64_t excess = held() + incoming - capacity();
        if (excess <= 0) return;
        std::vector<std::int64_t> candidates;
        for (std::int64_t r = 0; r < std::int64_t(slots_.size()); ++r)
            if (slots_[std::size_t(r)].line >= 0 && slots_[std::size_t(r)].used <= since)
                candidates.push_back(r);
        excess = std::min<std::int64_t>(excess, std::int64_t(candidates.size()));
        std::nth_element(candidates.begin(), candidates.begin() + excess, candidates.end(),
                         [&](std::int64_t l, std::int64_t r) {
                             return slots_[std::size_t(l)].used < slots_[std::size_t(r)].used;
                         });
        for (std::int64_t k = 0; k < excess; ++k) {
            Slot& slot = slots_[std::size_t(candidates[std::size_t(k)])];
            free_.push_back(slot.line);
            slot.line = -1;
        }
    }

    // There must be room.
    T* insert(std::int64_t row) {
        Slot& slot = slots_[std::size_t(row)];
        if (free_.empty()) {
            slot.line = lines_++;
        } else {
            slot.line = free_.back();
            free_.pop_back();
        }
        touch(row);
        return find(row);
    }

    std::int64_t clock() const { return clock_; }

    // Keeps only the entries (and the rows) listed in `kept`, ascending; k-th becomes number k.
    void compact(const std::vector<std::int64_t>& kept) {
        const auto shorter = std::int64_t(kept.size());
        std::vector<Slot> slots(kept.size());
        std::vector<std::int64_t> by_line(std::size_t(lines_), -1);
        for (std::int64_t k = 0; k < shorter; ++k) {
            slots[std::size_t(k)] = slots_[std::size_t(kept[std::size_t(k)])];
            const std::int64_t line = slots[std::size_t(k)].line;
            if (line >= 0) by_line[std::size_t(line)] = k;
        }
        // In the order of memory: no value is written behind one that is still to be read.
        T* out = memory_.get();
        std::int64_t next = 0;
        for (std::int64_t line = 0; line < lines_; ++line) {
            const std::int64_t k = by_line[std::size_t(line)];
            if (k < 0) continue;
            const T* from = memory_.get() + line * length_;
            for (std::int64_t column : kept) *out++ = from[column];
            slots[std::size_t(k)].line = next++;
        }
        slots_ = std::move(slots);
        free_.clear();
        lines_ = next;
        length_ = shorter;
    }

private:
    struct Slot {
        std::int64_t line = -1;  // −1: not held
        std::int64_t used = 0;
    };

    std::int64_t held() const { return lines_ - std::int64_t(free_.size()); }

    // Many small problems touch a few rows each, of which large pages would hold mostly nothing.
    static constexpr std::size_t smallest_on_large_pages = 32 * large_page;

    std::int64_t values_, length_;  // in all, and of a line
    std::int64_t lines_ = 0;        // lines in use from the beginning of memory, free ones included
    std::int64_t clock_ = 0;
    std::vector<Slot> slots_;
    std::vector<std::int64_t> free_;  // lines among them that hold no row
    Block<T> memory_;                 // pages that no line reaches are never touched
};

}  // namespace widemargin
