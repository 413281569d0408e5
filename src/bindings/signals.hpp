// Ctrl-C in the middle of a native loop, and loops of several threads on one learner.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <shared_mutex>

#include "parallel.hpp"

// Takes a learner's lock without the GIL, which whoever holds the lock may be waiting for.
template <class Lock>
Lock lock_without_gil(std::shared_mutex& mutex) {
  nanobind::gil_scoped_release release;
  return Lock(mutex);
}
using SharedLock = std::shared_lock<std::shared_mutex>;
using ExclusiveLock = std::unique_lock<std::shared_mutex>;

// Lets a core loop that runs without the GIL ask, every few milliseconds, whether Python wants to
// handle a signal. The loop stops at a consistent point; then `rethrow` raises what Python raised.
class SignalPoll {
 public:
  labeltree::StopRequested callback() {
    return [this] { return poll(); };
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool poll() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(20);
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return false;
    error_ = std::make_exception_ptr(nanobind::python_error());
    return true;
  }

  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(20);
  std::exception_ptr error_;
};
