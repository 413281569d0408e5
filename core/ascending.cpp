#include "ascending.hpp"

#include <algorithm>
#include <stdexcept>

namespace labeltree {

std::vector<std::uint8_t> pack_ascending(std::span<const std::uint64_t> numbers) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(numbers.size());
  std::uint64_t least = 0;  // that the next number may be
  for (const std::uint64_t number : numbers) {
    std::uint64_t gap = number - least;
    for (; gap >= 0x80; gap >>= 7) bytes.push_back(static_cast<std::uint8_t>(gap | 0x80));
    bytes.push_back(static_cast<std::uint8_t>(gap));
    least = number + 1;
  }
  return bytes;
}

std::vector<std::uint64_t> unpack_ascending(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte < 0x80; })));
  std::uint64_t least = 0, gap = 0;
  unsigned shift = 0;
  for (const std::uint8_t byte : bytes) {
    if (shift > 56) throw std::invalid_argument("a number is too large");
    gap |= std::uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (byte & 0x80) continue;
    numbers.push_back(least + gap);
    if (numbers.back() < least || numbers.back() + 1 == 0) {
      throw std::invalid_argument("a number is too large");
    }
    least = numbers.back() + 1;
    gap = 0;
    shift = 0;
  }
  if (shift > 0) throw std::invalid_argument("the last number is cut short");
  return numbers;
}

}  // namespace labeltree
