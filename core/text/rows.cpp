#include "text/rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "text/error.hpp"

namespace labeltree::text {

Rows::Rows(LabelRule rule, std::shared_ptr<FeatureNames> names)
    : batch_(empty_batch()), labels_(rule), names_(std::move(names)) {
  start_row();
}

Batch Rows::empty_batch() {
  Batch batch;
  batch.row_offsets.push(0);
  batch.label_offsets.push(0);
  batch.text_offsets.push(0);
  return batch;
}

void Rows::start_row() {
  ++serial_;
  known_labels_ = labels_.size();
  next_index_ = 0;
  ascending_ = true;
  weight_ = 1;
  named_.clear();
}

void Rows::add_label(std::string_view token) {
  const std::uint32_t id = labels_.intern(token);
  if (id >= last_row_.size()) last_row_.resize(id + std::size_t{1}, 0);
  if (std::exchange(last_row_[id], serial_) == serial_) return;  // labels are a set
  batch_.label_ids.push(id);
}

void Rows::add_text(std::string_view part) {
  batch_.text.append(reinterpret_cast<const std::uint8_t*>(part.data()), part.size());
}

std::span<const std::uint32_t> Rows::features() const {
  return {batch_.indices.data() + row_start(), batch_.indices.size() - row_start()};
}

std::span<float> Rows::values() {
  return {batch_.values.data() + row_start(), batch_.values.size() - row_start()};
}

// Digit by digit where there are many, as in rows of text: they come in no order at all.
void Rows::sort_by_index() {
  constexpr std::size_t many = 48;
  if (scratch_.size() < many) return std::sort(scratch_.begin(), scratch_.end());
  std::uint64_t all = 0;
  for (const std::uint64_t entry : scratch_) all |= entry;
  spare_.resize(scratch_.size());
  for (unsigned shift = 32; shift < 64 && all >> shift != 0; shift += 8) {
    std::array<std::uint32_t, 256> place{};
    for (const std::uint64_t entry : scratch_) ++place[entry >> shift & 0xff];
    std::uint32_t next = 0;
    for (std::uint32_t& at : place) next += std::exchange(at, next);
    for (const std::uint64_t entry : scratch_) spare_[place[entry >> shift & 0xff]++] = entry;
    scratch_.swap(spare_);
  }
  // Those of one index by their values.
  for (auto begin = scratch_.begin(); begin != scratch_.end();) {
    auto end = begin + 1;
    while (end != scratch_.end() && *end >> 32 == *begin >> 32) ++end;
    if (end - begin > 1) std::sort(begin, end);
    begin = end;
  }
}

void Rows::merge_features() {
  if (ascending_) return;
  const std::size_t start = row_start();
  // Sorted as one integer, index first. That equal indices come in the order of their bits, and not
  // of the line, makes the sum the same however the line is written.
  scratch_.clear();
  for (std::size_t i = start; i < batch_.indices.size(); ++i) {
    scratch_.push_back(std::uint64_t{batch_.indices[i]} << 32 |
                       std::bit_cast<std::uint32_t>(batch_.values[i]));
  }
  sort_by_index();
  std::size_t out = start;
  for (auto entry = scratch_.begin(); entry != scratch_.end();) {
    const auto index = static_cast<std::uint32_t>(*entry >> 32);
    double sum = 0;
    for (; entry != scratch_.end() && *entry >> 32 == index; ++entry) {
      sum += std::bit_cast<float>(static_cast<std::uint32_t>(*entry));
    }
    const auto value = static_cast<float>(sum);
    if (!std::isfinite(value)) {
      fail("feature index", std::to_string(index),
           "is repeated: expected values whose sum fits a 32-bit float");
    }
    batch_.indices[out] = index;
    batch_.values[out] = value;
    ++out;
  }
  batch_.indices.truncate(out);
  batch_.values.truncate(out);
  ascending_ = true;
}

void Rows::scale_to_unit_length() {
  merge_features();
  const std::size_t start = row_start();
  double squares = 0;
  for (std::size_t i = start; i < batch_.values.size(); ++i) {
    squares += double{batch_.values[i]} * double{batch_.values[i]};
  }
  if (squares == 0) return;
  const double scale = 1 / std::sqrt(squares);
  for (std::size_t i = start; i < batch_.values.size(); ++i) {
    batch_.values[i] = static_cast<float>(batch_.values[i] * scale);
  }
}

void Rows::finish_row() {
  merge_features();
  const std::size_t end = batch_.indices.size();
  if (row_start() < end) {
    width_ = std::max(width_, std::uint64_t{batch_.indices[end - 1]} + 1);
  }
  batch_.row_offsets.push(static_cast<std::int64_t>(end));
  batch_.label_offsets.push(static_cast<std::int64_t>(batch_.label_ids.size()));
  batch_.weights.push(weight_);
  batch_.text_offsets.push(static_cast<std::int64_t>(batch_.text.size()));
  if (names_ != nullptr) names_->add(named_);
  start_row();
}

void Rows::rollback() {
  const std::size_t start = row_start();
  batch_.indices.truncate(start);
  batch_.values.truncate(start);
  batch_.label_ids.truncate(static_cast<std::size_t>(batch_.label_offsets[size()]));
  batch_.text.truncate(static_cast<std::size_t>(batch_.text_offsets[size()]));
  labels_.truncate(known_labels_);
  start_row();
}

void Rows::forget_labels() {
  if (size() != 0) throw std::logic_error("rows are waiting that have ids of these labels");
  labels_.clear();
  last_row_.clear();
  known_labels_ = 0;
}

Batch Rows::take() {
  return std::exchange(batch_, empty_batch());
}

}  // namespace labeltree::text
