// Networks of sites as Python sees them.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bindings/linear.hpp"
#include "bindings/multiclass.hpp"
#include "gossip/average.hpp"
#include "gossip/consensus.hpp"
#include "gossip/gradient.hpp"
#include "gossip/private.hpp"
#include "gossip/simulation.hpp"

namespace widemargin {

inline Exchange exchange_named(const std::string& name) {
    if (name == "push_sum") return Exchange::push_sum;
    if (name == "clipped") return Exchange::clipped;
    if (name == "trimmed") return Exchange::trimmed;
    throw std::invalid_argument("unknown exchange: " + name);
}

inline ConsensusOptions consensus_options(double rho, std::int64_t levels, double relaxation,
                                          std::int64_t epochs, std::int64_t liars, bool strict,
                                          bool single) {
    require(rho > 0.0 && relaxation > 0.0 && relaxation <= 1.0 && epochs > 0,
            "`rho` and `epochs` must be positive, `relaxation` in (0, 1].");
    require(levels >= 0 && levels <= 60 && liars >= 0, "`levels` and `liars` must be from 0.");
    return {rho, levels, relaxation, epochs, liars, strict, single};
}
inline GradientOptions gradient_options(bool tracking, std::int64_t batch, double offset,
                                        double decay, double radius, bool averaging,
                                        const std::string& exchange, double clip, std::int64_t trim,
                                        double total = 0.0) {
    require(batch >= 0 && offset >= 0.0 && offset + decay > 0.0 && radius > 0.0 && clip > 0.0 &&
                trim >= 0 && total >= 0.0,
            "gradient options out of range.");
    return {tracking, batch, offset, decay, radius, averaging, exchange_named(exchange),
            clip,     trim,  total};
}

inline PrivateOptions private_options(double noise, double bound, double reach,
                                      std::int64_t releases, std::int64_t interval, double step,
                                      double momentum, nb::bytes key) {
    require(noise > 0.0 && bound > 0.0 && reach > 0.0 && releases > 0 && interval > 0 &&
                step > 0.0 && momentum >= 0.0 && momentum < 1.0 && key.size() == 32,
            "private options out of range.");
    PrivateOptions options{noise, bound, reach, releases, interval, step, momentum, {}};
    std::memcpy(options.key.data(), key.c_str(), 32);
    return options;
}

// Who is where and who talks to whom: checked once, then kept alive.
struct NetworkArrays {
    Vector<const std::int64_t> site_start, link_start, link_other, link_reverse;
    Matrix<const double> fraction;  // one row per round of a period

    std::int64_t sites() const { return std::int64_t(site_start.shape(0)) - 1; }
    NetworkLinks links() const {
        return {link_start.data(), link_other.data(), link_reverse.data(),
                fraction.data(),   sites(),           std::int64_t(fraction.shape(0))};
    }
    // Whether anything is ever sent over a link.
    bool used(std::int64_t link) const {
        for (std::size_t round = 0; round < fraction.shape(0); ++round)
            if (fraction.data()[round * fraction.shape(1) + std::size_t(link)] > 0.0) return true;
        return false;
    }
    void check(std::int64_t rows) const {
        const std::int64_t n = sites();
        require(n >= 1 && std::int64_t(link_start.shape(0)) == n + 1,
                "`site_start` and `link_start` need one entry per site, and one more.");
        require(site_start.data()[0] == 0 && site_start.data()[n] == rows &&
                    std::is_sorted(site_start.data(), site_start.data() + n + 1),
                "`site_start` must lead from 0 to the number of rows.");
        const std::size_t count = link_other.shape(0);
        require(link_start.data()[0] == 0 && std::size_t(link_start.data()[n]) == count &&
                    std::is_sorted(link_start.data(), link_start.data() + n + 1),
                "`link_start` must lead from 0 to the number of links.");
        require(
            link_reverse.shape(0) == count && fraction.shape(1) == count && fraction.shape(0) > 0,
            "`link_reverse` and rows of `fraction` need one entry per link.");
        for (std::int64_t s = 0; s < n; ++s)
            for (std::int64_t e = link_start.data()[s]; e < link_start.data()[s + 1]; ++e) {
                const std::int64_t r = link_reverse.data()[e], t = link_other.data()[e];
                require(t >= 0 && t < n && r >= link_start.data()[t] &&
                            r < link_start.data()[t + 1] && link_other.data()[r] == s &&
                            link_reverse.data()[r] == e,
                        "every link needs its reverse.");
            }
    }
};

template <class T>
class NetworkSet {
public:
    using Maker =
        std::function<std::unique_ptr<GossipSite<T>>(const LinearProblem<T>&, const SiteSettings&)>;

    NetworkSet(nb::object problem, NetworkArrays arrays, Matrix<const std::int64_t> events,
               Vector<const std::uint8_t> faulty, Matrix<const double> pace,
               const StoppingRule& stopping, const NetworkOptions& options, const Maker& make)
        : problem_(problem), arrays_(std::move(arrays)) {
        const LinearProblem<T>& whole = set().problem();
        arrays_.check(whole.rows.count);
        const std::int64_t n = arrays_.sites();
        require(events.shape(0) == 0 || events.shape(1) == 3, "`events` needs three columns.");
        require(std::int64_t(faulty.shape(0)) == n, "`faulty` needs one entry per site.");
        require(std::int64_t(pace.shape(0)) == n && pace.shape(1) == 2,
                "`pace` needs a speed and a mass per site.");
        std::vector<double> speed;
        for (std::size_t s = 0; s < pace.shape(0); ++s) {
            const double* each = pace.data() + 2 * s;
            require(each[0] > 0.0 && each[0] <= 1.0 && each[1] > 0.0 && each[1] <= 1.0,
                    "speeds and masses must be in (0, 1].");
            speed.push_back(each[0]);
        }
        // So many exchanges may pass between two messages of a link, where nothing fails.
        const double slowest = *std::min_element(speed.begin(), speed.end());
        const std::int64_t rounds =
            std::int64_t(std::ceil(double(arrays_.fraction.shape(0)) / slowest));
        const std::int64_t pauses = rounds > 1 ? rounds * options.exchanges : 1;
        std::vector<ScheduledEvent> scheduled;
        std::vector<std::uint8_t> founder(std::size_t(n), 1);
        for (std::size_t k = 0; k < events.shape(0); ++k) {
            const std::int64_t* e = events.data() + 3 * k;
            require(e[1] >= 0 && e[1] < n && e[2] >= 0 && e[2] <= 3, "no such event.");
            scheduled.push_back({e[0], e[1], Event(e[2])});
            if (Event(e[2]) == Event::join) founder[std::size_t(e[1])] = 0;
        }
        std::vector<Fault> faults;
        for (std::size_t s = 0; s < faulty.shape(0); ++s) {
            require(faulty.data()[s] <= 6, "no such fault.");
            faults.push_back(Fault(faulty.data()[s]));
        }
        const double founders =
            double(std::accumulate(founder.begin(), founder.end(), std::int64_t(0)));
        require(founders > 0, "one site at least must be there from the beginning.");
        typename GossipNetwork<T>::Sites sites;
        std::vector<double> weights;
        for (std::int64_t s = 0; s < n; ++s) {
            const std::int64_t begin = arrays_.site_start.data()[s],
                               end = arrays_.site_start.data()[s + 1];
            LinearProblem<T> part = whole;
            part.rows = whole.rows.slice(begin, end);
            part.label = whole.label + begin;
            if (whole.weight) part.weight = whole.weight + begin;
            double weight = 0.0;
            for (std::int64_t i = 0; i < end - begin; ++i) weight += part.weight_of(i);
            weights.push_back(weight);
            SiteSettings settings;
            settings.links = arrays_.link_start.data()[s + 1] - arrays_.link_start.data()[s];
            settings.number = s;
            settings.sites = founders;
            settings.seed = options.seed;
            const std::int64_t partners = options.talk == Talk::one ? settings.links : 1;
            settings.silence = 6 * std::max<std::int64_t>(1, partners) * pauses +
                               options.exchanges * options.faults.delay;
            settings.mass = pace.data()[2 * s + 1];
            for (std::int64_t e = arrays_.link_start.data()[s];
                 e < arrays_.link_start.data()[s + 1]; ++e)
                settings.hears.push_back(arrays_.used(arrays_.link_reverse.data()[e]));
            settings.founder = founder[std::size_t(s)] != 0;
            settings.stopping = stopping;
            sites.push_back(make(part, settings));
        }
        network_ = std::make_unique<GossipNetwork<T>>(std::move(sites), arrays_.links(),
                                                      std::move(weights), std::move(scheduled),
                                                      std::move(faults), std::move(speed), options);
    }

    std::int64_t run(std::int64_t rounds, nb::object stopping) {
        std::int64_t done = 0;
        run_until_told(stopping,
                       [&](Interrupt& interrupt) { done = network_->run(rounds, interrupt); });
        return done;
    }
    auto models() const {
        const std::size_t n = std::size_t(arrays_.sites()), size = set().size();
        std::unique_ptr<double[]> out(new double[n * size]);
        for (std::size_t s = 0; s < n; ++s) network_->site(std::int64_t(s)).model(&out[s * size]);
        return new_array(out, n, size);
    }
    // Duals of all rows; none if the method has none.
    nb::object dual() const {
        std::unique_ptr<double[]> out(new double[set().count()]);
        for (std::int64_t s = 0; s < arrays_.sites(); ++s) {
            const std::int64_t begin = arrays_.site_start.data()[s],
                               end = arrays_.site_start.data()[s + 1];
            if (begin == end) continue;  // no rows, no duals, whatever the method
            const double* dual = network_->site(s).dual();
            if (!dual) return nb::none();
            std::copy_n(dual, end - begin, &out[std::size_t(begin)]);
        }
        return nb::cast(new_array(out, set().count()));
    }
    auto total() const {
        const std::vector<double> sum = network_->total();
        std::unique_ptr<double[]> out(new double[sum.size()]);
        std::copy(sum.begin(), sum.end(), out.get());
        return new_array(out, sum.size());
    }
    // Per site: present, steps, counter, estimate of the gap, times quiet, first time quiet.
    auto sites() const {
        const std::size_t n = std::size_t(arrays_.sites());
        std::unique_ptr<double[]> out(new double[n * 6]);
        for (std::size_t s = 0; s < n; ++s) {
            const GossipSite<T>& site = network_->site(std::int64_t(s));
            const double row[] = {double(network_->present(std::int64_t(s))),
                                  double(site.steps()),
                                  double(site.counter()),
                                  site.estimate(),
                                  double(site.times_quiet()),
                                  double(site.first_quiet())};
            std::copy_n(row, 6, &out[s * 6]);
        }
        return new_array(out, n, 6);
    }

    std::int64_t round() const { return network_->round(); }
    std::int64_t messages() const { return network_->messages(); }
    std::int64_t message_size() const { return network_->message_size(); }
    std::int64_t message_singles() const { return network_->message_singles(); }
    bool stopped() const { return network_->stopped(); }

private:
    const LinearSet<T>& set() const { return nb::cast<const LinearSet<T>&>(problem_); }

    nb::object problem_;
    NetworkArrays arrays_;
    std::unique_ptr<GossipNetwork<T>> network_;
};

template <class T>
void bind_gossip(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Set = NetworkSet<T>;
    nb::class_<Set> network(m, name);
    network.def("run", &Set::run, "rounds"_a, "stopping"_a.none() = nb::none())
        .def("models", &Set::models)
        .def("dual", &Set::dual)
        .def("total", &Set::total)
        .def("sites", &Set::sites)
        .def_prop_ro("round", &Set::round)
        .def_prop_ro("messages", &Set::messages)
        .def_prop_ro("message_size", &Set::message_size)
        .def_prop_ro("message_singles", &Set::message_singles)
        .def_prop_ro("stopped", &Set::stopped);
    // One factory per method: the common settings, then the method's own.
    const auto arrays = [](Vector<const std::int64_t> a, Vector<const std::int64_t> b,
                           Vector<const std::int64_t> c, Vector<const std::int64_t> d,
                           Matrix<const double> e) { return NetworkArrays{a, b, c, d, e}; };
    network.def_static(
        "consensus",
        [arrays](nb::object problem, Vector<const std::int64_t> site_start,
                 Vector<const std::int64_t> link_start, Vector<const std::int64_t> link_other,
                 Vector<const std::int64_t> link_reverse, Matrix<const double> fraction,
                 Matrix<const std::int64_t> events, Vector<const std::uint8_t> faulty,
                 Matrix<const double> pace, const StoppingRule& stopping,
                 const NetworkOptions& options, double rho, std::int64_t levels, double relaxation,
                 std::int64_t epochs, std::int64_t liars, bool strict, bool single) {
            const ConsensusOptions own =
                consensus_options(rho, levels, relaxation, epochs, liars, strict, single);
            return new Set(problem,
                           arrays(site_start, link_start, link_other, link_reverse, fraction),
                           events, faulty, pace, stopping, options,
                           [&](const LinearProblem<T>& part, const SiteSettings& settings) {
                               return make_consensus_site(part, settings, own);
                           });
        },
        "problem"_a, "site_start"_a, "link_start"_a, "link_other"_a, "link_reverse"_a, "fraction"_a,
        "events"_a, "faulty"_a, "pace"_a, "stopping"_a, "options"_a, nb::kw_only(), "rho"_a,
        "levels"_a, "relaxation"_a, "epochs"_a, "liars"_a, "strict"_a, "single"_a);
    network.def_static(
        "gradient",
        [arrays](nb::object problem, Vector<const std::int64_t> site_start,
                 Vector<const std::int64_t> link_start, Vector<const std::int64_t> link_other,
                 Vector<const std::int64_t> link_reverse, Matrix<const double> fraction,
                 Matrix<const std::int64_t> events, Vector<const std::uint8_t> faulty,
                 Matrix<const double> pace, const StoppingRule& stopping,
                 const NetworkOptions& options, bool tracking, std::int64_t batch, double offset,
                 double decay, double radius, bool averaging, const std::string& exchange,
                 double clip, std::int64_t trim, double total) {
            const GradientOptions own = gradient_options(tracking, batch, offset, decay, radius,
                                                         averaging, exchange, clip, trim, total);
            return new Set(problem,
                           arrays(site_start, link_start, link_other, link_reverse, fraction),
                           events, faulty, pace, stopping, options,
                           [&](const LinearProblem<T>& part, const SiteSettings& settings) {
                               return make_gradient_site(part, settings, own);
                           });
        },
        "problem"_a, "site_start"_a, "link_start"_a, "link_other"_a, "link_reverse"_a, "fraction"_a,
        "events"_a, "faulty"_a, "pace"_a, "stopping"_a, "options"_a, nb::kw_only(), "tracking"_a,
        "batch"_a, "offset"_a, "decay"_a, "radius"_a, "averaging"_a, "exchange"_a, "clip"_a,
        "trim"_a, "total"_a = 0.0);
    network.def_static(
        "private_descent",
        [arrays](nb::object problem, Vector<const std::int64_t> site_start,
                 Vector<const std::int64_t> link_start, Vector<const std::int64_t> link_other,
                 Vector<const std::int64_t> link_reverse, Matrix<const double> fraction,
                 Matrix<const std::int64_t> events, Vector<const std::uint8_t> faulty,
                 Matrix<const double> pace, const StoppingRule& stopping,
                 const NetworkOptions& options, double noise, double bound, double reach,
                 std::int64_t releases, std::int64_t interval, double step, double momentum,
                 nb::bytes key) {
            const PrivateOptions own =
                private_options(noise, bound, reach, releases, interval, step, momentum, key);
            return new Set(problem,
                           arrays(site_start, link_start, link_other, link_reverse, fraction),
                           events, faulty, pace, stopping, options,
                           [&](const LinearProblem<T>& part, const SiteSettings& settings) {
                               PrivateOptions each = own;  // every site has a key of its own
                               each.key[7] ^= std::uint32_t(settings.number);
                               return make_private_site(part, settings, each);
                           });
        },
        "problem"_a, "site_start"_a, "link_start"_a, "link_other"_a, "link_reverse"_a, "fraction"_a,
        "events"_a, "faulty"_a, "pace"_a, "stopping"_a, "options"_a, nb::kw_only(), "noise"_a,
        "bound"_a, "reach"_a, "releases"_a, "interval"_a, "step"_a, "momentum"_a, "key"_a);
    network.def_static(
        "average",
        [arrays](nb::object problem, Vector<const std::int64_t> site_start,
                 Vector<const std::int64_t> link_start, Vector<const std::int64_t> link_other,
                 Vector<const std::int64_t> link_reverse, Matrix<const double> fraction,
                 Matrix<const std::int64_t> events, Vector<const std::uint8_t> faulty,
                 Matrix<const double> pace, const StoppingRule& stopping,
                 const NetworkOptions& options, Matrix<const double> values) {
            const auto& set = nb::cast<const LinearSet<T>&>(problem);
            require(values.shape(0) + 1 == site_start.shape(0) && values.shape(1) == set.size(),
                    "`values` needs one row per site and one entry per feature.");
            return new Set(problem,
                           arrays(site_start, link_start, link_other, link_reverse, fraction),
                           events, faulty, pace, stopping, options,
                           [&](const LinearProblem<T>& part, const SiteSettings& settings) {
                               return std::make_unique<AverageSite<T>>(
                                   part, settings,
                                   values.data() + std::size_t(settings.number) * values.shape(1));
                           });
        },
        "problem"_a, "site_start"_a, "link_start"_a, "link_other"_a, "link_reverse"_a, "fraction"_a,
        "events"_a, "faulty"_a, "pace"_a, "stopping"_a, "options"_a, nb::kw_only(), "values"_a);
}

inline void bind_gossip_settings(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<StoppingRule>(m, "StoppingRule")
        .def(
            "__init__",
            [](StoppingRule* self, double tol, double diameter, double epsilon,
               std::int64_t quiet) { new (self) StoppingRule{tol, diameter, epsilon, quiet}; },
            nb::kw_only(), "tol"_a, "diameter"_a, "epsilon"_a, "quiet"_a);
    nb::class_<NetworkOptions>(m, "NetworkOptions")
        .def(
            "__init__",
            [](NetworkOptions* self, bool one, std::int64_t exchanges, bool asynchronous,
               double loss, double repeat, std::int64_t delay, double fault_scale,
               std::int64_t patience, bool paper_rule, std::uint64_t seed, int threads) {
                require(exchanges > 0 && delay >= 0 && patience > 0 && threads > 0,
                        "network options out of range.");
                new (self) NetworkOptions{one ? Talk::one : Talk::all,
                                          exchanges,
                                          asynchronous,
                                          {loss, repeat, delay},
                                          fault_scale,
                                          patience,
                                          paper_rule,
                                          seed,
                                          threads};
            },
            nb::kw_only(), "one"_a, "exchanges"_a, "asynchronous"_a, "loss"_a, "repeat"_a,
            "delay"_a, "fault_scale"_a, "patience"_a, "paper_rule"_a, "seed"_a, "threads"_a);
}

}  // namespace widemargin
