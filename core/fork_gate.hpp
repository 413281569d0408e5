// What must not be half done when the process is copied by fork.
#pragma once

#include <cstdint>
#include <mutex>
#include <thread>

namespace labeltree {

// One mutex for short steps that no other thread may be in the middle of while the process forks:
// the child has only the thread that forked, and could not finish them. Held for some instructions,
// and by whoever forks.
std::mutex& fork_gate();

struct Fork {
  std::uint64_t count = 0;  // how often a process was forked on the way to this one
  std::thread::id thread;   // the one that this process began with, if it was forked
};

// Read while the gate is held.
const Fork& last_fork();

}  // namespace labeltree
