// What one look at the rows tells before a fit: moments of the columns, and which rows are equal.
#pragma once

#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"
#include "core/rows.hpp"

namespace widemargin {

// Sums of the values and of their squares, column by column.
template <class T>
void column_moments(const Rows<T>& rows, double* sum, double* square);

// A 64-bit key for each row and its label. Equal rows with equal labels have equal keys, dense or
// sparse; a stored zero counts like none, a negative one like a positive one.
template <class T>
void row_keys(const Rows<T>& rows, const std::int64_t* label, std::uint64_t* key, int threads,
              Interrupt& interrupt);

// The sets of equal rows with equal labels: group[i] is the set of row i, and `first` the first row
// of each set, in order. Rows with equal keys are compared entry by entry; entries of a CSR row are
// in the order of their columns. Only the bits of keys in `key_mask` are used.
template <class T>
std::vector<std::int64_t> copies(const Rows<T>& rows, const std::int64_t* label,
                                 std::int64_t* group, std::uint64_t key_mask, int threads,
                                 Interrupt& interrupt);

}  // namespace widemargin
