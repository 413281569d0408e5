// Lines of eight codes of one byte, for prediction from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linear/example.hpp"
#include "linear/found_lines.hpp"
#include "linear/line_groups.hpp"
#include "linear/line_map.hpp"

// Every used line has a code for each lane: eight bytes, twice to four times what it takes without empty
// lanes (frozen_lines.hpp), and no counting of bits to find it, or to spread it. They follow one another,
// and a group tells where its first one is.
namespace labeltree::whole_lines {

constexpr std::size_t bytes = 8;  // of a line

// Where in a line the code of a lane is.
constexpr std::size_t place(std::size_t lane) { return lane % 2 * 4 + lane / 2; }

// Finds the used lines of features from the first `begin` on, and asks for them.
void find(const LineGroup* groups, const std::uint8_t* lines, Address at, const Example& x,
          std::size_t begin, FoundLines& found);
// The predictions of a block. `found` are the lines of the first features, and is used for those of the
// others.
void dot8(const LineGroup* groups, const std::uint8_t* lines, Address at, const Example& x,
          FoundLines& found, float scale, float* p);
// The weights of the first n features of a block, eight for each, but for the scale. Of lines that are not
// used it reads what follows: there must be eight bytes behind the last line.
void unpack(const LineGroup* groups, const std::uint8_t* lines, Address at, std::size_t n,
            float* weights);

}  // namespace labeltree::whole_lines
