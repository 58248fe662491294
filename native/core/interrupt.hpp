// Asks the caller, now and then, whether to go on: Ctrl-C, a time budget, a progress display.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace widemargin {

class Interrupt {
public:
    // `poll` returns true to stop. It runs only on the thread that made this object, at most every
    // `interval`, so that it may take the interpreter's lock without slowing the loops.
    explicit Interrupt(std::function<bool()> poll,
                       std::chrono::milliseconds interval = std::chrono::milliseconds(50))
        : poll_(std::move(poll)), interval_(interval), owner_(std::this_thread::get_id()),
          next_(Clock::now() + interval) {}

    bool stop() {
        if (stopped_.load(std::memory_order_relaxed)) return true;
        if (!poll_ || std::this_thread::get_id() != owner_ || Clock::now() < next_) return false;
        next_ = Clock::now() + interval_;
        if (poll_()) stopped_.store(true, std::memory_order_relaxed);
        return stopped_.load(std::memory_order_relaxed);
    }

private:
    using Clock = std::chrono::steady_clock;
    std::function<bool()> poll_;
    std::chrono::milliseconds interval_;
    std::thread::id owner_;
    Clock::time_point next_;  // only the owner touches it
    std::atomic<bool> stopped_{false};
};

}  // namespace widemargin
