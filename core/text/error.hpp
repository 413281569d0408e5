// What a parser throws when a line is not what it should be.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace labeltree::text {

// Says what is wrong and what was expected; the reader adds the line, its caller the file.
class ParseError : public std::runtime_error {
 public:
  // `fatal`: nothing after this can be read, so skipping the line is no way out.
  explicit ParseError(const std::string& message, bool fatal = false)
      : std::runtime_error(message), fatal_(fatal) {}
  bool fatal() const { return fatal_; }

 private:
  bool fatal_;
};

// The token between double quotes, cut at 40 bytes, with everything but printable ASCII escaped:
// a message must stay one readable line whatever the file holds.
std::string quote(std::string_view token);

// Throws `what "token" problem`.
[[noreturn]] void fail(std::string_view what, std::string_view token, std::string_view problem);

}  // namespace labeltree::text
