// Labels of one kind, integers or texts, each with a dense id: a few bytes beside the label itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "hash.hpp"

namespace labeltree {

class LabelTable {
 public:
  enum class Kind { none, integers, texts };  // none: as long as there is no label
  static constexpr std::uint32_t unknown = 0xffffffffu;

  Kind kind() const { return kind_; }
  std::size_t size() const { return size_; }
  std::int64_t integer(std::size_t id) const { return integers_[id]; }
  std::string_view text(std::size_t id) const {
    const std::uint64_t begin = id == 0 ? 0 : ends_[id - 1];
    return {bytes_.data() + begin, ends_[id] - begin};
  }
  const std::vector<std::int64_t>& integers() const { return integers_; }
  const std::vector<char>& bytes() const { return bytes_; }       // of all texts
  const std::vector<std::uint64_t>& ends() const { return ends_; }  // of each among them

  // The id of a label, or `unknown`.
  std::uint32_t find(std::int64_t label) const {
    return kind_ == Kind::integers ? slot_[place(label)] - 1 : unknown;
  }
  std::uint32_t find(std::string_view label) const {
    return kind_ == Kind::texts ? slot_[place(label)] - 1 : unknown;
  }

  // Adds a label that is not there, of the kind of the others.
  void add(std::int64_t label) {
    make_room(Kind::integers);
    integers_.push_back(label);
    slot_[place(label)] = ++size_;
  }
  void add(std::string_view label) {
    make_room(Kind::texts);
    bytes_.insert(bytes_.end(), label.begin(), label.end());
    try {
      ends_.push_back(bytes_.size());
    } catch (...) {
      bytes_.resize(bytes_.size() - label.size());
      throw;
    }
    slot_[place(label)] = ++size_;
  }

  // Removes all but the first labels.
  void truncate(std::size_t size) {
    size_ = static_cast<std::uint32_t>(size);
    if (kind_ == Kind::integers) integers_.resize(size);
    if (kind_ == Kind::texts) {
      ends_.resize(size);
      bytes_.resize(size == 0 ? 0 : ends_.back());
    }
    if (size == 0) kind_ = Kind::none;
    fill();
  }

  // A table of the labels that are not in `gone`, in their order.
  LabelTable without(const std::vector<bool>& gone) const {
    LabelTable left;
    for (std::size_t id = 0; id < size_; ++id) {
      if (gone[id]) continue;
      if (kind_ == Kind::integers) left.add(integer(id));
      if (kind_ == Kind::texts) left.add(text(id));
    }
    return left;
  }

  std::size_t memory() const {
    return slot_.size() * sizeof slot_[0] + integers_.size() * sizeof integers_[0] +
           bytes_.size() + ends_.size() * sizeof ends_[0];
  }

 private:
  static std::uint64_t hash(std::int64_t label) { return mix64(static_cast<std::uint64_t>(label)); }
  static std::uint64_t hash(std::string_view label) { return hash_bytes(label); }
  bool is(std::size_t id, std::int64_t label) const { return integers_[id] == label; }
  bool is(std::size_t id, std::string_view label) const { return text(id) == label; }

  // Where a label is, or would be.
  template <class Label>
  std::size_t place(Label label) const {
    const std::size_t mask = slot_.size() - 1;
    std::size_t at = hash(label) & mask;
    while (slot_[at] != 0 && !is(slot_[at] - 1, label)) at = (at + 1) & mask;
    return at;
  }

  // A quarter of the places is always empty.
  void make_room(Kind kind) {
    if (size_ == unknown - 1) throw std::length_error("there are 2^32 labels");
    if (4 * (std::size_t{size_} + 1) > 3 * slot_.size()) {
      std::vector<std::uint32_t>(std::max<std::size_t>(8, 2 * slot_.size())).swap(slot_);
      fill();
    }
    kind_ = kind;
  }

  void fill() {
    std::fill(slot_.begin(), slot_.end(), 0u);
    for (std::uint32_t id = 0; id < size_; ++id) {
      slot_[kind_ == Kind::integers ? place(integer(id)) : place(text(id))] = id + 1;
    }
  }

  Kind kind_ = Kind::none;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> slot_;  // ids from 1; 0 where there is none
  std::vector<std::int64_t> integers_;
  std::vector<char> bytes_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace labeltree
