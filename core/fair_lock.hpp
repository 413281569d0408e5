// A lock for a model: many threads read, or one writes, in the order in which they came.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "fork_gate.hpp"
#include "parallel.hpp"

namespace labeltree {

// The model behind a lock is not sound: what() says why.
struct CondemnedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whoever comes later waits behind whoever waits already, so that readers, however many, do not keep
// a writer out. A thread that holds the lock may take it again, but for one that reads and wants to
// write. In a forked child the threads that are not there hold nothing; if one of them was writing,
// the model is condemned.
class FairLock {
 public:
  enum class Use { read, write };

  FairLock();

  // Waits for its turn. Asks `stop` every few milliseconds, not holding anything, whether to give up;
  // returns false if so. Without `stop` it does not wait.
  bool lock(Use use, const StopRequested& stop);
  void unlock();

  // From now on nobody gets the lock.
  void condemn(const std::string& why);
  bool condemned();

 private:
  struct User {
    std::thread::id thread;
    Use use;
    std::size_t times;
  };

  bool free_for(Use use) const;
  std::list<User>::iterator mine();
  void notice_fork();

  std::list<User> waiting_;  // the first comes next
  std::list<User> holders_;
  std::unique_ptr<std::condition_variable> changed_;
  std::string why_condemned_;
  std::uint64_t forks_;
};

}  // namespace labeltree
