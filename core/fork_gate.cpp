#include "fork_gate.hpp"

#include <pthread.h>

namespace labeltree {
namespace {

std::mutex gate;
Fork fork_;

[[maybe_unused]] const int registered = pthread_atfork([] { gate.lock(); }, [] { gate.unlock(); },
                                                       [] {
                                                         ++fork_.count;
                                                         fork_.thread = std::this_thread::get_id();
                                                         gate.unlock();
                                                       });

}  // namespace

std::mutex& fork_gate() { return gate; }
const Fork& last_fork() { return fork_; }

}  // namespace labeltree
