#include "text/fasttext.hpp"

#include "text/error.hpp"
#include "text/number.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {

void FastTextParser::parse(std::string_view line, Rows& rows) {
  if (is_blank_line(line)) return;
  if (!is_utf8(line)) fail("line", line, "is not valid UTF-8");
  const char* const end = line.data() + line.size();
  const char* kept = line.data();  // what is text from here on was not added yet
  for (const char* p = line.data(); p != end;) {
    if (is_blank(*p)) {
      ++p;
      continue;
    }
    const char* const stop = token_end(p, end);
    const std::string_view token(p, static_cast<std::size_t>(stop - p));
    if (token.starts_with(prefix_)) {
      rows.add_text({kept, static_cast<std::size_t>(p - kept)});
      rows.add_label(token.substr(prefix_.size()));
      kept = stop;
    }
    p = stop;
  }
  rows.add_text({kept, static_cast<std::size_t>(end - kept)});
  rows.finish_row();
}

}  // namespace labeltree::text
