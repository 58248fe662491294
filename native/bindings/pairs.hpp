// Python's way to a block whose duals have a fixed sum.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bindings/python_arrays.hpp"
#include "kernel/pair_descent.hpp"

namespace widemargin {

template <class T>
std::int64_t py_descend_pairs(Matrix<const T> kernel, Vector<const double> diagonal,
                              Vector<const double> upper, Vector<double> net_dual,
                              Vector<double> margin, double violation, std::int64_t steps) {
    const std::size_t n = kernel.shape(0);
    require(kernel.shape(1) == n, "the kernel matrix of a block must be square.");
    for (std::size_t length :
         {diagonal.shape(0), upper.shape(0), net_dual.shape(0), margin.shape(0)})
        require(length == n, "every array needs one entry per row.");
    PairBlock block{std::int64_t(n)};
    std::copy_n(net_dual.data(), n, block.dual.begin());
    std::copy_n(margin.data(), n, block.margin.begin());
    std::copy_n(upper.data(), n, block.upper.begin());
    std::copy_n(diagonal.data(), n, block.diagonal.begin());
    PendingSignal signal;
    std::int64_t taken;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        taken = descend_pairs<T>(block, kernel.data(), {violation, steps}, interrupt);
    }
    std::copy_n(block.dual.begin(), n, net_dual.data());
    std::copy_n(block.margin.begin(), n, margin.data());
    signal.raise_if_any();
    return taken;
}

}  // namespace widemargin
