#include "text/annif.hpp"

#include "text/error.hpp"
#include "text/number.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {

void AnnifParser::parse(std::string_view line, Rows& rows) {
  if (is_blank_line(line)) return;
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) fail("line", line, "has no tab: expected text<TAB><uri> <uri>");
  const std::string_view text = line.substr(0, tab);
  if (!is_utf8(text)) fail("text", text, "is not valid UTF-8");
  const char* const end = line.data() + line.size();
  for (const char* p = line.data() + tab; p != end;) {
    if (is_blank(*p)) {
      ++p;
      continue;
    }
    const char* const stop = token_end(p, end);
    const std::string_view token(p, static_cast<std::size_t>(stop - p));
    if (token.size() < 2 || token.front() != '<' || token.back() != '>') {
      fail("label", token, "is not in angle brackets: expected text<TAB><uri> <uri>");
    }
    rows.add_label(token.substr(1, token.size() - 2));
    p = stop;
  }
  rows.add_text(text);
  rows.finish_row();
}

}  // namespace labeltree::text
