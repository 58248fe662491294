// Sites that descend on gradients and average their models by Push-Sum.
//
// GADGET (Dutta et al.): with t the number of the step and g_i(w) minus the slope of row i's loss,
//
//     value <- (1 - step) value + step * sites * (n_s / b) sum over the b rows of a batch of
//              g_i(w) y_i x_i,      step = 1 / (offset + t),   w = value / mass
//
// then the value is pushed to neighbours. What a site adds does not depend on its mass (unless less
// than a third of it is there: then steps are shortened), and is in
// proportion to its rows n_s: the mean over sites is a step of Pegasos on all rows. The model is a
// mean of the iterates in which late ones weigh more (Shamir and Zhang, 2013). Departure: printed
// equation 4 has the sign of its loss turned.
//
// GADGET as printed (`total` > 0, the weight of all rows): Push-Sum begins anew in every step, from
// the models with masses of one, and every site counts alike, however many rows it has:
//
//     w <- (1 - step) w + step * (total / b) sum over a batch of g_i(w) y_i x_i,   step = 1 / t
//
// Gradient tracking (Push-DIGing: Nedic, Olshevsky and Shi, 2017): beside the model, sites average
// their gradients; every site descends along the mean gradient even where its own rows differ from
// the others'. All of its rows, every step, whose length is 1 / (offset + decay * t).
//
// Faulty neighbours: Push-Sum believes what it is told. With `Exchange::clipped` or `trimmed`
// sites tell their models instead, and a receiver limits how far one neighbour can draw it: by
// shortening differences to `clip` times the lower median of their lengths (after He, Karimireddy
// and Jaggi, 2022), or by leaving out the `trim` lowest and highest of every weight (Yang and
// Bajwa, 2019). Sites are then weighted equally and the mean is only nearly kept.
//
// When to stop: sites average their objectives and compare with an earlier time. Errors of these
// methods fall as 1 / t at best, so that from t / 2 to t the objective falls by as much as it may
// still fall.
#pragma once

#include <memory>

#include "gossip/site.hpp"

namespace widemargin {

enum class Exchange : int { push_sum, clipped, trimmed };

struct GradientOptions {
    bool tracking = false;
    std::int64_t batch = 1;  // rows per step; 0: all
    double offset = 0.0;
    double decay = 1.0;  // of the step's length; 0 keeps it (tracking only)
    double radius = std::numeric_limits<double>::infinity();  // |w| is kept within
    bool averaging = true;
    Exchange exchange = Exchange::push_sum;
    double clip = 1.0;
    std::int64_t trim = 1;
    double total = 0.0;  // as printed, if positive: the weight of all rows of all sites
};

template <class T>
std::unique_ptr<GossipSite<T>> make_gradient_site(const LinearProblem<T>& problem,
                                                  const SiteSettings& settings,
                                                  const GradientOptions& options);

}  // namespace widemargin
