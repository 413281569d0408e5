// The state of a learner as named plain arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "aligned.hpp"
#include "linear/line_table.hpp"
#include "shared_array.hpp"

namespace labeltree {

// Goes through the arrays of a state: to save them, it reads them; to restore them, it overwrites
// them. One function of a learner, `visit_state`, serves both, so that the two cannot disagree.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;

  // Whether arrays are overwritten: then they need to be checked, and what derives from them made.
  virtual bool restoring() const = 0;

  // Whether large arrays stay where they are, in a file that is mapped, or are brought into memory.
  virtual bool borrowing() const { return false; }

  // Set if a form for prediction only is to be saved: what is needed for learning is left out, and
  // so are weights, as long as this share of what they matter is kept.
  virtual std::optional<float> freezing() const = 0;

  // Whether the state that is restored has such an array.
  virtual bool has(const std::string& name) const = 0;

  // An array that is left out if it is empty, and so may be missing in a state that was saved before
  // there was such a thing.
  template <class T>
  void optional(const std::string& name, std::vector<T>& values) {
    if (restoring() ? has(name) : !values.empty()) array(name, values);
  }

  virtual void array(const std::string& name, std::vector<float>& values) = 0;
  virtual void array(const std::string& name, std::vector<double>& values) = 0;
  virtual void array(const std::string& name, std::vector<std::uint32_t>& values) = 0;
  virtual void array(const std::string& name, std::vector<std::uint64_t>& values) = 0;

  // An array that was made for this call alone: who saves it may keep its memory.
  virtual void made(const std::string& name, std::vector<float>& values) { array(name, values); }
  virtual void made(const std::string& name, std::vector<std::uint32_t>& values) {
    array(name, values);
  }

  // Numbers of which each is larger than the one before.
  virtual void ascending(const std::string& name, std::vector<std::uint64_t>& values) = 0;

  // An array that may stay where it is.
  virtual void shared(const std::string& name, SharedArray<std::uint8_t>& values) = 0;
  virtual void shared(const std::string& name, SharedArray<std::uint16_t>& values) = 0;
  virtual void shared(const std::string& name, SharedArray<std::uint32_t>& values) = 0;
  virtual void shared(const std::string& name, SharedArray<std::uint64_t>& values) = 0;
  virtual void shared(const std::string& name, SharedArray<float>& values) = 0;
  virtual void shared(const std::string& name, SharedArray<double>& values) = 0;

  // A table that is often almost empty, in rows of `row_size` floats. Its size is settled before,
  // and it is all zeros before it is restored.
  virtual void table(const std::string& name, AlignedFloats& table, std::size_t row_size) = 0;

  // A table of lines; the same.
  virtual void lines(const std::string& name, LineTable& table) = 0;

  template <class T>
  void value(const std::string& name, T& value) {
    std::vector<T> one{value};
    array(name, one);
    if (!restoring()) return;
    require(one.size() == 1, "the saved array " + name + " should have one entry");
    value = one[0];
  }

  static void require(bool condition, std::string_view otherwise) {
    if (!condition) throw std::invalid_argument(std::string(otherwise));
  }
};

}  // namespace labeltree
