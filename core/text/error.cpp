#include "text/error.hpp"

namespace labeltree::text {

std::string quote(std::string_view token) {
  constexpr std::size_t kLongest = 40;
  constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : token.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      quoted += c;
    } else {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    }
  }
  if (token.size() > kLongest) quoted += "...";
  return quoted + '"';
}

void fail(std::string_view what, std::string_view token, std::string_view problem) {
  throw ParseError(std::string(what) + ' ' + quote(token) + ' ' + std::string(problem));
}

}  // namespace labeltree::text
