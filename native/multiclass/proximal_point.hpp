// Dual ascent on a problem that is tied to an anchor V, and the moves of that anchor.
//
// With strength k and W the weights, the tied problem is
//
//     minimise over W  1/2 |W|^2 + k/2 |W - V|^2 + sum over i of C_i loss(x_i; W).
//
// Divided by 1 + k, its dual has bounds C_i / (1 + k) and W = W(a) + k / (1 + k) V for multipliers
// a: a visit needs no other code, only other bounds and weights that include a share of V. The
// multipliers (1 + k) a suit the problem without the tie, and their weights are W + k (W - V).
//
// Anchors and last weights are laid out as dense weights are: feature by feature, padded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"
#include "core/parallel.hpp"
#include "multiclass/class_weights.hpp"

namespace widemargin {

struct ProximalNorms {
    double own = 0.0;      // |W|^2
    double implied = 0.0;  // |W + k (W - V)|^2
};

// Calls body(piece, place, m) for every weight, m the mean's share; pieces are of fixed size.
template <class Body>
void for_all_weights(const ClassWeights& weights, const double* mean, int threads,
                     Interrupt& interrupt, Body&& body) {
    const std::int64_t size = weights.size(), stride = weights.stride(), width = weights.width();
    const std::int64_t pieces = std::clamp<std::int64_t>(size / 64, 1, 64);
    parallel_for(pieces, threads, interrupt, [&](std::int64_t piece) {
        for (std::int64_t f = piece * size / pieces; f < (piece + 1) * size / pieces; ++f) {
            const double m = mean ? mean[f] : 0.0;
            body(piece, f * stride, f * stride + width, m);
        }
    });
}

inline ProximalNorms proximal_norms(const ClassWeights& weights, const double* mean,
                                    const double* anchor, double strength, int threads,
                                    Interrupt& interrupt) {
    ProximalNorms of_piece[64];
    const double* block = weights.block();
    for_all_weights(weights, mean, threads, interrupt,
                    [&](std::int64_t piece, std::int64_t from, std::int64_t to, double m) {
                        double own = 0.0, implied = 0.0;
                        for (std::int64_t e = from; e < to; ++e) {
                            const double w = block[e] + m, v = w + strength * (w - anchor[e]);
                            own += w * w;
                            implied += v * v;
                        }
                        of_piece[piece].own += own;
                        of_piece[piece].implied += implied;
                    });
    ProximalNorms total;
    for (const ProximalNorms& each : of_piece) {
        total.own += each.own;
        total.implied += each.implied;
    }
    return total;
}

// Puts the anchor at W + momentum (W - last), ties the weights to it, and remembers W as the last.
inline void move_anchor(ClassWeights& weights, const double* mean, double* anchor, double* last,
                        double strength, double momentum, int threads, Interrupt& interrupt) {
    const double share = strength / (1.0 + strength);
    double* block = weights.block();
    for_all_weights(weights, mean, threads, interrupt,
                    [&](std::int64_t, std::int64_t from, std::int64_t to, double m) {
                        for (std::int64_t e = from; e < to; ++e) {
                            const double w = block[e] + m, v = w + momentum * (w - last[e]);
                            block[e] += share * (v - anchor[e]);
                            anchor[e] = v;
                            last[e] = w;
                        }
                    });
}

}  // namespace widemargin
