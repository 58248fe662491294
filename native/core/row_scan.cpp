#include "core/row_scan.hpp"

#include <algorithm>
#include <cstring>

#include "core/parallel.hpp"

namespace widemargin {
namespace {

constexpr std::int64_t rows_at_once = 4096;
constexpr std::int64_t none = -1;

std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ULL;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ULL;
    return z ^ (z >> 32);
}

std::uint64_t bits(float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

std::uint64_t bits(double value) {
    std::uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    return mixed(word);
}

// A sum of terms, so that zeros may be left out.
template <class T>
std::uint64_t term(std::int64_t column, T value) {
    return value == T(0) ? 0 : mixed(bits(value) ^ (std::uint64_t(column + 1) << 33));
}

template <class T>
std::uint64_t key_of(const Rows<T>& rows, const std::int64_t* label, std::int64_t i) {
    std::uint64_t sum = mixed(std::uint64_t(label[i]) + 0x9e3779b97f4a7c15ULL);
    rows.for_each_stored(i, [&](std::int64_t f, T value) { sum += term(f, value); });
    return sum;
}

// The entry of a CSR row at e or after, zeros passed over.
template <class T>
std::int64_t next_entry(const Rows<T>& rows, std::int64_t e, std::int64_t end) {
    while (e < end && rows.values[e] == T(0)) ++e;
    return e;
}

template <class T>
bool equal_rows(const Rows<T>& rows, std::int64_t i, std::int64_t j) {
    if (!rows.sparse()) {
        const T *left = rows.dense(i), *right = rows.dense(j);
        return std::equal(left, left + rows.features, right);
    }
    std::int64_t e = rows.row_start[i], f = rows.row_start[j];
    const std::int64_t e_end = rows.row_start[i + 1], f_end = rows.row_start[j + 1];
    while (true) {
        e = next_entry(rows, e, e_end);
        f = next_entry(rows, f, f_end);
        if (e == e_end || f == f_end) return e == e_end && f == f_end;
        const bool same_column =
            rows.index32 ? rows.index32[e] == rows.index32[f] : rows.index64[e] == rows.index64[f];
        if (!same_column || rows.values[e] != rows.values[f]) return false;
        ++e;
        ++f;
    }
}

}  // namespace

template <class T>
void column_moments(const Rows<T>& rows, double* sum, double* square) {
    for (std::int64_t i = 0; i < rows.count; ++i)
        rows.for_each_stored(i, [&](std::int64_t f, T value) {
            const double v = double(value);
            sum[f] += v;
            square[f] += v * v;
        });
}

template <class T>
void row_keys(const Rows<T>& rows, const std::int64_t* label, std::uint64_t* key, int threads,
              Interrupt& interrupt) {
    const std::int64_t tasks = (rows.count + rows_at_once - 1) / rows_at_once;
    parallel_for(tasks, threads, interrupt, [&](std::int64_t task) {
        const std::int64_t end = std::min(rows.count, (task + 1) * rows_at_once);
        for (std::int64_t i = task * rows_at_once; i < end; ++i) key[i] = key_of(rows, label, i);
    });
}

template <class T>
std::vector<std::int64_t> copies(const Rows<T>& rows, const std::int64_t* label,
                                 std::int64_t* group, std::uint64_t key_mask, int threads,
                                 Interrupt& interrupt) {
    std::vector<std::uint64_t> key(std::size_t(rows.count));
    row_keys(rows, label, key.data(), threads, interrupt);
    for (std::uint64_t& each : key) each &= key_mask;
    std::size_t places = 16;
    while (places < 2 * key.size()) places *= 2;
    std::vector<std::int64_t> table(places, none);  // sets, by key
    std::vector<std::int64_t> first;
    for (std::int64_t i = 0; i < rows.count; ++i) {
        if ((i & (rows_at_once - 1)) == 0 && interrupt.stop()) break;
        const std::uint64_t own = key[std::size_t(i)];
        for (std::size_t at = mixed(own) & (places - 1);; at = (at + 1) & (places - 1)) {
            if (table[at] == none) {
                table[at] = group[i] = std::int64_t(first.size());
                first.push_back(i);
                break;
            }
            const std::int64_t other = first[std::size_t(table[at])];
            if (key[std::size_t(other)] == own && label[other] == label[i] &&
                equal_rows(rows, i, other)) {
                group[i] = table[at];
                break;
            }
        }
    }
    return first;
}

#define WM_INSTANTIATE(T)                                                                         \
    template void column_moments(const Rows<T>&, double*, double*);                               \
    template void row_keys(const Rows<T>&, const std::int64_t*, std::uint64_t*, int, Interrupt&); \
    template std::vector<std::int64_t> copies(const Rows<T>&, const std::int64_t*, std::int64_t*, \
                                              std::uint64_t, int, Interrupt&);
WM_INSTANTIATE(float)
WM_INSTANTIATE(double)

}  // namespace widemargin
