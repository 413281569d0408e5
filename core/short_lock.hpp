// A lock that is held for microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace labeltree {

// Who waits for it looks again and again: to sleep and to be woken takes longer than what is waited for.
// Many read at a time, or one changes; readers that come while one waits to change come after it.
class ShortLock {
 public:
  void lock() {
    for (unsigned times = 0; (state_.fetch_or(changing, std::memory_order_acquire) & changing) != 0;) {
      wait(times);
    }
    for (unsigned times = 0; state_.load(std::memory_order_acquire) != changing;) wait(times);
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return state_.compare_exchange_strong(free, changing, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() { state_.fetch_and(~changing, std::memory_order_release); }

  void lock_shared() {
    for (unsigned times = 0; !try_lock_shared();) wait(times);
  }
  bool try_lock_shared() {
    std::uint32_t readers = state_.load(std::memory_order_relaxed) & ~changing;
    return state_.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }
  void unlock_shared() { state_.fetch_sub(1, std::memory_order_release); }

 private:
  static constexpr std::uint32_t changing = 1u << 31;  // one changes, or waits for readers to end

  static void wait(unsigned& times) {
    constexpr unsigned patience = 256;  // then there may be more threads than processors
    if (++times % patience == 0) return std::this_thread::yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<std::uint32_t> state_ = 0;  // how many read
};

}  // namespace labeltree
