// Work shared among threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace labeltree {

// Calls work(begin, end, thread) on contiguous shares of [0, n). Rethrows the first exception.
template <class Work>
void parallel_for(std::size_t n, std::size_t threads, Work work) {
  threads = std::max<std::size_t>(1, std::min(threads, n));
  if (threads == 1) {
    work(std::size_t{0}, n, std::size_t{0});
    return;
  }
  std::vector<std::exception_ptr> errors(threads);
  const auto share = [&](std::size_t t) {
    try {
      work(n * t / threads, n * (t + 1) / threads, t);
    } catch (...) {
      errors[t] = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  others.reserve(threads - 1);
  std::size_t made = 1;
  try {
    for (; made < threads; ++made) others.emplace_back(share, made);
  } catch (const std::system_error&) {  // there are no more threads to be had: do it here
  }
  share(0);
  for (std::size_t t = made; t < threads; ++t) share(t);
  others.clear();  // joins
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Asked between short stretches of a long loop; true means: stop here and leave things consistent.
using StopRequested = std::function<bool()>;

}  // namespace labeltree
