#include "text/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace labeltree::text {

std::size_t code_point_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(bytes[i])) return 0;
  }
  const unsigned char second = at(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool too_large = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

char32_t code_point(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return lead;
  char32_t point = lead & (0xffu >> (bytes.size() + 1));
  for (const char byte : bytes.substr(1)) point = point << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
  return point;
}

void append_utf8(char32_t point, std::string& text) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;  // bytes after the first
  text += static_cast<char>((0xff00u >> (more + 1) & 0xffu) | point >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80u | (point >> (6 * i) & 0x3fu));
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes.size() >= 8) {  // plain ASCII, most of the time
      std::uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      if ((word & 0x8080808080808080ULL) == 0) {
        bytes.remove_prefix(8);
        continue;
      }
    }
    const std::size_t length = code_point_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace labeltree::text
