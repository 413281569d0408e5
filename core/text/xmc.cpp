#include "text/xmc.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "text/error.hpp"
#include "text/number.hpp"
#include "text/svmlight.hpp"

namespace labeltree::text {
namespace {

constexpr std::string_view kExpected = "expected the header \"examples features labels\"";

}  // namespace

XmcParser::Header XmcParser::parse_header(std::string_view line) {
  std::uint64_t counts[3];
  const char* p = line.data();
  const char* const end = p + line.size();
  for (std::uint64_t& count : counts) {
    while (p != end && is_blank(*p)) ++p;
    const char* const stop = token_end(p, end);
    const auto result = std::from_chars(p, stop, count);
    if (result.ec != std::errc() || result.ptr != stop) {
      throw ParseError(std::string(kExpected) + ", received " + quote(line), true);
    }
    p = stop;
  }
  while (p != end && is_blank(*p)) ++p;
  if (p != end) throw ParseError(std::string(kExpected) + ", received " + quote(line), true);
  if (counts[1] > kMaxFeatures) {
    throw ParseError("header announces " + std::to_string(counts[1]) +
                         " features: expected at most 2^32",
                     true);
  }
  return {counts[0], counts[1], counts[2]};
}

void XmcParser::check_label(std::string_view label) const {
  const std::string_view digits = integer_part(label);
  std::uint64_t id;
  if (digits.empty()) fail("label", label, "is not an integer");
  if (std::from_chars(digits.data(), digits.data() + digits.size(), id).ec != std::errc()) {
    fail("label", label, "is negative: expected 0 or more");
  }
  if (id >= header_->labels) {
    fail("label", label,
         "is out of range: the header announces " + std::to_string(header_->labels) + " labels");
  }
}

void XmcParser::parse(std::string_view line, Rows& rows) {
  if (!header_) {
    header_ = parse_header(line);
    features_ = std::max(features_, header_->features);
    return;
  }
  if (lines_ >= header_->examples) {
    if (is_blank_line(line)) return;
    throw ParseError("more examples than the header announces: expected " +
                         std::to_string(header_->examples) + ", received " + quote(line),
                     true);
  }
  ++lines_;
  for_each_label(take_labels(line), ',', [&](std::string_view label) {
    check_label(label);
    rows.add_label(label);
  });
  add_features(line, std::min(header_->features, given_.value_or(kMaxFeatures)), rows);
  rows.finish_row();
}

void XmcParser::start_file() {
  header_.reset();
  lines_ = 0;
}

void XmcParser::finish_file() {
  if (!header_) throw ParseError(std::string(kExpected) + ", received an empty file", true);
  if (lines_ != header_->examples) {
    throw ParseError("header announces " + std::to_string(header_->examples) +
                         " examples, received " + std::to_string(lines_),
                     true);
  }
}

std::uint64_t XmcParser::missing() const {
  return header_ && header_->examples > lines_ ? header_->examples - lines_ : 0;
}

std::optional<std::uint64_t> XmcParser::n_features() const { return given_ ? *given_ : features_; }

}  // namespace labeltree::text
