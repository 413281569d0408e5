#include "text/words.hpp"

#include <array>

#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {
namespace {

constexpr bool is_between(char c, char low, char high) { return c >= low && c <= high; }

// The kinds of ASCII characters, which are most of all text.
constexpr std::array<std::uint8_t, 128> ascii_kinds() {
  std::array<std::uint8_t, 128> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const char c = static_cast<char>(i);
    if (is_between(c, '0', '9')) kinds[i] = kWord;
    if (is_between(c, 'a', 'z')) kinds[i] = kWord | kLower;
    if (is_between(c, 'A', 'Z')) kinds[i] = kWord | kUpper | kFolds;
  }
  return kinds;
}

constexpr std::array<std::uint8_t, 128> kAscii = ascii_kinds();

}  // namespace

inline void Words::finish_word() {
  if (!open_) return;
  words_.back().end = bytes_.size();
  bytes_ += ' ';
  open_ = false;
}

// Makes room for a character of a word: in the word before it, or in a new one.
inline void Words::place(std::uint8_t kind) {
  const bool alone = (kind & kAlone) != 0;
  if (open_) {
    const bool other = alone != words_.back().alone && (kind & kMark) == 0;
    const bool capital = (kind & kUpper) != 0 && (previous_ & kLower) != 0;
    if (other || capital) finish_word();
  }
  if (!open_) {
    words_.push_back({bytes_.size(), 0, alone});
    open_ = true;
  }
  previous_ = kind;
}

void Words::split(std::string_view text, bool fold) {
  bytes_.assign(1, ' ');
  words_.clear();
  open_ = false;
  while (!text.empty()) {
    std::size_t length = 1;
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 128) {
      const std::uint8_t kind = kAscii[lead];
      if ((kind & kWord) == 0) {
        finish_word();
      } else {
        place(kind);
        bytes_ += static_cast<char>(fold && (kind & kFolds) != 0 ? lead + ('a' - 'A') : lead);
      }
    } else if ((length = code_point_length(text)) > 0) {
      const char32_t point = code_point(text.substr(0, length));
      const std::uint8_t kind = character_kind(point);
      if ((kind & kWord) == 0) {
        finish_word();
      } else {
        place(kind);
        if (fold && (kind & kFolds) != 0) {
          append_folded(point, bytes_);
        } else {
          bytes_ += text.substr(0, length);
        }
      }
    } else {  // not UTF-8
      finish_word();
      length = 1;
    }
    text.remove_prefix(length);
  }
  finish_word();
}

}  // namespace labeltree::text
