// Numbers of which each is larger than the one before, in few bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace labeltree {

// Of numbers below 2^63, the gaps between them, seven bits a byte, the lowest first; the eighth bit says that more follow
// (LEB128). Numbers that lie close take a byte each.
std::vector<std::uint8_t> pack_ascending(std::span<const std::uint64_t> numbers);

// Throws std::invalid_argument if the bytes are not of such numbers.
std::vector<std::uint64_t> unpack_ascending(std::span<const std::uint8_t> bytes);

}  // namespace labeltree
