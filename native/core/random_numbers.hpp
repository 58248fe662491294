// Random numbers that depend on what they are for, never on which thread asks or in which order.
#pragma once

#include <cmath>
#include <cstdint>

namespace widemargin {

// SplitMix64 (Steele, Lea and Flood, 2014).
struct RandomNumbers {
    std::uint64_t state;

    explicit RandomNumbers(std::uint64_t seed) : state(seed) {}
    // A stream of its own for every (seed, a, b).
    RandomNumbers(std::uint64_t seed, std::uint64_t a, std::uint64_t b)
        : state(mixed(mixed(mixed(seed) ^ a) ^ b)) {}

    std::uint64_t next() { return mixed(state += 0x9e3779b97f4a7c15ULL); }
    double uniform() { return double(next() >> 11) * 0x1p-53; }  // in [0, 1)
    std::int64_t below(std::int64_t n) { return std::int64_t(uniform() * double(n)); }
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    static std::uint64_t mixed(std::uint64_t z) {
        z += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
};

}  // namespace widemargin
