// One site as Python sees it: what a process on a real network drives.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/gossip.hpp"

namespace widemargin {

template <class T>
class SoleSite {
public:
    // All links are closed at first.
    SoleSite(nb::object problem, const SiteSettings& settings,
             const typename NetworkSet<T>::Maker& make)
        : problem_(problem),
          site_(make(nb::cast<const LinearSet<T>&>(problem).problem(), settings)) {
        for (std::int64_t l = 0; l < settings.links; ++l) site_->abandon(l);
    }

    void step() {
        nb::gil_scoped_release release;
        site_->step();
    }
    void prepare(Vector<const double> fraction) {
        require(std::int64_t(fraction.shape(0)) == site_->links(),
                "`fraction` needs one entry per link.");
        site_->prepare(fraction.data());
    }
    auto write(std::int64_t link) {
        check(link);
        const std::size_t size = std::size_t(site_->message_size());
        std::unique_ptr<double[]> out(new double[size]);
        site_->write(link, out.get());
        return new_array(out, size);
    }
    void read(std::int64_t link, Vector<const double> message) {
        check(link);
        require(site_->is_open(link), "the link is closed.");
        const std::int64_t size = site_->message_size();
        require(std::int64_t(message.shape(0)) == size, "the message is of another length.");
        for (std::int64_t k = 0; k < size; ++k)
            require(std::isfinite(message.data()[k]), "the message must be finite.");
        for (std::int64_t k = size - 3; k < size; ++k)  // these become integers
            require(message.data()[k] >= 0.0 && message.data()[k] <= 9007199254740992.0,
                    "the message's counter and numbers must be whole and not negative.");
        site_->read(link, message.data());
    }
    void combine() { site_->combine(); }
    void open(std::int64_t link) {
        check(link);
        require(!site_->is_open(link), "the link is open.");
        site_->open(link);
    }
    void abandon(std::int64_t link) {
        check(link);
        site_->abandon(link);
    }
    void disregard(std::int64_t link) {
        check(link);
        site_->disregard(link);
    }

    nb::bytes save() {
        SiteState state;
        site_->state(state);
        return nb::bytes(state.bytes().data(), state.bytes().size());
    }
    // A site whose state did not fit must not be used any more.
    void restore(nb::bytes data) {
        SiteState state(reinterpret_cast<const std::uint8_t*>(data.c_str()), data.size());
        site_->state(state);
    }

    auto model() const {
        const std::size_t size = nb::cast<const LinearSet<T>&>(problem_).size();
        std::unique_ptr<double[]> out(new double[size]);
        site_->model(out.get());
        return new_array(out, size);
    }
    nb::object dual() const {
        const std::size_t count = nb::cast<const LinearSet<T>&>(problem_).count();
        if (!site_->dual()) return nb::none();
        std::unique_ptr<double[]> out(new double[count]);
        std::copy_n(site_->dual(), count, out.get());
        return nb::cast(new_array(out, count));
    }
    // Per link: open, last counter heard, exchanges since, messages written, last one read,
    // distance, suspicion.
    auto links() const {
        const std::size_t n = std::size_t(site_->links());
        std::unique_ptr<double[]> out(new double[n * 7]);
        for (std::size_t k = 0; k < n; ++k) {
            const std::int64_t l = std::int64_t(k);
            const double row[] = {double(site_->is_open(l)),   double(site_->heard(l)),
                                  double(site_->silent(l)),    double(site_->written(l)),
                                  double(site_->last_read(l)), site_->apart(l),
                                  site_->suspicion(l)};
            std::copy_n(row, 7, &out[k * 7]);
        }
        return new_array(out, n, 7);
    }
    // What is held, and what was sent and received through each link; masses are last. Of the
    // figures, or of the models where the method pushes them.
    nb::object sums(bool models) const {
        const PushSum* sum = models ? site_->push_sum() : &site_->figures_sum();
        if (!sum) return nb::none();
        const std::size_t n = std::size_t(site_->links()), size = std::size_t(sum->message_size());
        std::unique_ptr<double[]> held(new double[size]), sent(new double[n * size]),
            received(new double[n * size]);
        std::copy_n(sum->held(), size, held.get());
        for (std::size_t l = 0; l < n; ++l) {
            std::copy_n(sum->sent(std::int64_t(l)), size, &sent[l * size]);
            std::copy_n(sum->received(std::int64_t(l)), size, &received[l * size]);
        }
        return nb::make_tuple(new_array(held, size), new_array(sent, n, size),
                              new_array(received, n, size));
    }

    double estimate() const { return site_->estimate(); }
    double agreement() const { return site_->agreement(); }
    double apart() const { return site_->apart(); }
    bool content() const { return site_->content(); }
    std::int64_t counter() const { return site_->counter(); }
    std::int64_t steps() const { return site_->steps(); }
    std::int64_t releases() const { return site_->releases(); }
    void spend(std::int64_t releases) { site_->spend(releases); }
    std::int64_t message_size() const { return site_->message_size(); }
    std::int64_t body_size() const { return site_->body_size(); }

private:
    void check(std::int64_t link) const {
        require(link >= 0 && link < site_->links(), "there is no such link.");
    }

    nb::object problem_;
    std::unique_ptr<GossipSite<T>> site_;
};

template <class T>
void bind_site(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Site = SoleSite<T>;
    nb::class_<Site>(m, name)
        .def("step", &Site::step)
        .def("prepare", &Site::prepare, "fraction"_a)
        .def("write", &Site::write, "link"_a)
        .def("read", &Site::read, "link"_a, "message"_a)
        .def("combine", &Site::combine)
        .def("open", &Site::open, "link"_a)
        .def("abandon", &Site::abandon, "link"_a)
        .def("disregard", &Site::disregard, "link"_a)
        .def("save", &Site::save)
        .def("restore", &Site::restore, "state"_a)
        .def("model", &Site::model)
        .def("dual", &Site::dual)
        .def("links", &Site::links)
        .def("sums", &Site::sums, "models"_a = false)
        .def_prop_ro("estimate", &Site::estimate)
        .def_prop_ro("agreement", &Site::agreement)
        .def_prop_ro("apart", &Site::apart)
        .def_prop_ro("content", &Site::content)
        .def_prop_ro("counter", &Site::counter)
        .def_prop_ro("steps", &Site::steps)
        .def_prop_ro("releases", &Site::releases)
        .def("spend", &Site::spend, "releases"_a)
        .def_prop_ro("message_size", &Site::message_size)
        .def_prop_ro("body_size", &Site::body_size)
        .def_static(
            "consensus",
            [](nb::object problem, const SiteSettings& settings, double rho, std::int64_t levels,
               double relaxation, std::int64_t epochs, std::int64_t liars, bool strict,
               bool single) {
                const ConsensusOptions own =
                    consensus_options(rho, levels, relaxation, epochs, liars, strict, single);
                return new Site(problem, settings,
                                [&](const LinearProblem<T>& part, const SiteSettings& each) {
                                    return make_consensus_site(part, each, own);
                                });
            },
            "problem"_a, "settings"_a, nb::kw_only(), "rho"_a, "levels"_a, "relaxation"_a,
            "epochs"_a, "liars"_a, "strict"_a, "single"_a)
        .def_static(
            "gradient",
            [](nb::object problem, const SiteSettings& settings, bool tracking, std::int64_t batch,
               double offset, double decay, double radius, bool averaging,
               const std::string& exchange, double clip, std::int64_t trim) {
                const GradientOptions own = gradient_options(tracking, batch, offset, decay, radius,
                                                             averaging, exchange, clip, trim);
                return new Site(problem, settings,
                                [&](const LinearProblem<T>& part, const SiteSettings& each) {
                                    return make_gradient_site(part, each, own);
                                });
            },
            "problem"_a, "settings"_a, nb::kw_only(), "tracking"_a, "batch"_a, "offset"_a,
            "decay"_a, "radius"_a, "averaging"_a, "exchange"_a, "clip"_a, "trim"_a)
        .def_static(
            "private_descent",
            [](nb::object problem, const SiteSettings& settings, double noise, double bound,
               double reach, std::int64_t releases, std::int64_t interval, double step,
               double momentum, nb::bytes key) {
                const PrivateOptions own =
                    private_options(noise, bound, reach, releases, interval, step, momentum, key);
                return new Site(problem, settings,
                                [&](const LinearProblem<T>& part, const SiteSettings& each) {
                                    return make_private_site(part, each, own);
                                });
            },
            "problem"_a, "settings"_a, nb::kw_only(), "noise"_a, "bound"_a, "reach"_a, "releases"_a,
            "interval"_a, "step"_a, "momentum"_a, "key"_a);
}

inline void bind_site_settings(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<SiteSettings>(m, "SiteSettings")
        .def(
            "__init__",
            [](SiteSettings* self, std::int64_t links, std::int64_t number, double sites,
               double share, std::uint64_t seed, const StoppingRule& stopping) {
                require(links >= 0 && number >= 0 && sites >= 1.0 && share >= 0.0,
                        "site settings out of range.");
                new (self) SiteSettings();
                self->links = links;
                self->number = number;
                self->sites = sites;
                self->share = share;
                self->seed = seed;
                self->stopping = stopping;
            },
            nb::kw_only(), "links"_a, "number"_a, "sites"_a, "share"_a, "seed"_a, "stopping"_a);
}

}  // namespace widemargin
