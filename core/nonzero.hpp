// Tables that have many zeros, without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labeltree {

// The numbers that are not zero, bit for bit, and a bit for each of all, whether it is one of them.
struct Nonzero {
  std::vector<std::uint8_t> bits;  // the lowest first
  std::vector<float> values;
};

Nonzero pack_nonzero(std::span<const float> numbers);

// Throws std::invalid_argument unless there are as many values as bits that are set.
void unpack_nonzero(std::span<const std::uint8_t> bits, std::span<const float> values,
                    std::span<float> numbers);

}  // namespace labeltree
