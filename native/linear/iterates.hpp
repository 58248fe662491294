// Weights that stochastic steps change, and the sum of the iterates, at the cost of the rows alone.
//
//     iterate = a u + (1 - a) v                      v fixed, or zero
//     sum of the iterates counted = sum + A u + B v - s
//
// Shrinking the iterate towards v changes a. Adding a row to it adds to u, and A times as much to
// s, which is what A u would otherwise count too often. Neither touches the other features.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/problem.hpp"

namespace widemargin {

class Iterates {
public:
    // `w` is the first iterate and becomes the last one, `sum` is added to; both at `finish`.
    Iterates(double* w, const double* v, double* sum, std::int64_t size)
        : u_(w), v_(v), sum_(sum), size_(size), s_(std::size_t(size), 0.0) {}

    // x_i . iterate
    template <class T, int Bytes>
    WM_INLINE double product(const LinearProblem<T>& problem, std::int64_t i) const {
        const double own = a_ * dot<T, Bytes>(problem, i, u_);
        return v_ ? own + (1.0 - a_) * dot<T, Bytes>(problem, i, v_) : own;
    }
    // iterate += step * x_i
    template <class T, int Bytes>
    WM_INLINE void add(const LinearProblem<T>& problem, std::int64_t i, double step) {
        add_to<T, Bytes>(problem, i, step / a_, u_);
        if (A_ != 0.0) add_to<T, Bytes>(problem, i, A_ * (step / a_), s_.data());
    }
    // iterate = factor * iterate + (1 - factor) v
    void shrink(double factor) {
        a_ *= factor;
        if (a_ < 1e-6) finish();  // or u would overflow
    }
    void count() {
        A_ += a_;
        B_ += 1.0 - a_;
    }
    void finish() {
        for (std::int64_t f = 0; f < size_; ++f) {
            const double v = v_ ? v_[f] : 0.0;
            sum_[f] += A_ * u_[f] + B_ * v - s_[std::size_t(f)];
            s_[std::size_t(f)] = 0.0;
            u_[f] = a_ * u_[f] + (1.0 - a_) * v;
        }
        a_ = 1.0;
        A_ = B_ = 0.0;
    }

private:
    double* u_;
    const double* v_;
    double* sum_;
    std::int64_t size_;
    std::vector<double> s_;
    double a_ = 1.0, A_ = 0.0, B_ = 0.0;
};

}  // namespace widemargin
