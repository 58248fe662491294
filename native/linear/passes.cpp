#include "linear/passes.hpp"

#include <cmath>
#include <vector>

#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"
#include "linear/gram_update.hpp"

namespace widemargin {
namespace {

template <class T>
double ratio(const LinearProblem<T>& problem, Piece piece) {
    if (piece == Piece::flat) return 0.0;
    return piece == Piece::below ? 1.0 : problem.unit.below / problem.unit.above;
}

template <class T>
double curvature_of(const LinearProblem<T>& problem, std::int64_t i, Piece piece) {
    return problem.weight_of(i) * ratio(problem, piece) / problem.unit.below;
}

// One piece of a pass over the rows.
template <class T>
struct PassTask {
    const LinearProblem<T>& problem;
    std::int64_t begin, end;
    const double* w;
    double *sum, *dual;
    std::int8_t* piece;
    std::vector<double>* gram;
    PassResult result{};
};

template <class T, int Bytes>
WM_INLINE void evaluate_piece(PassTask<T>& task) {
    const LinearProblem<T>& problem = task.problem;
    const bool shifted = problem.multiplier != nullptr;
    std::vector<double> unused;
    GramUpdate<T, Bytes> update(problem, task.gram ? *task.gram : unused);
    PassResult& result = task.result;
    for (std::int64_t i = task.begin; i < task.end; ++i) {
        const double label = double(problem.label[i]);
        const double target = problem.target_of(i);
        const double proper_m = label * dot<T, Bytes>(problem, i, task.w) - target;
        const double m = shifted ? proper_m - problem.shift_of(i) : proper_m;
        const LossRow row = problem.row(i);
        const Loss& loss = problem.loss;
        double g = 0.0;
        Piece piece = Piece::flat;
        if (m < loss.a) {
            g = row.below > 0.0 ? (loss.a - m) / row.below : row.bound;
            if (g < row.bound)
                piece = Piece::below;
            else
                g = row.bound;
        } else if (m > loss.b) {
            g = row.above > 0.0 ? (loss.b - m) / row.above : row.floor;
            if (g > row.floor)
                piece = Piece::above;
            else
                g = row.floor;
        }
        result.loss += loss.primal(row, m);
        const LossRow proper = shifted ? LossRow{0.0, 0.0, row.bound, row.floor} : row;
        if (shifted) result.plain += loss.primal(proper, proper_m);
        result.phi += loss.phi(proper, g) - target * g;
        result.curved += piece != Piece::flat;
        if (g != 0.0) add_to<T, Bytes>(problem, i, label * g, task.sum);
        if (task.dual) task.dual[i] = g;
        if (!task.piece) continue;
        const Piece before = Piece(task.piece[i]);
        if (before == piece) continue;
        task.piece[i] = std::int8_t(piece);
        if (task.gram)
            update.add(i, problem.weight_of(i) * (ratio(problem, piece) - ratio(problem, before)));
    }
    update.finish();
    if (!shifted) result.plain = result.loss;
}

template <class T, int Bytes>
WM_INLINE void product_piece(const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end,
                             const std::int8_t* piece, const double* p, double* sum) {
    for (std::int64_t i = begin; i < end; ++i) {
        if (Piece(piece[i]) == Piece::flat) continue;
        const double along = dot<T, Bytes>(problem, i, p);
        add_to<T, Bytes>(problem, i, curvature_of(problem, i, Piece(piece[i])) * along, sum);
    }
}

template <class T, int Bytes>
WM_INLINE void along_piece(const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end,
                           const double* w, const double* p, const double* steps,
                           std::int64_t count, double* sum) {
    for (std::int64_t i = begin; i < end; ++i) {
        const double m = problem.margin(i, dot<T, Bytes>(problem, i, w));
        const double along = double(problem.label[i]) * dot<T, Bytes>(problem, i, p);
        const LossRow row = problem.row(i);
        for (std::int64_t k = 0; k < count; ++k)
            sum[k] += problem.loss.primal(row, m + steps[k] * along);
    }
}

template <class T, int Bytes>
WM_INLINE void loss_piece(const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end,
                          const double* w, double* sum) {
    for (std::int64_t i = begin; i < end; ++i) {
        const double m = problem.margin(i, dot<T, Bytes>(problem, i, w));
        *sum += problem.loss.primal(problem.row(i), m);
    }
}

template <class T, int Bytes>
WM_INLINE void sum_piece(const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end,
                         const double* coef, double* sum) {
    for (std::int64_t i = begin; i < end; ++i)
        if (coef[i] != 0.0) add_to<T, Bytes>(problem, i, coef[i], sum);
}

WM_VERSIONS(evaluate_version, evaluate_piece, (PassTask<T> & task), (task))
WM_VERSIONS(product_version, product_piece,
            (const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end,
             const std::int8_t* piece, const double* p, double* sum),
            (problem, begin, end, piece, p, sum))
WM_VERSIONS(along_version, along_piece,
            (const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end, const double* w,
             const double* p, const double* steps, std::int64_t count, double* sum),
            (problem, begin, end, w, p, steps, count, sum))
WM_VERSIONS(loss_version, loss_piece,
            (const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end, const double* w,
             double* sum),
            (problem, begin, end, w, sum))
WM_VERSIONS(sum_version, sum_piece,
            (const LinearProblem<T>& problem, std::int64_t begin, std::int64_t end,
             const double* coef, double* sum),
            (problem, begin, end, coef, sum))

// out = sums of all pieces, added in the order of the pieces; `work(begin, end, sum)` fills one.
template <class T, class Work>
void add_pieces(const LinearProblem<T>& problem, std::int64_t length, double* out, int threads,
                Interrupt& interrupt, Work&& work) {
    const Pieces<T> pieces(problem, length);
    std::vector<double> sums(std::size_t(pieces.count * length), 0.0);
    parallel_for(pieces.count, threads, interrupt, [&](std::int64_t k) {
        work(pieces.begin(k), pieces.begin(k + 1), &sums[std::size_t(k * length)]);
    });
    std::fill_n(out, length, 0.0);
    for (std::int64_t k = 0; k < pieces.count; ++k)
        for (std::int64_t f = 0; f < length; ++f) out[f] += sums[std::size_t(k * length + f)];
}

}  // namespace

template <class T>
PassResult evaluate(const LinearProblem<T>& problem, const double* w, double* sum, double* dual,
                    const Curvature& curvature, int threads, Interrupt& interrupt) {
    const std::int64_t size = problem.size();
    const Pieces<T> pieces(problem, curvature.gram ? size * size : size);
    std::vector<double> sums(std::size_t(pieces.count * size), 0.0);
    std::vector<std::vector<double>> grams(curvature.gram ? std::size_t(pieces.count) : 0);
    std::vector<PassResult> results(std::size_t(pieces.count));
    parallel_for(pieces.count, threads, interrupt, [&](std::int64_t k) {
        PassTask<T> task{problem,
                         pieces.begin(k),
                         pieces.begin(k + 1),
                         w,
                         &sums[std::size_t(k * size)],
                         dual,
                         curvature.piece,
                         curvature.gram ? &grams[std::size_t(k)] : nullptr};
        evaluate_version<T>(task);
        results[std::size_t(k)] = task.result;
    });
    PassResult total;
    std::fill_n(sum, size, 0.0);
    for (std::int64_t k = 0; k < pieces.count; ++k) {
        const PassResult& part = results[std::size_t(k)];
        total.loss += part.loss;
        total.plain += part.plain;
        total.phi += part.phi;
        total.curved += part.curved;
        for (std::int64_t f = 0; f < size; ++f) sum[f] += sums[std::size_t(k * size + f)];
    }
    if (curvature.gram)
        for (const std::vector<double>& gram : grams)
            for (std::size_t e = 0; e < gram.size(); ++e) curvature.gram[e] += gram[e];
    return total;
}

template <class T>
void curvature_product(const LinearProblem<T>& problem, const std::int8_t* piece, const double* p,
                       double* out, int threads, Interrupt& interrupt) {
    add_pieces(problem, problem.size(), out, threads, interrupt,
               [&](std::int64_t begin, std::int64_t end, double* sum) {
                   product_version<T>(problem, begin, end, piece, p, sum);
               });
}

template <class T>
void curvature_diagonal(const LinearProblem<T>& problem, const std::int8_t* piece, double* out,
                        int threads, Interrupt& interrupt) {
    add_pieces(problem, problem.size(), out, threads, interrupt,
               [&](std::int64_t begin, std::int64_t end, double* sum) {
                   for (std::int64_t i = begin; i < end; ++i) {
                       const double c = curvature_of(problem, i, Piece(piece[i]));
                       if (c == 0.0) continue;
                       problem.rows.for_each_stored(i, [&](std::int64_t f, T value) {
                           sum[f] += c * double(value) * double(value);
                       });
                       if (problem.constant != 0.0)
                           sum[problem.rows.features] += c * problem.constant * problem.constant;
                   }
               });
}

template <class T>
void losses_along(const LinearProblem<T>& problem, const double* w, const double* p,
                  const double* steps, std::int64_t count, double* out, int threads,
                  Interrupt& interrupt) {
    add_pieces(problem, count, out, threads, interrupt,
               [&](std::int64_t begin, std::int64_t end, double* sum) {
                   along_version<T>(problem, begin, end, w, p, steps, count, sum);
               });
}

template <class T>
double total_loss(const LinearProblem<T>& problem, const double* w, int threads,
                  Interrupt& interrupt) {
    double total = 0.0;
    add_pieces(problem, 1, &total, threads, interrupt,
               [&](std::int64_t begin, std::int64_t end, double* sum) {
                   loss_version<T>(problem, begin, end, w, sum);
               });
    return total;
}

template <class T>
void weighted_sum(const LinearProblem<T>& problem, const double* coef, double* out, int threads,
                  Interrupt& interrupt) {
    add_pieces(problem, problem.size(), out, threads, interrupt,
               [&](std::int64_t begin, std::int64_t end, double* sum) {
                   sum_version<T>(problem, begin, end, coef, sum);
               });
}

template <class T>
void squared_norms(const LinearProblem<T>& problem, double* squares, int threads,
                   Interrupt& interrupt) {
    const Pieces<T> pieces(problem, 1);
    parallel_for(pieces.count, threads, interrupt, [&](std::int64_t k) {
        for (std::int64_t i = pieces.begin(k); i < pieces.begin(k + 1); ++i) {
            double sum = problem.constant * problem.constant;
            problem.rows.for_each_stored(
                i, [&](std::int64_t, T value) { sum += double(value) * double(value); });
            squares[i] = sum;
        }
    });
}

#define WM_INSTANTIATE(T)                                                                         \
    template PassResult evaluate(const LinearProblem<T>&, const double*, double*, double*,        \
                                 const Curvature&, int, Interrupt&);                              \
    template void curvature_product(const LinearProblem<T>&, const std::int8_t*, const double*,   \
                                    double*, int, Interrupt&);                                    \
    template void curvature_diagonal(const LinearProblem<T>&, const std::int8_t*, double*, int,   \
                                     Interrupt&);                                                 \
    template void losses_along(const LinearProblem<T>&, const double*, const double*,             \
                               const double*, std::int64_t, double*, int, Interrupt&);            \
    template double total_loss(const LinearProblem<T>&, const double*, int, Interrupt&);          \
    template void weighted_sum(const LinearProblem<T>&, const double*, double*, int, Interrupt&); \
    template void squared_norms(const LinearProblem<T>&, double*, int, Interrupt&);
WM_INSTANTIATE(float)
WM_INSTANTIATE(double)
#undef WM_INSTANTIATE

}  // namespace widemargin
