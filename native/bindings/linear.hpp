// Linear problems as Python sees them: arrays are checked once, when the problem is made.
#pragma once

#include <nanobind/stl/optional.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "bindings/python_arrays.hpp"
#include "linear/dual.hpp"
#include "linear/model_scores.hpp"
#include "linear/passes.hpp"
#include "linear/sgd.hpp"
#include "linear/svrg.hpp"

namespace widemargin {

using OptionalDoubles = std::optional<Vector<const double>>;

// A problem that keeps its arrays alive.
template <class T>
class LinearSet {
public:
    LinearSet(nb::object rows, Vector<const std::int8_t> label, OptionalDoubles weight,
              OptionalDoubles multiplier, double lower_margin, double upper_margin, double below,
              double above, double bound, double floor, double constant, OptionalDoubles target)
        : rows_(rows), label_(label), weight_(weight), multiplier_(multiplier), target_(target) {
        problem_.rows = nb::cast<const RowSet<T>&>(rows).view(KernelKind::linear);
        const std::size_t n = std::size_t(problem_.rows.count);
        require(label.shape(0) == n, "`label` needs one entry per row.");
        require(!weight || weight->shape(0) == n, "`weight` needs one entry per row.");
        require(!multiplier || multiplier->shape(0) == n, "`multiplier` needs one entry per row.");
        require(!target || target->shape(0) == n, "`target` needs one entry per row.");
        problem_.constant = constant;
        problem_.label = label.data();
        problem_.weight = weight ? weight->data() : nullptr;
        problem_.multiplier = multiplier ? multiplier->data() : nullptr;
        problem_.target = target ? target->data() : nullptr;
        problem_.loss = {lower_margin, upper_margin};
        problem_.unit = {below, above, bound, floor};
    }

    const LinearProblem<T>& problem() const { return problem_; }
    std::size_t size() const { return std::size_t(problem_.size()); }
    std::size_t count() const { return std::size_t(problem_.rows.count); }

private:
    nb::object rows_;
    Vector<const std::int8_t> label_;
    OptionalDoubles weight_, multiplier_, target_;
    LinearProblem<T> problem_;
};

// Runs `work(interrupt)` while other threads of Python go on; Ctrl-C ends it and is raised after.
template <class Work>
void run_interruptible(Work&& work) {
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        work(interrupt);
    }
    signal.raise_if_any();
}

template <class T>
auto py_evaluate(const LinearSet<T>& set, Vector<const double> w,
                 std::optional<Vector<double>> dual, std::optional<Vector<std::int8_t>> piece,
                 std::optional<Matrix<double>> gram, int threads) {
    require(w.shape(0) == set.size(), "`w` needs one entry per feature.");
    require(!dual || dual->shape(0) == set.count(), "`dual` needs one entry per row.");
    require(!piece || piece->shape(0) == set.count(), "`piece` needs one entry per row.");
    require(!gram || (piece && gram->shape(0) == set.size() && gram->shape(1) == set.size()),
            "`gram` must be square, of the features, and needs `piece`.");
    std::unique_ptr<double[]> sum(new double[set.size()]);
    PassResult result;
    run_interruptible([&](Interrupt& interrupt) {
        result = evaluate(set.problem(), w.data(), sum.get(), dual ? dual->data() : nullptr,
                          {piece ? piece->data() : nullptr, gram ? gram->data() : nullptr}, threads,
                          interrupt);
    });
    return nb::make_tuple(result.loss, result.plain, result.phi, result.curved,
                          new_array(sum, set.size()));
}

template <class T>
auto py_curvature_product(const LinearSet<T>& set, Vector<const std::int8_t> piece,
                          Vector<const double> p, int threads) {
    require(p.shape(0) == set.size(), "`p` needs one entry per feature.");
    require(piece.shape(0) == set.count(), "`piece` needs one entry per row.");
    std::unique_ptr<double[]> out(new double[set.size()]);
    run_interruptible([&](Interrupt& interrupt) {
        curvature_product(set.problem(), piece.data(), p.data(), out.get(), threads, interrupt);
    });
    return new_array(out, set.size());
}

template <class T>
auto py_curvature_diagonal(const LinearSet<T>& set, Vector<const std::int8_t> piece, int threads) {
    require(piece.shape(0) == set.count(), "`piece` needs one entry per row.");
    std::unique_ptr<double[]> out(new double[set.size()]);
    run_interruptible([&](Interrupt& interrupt) {
        curvature_diagonal(set.problem(), piece.data(), out.get(), threads, interrupt);
    });
    return new_array(out, set.size());
}

template <class T>
auto py_losses_along(const LinearSet<T>& set, Vector<const double> w, Vector<const double> p,
                     Vector<const double> steps, int threads) {
    require(w.shape(0) == set.size() && p.shape(0) == set.size(),
            "`w` and `p` need one entry per feature.");
    const std::size_t count = steps.shape(0);
    std::unique_ptr<double[]> out(new double[count]);
    run_interruptible([&](Interrupt& interrupt) {
        losses_along(set.problem(), w.data(), p.data(), steps.data(), std::int64_t(count),
                     out.get(), threads, interrupt);
    });
    return new_array(out, count);
}

template <class T>
double py_total_loss(const LinearSet<T>& set, Vector<const double> w, int threads) {
    require(w.shape(0) == set.size(), "`w` needs one entry per feature.");
    double total = 0.0;
    run_interruptible([&](Interrupt& interrupt) {
        total = total_loss(set.problem(), w.data(), threads, interrupt);
    });
    return total;
}

template <class T>
auto py_weighted_sum(const LinearSet<T>& set, Vector<const double> coef, int threads) {
    require(coef.shape(0) == set.count(), "`coef` needs one entry per row.");
    std::unique_ptr<double[]> out(new double[set.size()]);
    run_interruptible([&](Interrupt& interrupt) {
        weighted_sum(set.problem(), coef.data(), out.get(), threads, interrupt);
    });
    return new_array(out, set.size());
}

template <class T>
auto py_squared_norms(const LinearSet<T>& set, int threads) {
    std::unique_ptr<double[]> out(new double[set.count()]);
    run_interruptible(
        [&](Interrupt& interrupt) { squared_norms(set.problem(), out.get(), threads, interrupt); });
    return new_array(out, set.count());
}

// Wrong numbers would be read and written anywhere.
template <class T, class Order>
void require_rows(const LinearSet<T>& set, const Order& order) {
    const std::int64_t n = std::int64_t(set.count());
    for (std::size_t k = 0; k < order.shape(0); ++k)
        require(order.data()[k] >= 0 && order.data()[k] < n, "row number out of range.");
}

template <class T>
auto py_dual_epoch(const LinearSet<T>& set, Vector<const double> squares, double slack,
                   std::uint64_t seed, Vector<std::int64_t> order, std::int64_t active,
                   Vector<double> dual, Vector<double> w) {
    const std::size_t n = set.count();
    for (std::size_t length : {squares.shape(0), order.shape(0), dual.shape(0)})
        require(length == n, "every array needs one entry per row.");
    require(w.shape(0) == set.size(), "`w` needs one entry per feature.");
    require(active >= 0 && std::size_t(active) <= n, "`active` must be a number of rows.");
    require_rows(set, order);
    EpochResult result;
    run_interruptible([&](Interrupt& interrupt) {
        result = dual_epoch(set.problem(), squares.data(), slack, seed, order.data(), active,
                            dual.data(), w.data(), interrupt);
    });
    return nb::make_tuple(result.active, result.violation, result.gap, result.gain);
}

template <class T>
void py_svrg_steps(const LinearSet<T>& set, Vector<const std::int64_t> order,
                   Vector<const double> smoothness, double total, Vector<const double> dual,
                   Vector<const double> v, double step, std::int64_t from, Vector<double> w,
                   Vector<double> sum) {
    require(smoothness.shape(0) == set.count() && dual.shape(0) == set.count(),
            "`smoothness` and `dual` need one entry per row.");
    for (std::size_t length : {v.shape(0), w.shape(0), sum.shape(0)})
        require(length == set.size(), "`v`, `w` and `sum` need one entry per feature.");
    require(step > 0.0 && step < 1.0, "`step` must be between 0 and 1.");
    require_rows(set, order);
    run_interruptible([&](Interrupt& interrupt) {
        svrg_steps(set.problem(), order.data(), std::int64_t(order.shape(0)),
                   {smoothness.data(), total, dual.data(), v.data(), step}, from, w.data(),
                   sum.data(), interrupt);
    });
}

template <class T>
void py_sgd_steps(const LinearSet<T>& set, Vector<const std::int64_t> order, std::int64_t batch,
                  double first, double offset, double radius, Vector<double> dual, Vector<double> w,
                  Vector<double> sum) {
    require(order.shape(0) == set.count() && dual.shape(0) == set.count(),
            "`order` and `dual` need one entry per row.");
    require(w.shape(0) == set.size() && sum.shape(0) == set.size(),
            "`w` and `sum` need one entry per feature.");
    require(batch > 0 && first >= 1.0 && offset >= 0.0 && radius > 0.0,
            "`batch` and `radius` must be positive, `first` 1 or more, `offset` 0 or more.");
    require_rows(set, order);
    run_interruptible([&](Interrupt& interrupt) {
        sgd_steps(set.problem(), order.data(), {batch, first, offset, radius}, dual.data(),
                  w.data(), sum.data(), interrupt);
    });
}

inline auto py_draw_rows(Vector<const double> share, std::int64_t count, std::uint64_t seed) {
    require(share.shape(0) > 0 && count >= 0, "rows to draw from are needed.");
    std::unique_ptr<std::int64_t[]> order(new std::int64_t[std::size_t(count)]);
    {
        nb::gil_scoped_release release;
        draw_rows(share.data(), std::int64_t(share.shape(0)), count, seed, order.get());
    }
    return new_array(order, std::size_t(count));
}

template <class T>
auto py_score_models(const LinearSet<T>& set, Matrix<const double> models, int threads) {
    require(models.shape(1) == set.size(), "a model needs one entry per feature.");
    const std::size_t count = models.shape(0);
    std::unique_ptr<double[]> loss(new double[count]()), right(new double[count]());
    run_interruptible([&](Interrupt& interrupt) {
        score_models(set.problem(), models.data(), std::int64_t(count), loss.get(), right.get(),
                     threads, interrupt);
    });
    return nb::make_tuple(new_array(loss, count), new_array(right, count));
}

template <class T>
void bind_linear(nb::module_& m, const char* name) {
    using namespace nb::literals;
    nb::class_<LinearSet<T>>(m, name)
        .def(nb::init<nb::object, Vector<const std::int8_t>, OptionalDoubles, OptionalDoubles,
                      double, double, double, double, double, double, double, OptionalDoubles>(),
             "rows"_a, "label"_a, "weight"_a.none(), "multiplier"_a.none(), nb::kw_only(),
             "lower_margin"_a, "upper_margin"_a, "below"_a, "above"_a, "bound"_a, "floor"_a,
             "constant"_a, "target"_a.none() = nb::none())
        .def_prop_ro("size", &LinearSet<T>::size)
        .def_prop_ro("count", &LinearSet<T>::count)
        .def("evaluate", &py_evaluate<T>, "w"_a, "dual"_a.noconvert().none() = nb::none(),
             "piece"_a.noconvert().none() = nb::none(), "gram"_a.noconvert().none() = nb::none(),
             "threads"_a = 1)
        .def("curvature_product", &py_curvature_product<T>, "piece"_a, "p"_a, "threads"_a = 1)
        .def("curvature_diagonal", &py_curvature_diagonal<T>, "piece"_a, "threads"_a = 1)
        .def("losses_along", &py_losses_along<T>, "w"_a, "p"_a, "steps"_a, "threads"_a = 1)
        .def("total_loss", &py_total_loss<T>, "w"_a, "threads"_a = 1)
        .def("weighted_sum", &py_weighted_sum<T>, "coef"_a, "threads"_a = 1)
        .def("squared_norms", &py_squared_norms<T>, "threads"_a = 1)
        .def("score_models", &py_score_models<T>, "models"_a, "threads"_a = 1)
        .def("dual_epoch", &py_dual_epoch<T>, "squares"_a, "slack"_a, "seed"_a,
             "order"_a.noconvert(), "active"_a, "dual"_a.noconvert(), "w"_a.noconvert())
        .def("svrg_steps", &py_svrg_steps<T>, "order"_a, "smoothness"_a, "total"_a, "dual"_a, "v"_a,
             "step"_a, "average_from"_a, "w"_a.noconvert(), "sum"_a.noconvert())
        .def("sgd_steps", &py_sgd_steps<T>, "order"_a, "batch"_a, "first"_a, "offset"_a, "radius"_a,
             "dual"_a.noconvert(), "w"_a.noconvert(), "sum"_a.noconvert());
}

}  // namespace widemargin
