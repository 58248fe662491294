// Several classes with one weight vector each, as the solvers see them.
//
//     minimise over W  1/2 sum over c of |w_c|^2 + sum over i of C_i loss(x_i; W),
//
// and its dual, with a_ic the multiplier of row i and class c, s_c = x_i . w_c and y = y_i:
//
//     formulation     loss of a row                  slope g_c in a_ic   domain of a_i
//     weston_watkins  sum_{c != y} [1 - s_y + s_c]   1 - s_y + s_c       0 <= a_ic <= C_i
//     crammer_singer  max_{c != y} [1 - s_y + s_c]   1 - s_y + s_c       0 <= a_ic, sum <= C_i
//     lee_lin_wahba   sum_{c != y} [1 + s_c]         1 + s_c             0 <= a_ic <= C_i
//     one_vs_rest     sum_c [1 - t_c s_c]            1 - t_c s_c         0 <= a_ic <= C_i
//
// with [.] = max(., 0), and t_c = 1 for the row's class and -1 for others. lee_lin_wahba has the
// constraint that all w_c sum to zero. The objective is sum a - 1/2 sum |w_c|^2 in these four.
//
// margin_distribution has a band of margins [lower, upper] and a rival r_i of each row, and
//
//     loss of a row   1/2 max_{c != y} [lower - s_y + s_c]^2 + upsilon / 2 [s_y - s_r - upper]^2
//     domain          0 <= a_ic for c != r; a_ir has any sign, below zero for a margin too large
//     objective       sum_i lower p_i - p_i^2 / 2 C_i - upper n_i - n_i^2 / 2 upsilon C_i
//                     - 1/2 sum |w_c|^2,  p_i = sum_c [a_ic],  n_i = [-a_ir]
//
// Weights are
//
//     weston_watkins, crammer_singer   w_c = sum_i b_ic x_i,  b_iy = sum of a_i,  b_ic = -a_ic else
//     margin_distribution              the same
//     lee_lin_wahba                    w_c = m - sum_i a_ic x_i,  m the mean of these sums
//     one_vs_rest                      w_c = sum_i t_c a_ic x_i
//
// Rows may have one more feature, the same constant for all. Weights and sums are double whatever
// the type of the rows.
#pragma once

#include <cstdint>

#include "core/rows.hpp"
#include "core/simd.hpp"

namespace widemargin {

enum class Formulation {
    weston_watkins,
    crammer_singer,
    lee_lin_wahba,
    one_vs_rest,
    lee_lin_wahba_fixed_mean,  // lee_lin_wahba while m stays as it is: classes are independent
    margin_distribution,
};

// Whether other classes' multipliers act on the weights of the row's own class.
inline bool acts_on_own_class(Formulation formulation) {
    return formulation == Formulation::weston_watkins ||
           formulation == Formulation::crammer_singer ||
           formulation == Formulation::margin_distribution;
}

// Margins of margin_distribution that cost nothing, and what those beyond them cost.
struct MarginBand {
    double lower = 1.0, upper = 1.0;
    double upsilon = 0.0;                 // weight of margins too large
    const std::int32_t* rival = nullptr;  // class r_i of each row; nullptr: no margin is too large
};

template <class T>
struct MulticlassProblem {
    Rows<T> rows;
    double constant = 0.0;  // value of the constant feature; 0: there is none
    const std::int32_t* label = nullptr;
    const double* bound = nullptr;   // C_i
    const double* square = nullptr;  // |x_i|^2, the constant feature included
    std::int64_t classes = 0;
    MarginBand band;  // all but margin_distribution have the lower margin 1 and no other

    std::int64_t size() const { return rows.features + (constant != 0.0); }  // of w_c

    // Calls visit(feature, value, feature a little ahead) for the entries of row i.
    template <class Visit>
    WM_INLINE void for_each(std::int64_t i, Visit&& visit) const {
        if (rows.sparse()) {
            const std::int64_t begin = rows.row_start[i], end = rows.row_start[i + 1];
            if (rows.index32)
                for (std::int64_t e = begin; e < end; ++e)
                    visit(std::int64_t(rows.index32[e]), double(rows.values[e]),
                          std::int64_t(rows.index32[e + ahead < end ? e + ahead : e]));
            else
                for (std::int64_t e = begin; e < end; ++e)
                    visit(rows.index64[e], double(rows.values[e]),
                          rows.index64[e + ahead < end ? e + ahead : e]);
        } else {
            const T* x = rows.values + i * rows.stride;
            for (std::int64_t f = 0; f < rows.features; ++f) visit(f, double(x[f]), f);
        }
        if (constant != 0.0) visit(rows.features, constant, rows.features);
    }

    static constexpr std::int64_t ahead = 6;
};

}  // namespace widemargin
