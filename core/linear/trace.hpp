// Which cache lines of the weights were touched, in their order: in a build for bench/limit.py only.
#pragma once

#ifdef LABELTREE_TRACE

#include <cstddef>
#include <cstdint>
#include <vector>

namespace labeltree::trace {

inline std::vector<std::uint64_t>* lines = nullptr;  // where to note them; nowhere if null

inline void touch(std::size_t offset, std::size_t floats) {
  if (lines == nullptr) return;
  for (std::size_t line = offset / 16; line <= (offset + floats - 1) / 16; ++line) {
    lines->push_back(line);
  }
}

}  // namespace labeltree::trace

#define LABELTREE_TOUCH(offset, floats) ::labeltree::trace::touch(offset, floats)
#else
#define LABELTREE_TOUCH(offset, floats) static_cast<void>(0)
#endif
