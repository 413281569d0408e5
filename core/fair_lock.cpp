#include "fair_lock.hpp"

#include <algorithm>
#include <chrono>

namespace labeltree {

FairLock::FairLock() : changed_(std::make_unique<std::condition_variable>()) {
  const std::lock_guard gate(fork_gate());
  forks_ = last_fork().count;
}

bool FairLock::free_for(Use use) const {
  return holders_.empty() || (use == Use::read && holders_.front().use == Use::read);
}

std::list<FairLock::User>::iterator FairLock::mine() {
  const auto me = std::this_thread::get_id();
  return std::find_if(holders_.begin(), holders_.end(),
                      [&](const User& user) { return user.thread == me; });
}

// Forgets the threads that were left behind in the process this one was forked from.
void FairLock::notice_fork() {
  if (forks_ == last_fork().count) return;
  forks_ = last_fork().count;
  (void)changed_.release();  // to destroy it would wait for those that waited
  changed_ = std::make_unique<std::condition_variable>();
  const auto gone = [](const User& user) { return user.thread != last_fork().thread; };
  waiting_.remove_if(gone);
  if (std::any_of(holders_.begin(), holders_.end(),
                  [&](const User& user) { return gone(user) && user.use == Use::write; })) {
    why_condemned_ =
        "this process was forked while another thread changed the model, and has half of it; load "
        "it from its file, or fork before anything is learned";
  }
  holders_.remove_if(gone);
}

bool FairLock::lock(Use use, const StopRequested& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::milliseconds(20);
  std::list<User> user{{std::this_thread::get_id(), use, 1}};
  std::unique_lock gate(fork_gate());
  notice_fork();
  if (!why_condemned_.empty()) throw CondemnedError(why_condemned_);
  if (const auto held = mine(); held != holders_.end()) {
    if (use == Use::write && held->use == Use::read) {
      throw std::logic_error(
          "the model would have to change in the middle of a call that reads it; let that call "
          "return first");
    }
    ++held->times;
    return true;
  }
  if (waiting_.empty() && free_for(use)) {
    holders_.splice(holders_.end(), user);
    return true;
  }
  if (!stop) return false;
  const auto me = user.begin();
  // A signal handler that runs while this thread waits goes before what it has interrupted.
  const auto mine_waiting = std::find_if(waiting_.begin(), waiting_.end(), [&](const User& other) {
    return other.thread == me->thread;
  });
  waiting_.splice(mine_waiting, user);
  const auto leave = [&] {
    waiting_.erase(me);
    changed_->notify_all();
  };
  auto next = Clock::now() + patience;
  while (waiting_.begin() != me || !free_for(use)) {
    changed_->wait_until(gate, next);
    if (!why_condemned_.empty()) {
      leave();
      throw CondemnedError(why_condemned_);
    }
    if (Clock::now() < next) continue;
    gate.unlock();
    const bool stopped = stop();
    gate.lock();
    notice_fork();
    if (stopped) {
      leave();
      return false;
    }
    next = Clock::now() + patience;
  }
  holders_.splice(holders_.end(), waiting_, me);
  changed_->notify_all();  // the next one may want to read, too
  return true;
}

void FairLock::unlock() {
  const std::lock_guard gate(fork_gate());
  const auto held = mine();
  if (held == holders_.end() || --held->times > 0) return;
  holders_.erase(held);
  changed_->notify_all();
}

void FairLock::condemn(const std::string& why) {
  const std::lock_guard gate(fork_gate());
  why_condemned_ = why;
  changed_->notify_all();
}

bool FairLock::condemned() {
  const std::lock_guard gate(fork_gate());
  notice_fork();
  return !why_condemned_.empty();
}

}  // namespace labeltree
