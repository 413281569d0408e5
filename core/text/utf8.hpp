// Just enough UTF-8 for labels and text.
#pragma once

#include <string_view>

namespace labeltree::text {

// Whether the bytes are well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_utf8(std::string_view bytes);

// Whether a byte is inside a code point rather than at its start.
constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace labeltree::text
