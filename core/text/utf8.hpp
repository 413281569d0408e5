// Just enough UTF-8 for labels and text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace labeltree::text {

// Whether the bytes are well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_utf8(std::string_view bytes);

// The length of the well-formed code point at the start of `bytes`, which are not empty; 0 if there is
// none.
std::size_t code_point_length(std::string_view bytes);
// The code point that these bytes, of that length, are.
char32_t code_point(std::string_view bytes);
void append_utf8(char32_t point, std::string& text);

// Whether a byte is inside a code point rather than at its start.
constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace labeltree::text
