// Work that is done in steps: a coroutine that pauses of its own accord.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <limits>
#include <utility>

namespace labeltree {

class Steps {
 public:
  struct promise_type {
    std::exception_ptr error;

    Steps get_return_object() { return Steps(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  // What is awaited within the work to pause.
  static constexpr std::suspend_always pause{};

  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  // Works up to the next pause, or to the end; returns whether there is more to do.
  bool next() {
    handle_.resume();
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return !handle_.done();
  }
  void finish() {
    while (next()) {
    }
  }

 private:
  using Handle = std::coroutine_handle<promise_type>;
  explicit Steps(Handle handle) : handle_(handle) {}

  Handle handle_;
};

// How much work makes a step.
class Pace {
 public:
  static constexpr std::size_t without_pause = std::numeric_limits<std::size_t>::max();

  explicit Pace(std::size_t step) : step_(step) {}

  // Counts work that was done; returns whether a step is full, and begins another.
  bool is_full(std::size_t work) {
    done_ += work;
    if (done_ < step_) return false;
    done_ = 0;
    return true;
  }

 private:
  std::size_t step_;
  std::size_t done_ = 0;
};

}  // namespace labeltree
