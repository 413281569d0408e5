#include "text/svmlight.hpp"

#include "text/error.hpp"
#include "text/number.hpp"

namespace labeltree::text {
namespace {

std::string_view take_token(std::string_view& line) {
  const char* const end = token_end(line.data(), line.data() + line.size());
  const std::string_view token = line.substr(0, static_cast<std::size_t>(end - line.data()));
  line.remove_prefix(token.size());
  return token;
}

void skip_qid(std::string_view& features) {
  const std::size_t start = features.find_first_not_of(" \t");
  if (start == std::string_view::npos || !features.substr(start).starts_with("qid:")) return;
  features.remove_prefix(start);
  const std::string_view qid = take_token(features).substr(4);
  if (!is_digits(qid.substr(qid.starts_with('-') ? 1 : 0))) fail("qid", qid, "is not an integer");
}

}  // namespace

std::string_view take_labels(std::string_view& line) {
  std::string_view rest = line;
  const std::string_view token = take_token(rest);
  if (token.find(':') != std::string_view::npos) return {};
  line = rest;
  return token;
}

void add_features(std::string_view features, std::uint64_t limit, Rows& rows) {
  const char* p = features.data();
  const char* const end = p + features.size();
  for (;;) {
    while (p != end && is_blank(*p)) ++p;
    if (p == end) return;
    const char* const start = p;
    std::uint64_t index = 0;
    while (p != end && is_digit(*p)) index = 10 * index + static_cast<unsigned>(*p++ - '0');
    const bool plain = p != start && p - start < 19 && p != end && *p == ':' && index < limit;
    if (!plain) [[unlikely]] {
      const char* const stop = token_end(start, end);
      const std::string_view token(start, static_cast<std::size_t>(stop - start));
      const std::size_t colon = token.find(':');
      if (colon == std::string_view::npos) fail("feature", token, "has no value: expected index:value");
      index = parse_index(token.substr(0, colon), limit);
      p = start + colon;
    }
    float value;
    p = read_float(p + 1, end, "feature value", value);
    rows.add_feature(static_cast<std::uint32_t>(index), value);
  }
}

void SvmlightParser::parse(std::string_view line, Rows& rows) {
  if (line.starts_with('#')) return;
  const std::string_view labels = take_labels(line);
  line = line.substr(0, line.find('#'));
  if (labels.empty() && is_blank_line(line)) return;
  for_each_label(labels, ',', [&](std::string_view label) { rows.add_label(label); });
  skip_qid(line);
  add_features(line, n_features_.value_or(kMaxFeatures), rows);
  rows.finish_row();
}

}  // namespace labeltree::text
