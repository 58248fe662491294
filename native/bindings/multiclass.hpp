// Multi-class problems and bundles of classes as Python sees them.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#if defined(__linux__)
#include <malloc.h>
#endif

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "multiclass/class_bundle.hpp"
#include "multiclass/proximal_point.hpp"

namespace widemargin {

inline Formulation formulation_named(const std::string& name) {
    if (name == "ww") return Formulation::weston_watkins;
    if (name == "cs") return Formulation::crammer_singer;
    if (name == "llw") return Formulation::lee_lin_wahba;
    if (name == "ovr") return Formulation::one_vs_rest;
    if (name == "odm") return Formulation::margin_distribution;
    if (name == "llw_fixed_mean") return Formulation::lee_lin_wahba_fixed_mean;
    throw std::invalid_argument("unknown formulation: " + name);
}

// Runs `work(interrupt)` without the interpreter's lock; Ctrl-C, or `stopping` returning true, ends
// it.
template <class Work>
void run_until_told(const nb::object& stopping, Work&& work) {
    PendingSignal signal;
    const auto poll = [&] {
        if (signal.poll()) return true;
        nb::gil_scoped_acquire gil;
        return !stopping.is_none() && nb::cast<bool>(stopping());
    };
    {
        nb::gil_scoped_release release;
        Interrupt interrupt(poll);
        work(interrupt);
    }
    signal.raise_if_any();
}

// A problem that keeps its arrays alive.
template <class T>
class MulticlassSet {
public:
    MulticlassSet(nb::object rows, Vector<const std::int32_t> label, Vector<const double> bound,
                  Vector<const double> square, std::int64_t classes, double constant, double lower,
                  double upper, double upsilon, std::optional<Vector<const std::int32_t>> rival)
        : rows_(rows), label_(label), bound_(bound), square_(square), rival_(rival) {
        problem_.rows = nb::cast<const RowSet<T>&>(rows).view(KernelKind::linear);
        const std::size_t n = std::size_t(problem_.rows.count);
        require(label.shape(0) == n && bound.shape(0) == n && square.shape(0) == n,
                "`label`, `bound` and `square` need one entry per row.");
        require(classes > 1 && classes < std::numeric_limits<std::int32_t>::max(),
                "two classes or more are needed.");
        for (std::size_t i = 0; i < n; ++i)
            require(label.data()[i] >= 0 && label.data()[i] < classes, "label out of range.");
        problem_.constant = constant;
        problem_.label = label.data();
        problem_.bound = bound.data();
        problem_.square = square.data();
        problem_.classes = classes;
        require(0.0 < lower && lower <= upper, "`lower` must be positive and at most `upper`.");
        problem_.band = {lower, upper, upsilon, nullptr};
        if (!rival) return;
        require(rival->shape(0) == n, "`rival` needs one entry per row.");
        require(upsilon > 0.0, "rivals need a positive `upsilon`.");
        for (std::size_t i = 0; i < n; ++i)
            require(rival->data()[i] >= 0 && rival->data()[i] < classes &&
                        rival->data()[i] != label.data()[i],
                    "a row's rival must be another class.");
        problem_.band.rival = rival->data();
    }

    const MulticlassProblem<T>& problem() const { return problem_; }

    void check(const ClassBundle& bundle) const {
        require(bundle.weights.size() == problem_.size(), "the bundle is of other features.");
        require(bundle.first + bundle.weights.width() <= problem_.classes,
                "the bundle is of other classes.");
        for (std::int64_t i : bundle.rows)
            require(i < problem_.rows.count, "the bundle is of other rows.");
    }
    double* check(const std::optional<Vector<double>>& mean, Formulation formulation) const {
        const bool needed = formulation == Formulation::lee_lin_wahba ||
                            formulation == Formulation::lee_lin_wahba_fixed_mean;
        require(needed == bool(mean), "`mean` belongs to lee_lin_wahba.");
        require(!mean || std::int64_t(mean->shape(0)) == problem_.size(),
                "`mean` needs one entry per feature.");
        return mean ? mean->data() : nullptr;
    }

private:
    nb::object rows_;
    Vector<const std::int32_t> label_;
    Vector<const double> bound_, square_;
    std::optional<Vector<const std::int32_t>> rival_;
    MulticlassProblem<T> problem_;
};

template <class T>
auto py_visit(const MulticlassSet<T>& set, const std::string& formulation, ClassBundle& home,
              ClassBundle& away, std::optional<Vector<double>> mean, std::uint64_t seed,
              std::int64_t part, std::int64_t parts, bool active_only, double skip_below,
              std::int64_t fewest_new, double new_mass, bool in_turn, nb::object stopping) {
    const Formulation kind = formulation_named(formulation);
    set.check(home);
    set.check(away);
    require(parts > 0 && part >= 0 && part < parts, "`part` must be below `parts`.");
    double* m = set.check(mean, kind);
    if (kind != Formulation::weston_watkins)
        require(&home == &away, "only ww has matches between bundles.");
    if (kind == Formulation::crammer_singer || kind == Formulation::lee_lin_wahba ||
        kind == Formulation::margin_distribution)
        require(away.weights.width() == set.problem().classes, "all classes must be together.");
    VisitOptions options;
    options.seed = seed;
    options.part = part;
    options.parts = parts;
    options.active_only = active_only;
    options.skip_below = skip_below;
    options.fewest_new = fewest_new;
    options.new_mass = new_mass;
    options.in_turn = in_turn;
    VisitResult result;
    run_until_told(stopping, [&](Interrupt& interrupt) {
        result = visit_rows(set.problem(), kind, home, away, m, options, interrupt);
    });
    return nb::make_tuple(result.loss, result.gain);
}

template <class T>
void py_add_weights(const MulticlassSet<T>& set, const std::string& formulation,
                    const ClassBundle& home, ClassBundle& away) {
    const Formulation kind = formulation_named(formulation);
    set.check(home);
    set.check(away);
    run_until_told(nb::none(), [&](Interrupt& interrupt) {
        add_weights(set.problem(), kind, home, away, interrupt);
    });
}

template <class T>
auto py_dual_sums(const MulticlassSet<T>& set, const std::string& formulation,
                  const ClassBundle& bundle) {
    const Formulation kind = formulation_named(formulation);
    set.check(bundle);
    const DualSums sums = dual_sums(set.problem(), kind, bundle);
    return nb::make_tuple(sums.linear, sums.quadratic);
}

template <class T>
auto py_total_losses(const MulticlassSet<T>& set, const std::string& formulation, nb::list bundles,
                     std::optional<Vector<double>> mean, const std::vector<double>& scales,
                     int threads) {
    const Formulation kind = formulation_named(formulation);
    std::vector<const ClassBundle*> all;
    std::int64_t next = 0;
    for (nb::handle each : bundles) {
        const ClassBundle& bundle = nb::cast<const ClassBundle&>(each);
        set.check(bundle);
        require(bundle.first == next, "bundles must be in order.");
        next += bundle.weights.width();
        all.push_back(&bundle);
    }
    require(next == set.problem().classes, "bundles must be all classes.");
    const double* m = set.check(mean, kind);
    std::vector<double> losses;
    run_until_told(nb::none(), [&](Interrupt& interrupt) {
        total_losses(set.problem(), kind, all, m, scales, losses, threads, interrupt);
    });
    return losses;
}

inline ClassBundle* new_bundle(std::int64_t first, std::int64_t width, std::int64_t size,
                               bool dense, Vector<const std::int64_t> rows) {
    require(first >= 0 && width > 0 && size >= 0,
            "`first`, `width` and `size` are numbers of things.");
    std::vector<std::int64_t> numbers(rows.data(), rows.data() + rows.shape(0));
    for (std::int64_t i : numbers) require(i >= 0, "row number out of range.");
    return new ClassBundle(first, width, size, dense, std::move(numbers));
}

// Sum of |w_c + m|^2, and of all w_c (for m).
inline double squared_norm(const ClassBundle& bundle, std::optional<Vector<const double>> mean) {
    require(!mean || std::int64_t(mean->shape(0)) == bundle.weights.size(),
            "`mean` needs one entry per feature.");
    nb::gil_scoped_release release;
    double sum = 0.0;
    bundle.weights.for_each([&](std::int64_t f, std::int64_t, double w) {
        const double full = mean ? w + mean->data()[f] : w;
        sum += full * full;
    });
    return sum;
}

inline std::int64_t weight_count(const ClassBundle& bundle) {
    nb::gil_scoped_release release;
    std::int64_t count = 0;
    bundle.weights.for_each([&](std::int64_t, std::int64_t, double w) { count += w != 0.0; });
    return count;
}

inline auto class_sum(const ClassBundle& bundle) {
    const std::size_t size = std::size_t(bundle.weights.size());
    std::unique_ptr<double[]> sum(new double[size]());
    bundle.weights.for_each(
        [&](std::int64_t f, std::int64_t, double w) { sum[std::size_t(f)] += w; });
    return new_array(sum, size);
}

inline auto dense_weights(const ClassBundle& bundle) {
    const std::int64_t size = bundle.weights.size(), width = bundle.weights.width();
    std::unique_ptr<double[]> out(new double[std::size_t(size * width)]());
    {
        nb::gil_scoped_release release;
        bundle.weights.transpose(out.get());
    }
    return new_array(out, width, size);
}

inline void add_dense_weights(ClassBundle& bundle, Matrix<const double> weights) {
    require(bundle.weights.dense(), "the bundle's weights must be dense.");
    require(std::int64_t(weights.shape(0)) == bundle.weights.width() &&
                std::int64_t(weights.shape(1)) == bundle.weights.size(),
            "`weights` needs one row per class and one column per feature.");
    nb::gil_scoped_release release;
    bundle.weights.add_transposed(weights.data());
}

template <class Index>
auto sparse_weights_of(const ClassBundle& bundle) {
    const std::size_t width = std::size_t(bundle.weights.width());
    std::unique_ptr<std::int64_t[]> start(new std::int64_t[width + 1]());
    bundle.weights.for_each(
        [&](std::int64_t, std::int64_t c, double w) { start[std::size_t(c) + 1] += w != 0.0; });
    for (std::size_t c = 0; c < width; ++c) start[c + 1] += start[c];
    const std::size_t stored = std::size_t(start[width]);
    std::unique_ptr<double[]> values(new double[stored]);
    std::unique_ptr<Index[]> features(new Index[stored]);
    std::vector<std::int64_t> next(start.get(), start.get() + width);
    bundle.weights.for_each([&](std::int64_t f, std::int64_t c, double w) {
        if (w == 0.0) return;
        const std::size_t at = std::size_t(next[std::size_t(c)]++);
        values[at] = w;
        features[at] = Index(f);
    });
    return nb::make_tuple(new_array(values, stored), new_array(features, stored),
                          new_array(start, width + 1));
}

// Weights that are not zero, class by class: (values, features, where each class begins). Features
// are numbered in 32 bits where these suffice: there may be hundreds of millions of weights.
inline nb::tuple sparse_weights(const ClassBundle& bundle) {
    return bundle.weights.size() <= std::numeric_limits<std::int32_t>::max()
               ? sparse_weights_of<std::int32_t>(bundle)
               : sparse_weights_of<std::int64_t>(bundle);
}

// Multipliers row by row: (values, classes, where each row begins).
inline auto duals_of(const ClassBundle& bundle) {
    const std::size_t n = bundle.rows.size();
    std::unique_ptr<std::int64_t[]> start(new std::int64_t[n + 1]());
    for (std::size_t r = 0; r < n; ++r)
        start[r + 1] = start[r] + std::int64_t(bundle.duals[r].classes.size());
    const std::size_t stored = std::size_t(start[n]);
    std::unique_ptr<double[]> values(new double[stored]);
    std::unique_ptr<std::int32_t[]> classes(new std::int32_t[stored]);
    for (std::size_t r = 0; r < n; ++r) {
        std::copy(bundle.duals[r].values.begin(), bundle.duals[r].values.end(),
                  values.get() + start[r]);
        std::copy(bundle.duals[r].classes.begin(), bundle.duals[r].classes.end(),
                  classes.get() + start[r]);
    }
    return nb::make_tuple(new_array(values, stored), new_array(classes, stored),
                          new_array(start, n + 1));
}

// Takes multipliers as `duals_of` gives them, classes ascending within a row.
inline void set_duals(ClassBundle& bundle, Vector<const double> values,
                      Vector<const std::int32_t> classes, Vector<const std::int64_t> start) {
    const std::size_t n = bundle.rows.size();
    require(start.shape(0) == n + 1 && start.data()[0] == 0,
            "`start` needs one entry per row and one more.");
    for (std::size_t r = 0; r < n; ++r)
        require(start.data()[r] <= start.data()[r + 1], "`start` must not decrease.");
    const std::size_t stored = std::size_t(start.data()[n]);
    require(values.shape(0) == stored && classes.shape(0) == stored,
            "`start` does not fit `values`.");
    for (std::size_t r = 0; r < n; ++r) {
        const std::int64_t begin = start.data()[r], end = start.data()[r + 1];
        for (std::int64_t e = begin; e < end; ++e)
            require(
                classes.data()[e] >= 0 && (e == begin || classes.data()[e - 1] < classes.data()[e]),
                "classes must ascend within a row.");
        bundle.duals[r].classes.assign(classes.data() + begin, classes.data() + end);
        bundle.duals[r].values.assign(values.data() + begin, values.data() + end);
    }
}

// Checks that an array has a place for every weight of a bundle and its padding.
inline void require_layout(const ClassBundle& bundle, std::int64_t count) {
    require(bundle.weights.dense(), "the bundle's weights must be dense.");
    require(count == bundle.weights.size() * bundle.weights.stride(),
            "anchor and last weights need `size` times `stride` numbers.");
}

inline auto py_proximal_norms(const ClassBundle& bundle, std::optional<Vector<const double>> mean,
                              Vector<const double> anchor, double strength, int threads) {
    require_layout(bundle, std::int64_t(anchor.shape(0)));
    require(!mean || std::int64_t(mean->shape(0)) == bundle.weights.size(),
            "`mean` needs one entry per feature.");
    ProximalNorms norms;
    run_until_told(nb::none(), [&](Interrupt& interrupt) {
        norms = proximal_norms(bundle.weights, mean ? mean->data() : nullptr, anchor.data(),
                               strength, threads, interrupt);
    });
    return nb::make_tuple(norms.own, norms.implied);
}

inline void py_move_anchor(ClassBundle& bundle, std::optional<Vector<const double>> mean,
                           Vector<double> anchor, Vector<double> last, double strength,
                           double momentum, int threads) {
    require_layout(bundle, std::int64_t(anchor.shape(0)));
    require_layout(bundle, std::int64_t(last.shape(0)));
    require(!mean || std::int64_t(mean->shape(0)) == bundle.weights.size(),
            "`mean` needs one entry per feature.");
    // Not interrupted between: weights and anchor must fit each other.
    nb::gil_scoped_release release;
    Interrupt never([] { return false; });
    move_anchor(bundle.weights, mean ? mean->data() : nullptr, anchor.data(), last.data(), strength,
                momentum, threads, never);
}

// Removes all weights, and returns the memory of their lists to the system: millions of small
// blocks would otherwise stay with the process, where arrays of the same weights are needed next.
inline void release_weights(ClassBundle& bundle) {
    nb::gil_scoped_release release;
    bundle.weights.clear();
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

inline void bind_bundle(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ClassBundle>(m, "ClassBundle")
        .def(nb::new_(&new_bundle), "first"_a, "width"_a, "size"_a, "dense"_a, "rows"_a)
        .def_ro("first", &ClassBundle::first)
        .def_prop_ro("width", [](const ClassBundle& b) { return b.weights.width(); })
        .def_prop_ro("n_rows", [](const ClassBundle& b) { return b.rows.size(); })
        .def("shuffle", &shuffle, "seed"_a)
        .def("clear_weights", [](ClassBundle& b) { b.weights.clear(); })
        .def("release_weights", &release_weights)
        .def("squared_norm", &squared_norm, "mean"_a.none() = nb::none())
        .def("weight_count", &weight_count)
        .def("class_sum", &class_sum)
        .def("dense_weights", &dense_weights)
        .def("add_dense_weights", &add_dense_weights, "weights"_a)
        .def("sparse_weights", &sparse_weights)
        .def("duals", &duals_of)
        .def("set_duals", &set_duals, "values"_a, "classes"_a, "start"_a)
        .def_prop_ro("stride", [](const ClassBundle& b) { return b.weights.stride(); })
        .def("proximal_norms", &py_proximal_norms, "mean"_a.none(), "anchor"_a, "strength"_a,
             "threads"_a = 1)
        .def("move_anchor", &py_move_anchor, "mean"_a.none(), "anchor"_a.noconvert(),
             "last"_a.noconvert(), "strength"_a, "momentum"_a, "threads"_a = 1);
}

template <class T>
void bind_multiclass(nb::module_& m, const char* name) {
    using namespace nb::literals;
    nb::class_<MulticlassSet<T>>(m, name)
        .def(nb::init<nb::object, Vector<const std::int32_t>, Vector<const double>,
                      Vector<const double>, std::int64_t, double, double, double, double,
                      std::optional<Vector<const std::int32_t>>>(),
             "rows"_a, "label"_a, "bound"_a, "square"_a, "classes"_a, "constant"_a, nb::kw_only(),
             "lower"_a = 1.0, "upper"_a = 1.0, "upsilon"_a = 0.0, "rival"_a.none() = nb::none())
        .def("visit", &py_visit<T>, "formulation"_a, "home"_a, "away"_a,
             "mean"_a.noconvert().none() = nb::none(), nb::kw_only(), "seed"_a = 0, "part"_a = 0,
             "parts"_a = 1, "active_only"_a = false, "skip_below"_a = 0.0, "fewest_new"_a = 0,
             "new_mass"_a = 0.0, "in_turn"_a = false, "stopping"_a.none() = nb::none())
        .def("add_weights", &py_add_weights<T>, "formulation"_a, "home"_a, "away"_a)
        .def("dual_sums", &py_dual_sums<T>, "formulation"_a, "bundle"_a)
        .def("total_losses", &py_total_losses<T>, "formulation"_a, "bundles"_a, "mean"_a.none(),
             "scales"_a, "threads"_a = 1);
}

}  // namespace widemargin
