// Numbers that a thread reads or writes while another may do so, too, without a lock.
//
// Each number is read and written as a whole, and nothing is said of the order. That costs nothing
// on any processor; ThreadSanitizer then knows that it is meant so.
#pragma once

namespace labeltree {

template <class T>
inline T read_relaxed(const T& number) {
  T value;
  __atomic_load(&number, &value, __ATOMIC_RELAXED);
  return value;
}

// By one thread at a time.
template <class T>
inline void add_relaxed(T& number, T more) {
  T value = read_relaxed(number) + more;
  __atomic_store(&number, &value, __ATOMIC_RELAXED);
}

}  // namespace labeltree
