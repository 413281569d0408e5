// The lock of a model in native calls.
#pragma once

#include "fair_lock.hpp"
#include "signals.hpp"

// Takes a lock: at once with the GIL if it can be had, else it waits without the GIL.
inline void acquire(labeltree::FairLock& lock, labeltree::FairLock::Use use) {
  if (lock.lock(use, nullptr)) return;
  SignalPoll signals;
  {
    const ReleasedGil released;
    lock.lock(use, signals.callback());
  }
  signals.rethrow();
}

// Holds a lock until it goes, or before: calls that compute without the GIL give the lock back
// before they wait for the GIL, so that nobody has to wait for both.
class Held {
 public:
  Held(labeltree::FairLock& lock, labeltree::FairLock::Use use) : lock_(&lock) {
    acquire(lock, use);
  }
  ~Held() { release(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  void release() {
    if (lock_ != nullptr) lock_->unlock();
    lock_ = nullptr;
  }

 private:
  labeltree::FairLock* lock_;
};

struct Reading : Held {
  explicit Reading(labeltree::FairLock& lock) : Held(lock, labeltree::FairLock::Use::read) {}
};
struct Changing : Held {
  explicit Changing(labeltree::FairLock& lock) : Held(lock, labeltree::FairLock::Use::write) {}
};

// What a learner tells of itself, told between two changes.
template <class Learner, class Result>
auto reading(Result (Learner::*get)() const) {
  return [get](const Learner& self) {
    const Reading lock(self.lock());
    return (self.*get)();
  };
}
