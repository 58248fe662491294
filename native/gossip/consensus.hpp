// Sites that agree by decentralised ADMM, in the relaxed form that stands lossy links
// (Bastianello, Carli, Schenato and Todescato, 2021).
//
// The problem is split over sites, with a copy w_s of the model each and w_s = w_t over every link:
//
//     minimise  sum over sites s of  share_s/2 |w_s|^2 + sum over its rows i of loss_i(m_i)
//
// A site keeps a vector z per link and, every step, minimises its own part
//
//     share/2 |w|^2 + sum loss_i + sum over links l of (rho/2 |w|^2 - z_l . w)
//
// by coordinate ascent on the duals g of its own rows: w = (sum of z_l + sum of g_i y_i x_i) /
// kappa with kappa = share + rho * links. It tells neighbour l   q = 2 rho w - z_l,   which there
// becomes z <- (1 - relaxation) z + relaxation q. There is no step size; any rho > 0 converges, and
// messages may be lost, late or repeated.
//
// Departures from the paper: one pass of coordinate ascent a step, warm-started, instead of the
// exact minimiser; the regulariser is shared out in proportion to the sites' rows.
//
// Figures: with all w_s equal to w, the duality gap is the sum over rows of
// loss_i + phi_i(g_i) + g_i m_i (each >= 0) plus 1/2 |w - sum of g_i y_i x_i|^2, and the vector in
// the last term is at most half the sum over links of |q - z|. What copies that still differ cost
// is estimated from the slopes g_i |x_i| of the losses.
#pragma once

#include <memory>
#include <vector>

#include "gossip/site.hpp"

namespace widemargin {

struct ConsensusOptions {
    double rho = 1.0;
    double relaxation = 0.7;
    std::int64_t epochs = 1;  // passes over its rows a step
};

template <class T>
std::unique_ptr<GossipSite<T>> make_consensus_site(const LinearProblem<T>& problem,
                                                   const SiteSettings& settings,
                                                   const ConsensusOptions& options);

}  // namespace widemargin
