// Numbers in text: fast where they are plain, exact everywhere, independent of the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace labeltree::text {

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Whether the text is one digit or more and nothing else.
inline bool is_digits(std::string_view text) {
  for (const char c : text) {
    if (!is_digit(c)) return false;
  }
  return !text.empty();
}

// The end of the token that starts at `p`: the next blank, or the end of the line.
inline const char* token_end(const char* p, const char* end) {
  while (p != end && !is_blank(*p)) ++p;
  return p;
}

// A decimal number, rounded to double and then to float as Python's float() and numpy do it.
// Throws if the token is anything else, is not finite, or does not fit a float. `what` names the
// number in the message.
float parse_float(std::string_view token, std::string_view what);

// Reads the number at `p`, which must be followed by a blank or `end`; returns where it ends.
// Inline because half of the time of reading a sparse file is spent here.
inline const char* read_float(const char* p, const char* end, std::string_view what, float& value) {
  // Up to 2^53 and 10^22 both are exact doubles, so that one division rounds once: the true result.
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
  const char* const start = p;
  const bool negative = p != end && *p == '-';
  p += negative;
  const char* const first = p;
  std::uint64_t digits = 0;
  while (p != end && is_digit(*p)) digits = 10 * digits + static_cast<unsigned>(*p++ - '0');
  std::ptrdiff_t count = p - first;
  std::ptrdiff_t decimals = 0;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    while (p != end && is_digit(*p)) digits = 10 * digits + static_cast<unsigned>(*p++ - '0');
    decimals = p - point;
    count += decimals;
  }
  const bool ended = p == end || is_blank(*p);
  if (ended && count > 0 && count < 19 && digits <= (std::uint64_t{1} << 53)) [[likely]] {
    const double magnitude = static_cast<double>(digits) / kPowers[decimals];
    value = static_cast<float>(negative ? -magnitude : magnitude);
    return p;
  }
  p = token_end(p, end);
  value = parse_float({start, static_cast<std::size_t>(p - start)}, what);
  return p;
}

// A feature index: digits only, below `limit`. Throws with the reason otherwise.
std::uint32_t parse_index(std::string_view token, std::uint64_t limit);

}  // namespace labeltree::text
