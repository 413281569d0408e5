#include "text/features.hpp"

#include <algorithm>
#include <stdexcept>

namespace labeltree::text {

TextFeatures::TextFeatures(const NgramOptions& options, bool idf) : options_(options) {
  if (idf) counts_.emplace(options.hash_bits);
}

// Leaves the row's features merged and weighed, but not finished.
void TextFeatures::add(std::string_view text, std::uint32_t least, Scratch& scratch,
                       Rows& rows) const {
  scratch.ngrams.add(text, {counts_ ? &*counts_ : nullptr, least}, rows);
  rows.merge_features();
  if (counts_) counts_->weigh(rows.features(), rows.values());
  rows.scale_to_unit_length();
}

void TextFeatures::weigh(std::string_view text, Scratch& scratch, Rows& rows) const {
  add(text, 2, scratch, rows);
  rows.finish_row();
}

void TextFeatures::learn(std::string_view text, Scratch& scratch, Rows& rows) {
  add(text, 1, scratch, rows);  // of the two texts this is one
  // What was left out of the row is counted all the same; each feature once, whatever it shares.
  std::vector<std::uint32_t>& all = scratch.all;
  const std::span<const std::uint32_t> features = rows.features();
  const std::vector<std::uint32_t>& left_out = scratch.ngrams.left_out();
  all.assign(features.begin(), features.end());
  all.insert(all.end(), left_out.begin(), left_out.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  rows.finish_row();
  if (counts_) counts_->count(all);
}

void TextFeatures::forget(std::string_view text, Scratch& scratch) {
  if (!counts_) return;
  Rows rows(LabelRule::text);
  scratch.ngrams.add(text, {}, rows);
  rows.merge_features();
  if (!counts_->may_forget(rows.features())) {
    throw std::invalid_argument("a text that is to be forgotten was never counted");
  }
  counts_->forget(rows.features());
}

}  // namespace labeltree::text
