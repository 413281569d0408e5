// The weights of a learner that are not those it began with, block by block.
#include "changes.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "linear/weight_rows.hpp"
#include "model_lock.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

constexpr std::size_t rows_at_once = 1024;                   // whose places are known before they are read
constexpr std::size_t distance = 16;                         // rows from one asked for to one read
constexpr std::size_t block_bytes = std::size_t{128} << 20;  // written together: most tables are one block

// Passes over all but the table of weights.
class WeightsAlone : public StateVisitor {
 public:
  bool restoring() const override { return false; }
  std::optional<float> freezing() const override { return std::nullopt; }
  bool has(const std::string&) const override { return false; }
  void array(const std::string&, std::vector<float>&) override {}
  void array(const std::string&, std::vector<double>&) override {}
  void array(const std::string&, std::vector<std::uint32_t>&) override {}
  void array(const std::string&, std::vector<std::uint64_t>&) override {}
  void ascending(const std::string&, std::vector<std::uint64_t>&) override {}
  void shared(const std::string&, SharedArray<std::uint8_t>&) override {}
  void shared(const std::string&, SharedArray<std::uint16_t>&) override {}
  void shared(const std::string&, SharedArray<std::uint32_t>&) override {}
  void shared(const std::string&, SharedArray<std::uint64_t>&) override {}
  void shared(const std::string&, SharedArray<float>&) override {}
  void shared(const std::string&, SharedArray<double>&) override {}
};

// Puts rows into the table. Anybody may have sent them.
class Put : public WeightsAlone {
 public:
  Put(WeightRows rows, RowForm form) : rows_(rows), form_(form) {}

  void table(const std::string& name, AlignedFloats& table, std::size_t row_size) override {
    if (name != weights_name) return;
    put(table.size() / row_size, row_size,
        [&](std::size_t number) { return table.data() + number * row_size; });
  }

  void lines(const std::string& name, LineTable& table) override {
    if (name != weights_name) return;
    put(table.lines(), table.row_size(), [&](std::size_t line) { return table.write(line); });
  }

 private:
  template <class Place>
  void put(std::size_t table_rows, std::size_t row_size, Place place) {
    require(row_size == form_.length(), "the rows of weights have another length");
    require(rows_.number.empty() || rows_.number.back() < table_rows,
            "there is a row of weights beyond the end of the table");
    require(std::all_of(rows_.value.begin(), rows_.value.end(), [](float v) { return std::isfinite(v); }),
            "there is a weight that is not finite");
    for (std::size_t i = 0; i < rows_.number.size(); ++i) {
      std::copy_n(rows_.value.data() + i * row_size, row_size, place(rows_.number[i]));
    }
  }

  WeightRows rows_;
  RowForm form_;
};

// Compares the table with another, and writes what is not the same, block by block.
class Changes : public WeightsAlone {
 public:
  using Write = std::function<void(OwnWeightRows&&)>;

  Changes(WeightRows base, RowForm form, Write write)
      : comparison_(base, form), form_(form), write_(std::move(write)) {}

  void table(const std::string& name, AlignedFloats& table, std::size_t row_size) override {
    if (name != weights_name) return;
    const auto row = [&](std::size_t number) { return table.data() + number * row_size; };
    go_through(row_size, row, [&](const auto& visit) { table.visit_rows(row_size, visit); });
  }

  void lines(const std::string& name, LineTable& table) override {
    if (name != weights_name) return;
    const auto row = [&](std::size_t line) { return table.row(line); };
    go_through(table.row_size(), row, [&](const auto& visit) { table.visit(visit); });
  }

 private:
  // Lines lie in memory in the order in which they were first written: each is asked for some time
  // before it is read.
  template <class Row, class VisitAll>
  void go_through(std::size_t row_size, Row row, VisitAll visit_all) {
    require(row_size == form_.length(), "the rows of weights have another length");
    std::vector<std::pair<std::uint64_t, const float*>> waiting;
    waiting.reserve(rows_at_once);
    const auto changed = [&](std::uint64_t number, const float* row) { append(number, row, row_size); };
    const auto compare_waiting = [&] {
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (i + distance < waiting.size()) __builtin_prefetch(waiting[i + distance].second);
        comparison_.row(waiting[i].first, waiting[i].second, changed);
      }
      waiting.clear();
      const std::size_t read = (comparison_.read() - told_) * row_size, found = changed_.value.size();
      if (std::max(read, found) * sizeof(float) < block_bytes) return;
      told_ = comparison_.read();
      write_(std::exchange(changed_, {}));
    };
    visit_all([&](std::size_t number) {
      waiting.emplace_back(number, row(number));
      if (waiting.size() == rows_at_once) compare_waiting();
    });
    compare_waiting();
    comparison_.end(changed);
    write_(std::move(changed_));
  }

  void append(std::uint64_t number, const float* row, std::size_t length) {
    if (changed_.number.empty()) {
      changed_.number.reserve(block_bytes / sizeof(float) / length + 1);
      changed_.value.reserve(block_bytes / sizeof(float) + length);
    }
    changed_.number.push_back(number);
    changed_.value.insert(changed_.value.end(), row, row + length);
  }

  Comparison comparison_;
  RowForm form_;
  Write write_;
  std::size_t told_ = 0;  // rows of the base that were read when rows were written last
  OwnWeightRows changed_;
};

void put_weights(Learner& self, const GivenRows& rows, std::size_t lane, bool has_sums) {
  Changing lock(self.lock());
  require_unfrozen(self.bank().params());
  const RowForm form = form_of(lane, has_sums);
  Put put(rows_of(rows, form), form);
  const ReleasedGil released;
  self.bank().visit_state(put, "");
  lock.release();
}

void changed_weights(Learner& self, const GivenRows& base, std::size_t lane, bool has_sums,
                     const nb::typed<nb::callable, void(nb::any, nb::any)>& write) {
  Reading lock(self.lock());
  require_unfrozen(self.bank().params());
  const RowForm form = form_of(lane, has_sums);
  Changes changes(rows_of(base, form), form, [&](OwnWeightRows&& rows) {
    const HeldGil gil;
    const MadeRows made = lend(std::move(rows));
    write(std::get<0>(made), std::get<1>(made));
  });
  const ReleasedGil released;
  self.bank().visit_state(changes, "");
  lock.release();
}

void exchange_weights(Learner& self, Learner& other) {
  Changing lock(self.lock());
  Changing others(other.lock());
  self.bank().exchange_weights(other.bank());
}

}  // namespace

void bind_changes(nb::class_<Learner>& learner) {
  learner.def("changed_weights", &changed_weights, nb::arg("base"), nb::arg("lane"),
              nb::arg("has_sums"), nb::arg("write"),
              "Give write the numbers and values of the rows of weights that are not those of the "
              "table it went on from, in rising order and several times: also where none changed, "
              "so that what was read of the table may leave memory.");
  learner.def("put_weights", &put_weights, nb::arg("rows"), nb::arg("lane"), nb::arg("has_sums"),
              "Put rows, numbers and values, into the table of weights.");
  learner.def("exchange_weights", &exchange_weights, nb::arg("other"),
              "Take the weights of a learner with the same parameters, and give it one's own.");
}
