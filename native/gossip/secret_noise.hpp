// Gaussian noise that nobody can guess who has not the key: ChaCha20 (RFC 8439, section 2.3) as a
// generator, and Box and Muller's transform.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace widemargin {

class SecretNoise {
public:
    using Key = std::array<std::uint32_t, 8>;

    // A stream of its own for every (key, stream).
    SecretNoise(const Key& key, std::uint64_t stream) {
        const std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
        for (int k = 0; k < 4; ++k) input_[k] = constants[k];
        for (int k = 0; k < 8; ++k) input_[4 + k] = key[std::size_t(k)];
        input_[12] = input_[13] = 0;
        input_[14] = std::uint32_t(stream);
        input_[15] = std::uint32_t(stream >> 32);
    }

    std::uint32_t word() {
        if (at_ == 16) refill();
        return block_[at_++];
    }
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    double uniform() {  // in [0, 1)
        const std::uint64_t high = word(), low = word();
        return double((high << 21) ^ (low >> 11)) * 0x1p-53;
    }
    static std::uint32_t rotated(std::uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }
    static void quarter(std::uint32_t* x, int a, int b, int c, int d) {
        x[a] += x[b], x[d] = rotated(x[d] ^ x[a], 16);
        x[c] += x[d], x[b] = rotated(x[b] ^ x[c], 12);
        x[a] += x[b], x[d] = rotated(x[d] ^ x[a], 8);
        x[c] += x[d], x[b] = rotated(x[b] ^ x[c], 7);
    }
    void refill() {
        for (int k = 0; k < 16; ++k) block_[k] = input_[k];
        for (int round = 0; round < 10; ++round) {
            for (int k = 0; k < 4; ++k) quarter(block_, k, 4 + k, 8 + k, 12 + k);
            for (int k = 0; k < 4; ++k)
                quarter(block_, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
        }
        for (int k = 0; k < 16; ++k) block_[k] += input_[k];
        if (++input_[12] == 0) ++input_[13];
        at_ = 0;
    }

    std::uint32_t input_[16], block_[16];
    int at_ = 16;
};

}  // namespace widemargin
