// A growing batch of parsed rows, in the layout of a CSR matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/buffer.hpp"
#include "text/labels.hpp"
#include "text/names.hpp"

namespace labeltree::text {

// Finished rows: row i has the features [row_offsets[i], row_offsets[i + 1]), strictly ascending by
// index, the labels [label_offsets[i], label_offsets[i + 1]), each once, and an importance weight.
struct Batch {
  Buffer<std::int64_t> row_offsets;
  Buffer<std::uint32_t> indices;
  Buffer<float> values;
  Buffer<std::int64_t> label_offsets;
  Buffer<std::uint32_t> label_ids;
  Buffer<float> weights;
  // Of formats of text, whose rows have no features: text i is [text_offsets[i], text_offsets[i + 1]).
  Buffer<std::uint8_t> text;
  Buffer<std::int64_t> text_offsets;
};

class Rows {
 public:
  // Names of features are kept in `names`, if there is such.
  explicit Rows(LabelRule rule, std::shared_ptr<FeatureNames> names = nullptr);

  // The row under construction.
  void add_feature(std::uint32_t index, float value) {
    ascending_ &= index >= next_index_;
    next_index_ = std::uint64_t{index} + 1;
    batch_.indices.push(index);
    batch_.values.push(value);
  }
  // The text must live until the row is finished.
  void add_named_feature(std::uint32_t index, float value, std::string_view space, std::string_view name) {
    add_feature(index, value);
    if (names_ != nullptr) named_.push_back({index, space, name});
  }
  void add_label(std::string_view token);
  void add_text(std::string_view part);  // what is added in parts is one text
  void set_weight(float weight) { weight_ = weight; }
  // Sorts the features and adds up the values of each. Throws ParseError if a sum is not finite.
  void merge_features();
  // The features so far, in their order once they are merged.
  std::span<const std::uint32_t> features() const;
  std::span<float> values();
  void scale_to_unit_length();
  void finish_row();  // throws ParseError if the values of a repeated index have no finite sum
  void rollback();    // forgets the row under construction and the labels it brought

  // The finished rows.
  std::size_t size() const { return batch_.weights.size(); }
  std::uint64_t width() const { return width_; }  // largest index of all rows so far, plus one
  const Labels& labels() const { return labels_; }
  void forget_labels();  // ids begin anew; no row may be waiting to be taken
  Batch take();

 private:
  void start_row();
  void sort_by_index();  // what is in scratch_
  std::size_t row_start() const { return static_cast<std::size_t>(batch_.row_offsets[size()]); }
  static Batch empty_batch();

  Batch batch_;
  Labels labels_;
  std::vector<std::uint64_t> last_row_;  // per label: the serial number of the row that had it last
  std::vector<std::uint64_t> scratch_, spare_;
  std::shared_ptr<FeatureNames> names_;
  std::vector<NamedFeature> named_;  // of the row under construction
  std::uint64_t serial_ = 0;
  std::uint64_t width_ = 0;

  std::size_t known_labels_ = 0;  // when the row was started
  std::uint64_t next_index_ = 0;
  bool ascending_ = true;
  float weight_ = 1;
};

}  // namespace labeltree::text
