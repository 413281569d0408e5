#include "text/vw.hpp"

#include <cmath>

#include "hash.hpp"
#include "text/error.hpp"
#include "text/number.hpp"

namespace labeltree::text {
namespace {

// The next token of a text, taken off it; empty at the end.
std::string_view next_token(std::string_view& text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end && is_blank(*p)) ++p;
  const char* const stop = token_end(p, end);
  text = {stop, static_cast<std::size_t>(end - stop)};
  return {p, static_cast<std::size_t>(stop - p)};
}

// What comes before the first bar.
void add_label_and_weight(std::string_view head, Rows& rows) {
  const bool touches_bar = !head.empty() && !is_blank(head.back());
  std::string_view tokens[3];
  std::size_t count = 0;
  for (std::string_view token = next_token(head); !token.empty();) {
    const std::string_view next = next_token(head);
    const bool is_tag = next.empty() && (touches_bar || token.front() == '\'');
    if (!is_tag) {
      if (token.front() == '\'') fail("tag", token, "is not the last token before \"|\"");
      if (count == 3) {
        fail("token", token, "is one too many before \"|\": expected label, importance, base and 'tag");
      }
      tokens[count++] = token;
    }
    token = next;
  }
  if (tokens[0].find(':') != std::string_view::npos) {
    fail("label", tokens[0],
         "has a cost: expected label[,label...], cost-sensitive labels are not read");
  }
  for_each_label(tokens[0], ',', [&](std::string_view label) { rows.add_label(label); });
  if (count > 1) {
    const float weight = parse_float(tokens[1], "importance");
    if (weight < 0) fail("importance", tokens[1], "is negative: expected 0 or more");
    rows.set_weight(weight);
  }
  if (count > 2) parse_float(tokens[2], "base");
}

}  // namespace

void VwParser::add_namespace(std::string_view text, Rows& rows) const {
  std::string_view space;
  float scale = 1;
  if (!text.empty() && !is_blank(text.front())) {
    space = next_token(text);
    if (const std::size_t colon = space.find(':'); colon != std::string_view::npos) {
      scale = parse_float(space.substr(colon + 1), "namespace scale");
      space = space.substr(0, colon);
    }
  }
  const std::uint64_t seed = hash_bytes(space);
  for (std::string_view token = next_token(text); !token.empty(); token = next_token(text)) {
    const std::size_t colon = token.find(':');
    const std::string_view name = token.substr(0, colon);
    if (name.empty()) fail("feature", token, "has no name: expected name or name:value");
    float value = scale;
    if (colon != std::string_view::npos) {
      const std::string_view number = token.substr(colon + 1);
      read_float(number.data(), number.data() + number.size(), "feature value", value);
      value *= scale;
      if (!std::isfinite(value)) fail("feature", token, "times its namespace's scale is not finite");
    }
    const auto index = static_cast<std::uint32_t>(hash_bytes(name, seed) & (n_features_ - 1));
    rows.add_named_feature(index, value, space, name);
  }
}

void VwParser::parse(std::string_view line, Rows& rows) {
  if (is_blank_line(line)) return;
  std::size_t bar = line.find('|');
  if (bar == std::string_view::npos) {
    fail("line", line, "has no \"|\": expected [label] [importance] ['tag]|namespace features");
  }
  add_label_and_weight(line.substr(0, bar), rows);
  while (bar != std::string_view::npos) {
    line.remove_prefix(bar + 1);
    bar = line.find('|');
    add_namespace(line.substr(0, bar), rows);
  }
  rows.finish_row();
}

}  // namespace labeltree::text
