#include "text/reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "text/error.hpp"

namespace labeltree::text {
namespace {

constexpr std::size_t kMaxBadLinesKept = 100;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

Reader::Reader(std::unique_ptr<LineParser> parser, ReaderLimits limits,
               std::shared_ptr<FeatureNames> names)
    : parser_(std::move(parser)), limits_(limits), rows_(parser_->label_rule(), std::move(names)) {}

void Reader::start_file() {
  parser_->start_file();
  partial_.clear();
  overlong_ = false;
  line_ = 0;
}

std::size_t Reader::feed(std::string_view chunk) {
  std::size_t at = 0;
  while (at < chunk.size() && !full() && !error_) {
    const char* const start = chunk.data() + at;
    const std::size_t rest = chunk.size() - at;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', rest));
    const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - start) : rest;
    const std::string_view piece(start, length);
    at += length + (newline != nullptr);

    if (partial_.size() + length > limits_.max_line && !overlong_) {
      overlong_ = true;
      ++line_, ++lines_;
      parser_->skip_line();
      partial_.append(piece.substr(0, 64));  // enough for the message to show
      partial_.resize(std::min(partial_.size(), limits_.max_line));  // the same in any chunks
      reject("line starting " + quote(partial_) + " is too long: expected at most max_line=" +
                 std::to_string(limits_.max_line) + " bytes",
             false);
      partial_.clear();
    }
    if (overlong_) {
      overlong_ = newline == nullptr;
    } else if (newline == nullptr) {
      partial_.append(piece);
    } else if (partial_.empty()) {
      parse_line(piece);
    } else {
      partial_.append(piece);
      parse_line(partial_);
      partial_.clear();
    }
  }
  return at;
}

void Reader::parse_line(std::string_view line) {
  ++line_, ++lines_;
  if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  try {
    parser_->parse(line, rows_);
  } catch (const ParseError& error) {
    rows_.rollback();
    reject(error.what(), error.fatal());
  } catch (...) {
    rows_.rollback();
    throw;
  }
}

void Reader::reject(std::string message, bool fatal) {
  if (fatal || !limits_.skip_bad_lines) {
    error_ = BadLine{line_, std::move(message)};
    return;
  }
  ++bad_count_;
  if (bad_lines_.size() < kMaxBadLinesKept) bad_lines_.push_back({line_, std::move(message)});
}

void Reader::finish_file(bool cut) {
  if (!partial_.empty()) {
    parse_line(partial_);
    partial_.clear();
  }
  if (error_ || (cut && missing())) return;
  try {
    parser_->finish_file();
  } catch (const ParseError& error) {
    error_ = BadLine{0, error.what()};
  }
}

}  // namespace labeltree::text
