// Python's way to a block whose kernel matrix it holds: one of several problems that share it.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "kernel/block_solver.hpp"

namespace widemargin {

// `margin` may hold contributions from rows outside the block, which stay as they are.
template <class T>
std::int64_t py_solve_block(Matrix<const T> kernel, Vector<const double> label,
                            Vector<const double> diagonal, double lower_margin, double upper_margin,
                            Vector<const double> below, Vector<const double> above,
                            Vector<const double> bound, Vector<double> net_dual,
                            Vector<double> margin, double gap, std::int64_t sets,
                            std::int64_t working_set, int threads, std::uint64_t seed) {
    const std::size_t n = kernel.shape(0);
    require(kernel.shape(1) == n, "the kernel matrix of a block must be square.");
    for (std::size_t length : {label.shape(0), diagonal.shape(0), below.shape(0), above.shape(0),
                               bound.shape(0), net_dual.shape(0), margin.shape(0)})
        require(length == n, "every array needs one entry per row.");
    std::vector<Coordinate> block;
    std::vector<const T*> lines;
    std::vector<std::uint32_t> tie_breaker;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < n; ++i) {
        block.push_back({net_dual.data()[i],
                         margin.data()[i],
                         diagonal.data()[i],
                         label.data()[i],
                         {below.data()[i], above.data()[i], bound.data()[i]},
                         std::int64_t(i)});
        lines.push_back(kernel.data() + i * n);
        tie_breaker.push_back(std::uint32_t(random()));
    }
    PendingSignal signal;
    std::int64_t taken;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        taken = solve_block(block, lines.data(), Loss{lower_margin, upper_margin},
                            {gap, sets, working_set, threads}, tie_breaker, interrupt);
    }
    for (std::size_t i = 0; i < n; ++i) {
        net_dual.data()[i] = block[i].dual;
        margin.data()[i] = block[i].margin;
    }
    signal.raise_if_any();
    return taken;
}

}  // namespace widemargin
