#include "text/unicode.hpp"

#include <algorithm>
#include <iterator>

#include "text/utf8.hpp"

namespace labeltree::text {
namespace {

#include "unicode_tables.inc"

}  // namespace

std::uint8_t character_kind(char32_t point) {
  return kKinds[kBlocks[point / kBlock] * kBlock + point % kBlock];
}

void append_folded(char32_t point, std::string& text) {
  const auto* found = std::lower_bound(std::begin(kFolding), std::end(kFolding), point);
  for (const char32_t part : kFolded[found - std::begin(kFolding)]) {
    if (part != 0) append_utf8(part, text);
  }
}

}  // namespace labeltree::text
