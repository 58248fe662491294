// Kernel values between two sets of rows: as a block, or as a product with coefficients.
#pragma once

#include <cstdint>

#include "core/interrupt.hpp"
#include "core/rows.hpp"
#include "kernel/kernel_spec.hpp"
#include "kernel/near_groups.hpp"

namespace widemargin {

// The instruction set chosen on this machine: "avx512", "avx2" or "baseline".
const char* instruction_set();

// The norms that `kind` needs (squared 2-norms, or 1-norms for laplacian), accumulated in double.
template <class T>
void row_norms(const Rows<T>& rows, KernelKind kind, T* norms);

// Marks the features that many rows store (`common` has one entry per feature). False if lists of
// rows with the other features would not pay: few entries are of such, or the lists are long.
template <class T>
bool mark_common_features(const Rows<T>& rows, std::uint8_t* common);

// out[k] = k(row k, row k).
template <class T>
void kernel_diagonal(const Rows<T>& rows, const KernelSpec& spec, double* out);

// out[i][j] = k(a_i, b_j). For `precomputed`, `a` holds the kernel matrix and b.pick its columns.
template <class T>
void kernel_block(const Rows<T>& a, const Rows<T>& b, const KernelSpec& spec, T* const* out,
                  int threads, Interrupt& interrupt);

// out[i * rows.count + j] = k(row i, row j): each value is evaluated once, and written twice. Not
// for `precomputed`.
template <class T>
void kernel_matrix(const Rows<T>& rows, const KernelSpec& spec, T* out, int threads,
                   Interrupt& interrupt);

// sums[o][j] += sum over i of coef[i][o] k(basis_i, query_j); nothing of the matrix is kept.
template <class T>
void kernel_product(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                    const T* coef, std::int64_t outputs, double* sums, int threads,
                    Interrupt& interrupt);

// Basis rows [group_start[g], group_start[g + 1]) are group g, and
// score_g(query) = offset[g] + sum over i in g of coef[i] k(basis_i, query).
// best[j] is the first group with the largest score at query j, score[j] that score. A score that
// is not a number is never the largest.
template <class T>
void nearest_group(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                   const double* coef, const std::int64_t* group_start, const double* offset,
                   std::int64_t groups, std::int64_t* best, double* score, int threads,
                   Interrupt& interrupt);

// Queries query_rows[query_start[g]] … query_rows[query_start[g + 1] - 1], each named once, meet
// basis rows [basis_start[g], basis_start[g + 1]) only:
// sums[q] = sum over those i of coef[i] k(basis_i, query_q).
template <class T>
void routed_product(const Rows<T>& queries, const Rows<T>& basis, const KernelSpec& spec,
                    const T* coef, const std::int64_t* query_rows, const std::int64_t* query_start,
                    const std::int64_t* basis_start, std::int64_t groups, double* sums, int threads,
                    Interrupt& interrupt);

// sums[o][k] += sum over i of coef[i][o] k(from.rows[i], to.rows[k]), but for pairs of groups that
// are far from each other; the kernel's constant counts for all of them. `to` and `from` list rows
// of `queries` and `basis`, sorted by the groups of `near`. Returns the kernel values evaluated.
template <class T>
std::int64_t near_product(const Rows<T>& queries, const GroupedRows& to, const Rows<T>& basis,
                          const GroupedRows& from, const NearGroups& near, const KernelSpec& spec,
                          const T* coef, std::int64_t outputs, double* sums, int threads,
                          Interrupt& interrupt);

// sums[j] += sum over i of coef[i] rows[i][j] for j in [begin, end).
template <class T>
void add_scaled_rows(const T* const* rows, const double* coef, std::int64_t count,
                     std::int64_t begin, std::int64_t end, double* sums);

}  // namespace widemargin
