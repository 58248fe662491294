// gram += sum over some rows of delta * x x^T, upper triangle.
//
// Dense rows are gathered in a panel and multiplied tile by tile in registers; sparse rows are
// scattered pair by pair.
#pragma once

#include <cstdint>
#include <vector>

#include "core/simd.hpp"
#include "linear/problem.hpp"

namespace widemargin {

template <class T, int Bytes>
class GramUpdate {
    using Wide = typename Simd<double, Bytes>::Vector;
    static constexpr int lanes = Simd<double, Bytes>::lanes;
    static constexpr int columns = 2 * lanes, lines = 4, panel_rows = 64;

public:
    // `gram` is size x size, at first untouched: pieces without a changed row never allocate it.
    GramUpdate(const LinearProblem<T>& problem, std::vector<double>& gram)
        : problem_(problem), gram_(gram), size_(problem.size()),
          padded_((size_ + columns - 1) / columns * columns) {}

    WM_INLINE void add(std::int64_t i, double delta) {
        if (gram_.empty()) start();
        if (problem_.rows.sparse()) {
            scatter(i, delta);
            return;
        }
        double* plain = &plain_[std::size_t(filled_ * padded_)];
        double* scaled = &scaled_[std::size_t(filled_ * padded_)];
        const T* x = problem_.rows.values + i * problem_.rows.stride;
        for (std::int64_t f = 0; f < problem_.rows.features; ++f) plain[f] = double(x[f]);
        if (problem_.constant != 0.0) plain[size_ - 1] = problem_.constant;
        for (std::int64_t f = 0; f < size_; ++f) scaled[f] = delta * plain[f];
        if (++filled_ == panel_rows) multiply();
    }

    WM_INLINE void finish() {
        if (filled_ > 0) multiply();
    }

private:
    void start() {
        gram_.assign(std::size_t(size_ * size_), 0.0);
        if (problem_.rows.sparse()) return;
        plain_.assign(std::size_t(panel_rows * padded_), 0.0);
        scaled_.assign(std::size_t(panel_rows * padded_), 0.0);
    }

    WM_INLINE void scatter(std::int64_t i, double delta) {
        const Rows<T>& rows = problem_.rows;
        const std::int64_t begin = rows.row_start[i], end = rows.row_start[i + 1];
        auto column = [&](std::int64_t e) {
            return rows.index32 ? std::int64_t(rows.index32[e]) : rows.index64[e];
        };
        for (std::int64_t e = begin; e < end; ++e) {
            const std::int64_t f = column(e);
            const double value = delta * double(rows.values[e]);
            gram_[std::size_t(f * size_ + f)] += value * double(rows.values[e]);
            for (std::int64_t o = e + 1; o < end; ++o) {
                const std::int64_t g = column(o);
                const double product = value * double(rows.values[o]);
                if (f < g)
                    gram_[std::size_t(f * size_ + g)] += product;
                else if (g < f)
                    gram_[std::size_t(g * size_ + f)] += product;
                else
                    gram_[std::size_t(f * size_ + f)] += 2.0 * product;  // a feature given twice
            }
            if (problem_.constant != 0.0)
                gram_[std::size_t(f * size_ + size_ - 1)] += value * problem_.constant;
        }
        if (problem_.constant != 0.0) gram_.back() += delta * problem_.constant * problem_.constant;
    }

    WM_INLINE void multiply() {
        for (std::int64_t i = 0; i < size_; i += lines)
            for (std::int64_t j = i / columns * columns; j < size_; j += columns) tile(i, j);
        filled_ = 0;
    }

    WM_INLINE void tile(std::int64_t i, std::int64_t j) {
        Wide sum[lines][2] = {};
        for (std::int64_t k = 0; k < filled_; ++k) {
            const double* plain = &plain_[std::size_t(k * padded_ + j)];
            const double* scaled = &scaled_[std::size_t(k * padded_ + i)];
            const Wide left = load<Wide>(plain), right = load<Wide>(plain + lanes);
            for (int r = 0; r < lines; ++r) {
                sum[r][0] += scaled[r] * left;
                sum[r][1] += scaled[r] * right;
            }
        }
        for (int r = 0; r < lines && i + r < size_; ++r)
            for (int c = 0; c < columns && j + c < size_; ++c)
                gram_[std::size_t((i + r) * size_ + j + c)] += sum[r][c / lanes][c % lanes];
    }

    const LinearProblem<T>& problem_;
    std::vector<double>& gram_;
    std::int64_t size_, padded_, filled_ = 0;
    std::vector<double> plain_, scaled_;  // panel_rows x padded
};

}  // namespace widemargin
