// A large array of doubles that is read here and there.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace widemargin {

struct FreeMemory {
    void operator()(double* p) const { std::free(p); }
};
using Block = std::unique_ptr<double[], FreeMemory>;

// Zeros. On large pages where the system has them: rows of a matrix visited in random order else
// cost a page table walk each.
inline Block zeroed_block(std::size_t count) {
    constexpr std::size_t page = std::size_t(1) << 21;
    const std::size_t bytes = (count * sizeof(double) + page - 1) / page * page;
    void* memory = nullptr;
    if (bytes < 2 * page) {
        memory = std::calloc(count + 1, sizeof(double));
        if (!memory) throw std::bad_alloc();
        return Block(static_cast<double*>(memory));
    }
    memory = std::aligned_alloc(page, bytes);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    Block block(static_cast<double*>(memory));
    for (std::size_t k = 0; k < count; ++k) block[k] = 0.0;
    return block;
}

}  // namespace widemargin
