#include "text/tsv.hpp"

#include "text/error.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {

void TsvParser::parse(std::string_view line, Rows& rows) {
  if (line.empty()) return;
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) fail("line", line, "has no tab: expected label<TAB>text, without a label <TAB>text; or --format text for plain texts");
  const std::string_view labels = line.substr(0, tab);
  const std::string_view text = line.substr(tab + 1);
  if (!is_utf8(text)) fail("text", text, "is not valid UTF-8");
  // No label holds a tab, so splitting at one keeps the label whole.
  for_each_label(labels, label_separator_.value_or('\t'),
                 [&](std::string_view label) { rows.add_label(label); });
  rows.add_text(text);
  rows.finish_row();
}

}  // namespace labeltree::text
