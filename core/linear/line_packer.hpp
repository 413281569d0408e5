// Puts lines of codes into groups, and these into a run of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "aligned.hpp"
#include "linear/bfloat16.hpp"
#include "linear/line_groups.hpp"
#include "shared_array.hpp"

namespace labeltree {

// A group's bytes: for each used line which lanes it has, a bit each; then the codes of all these lanes.
template <class Code>
class LinePacker {
 public:
  // Bytes behind the last group, which may be read, whatever a damaged file says, and mean nothing.
  static constexpr std::size_t margin = group_lines * (1 + 8 * sizeof(bfloat16)) + 16;

  // Of a table of so many lines, of which some are used, and have so many codes.
  LinePacker(std::size_t lines, std::size_t used, std::size_t codes)
      : groups_((lines + group_lines - 1) / group_lines, Pages::small),
        bytes_(used + codes * sizeof(Code) + margin) {}

  // Adds a line behind those before; `lane` has a code for each of the eight, zero for one that is not used.
  void add(std::size_t line, const Code* lane) {
    if (line / group_lines != current_) end_group();
    current_ = line / group_lines;
    unsigned lanes = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if (lane[i] == Code{}) continue;
      lanes |= 1u << i;
      codes_[codes_size_++] = lane[i];
    }
    if (lanes == 0) return;
    lanes_[lanes_size_++] = static_cast<std::uint8_t>(lanes);
    groups_.data()[current_] |= LineGroup{1} << (line % group_lines);
  }

  std::pair<AlignedArray<LineGroup>, SharedArray<std::uint8_t>> finish() && {
    end_group();
    return {std::move(groups_), SharedArray<std::uint8_t>(std::move(bytes_))};
  }

 private:
  void end_group() {
    if (lanes_size_ == 0) return;
    groups_.data()[current_] |= end_ << 16;
    std::memcpy(bytes_.data() + end_, lanes_, lanes_size_);
    std::memcpy(bytes_.data() + end_ + lanes_size_, codes_, codes_size_ * sizeof(Code));
    end_ += lanes_size_ + codes_size_ * sizeof(Code);
    lanes_size_ = codes_size_ = 0;
  }

  AlignedArray<LineGroup> groups_;
  AlignedArray<std::uint8_t> bytes_;
  std::uint64_t end_ = 0;
  std::size_t current_ = 0;  // group
  std::uint8_t lanes_[group_lines];
  Code codes_[8 * group_lines];
  std::size_t lanes_size_ = 0, codes_size_ = 0;
};

}  // namespace labeltree
