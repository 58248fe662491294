// What a site must remember to go on, after a restart, as if nothing had happened.
//
// One list of fields serves both ways: a site passes its fields to a SiteState, which writes them
// down or fills them in. Numbers are kept bit for bit. Every vector is preceded by its length; one
// that has an entry per link may be shorter than the site's, which then has new links.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace widemargin {

class SiteState {
public:
    SiteState() = default;  // to be written down
    SiteState(const std::uint8_t* data, std::size_t size)
        : bytes_(data, data + size), restoring_(true) {}

    const std::vector<std::uint8_t>& bytes() const { return bytes_; }
    bool restoring() const { return restoring_; }

    template <class V>
    void value(V& v) {
        static_assert(std::is_trivially_copyable_v<V>);
        pass(&v, sizeof v);
    }
    template <class V>
    void vector(std::vector<V>& v) {
        require(length(v.size()) == v.size());
        pass(v.data(), v.size() * sizeof(V));
    }
    // `each` entries per link, those of a link side by side.
    template <class V>
    void per_link(std::vector<V>& v, std::size_t each = 1) {
        const std::size_t saved = length(v.size());
        require(saved <= v.size() && (each == 0 || saved % each == 0));
        pass(v.data(), saved * sizeof(V));
    }
    // Per link, numbered vectors of `each` entries.
    void per_link(std::vector<std::deque<std::pair<std::int64_t, std::vector<double>>>>& queues,
                  std::size_t each) {
        const std::size_t saved = length(queues.size());
        require(saved <= queues.size());
        for (std::size_t l = 0; l < saved; ++l) {
            const std::size_t count = length(queues[l].size());
            require(count <= most_queued);
            if (restoring_) queues[l].assign(count, {0, std::vector<double>(each)});
            for (auto& [number, sums] : queues[l]) {
                value(number);
                vector(sums);
            }
        }
    }
    // Whatever was saved has been used.
    void finish() const { require(!restoring_ || at_ == bytes_.size()); }

    static constexpr std::size_t most_queued = 64;

    static void require(bool fits) {
        if (!fits) throw std::invalid_argument("The state is of another site or version.");
    }

private:
    std::size_t length(std::size_t now) {
        std::uint64_t saved = now;
        value(saved);
        return std::size_t(saved);
    }
    void pass(void* data, std::size_t size) {
        if (size == 0) return;
        if (!restoring_) {
            const auto* from = static_cast<const std::uint8_t*>(data);
            bytes_.insert(bytes_.end(), from, from + size);
            return;
        }
        require(size <= bytes_.size() - at_);
        std::memcpy(data, bytes_.data() + at_, size);
        at_ += size;
    }

    std::vector<std::uint8_t> bytes_;
    std::size_t at_ = 0;
    bool restoring_ = false;
};

}  // namespace widemargin
