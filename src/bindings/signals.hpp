// Native loops beside Python: without the GIL, with Ctrl-C, and when the interpreter goes away.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <exception>

#include "parallel.hpp"

// Takes the GIL. A daemon thread that asks for it when the interpreter has begun to end is unwound
// by pthread_exit, which would abort on its way through the core: it stays here instead, until the
// process is gone.
template <class Take>
auto take_gil(Take take) {
  try {
    return take();
  } catch (...) {
    for (;;) pause();
  }
}

// While it is there, native code runs without the GIL.
class ReleasedGil {
 public:
  ReleasedGil() : thread_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    take_gil([this] { PyEval_RestoreThread(thread_); });
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* thread_;
};

// While it is there, code that runs without the GIL may call Python.
class HeldGil {
 public:
  HeldGil() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~HeldGil() { PyGILState_Release(state_); }
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;

 private:
  PyGILState_STATE state_;
};

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
    const HeldGil gil;
    if (PyErr_CheckSignals() == 0) return false;
    error_ = std::make_exception_ptr(nanobind::python_error());
    return true;
  }

  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(20);
  std::exception_ptr error_;
};
