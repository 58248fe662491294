// Sites that tell neighbours nothing of their rows but noisy gradients, a fixed number of them.
//
// A *release* is the gradient of a site's own losses at its current model, with Gaussian noise:
//
//     s = sum over rows i of clip(g_i(w)) y_i x_i + noise * (reach * bound) * N(0, I)
//
// with g_i minus the slope of row i's loss, cut off at `bound` times the row's weight, and rows
// that are no longer than `reach`. Adding or removing one row changes the sum by at most
// reach * bound, whatever w is and whoever chose it. A site makes at most `releases` of them, which
// compose to one Gaussian mechanism of noise / sqrt(releases); everything else that it ever sends
// is computed from releases and from what neighbours sent. In particular it reports no figures.
//
// Learning is descent with momentum on the objective of all rows. Every `interval` steps
//
//     value <- value + mass (momentum (w - previous w) - step w) + step * sites * s
//
// and in between values and masses are averaged by Push-Sum; w = value / mass. So the mean over
// sites is w <- w + momentum (w - previous) - step * gradient. After the last release, a site puts
// the mean of the last third of its iterates in the place of the last one: that is free, and
// averages noise away.
//
// A site is content when its budget is spent and neighbours agree.
#pragma once

#include <array>
#include <memory>

#include "gossip/site.hpp"

namespace widemargin {

struct PrivateOptions {
    double noise = 1.0;  // standard deviation, in units of what one row can change
    double bound = 1.0;  // largest slope of a row of weight one
    double reach = 1.0;  // longest row, its constant feature included
    std::int64_t releases = 1;
    std::int64_t interval = 1;  // steps from release to release
    double step = 1.0, momentum = 0.9;
    std::array<std::uint32_t, 8> key{};  // of the noise: secret, and never used twice
};

template <class T>
std::unique_ptr<GossipSite<T>> make_private_site(const LinearProblem<T>& problem,
                                                 const SiteSettings& settings,
                                                 const PrivateOptions& options);

}  // namespace widemargin
