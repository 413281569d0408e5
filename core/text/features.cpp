#include "text/features.hpp"

#include <algorithm>

namespace labeltree::text {

TextFeatures::TextFeatures(const NgramOptions& options, bool idf) : ngrams_(options) {
  if (idf) counts_.emplace(options.hash_bits);
}

void TextFeatures::add(std::string_view text, bool count, Rows& rows) {
  if (!counts_) {
    ngrams_.add(text, {}, rows);
  } else {
    // In two texts, of which one that is counted now is one.
    ngrams_.add(text, {&*counts_, count ? 1u : 2u}, rows);
    rows.merge_features();
    counts_->weigh(rows.features(), rows.values());
    if (count) {
      counts_->begin_document();
      counts_->count(rows.features());
      counts_->count(distinct_left_out());
    }
  }
  rows.scale_to_unit_length();
  rows.finish_row();
}

void TextFeatures::forget(std::string_view text) {
  if (!counts_) return;
  Rows rows(LabelRule::text);
  ngrams_.add(text, {}, rows);
  rows.merge_features();
  counts_->forget_document();
  counts_->forget(rows.features());
}

std::span<const std::uint32_t> TextFeatures::distinct_left_out() {
  left_out_ = ngrams_.left_out();
  std::sort(left_out_.begin(), left_out_.end());
  left_out_.erase(std::unique(left_out_.begin(), left_out_.end()), left_out_.end());
  return left_out_;
}

}  // namespace labeltree::text
