#include "text/number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "text/error.hpp"

namespace labeltree::text {
namespace {

// Whether a decimal literal that no double can hold is too small (it is then zero) and not too
// large. std::from_chars reports both alike.
bool underflows(std::string_view literal) {
  constexpr long long kFar = 1'000'000'000;
  const std::size_t e = literal.find_first_of("eE");
  long long exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view text = literal.substr(e + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto result = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (result.ec == std::errc::result_out_of_range) return text.starts_with('-');
  }
  const std::string_view mantissa = literal.substr(0, e);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const long long magnitude = static_cast<long long>(point) - static_cast<long long>(first);
  return std::clamp(exponent, -kFar, kFar) + magnitude < 0;
}

}  // namespace

float parse_float(std::string_view token, std::string_view what) {
  std::string_view literal = token;
  const bool negative = literal.starts_with('-');
  if (negative || literal.starts_with('+')) literal.remove_prefix(1);
  const char* const end = literal.data() + literal.size();
  double magnitude = 0;
  const auto result = std::from_chars(literal.data(), end, magnitude);
  // A second sign would be taken by from_chars.
  if (result.ec == std::errc::invalid_argument || result.ptr != end || literal.starts_with('-')) {
    fail(what, token, "is not a number");
  }
  if (result.ec == std::errc::result_out_of_range) {
    magnitude = underflows(literal) ? 0 : std::numeric_limits<double>::max();
  }
  if (!std::isfinite(magnitude)) fail(what, token, "is not finite");
  const auto value = static_cast<float>(negative ? -magnitude : magnitude);
  if (!std::isfinite(value)) {
    fail(what, token, "does not fit a 32-bit float: expected at most 3.4e38 in magnitude");
  }
  return value;
}

std::uint32_t parse_index(std::string_view token, std::uint64_t limit) {
  std::uint64_t index = 0;
  const char* const end = token.data() + token.size();
  const auto result = std::from_chars(token.data(), end, index);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) {
    const bool negative = token.starts_with('-') && is_digits(token.substr(1));
    fail("feature index", token, negative ? "is negative: expected 0 or more" : "is not an integer");
  }
  if (result.ec == std::errc::result_out_of_range || index > std::numeric_limits<std::uint32_t>::max()) {
    fail("feature index", token, "is too large: expected less than 2^32");
  }
  if (index >= limit) {
    fail("feature index", token,
         "is out of range: expected less than n_features=" + std::to_string(limit));
  }
  return static_cast<std::uint32_t>(index);
}

}  // namespace labeltree::text
