// Rows of a matrix as the bank's models see them: what was seen of features, their scales and weights.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "linear/bank.hpp"
#include "relaxed.hpp"

namespace labeltree {
namespace {

// Four sums that do not wait for each other.
double sum_of_squares(std::span<const float> values) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t j = 0; j < 4; ++j) sums[j] += double{values[i + j]} * values[i + j];
  }
  for (; i < values.size(); ++i) sums[0] += double{values[i]} * values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

std::size_t Bank::slot(std::uint64_t feature) const {
  return params_.features <= slots_ ? feature : mix64(feature) % slots_;
}

template <class Visit>
void Bank::visit_entries(const Matrix& X, std::size_t row, Visit visit) const {
  if (X.dense()) {
    const float* values = X.values + row * X.cols;
    for (std::size_t i = 0; i < X.cols; ++i) {
      if (values[i] != 0.0f) visit(slot(i), values[i]);
    }
  } else {
    for (std::int64_t i = X.indptr[row]; i < X.indptr[row + 1]; ++i) {
      visit(slot(X.indices[i]), X.values[i]);
    }
  }
}

void Bank::look_ahead(const Matrix& X, const float* weight) {
  if (!weighs_rows()) return;
  std::vector<std::uint32_t> seen;
  for (std::size_t row = 0; row < X.rows; ++row) {
    if (weight != nullptr && !(weight[row] > 0.0f)) continue;
    note_largest(X, row);
    if (!documents_) continue;
    seen.clear();
    visit_entries(X, row, [&](std::size_t slot, float /*value*/) {
      if (largest_.data()[slot] > 0.0f) seen.push_back(static_cast<std::uint32_t>(slot));
    });
    documents_->count(seen);
    ++counted_ahead_;
  }
}

void Bank::note_largest(const Matrix& X, std::size_t row) {
  float* largest = largest_.data();
  visit_entries(X, row, [&](std::size_t slot, float value) {
    largest[slot] = std::max(largest[slot], std::abs(value));
  });
}

void Bank::begin_pass(bool again) {
  counting_ = !again;
  counted_ahead_ = 0;
}

void Bank::observe(const Matrix& X, std::size_t row, float weight, ExampleBuffer& out) {
  if (!encode_row<true>(X, row, out)) {
    out.drop_last();
    note_largest(X, row);
    encode(X, row, out);
  }
  ExampleBuffer::Entry& entry = out.entries_.back();
  if (entry.squared_norm < largest_learnable) {
    add_relaxed(total_weight_, double{weight});
    add_relaxed(total_norm_, double{weight} * entry.squared_norm);
  }
  entry.rate = rate();
  if (!documents_ || !counting_) return;
  if (counted_ahead_ > 0) {
    --counted_ahead_;
  } else {
    documents_->count({out.slots_.data() + entry.key_begin, entry.size - 1});
  }
}

float Bank::rate() const {
  return total_norm_ > 0.0 ? static_cast<float>(std::sqrt(total_weight_ / total_norm_)) : 1.0f;
}

void Bank::encode_again(const Matrix& X, std::size_t row, ExampleBuffer& out) const {
  encode(X, row, out);
  out.entries_.back().rate = rate();
}

// Weighs and scales the features of the example that is being encoded, without the constant.
void Bank::weigh(ExampleBuffer& out, ExampleBuffer::Entry& entry) const {
  const std::span<float> values(out.values_.data() + entry.value_begin, entry.size);
  if (documents_) documents_->weigh({out.slots_.data() + entry.key_begin, entry.size}, values);
  const double squares = sum_of_squares(values);
  const double scale = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
  for (float& value : values) value = static_cast<float>(value * scale);
  entry.squared_norm = static_cast<float>(1.0 + sum_of_squares(values));
}

void Bank::encode(const Matrix& X, std::size_t row, ExampleBuffer& out) const {
  encode_row<false>(X, row, out);
}

// If asked, tells whether no value is larger than any before: nothing of the row need be noted then.
template <bool asked>
bool Bank::encode_row(const Matrix& X, std::size_t row, ExampleBuffer& out) const {
  const bool dense = X.dense() && params_.layout == Layout::dense && !documents_;
  const bool scaled = params_.scale == Scale::max;
  const float* largest = largest_.data();
  bool known = true;
  ExampleBuffer::Entry entry{out.keys_.size(), out.values_.size(), 0, 1.0f, 1.0f, dense};
  if (dense) {
    entry.size = padded(slots_ + 1);
    out.values_.resize(entry.value_begin + entry.size, 0.0f);
    float* value = out.values_.data() + entry.value_begin;
    const float* values = X.values + row * X.cols;
    for (std::size_t i = 0; i < slots_; ++i) {
      if constexpr (asked) known &= std::abs(values[i]) <= largest[i];
      value[i] = largest[i] > 0.0f ? (scaled ? values[i] / largest[i] : values[i]) : 0.0f;
      entry.squared_norm += value[i] * value[i];
    }
    if (weighs_rows()) weigh(out, entry);
    value[slots_] = 1.0f;
  } else {
    std::visit(
        [&](const auto& weights) {
          const std::size_t most =
              X.dense() ? X.cols : static_cast<std::size_t>(X.indptr[row + 1] - X.indptr[row]);
          out.keys_.resize(entry.key_begin + most + 1);
          out.slots_.resize(entry.key_begin + most + 1);
          out.values_.resize(entry.value_begin + most + 1);
          std::uint64_t* keys = out.keys_.data() + entry.key_begin;
          std::uint32_t* slots = out.slots_.data() + entry.key_begin;
          float* values = out.values_.data() + entry.value_begin;
          std::size_t size = 0;
          const auto append = [&](std::size_t slot, float value) {
            if constexpr (asked) known &= std::abs(value) <= largest[slot];
            if (largest[slot] == 0.0f) return;
            if (scaled) value /= largest[slot];
            keys[size] = weights.key(slot);
            slots[size] = static_cast<std::uint32_t>(slot);
            values[size++] = value;
            entry.squared_norm += value * value;
          };
          visit_entries(X, row, append);
          entry.size = size;
          if (weighs_rows()) weigh(out, entry);
          keys[size] = weights.key(slots_);
          slots[size] = static_cast<std::uint32_t>(slots_);
          values[size] = 1.0f;
          entry.size = size + 1;
          out.keys_.resize(entry.key_begin + entry.size);
          out.slots_.resize(entry.key_begin + entry.size);
          out.values_.resize(entry.value_begin + entry.size);
        },
        weights_);
  }
  out.entries_.push_back(entry);
  return known;
}

void Bank::add_indicator(std::uint64_t number, ExampleBuffer& out) const {
  ExampleBuffer::Entry& entry = out.entries_.back();
  entry.squared_norm += 1.0f;
  if (params_.layout != Layout::hashed) {
    out.indicators_.push_back(LineMap::hash(number));
    out.ones_.push_back(1.0f);
  } else {
    out.keys_.push_back(LineMap::hash(slots_ + 1 + number));
    out.values_.push_back(1.0f);
    ++entry.size;
  }
}

void Bank::remove_indicators(const Example& before, ExampleBuffer& out) const {
  ExampleBuffer::Entry& entry = out.entries_.back();
  entry.squared_norm = before.squared_norm;
  out.indicators_.resize(before.indicators);
  out.ones_.resize(before.indicators);
  if (!entry.dense) {
    out.keys_.resize(entry.key_begin + before.size);
    out.values_.resize(entry.value_begin + before.size);
    entry.size = before.size;
  }
}

// The indicators of an example as an example of their own.
Example Bank::indicators(const Example& x) {
  return {x.indicator, nullptr, x.indicator_value, x.indicators, 0.0f, x.rate, nullptr, nullptr, 0};
}

}  // namespace labeltree
