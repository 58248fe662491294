// Large arrays, on large pages where the system has them: rows of a matrix visited in random order
// else cost a page table walk each, and new pages a fault each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace widemargin {

struct FreeMemory {
    template <class T>
    void operator()(T* p) const {
        std::free(p);
    }
};
template <class T>
using Block = std::unique_ptr<T[], FreeMemory>;

constexpr std::size_t large_page = std::size_t(1) << 21;

// Values are not set, and pages not touched. Blocks of less than `from` bytes are on small pages.
template <class T>
Block<T> large_block(std::size_t count, std::size_t from = 2 * large_page) {
    constexpr std::size_t page = large_page;
    const std::size_t bytes = (count * sizeof(T) + page - 1) / page * page;
    void* memory = nullptr;
    if (bytes < from) {
        memory = std::malloc(std::max<std::size_t>(count, 1) * sizeof(T));
        if (!memory) throw std::bad_alloc();
        return Block<T>(static_cast<T*>(memory));
    }
    memory = std::aligned_alloc(page, bytes);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return Block<T>(static_cast<T*>(memory));
}

template <class T>
Block<T> zeroed_block(std::size_t count) {
    Block<T> block = large_block<T>(count);
    std::fill_n(block.get(), count, T(0));
    return block;
}

}  // namespace widemargin
