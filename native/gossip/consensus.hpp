// Sites that agree by decentralised ADMM, in the relaxed form that stands lossy links
// (Bastianello, Carli, Schenato and Todescato, 2021).
//
// The problem is split over sites, with a copy w_s of the model each and w_s = w_t over every link:
//
//     minimise  sum over sites s of  share_s/2 |w_s|^2 + sum over its rows i of loss_i(m_i)
//
// A site keeps a vector z per link and, every step, minimises its own part
//
//     share/2 |w|^2 + sum loss_i + sum over links l of (rho_l/2 |w|^2 - z_l . w)
//
// by coordinate ascent on the duals g of its own rows: w = (sum of z_l + sum of g_i y_i x_i) /
// kappa with kappa = share + sum of rho_l. It tells neighbour l   q = 2 rho_l w - z_l,   which
// there becomes z <- (1 - relaxation) z + relaxation q. There is no step size; any rho > 0
// converges, and messages may be lost, late or repeated.
//
// Departures from the paper: one pass of coordinate ascent a step, warm-started, instead of the
// exact minimiser; the regulariser is shared out in proportion to the sites' rows. Then:
//
// Beginning. A link counts from the first message that is read through it. Before, a site solves
// its own rows alone, and z = rho w, as if the neighbour agreed. So sites that are alike begin near
// the optimum instead of at zero.
//
// Penalty. Where the ends of a link stay apart while their models hardly move, rho is too small: it
// doubles, on that link alone, `levels` times at most. A message says the level it is for; the
// higher of the two ends' holds from then on, so that both are the same but for messages on their
// way, and changes are finite in number. z + (rho' - rho) w has the pull z - rho w of before.
//
// Liars. At the end z_l = rho w + p_l, where the pulls p_l of the two ends are opposite and those
// of a site add up to the gradient of its own part. A neighbour that lies can choose its pull. So
// the pull is bounded: with B |w_s - w_t| in place of w_s = w_t, q is replaced by
// q' = u + (q - u) min(1, 2 B / |q - u|), where u = 2 rho w - z is what this site tells. That is
// exact where no honest pull is longer than B, and a liar's pull is at most B. B is a little more
// than the longest pull but for `liars` of them, and at least `chances` times what pulls between
// sites alike are by chance: from the root of the sum of the squared gradients of the site's rows.
// A site that has hardly any rows of a class cannot judge, and bounds nothing. Nor, unless
// `strict`, does one at which more neighbours than may lie keep pulling harder than chance: then
// honest sites differ, and a bound would keep them from the optimum. One liar cannot bring that
// about: its own pull is bounded until then, and spreads over the other links. A bounded pull still
// draws all sites to where its lie points, so a neighbour that keeps asking for a pull far beyond
// the bound is not followed at all, until it asks for one within it; no more than `liars` of them.
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
    double rho = 1.0;         // of a link, in the beginning
    std::int64_t levels = 0;  // times that it may double
    double relaxation = 0.7;
    std::int64_t epochs = 1;  // passes over its rows a step
    std::int64_t liars = 0;   // tolerated at sites that have more than twice as many neighbours
    bool strict = false;      // whether their pulls are bounded even where many neighbours differ
    bool single = false;      // vectors travel in single precision
};

template <class T>
std::unique_ptr<GossipSite<T>> make_consensus_site(const LinearProblem<T>& problem,
                                                   const SiteSettings& settings,
                                                   const ConsensusOptions& options);

}  // namespace widemargin
