#include "text/labels.hpp"

#include <charconv>
#include <limits>

#include "text/error.hpp"
#include "text/number.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {

std::string_view integer_part(std::string_view token) {
  std::string_view text = token;
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    if (text.find_first_not_of('0', point + 1) != std::string_view::npos) return {};
    text = text.substr(0, point);
  }
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (!is_digits(digits)) return {};
  if (digits == "0") return digits;  // also for -0
  if (digits.starts_with('0')) return {};
  if (digits.size() > 18) {
    std::int64_t value;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc()) return {};
  }
  return text;
}

std::uint32_t Labels::intern(std::string_view token) {
  if (rule_ == LabelRule::typed) {
    if (const std::string_view integer = integer_part(token); !integer.empty()) token = integer;
  }
  if (const auto known = ids_.find(token); known != ids_.end()) return known->second;
  if (token.empty()) fail("label", token, "is empty: expected labels with one separator in between");
  if (!is_utf8(token)) fail("label", token, "is not valid UTF-8");
  if (names_.size() == std::numeric_limits<std::uint32_t>::max()) {
    fail("label", token, "is one too many: expected less than 2^32 different labels");
  }
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.push_back(nullptr);
  try {
    names_.back() = &ids_.emplace(token, id).first->first;
  } catch (...) {  // out of memory: stay consistent
    names_.pop_back();
    throw;
  }
  return id;
}

void Labels::truncate(std::size_t size) {
  while (names_.size() > size) {
    ids_.erase(ids_.find(std::string_view(*names_.back())));
    names_.pop_back();
  }
}

void Labels::clear() {
  names_.clear();
  ids_.clear();
}

bool Labels::is_integer(std::size_t id) const {
  return rule_ == LabelRule::typed && !integer_part(name(id)).empty();
}

}  // namespace labeltree::text
