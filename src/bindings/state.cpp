// A learner's state as a dict of numpy arrays, and back.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ascending.hpp"
#include "bindings.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

class Save : public StateVisitor {
 public:
  Save(std::optional<float> keep, bool weights) : keep_(keep), weights_(weights) {}

  bool restoring() const override { return false; }
  std::optional<float> freezing() const override { return keep_; }
  bool has(const std::string& name) const override { return arrays.contains(name.c_str()); }
  void array(const std::string& name, std::vector<float>& values) override { put(name, values); }
  void array(const std::string& name, std::vector<double>& values) override { put(name, values); }
  void array(const std::string& name, std::vector<std::uint32_t>& values) override {
    put(name, values);
  }
  void array(const std::string& name, std::vector<std::uint64_t>& values) override {
    put(name, values);
  }

  void made(const std::string& name, std::vector<float>& values) override {
    arrays[name.c_str()] = vector_to_numpy(std::move(values));
  }
  void made(const std::string& name, std::vector<std::uint32_t>& values) override {
    arrays[name.c_str()] = vector_to_numpy(std::move(values));
  }

  void ascending(const std::string& name, std::vector<std::uint64_t>& values) override {
    put(name, pack_ascending(values));
  }

  void shared(const std::string& name, SharedArray<std::uint8_t>& values) override {
    lend(name, values);
  }
  void shared(const std::string& name, SharedArray<std::uint16_t>& values) override {
    lend(name, values);
  }
  void shared(const std::string& name, SharedArray<std::uint32_t>& values) override {
    lend(name, values);
  }
  void shared(const std::string& name, SharedArray<std::uint64_t>& values) override {
    lend(name, values);
  }
  void shared(const std::string& name, SharedArray<float>& values) override {
    lend(name, values);
  }
  void shared(const std::string& name, SharedArray<double>& values) override {
    lend(name, values);
  }

  void table(const std::string& name, AlignedFloats& table, std::size_t row_size) override {
    const auto row = [&](std::size_t number) { return table.data() + number * row_size; };
    put_rows(name, row_size, row, [&](const auto& visit) { table.visit_rows(row_size, visit); });
  }

  void lines(const std::string& name, LineTable& table) override {
    const auto row = [&](std::size_t line) { return table.row(line); };
    put_rows(name, table.row_size(), row, [&](const auto& visit) { table.visit(visit); });
  }

  State arrays;

 private:
  // Only the rows that hold anything but zeros, and their numbers.
  template <class Row, class VisitAll>
  void put_rows(const std::string& name, std::size_t row_size, Row row, VisitAll visit_all) {
    std::vector<std::uint64_t> used;
    if (weights_ || name != weights_name) visit_all([&](std::size_t number) {
      const float* begin = row(number);
      if (std::any_of(begin, begin + row_size, [](float v) { return v != 0.0f; })) {
        used.push_back(number);
      }
    });
    NewArray<float> rows({used.size() * row_size});
    for (std::size_t i = 0; i < used.size(); ++i) {
      std::copy_n(row(used[i]), row_size, rows.data() + i * row_size);
    }
    arrays[name.c_str()] = rows.release();
    put(name + "_row", used);
  }

  template <class T>
  void put(const std::string& name, const std::vector<T>& values) {
    arrays[name.c_str()] = copy_to_numpy(values.data(), values.size());
  }

  // A view that keeps the memory alive.
  template <class T>
  void lend(const std::string& name, const SharedArray<T>& values) {
    using Owner = std::shared_ptr<const void>;
    auto owner = std::make_unique<Owner>(values.owner());
    nb::capsule holder(owner.get(), [](void* p) noexcept { delete static_cast<Owner*>(p); });
    owner.release();
    const std::size_t size = values.size();
    arrays[name.c_str()] = nb::ndarray<nb::numpy, const T>(values.data(), 1, &size, holder);
  }

  std::optional<float> keep_;
  bool weights_;
};

class Restore : public StateVisitor {
 public:
  Restore(const State& arrays, bool borrow) : arrays_(arrays), borrow_(borrow) {}

  bool restoring() const override { return true; }
  bool borrowing() const override { return borrow_; }
  std::optional<float> freezing() const override { return std::nullopt; }
  bool has(const std::string& name) const override { return arrays_.contains(name.c_str()); }
  void array(const std::string& name, std::vector<float>& values) override { get(name, values); }
  void array(const std::string& name, std::vector<double>& values) override { get(name, values); }
  void array(const std::string& name, std::vector<std::uint32_t>& values) override {
    get(name, values);
  }
  void array(const std::string& name, std::vector<std::uint64_t>& values) override {
    get(name, values);
  }

  void ascending(const std::string& name, std::vector<std::uint64_t>& values) override {
    const In<std::uint8_t> saved = find<std::uint8_t>(name);
    try {
      values = unpack_ascending({saved.data(), saved.shape(0)});
    } catch (const std::invalid_argument& error) {
      require(false, "the saved array " + name + " is not one of rising numbers: " + error.what());
    }
  }

  void shared(const std::string& name, SharedArray<std::uint8_t>& values) override {
    share(name, values);
  }
  void shared(const std::string& name, SharedArray<std::uint16_t>& values) override {
    share(name, values);
  }
  void shared(const std::string& name, SharedArray<std::uint32_t>& values) override {
    share(name, values);
  }
  void shared(const std::string& name, SharedArray<std::uint64_t>& values) override {
    share(name, values);
  }
  void shared(const std::string& name, SharedArray<float>& values) override {
    share(name, values);
  }
  void shared(const std::string& name, SharedArray<double>& values) override {
    share(name, values);
  }

  void table(const std::string& name, AlignedFloats& table, std::size_t row_size) override {
    const auto [used, rows] = find_rows(name, row_size, table.size() / row_size);
    if (is_sparse(used.shape(0), table.size() / row_size, row_size)) table.use_small_pages();
    for (std::size_t i = 0; i < used.shape(0); ++i) {
      std::copy_n(rows.data() + i * row_size, row_size, table.data() + used.data()[i] * row_size);
    }
  }

  void lines(const std::string& name, LineTable& table) override {
    const std::size_t row_size = table.row_size();
    const auto [used, rows] = find_rows(name, row_size, table.lines());
    if (is_sparse(used.shape(0), table.lines(), row_size)) table.use_small_pages();
    for (std::size_t i = 0; i < used.shape(0); ++i) {
      std::copy_n(rows.data() + i * row_size, row_size, table.write(used.data()[i]));
    }
  }

 private:
  template <class T>
  In<T> find(const std::string& name) {
    require(arrays_.contains(name.c_str()), "the saved state lacks the array " + name);
    In<T> out;
    require(nb::try_cast(arrays_[name.c_str()], out, false),
            "the saved array " + name + " has the wrong type or shape");
    return out;
  }

  // Whether a table is very large and has few rows that are used, which must not take a huge page each.
  static bool is_sparse(std::size_t used, std::size_t rows, std::size_t row_size) {
    constexpr std::size_t large = std::size_t{512} << 20, sparse = 64;
    return rows * row_size * sizeof(float) > large && sparse * used < rows;
  }

  // The numbers of the rows of a table of so many, and the rows.
  std::pair<In<std::uint64_t>, In<float>> find_rows(const std::string& name, std::size_t row_size,
                                                    std::size_t table_rows) {
    auto used = find<std::uint64_t>(name + "_row");
    auto rows = find<float>(name);
    require(rows.shape(0) == used.shape(0) * row_size,
            "the saved arrays " + name + " and " + name + "_row do not fit together");
    require_finite(name, rows.data(), rows.shape(0));
    require(std::all_of(used.data(), used.data() + used.shape(0),
                        [&](std::uint64_t row) { return row < table_rows; }),
            "the saved array " + name + "_row has a row beyond the end of the table");
    return {used, rows};
  }

  template <class T>
  void get(const std::string& name, std::vector<T>& values) {
    const In<T> saved = find<T>(name);
    require_finite(name, saved.data(), saved.shape(0));
    values.assign(saved.data(), saved.data() + saved.shape(0));
  }

  // Of integers, any will do here.
  template <class T>
  static void require_finite(const std::string& name, const T* values, std::size_t n) {
    if constexpr (std::is_floating_point_v<T>) {
      require(std::all_of(values, values + n, [](T value) { return std::isfinite(value); }),
              "the saved array " + name + " has a number that is not finite");
    }
  }

  // Borrows the memory of the numpy array, which lives as long as whoever has the SharedArray; or
  // copies it to pages that are faster to read at random.
  template <class T>
  void share(const std::string& name, SharedArray<T>& values) {
    const In<T> saved = find<T>(name);
    if (borrow_) {
      std::shared_ptr<In<T>> owner(new In<T>(saved), [](In<T>* p) {
        const HeldGil gil;
        delete p;
      });
      values = SharedArray<T>(saved.data(), saved.shape(0), std::move(owner));
    } else {
      require_finite(name, saved.data(), saved.shape(0));
      AlignedArray<T> copy(saved.shape(0));
      std::copy_n(saved.data(), saved.shape(0), copy.data());
      values = SharedArray<T>(std::move(copy));
    }
  }

  const State& arrays_;
  bool borrow_;
};

}  // namespace

State save_state(const std::function<void(StateVisitor&)>& visit, std::optional<float> keep,
                 bool weights) {
  Save save(keep, weights);
  visit(save);
  return save.arrays;
}

void restore_state(const State& state, const std::function<void(StateVisitor&)>& visit,
                   bool borrow) {
  Restore restore(state, borrow);
  visit(restore);
}
