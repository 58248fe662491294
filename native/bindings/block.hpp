// Python's way to a block whose kernel matrix it holds: one of several problems that share it.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "bindings/python_arrays.hpp"
#include "core/parallel.hpp"
#include "kernel/block_solver.hpp"

namespace widemargin {

// Writes the kernel values of the block's rows `slots`, as lines and as columns. The block has the
// rows block_rows[0], block_rows[1], …; kernel[i][j] = k(block_rows[i], block_rows[j]).
template <class T>
void py_fill_block(const RowSet<T>& rows, const KernelSpec& spec,
                   Vector<const std::int64_t> block_rows, Vector<const std::int64_t> slots,
                   Matrix<T> kernel, int threads) {
    const auto size = std::int64_t(block_rows.shape(0)), count = std::int64_t(slots.shape(0));
    require(spec.kind != KernelKind::precomputed, "a precomputed kernel needs no block.");
    require(std::int64_t(kernel.shape(0)) == size && std::int64_t(kernel.shape(1)) == size,
            "the kernel matrix needs a line and a column for every row of the block.");
    std::vector<char> filled(std::size_t(size), 0);
    std::vector<std::int64_t> new_rows;
    std::vector<T*> lines;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t slot = slots.data()[i];
        require(slot >= 0 && slot < size, "slots must be numbers of rows of the block.");
        filled[std::size_t(slot)] = 1;
        new_rows.push_back(block_rows.data()[slot]);
        lines.push_back(kernel.data() + slot * size);
    }
    for (std::int64_t i = 0; i < size; ++i)
        require(block_rows.data()[i] >= 0 && block_rows.data()[i] < rows.count(),
                "the block must consist of the rows that are given.");
    const Rows<T> all = rows.view(spec.kind);
    PendingSignal signal;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt([&] { return signal.poll(); });
        kernel_block(all.picked(new_rows.data(), count), all.picked(block_rows.data(), size), spec,
                     lines.data(), threads, interrupt);
        // A few columns at a time, so that what is read of the new lines stays in cache.
        constexpr std::int64_t chunk = 64;
        parallel_for((size + chunk - 1) / chunk, threads, interrupt, [&](std::int64_t task) {
            const std::int64_t begin = task * chunk, end = std::min(size, begin + chunk);
            for (std::int64_t first = 0; first < count; first += chunk) {
                const std::int64_t last = std::min(count, first + chunk);
                for (std::int64_t j = begin; j < end; ++j) {
                    if (filled[std::size_t(j)]) continue;
                    T* line = kernel.data() + j * size;
                    for (std::int64_t i = first; i < last; ++i)
                        line[slots.data()[i]] = lines[std::size_t(i)][j];
                }
            }
        });
    }
    signal.raise_if_any();
}

// `margin` may hold contributions from rows outside the block, which stay as they are.
template <class T>
std::int64_t py_solve_block(Matrix<const T> kernel, Vector<const double> label,
                            Vector<const double> diagonal, double lower_margin, double upper_margin,
                            Vector<const double> below, Vector<const double> above,
                            Vector<const double> bound, Vector<const double> floor,
                            Vector<double> net_dual, Vector<double> margin, double gap,
                            std::int64_t sets, std::int64_t working_set, int threads,
                            std::uint64_t seed) {
    const std::size_t n = kernel.shape(0);
    require(kernel.shape(1) == n, "the kernel matrix of a block must be square.");
    for (std::size_t length : {label.shape(0), diagonal.shape(0), below.shape(0), above.shape(0),
                               bound.shape(0), floor.shape(0), net_dual.shape(0), margin.shape(0)})
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
                         {below.data()[i], above.data()[i], bound.data()[i], floor.data()[i]},
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
