// Kernel values between two sets of rows: as a block, or as a product with coefficients.
#pragma once

#include <cstdint>

#include "interrupt.hpp"
#include "kernel_spec.hpp"
#include "rows.hpp"

namespace widemargin {

// The instruction set chosen on this machine: "avx512", "avx2" or "baseline".
const char* instruction_set();

// The norms that `kind` needs (squared 2-norms, or 1-norms for laplacian), accumulated in double.
template <class T>
void row_norms(const Rows<T>& rows, KernelKind kind, T* norms);

// out[k] = k(row k, row k).
template <class T>
void kernel_diagonal(const Rows<T>& rows, const KernelSpec& spec, double* out);

// out[i][j] = k(a_i, b_j). For `precomputed`, `a` holds the kernel matrix and b.pick its columns.
template <class T>
void kernel_block(const Rows<T>& a, const Rows<T>& b, const KernelSpec& spec, T* const* out,
                  int threads, Interrupt& interrupt);

// sums[o][j] += sum over i of coef[i][o] k(basis_i, query_j); nothing of the matrix is kept.
template <class T>
void kernel_product(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                    const T* coef, std::int64_t outputs, double* sums, int threads,
                    Interrupt& interrupt);

// sums[j] += sum over i of coef[i] rows[i][j] for j in [begin, end).
template <class T>
void add_scaled_rows(const T* const* rows, const double* coef, std::int64_t count,
                     std::int64_t begin, std::int64_t end, double* sums);

}  // namespace widemargin
