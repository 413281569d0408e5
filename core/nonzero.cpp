#include "nonzero.hpp"

#include <bit>
#include <stdexcept>

namespace labeltree {

Nonzero pack_nonzero(std::span<const float> numbers) {
  Nonzero packed;
  packed.bits.resize((numbers.size() + 7) / 8, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(numbers[i]) == 0) continue;
    packed.bits[i / 8] |= static_cast<std::uint8_t>(1u << (i % 8));
    packed.values.push_back(numbers[i]);
  }
  return packed;
}

void unpack_nonzero(std::span<const std::uint8_t> bits, std::span<const float> values,
                    std::span<float> numbers) {
  std::size_t set = 0;
  for (const std::uint8_t byte : bits) set += static_cast<std::size_t>(std::popcount(byte));
  const std::size_t past = numbers.size() % 8;
  if (bits.size() != (numbers.size() + 7) / 8 || set != values.size() ||
      (past > 0 && bits.back() >> past != 0)) {
    throw std::invalid_argument("there are not as many numbers as are said not to be zero");
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = bits[i / 8] >> (i % 8) & 1 ? values[next++] : 0.0f;
  }
}

}  // namespace labeltree
