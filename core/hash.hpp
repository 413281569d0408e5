// Hash functions shared by the weight table and the text parsers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace labeltree {

// Mixes all 64 bits: every input bit changes every output bit with probability about one half
// (the finaliser of MurmurHash3 with the constants of Stafford's variant 13).
constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// The next of a sequence of random numbers whose state is one number (SplitMix64).
inline std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  return mix64(state);
}

// Puts the values into a random order.
template <class T>
void shuffle(std::span<T> values, std::uint64_t& state) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[next_random(state) % i]);
  }
}

// Hashes bytes, eight at a time; `seed` separates namespaces, n-gram orders and positions.
// The value is part of the model format: features hashed today must hash alike tomorrow.
inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t h = mix64(seed ^ (0x9e3779b97f4a7c15ULL * (bytes.size() + 1)));
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix64(h ^ word);
  }
  std::uint64_t tail = 0;
  for (std::size_t i = 0; i < n; ++i) {
    tail |= std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
  }
  return mix64(h ^ tail);
}

}  // namespace labeltree
