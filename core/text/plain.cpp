#include "text/plain.hpp"

#include "text/error.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {

// An empty line is an empty text, so that there are as many answers as lines.
void PlainParser::parse(std::string_view line, Rows& rows) {
  if (!is_utf8(line)) fail("text", line, "is not valid UTF-8");
  rows.add_text(line);
  rows.finish_row();
}

}  // namespace labeltree::text
