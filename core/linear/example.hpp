// Examples as a bank of linear models sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace labeltree {

// How many values a dense row has, zeros after the last included: a multiple of sixteen.
inline std::size_t padded(std::size_t features) { return (features + 15) / 16 * 16; }

// Numbers beyond this are not learned from: a few more of them, and a sum would be infinite.
constexpr float largest_learnable = 1e30f;

// One example: features scaled, the constant feature appended. `key` addresses a feature's weights
// in the bank's storage; it is null for a dense row, whose values are padded with zeros. `slot`
// numbers the features of a sparse row.
struct Example {
  const std::uint64_t* key;
  const std::uint32_t* slot;
  const float* value;
  std::size_t size;
  float squared_norm;
  float rate;  // m = sqrt(T / S) when the example was observed
  // Indicators added after encoding, in layouts that are not hashed, which have no room for them.
  const std::uint64_t* indicator;
  const float* indicator_value;  // ones
  std::size_t indicators;
};

// Encoded examples, packed one after the other; clearing keeps the memory.
class ExampleBuffer {
 public:
  void clear() {
    keys_.clear();
    slots_.clear();
    values_.clear();
    entries_.clear();
    indicators_.clear();
    ones_.clear();
  }

  // Takes the last example away again.
  void drop_last() {
    const Entry& last = entries_.back();
    keys_.resize(last.key_begin);
    slots_.resize(last.key_begin);
    values_.resize(last.value_begin);
    entries_.pop_back();
  }

  std::size_t size() const { return entries_.size(); }
  std::size_t values() const { return values_.size(); }  // of all

  Example operator[](std::size_t i) const {
    const Entry& e = entries_[i];
    return {e.dense ? nullptr : keys_.data() + e.key_begin,
            e.dense ? nullptr : slots_.data() + e.key_begin,
            values_.data() + e.value_begin,
            e.size,
            e.squared_norm,
            e.rate,
            indicators_.data(),
            ones_.data(),
            indicators_.size()};
  }

 private:
  friend class Bank;

  struct Entry {
    std::size_t key_begin;
    std::size_t value_begin;
    std::size_t size;
    float squared_norm;
    float rate;
    bool dense;
  };

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;
  std::vector<float> values_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> indicators_;  // of the only example there is when they are used
  std::vector<float> ones_;
};

}  // namespace labeltree
