// The one way this library uses threads.
//
// Threads live for one call and are joined before it returns: no pool that a fork could break.
// Tasks write to places of their own, so results do not depend on how many threads there are.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/interrupt.hpp"

namespace widemargin {

// Calls body(task) for task = 0 … tasks-1 on up to `threads` threads. The caller's thread works too
// and polls `interrupt`; once it asks to stop, no further task is begun.
template <class Body>
void parallel_for(std::int64_t tasks, int threads, Interrupt& interrupt, Body&& body) {
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;

    auto work = [&] {
        try {
            for (std::int64_t task; (task = next.fetch_add(1)) < tasks;) {
                if (interrupt.stop()) return;
                body(task);
            }
        } catch (...) {
            std::lock_guard<std::mutex> guard(failure_lock);
            if (!failure) failure = std::current_exception();
            next.store(tasks);
        }
    };

    std::vector<std::thread> helpers;
    const std::int64_t wanted = threads < tasks ? threads : tasks;
    for (std::int64_t t = 1; t < wanted; ++t) {
        try {
            helpers.emplace_back(work);
        } catch (...) {
            break;  // no more threads to be had: the ones running do all the work
        }
    }
    work();
    for (auto& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace widemargin
