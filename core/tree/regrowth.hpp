// Trees of a stream grown anew, by clusters of labels, beside those that serve.
//
// A stream places a label when it knows one row of it. Once there are many more labels, or rows, than
// the trees were made for, the rows that the reservoir keeps tell better. New trees are shaped by
// clustering, get models, learn the rows that are kept, and take the place of the old ones: a
// little after each new row, so that none waits long. Everything happens at a count of rows, never
// by the clock, and depends on what is saved alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "linear/bank.hpp"
#include "linear/rule.hpp"
#include "state.hpp"
#include "tree/choice_tree.hpp"
#include "tree/clusters.hpp"
#include "tree/reservoir.hpp"

namespace labeltree {

class Regrowth {
 public:
  Regrowth();
  ~Regrowth();

  bool is_running() const { return stage_ != Stage::none; }
  // Whether it pays to begin: with twice the labels or four times the rows of last time, if at
  // least half of all rows that were learned are kept.
  bool is_due(std::size_t labels, const Reservoir& reservoir) const;
  // Counts a row that the trees have learned and the reservoir never saw; threads may do so at once.
  void count_elsewhere();

  // Begins to grow the trees, which must be empty. `labels`: that were learned.
  void start(std::vector<ChoiceTree> trees, std::size_t labels, std::size_t cols,
             const Reservoir& reservoir, const Bank& bank, std::uint64_t seed);
  // Does a little of it. `example` and those after it are memory to be used again.
  void step(const Reservoir& reservoir, const std::vector<double>& counts, std::size_t cols,
            const Rule& rule, Bank& bank, ExampleBuffer& example, Above& above,
            BlockPredictions& blocks);
  bool is_ready() const { return stage_ == Stage::ready; }
  // Exchanges the trees, once they are ready: the models of the old ones may be used again.
  void exchange(std::vector<ChoiceTree>& trees, const Bank& bank);
  // Gives leaves to labels that were learned and have none; `begin`, `end`: of the labels.
  static void place(std::vector<ChoiceTree>& trees, const std::vector<double>& counts,
                    std::size_t begin, std::size_t end, const Example& example, Bank& bank);

  void resize(std::size_t labels);
  // Takes labels out of the trees that grow; what takes several rows to shape them is done at once.
  void forget(const Forgotten& forgotten, bool reuse, GivenUp& given_up);
  std::size_t bytes() const;  // that the trees take which grow
  // Of the rows that are kept, how many they have learned; fewer, once some are forgotten.
  std::size_t rows_learned() const { return stage_ == Stage::learning ? next_ : 0; }
  void set_rows_learned(std::size_t rows) { if (stage_ == Stage::learning) next_ = rows; }
  // `empty`: trees as they were when it began.
  void visit_state(StateVisitor& state, std::size_t labels, std::size_t models,
                   const std::vector<ChoiceTree>& empty);

 private:
  enum class Stage : std::uint32_t { none, shaping, planting, learning, placing, ready };
  struct Shaping;

  bool shape_more();
  void finish_shaping();
  void shape();
  void plant(Bank& bank);
  void learn_row(const Reservoir::Content& row, std::size_t cols, const Rule& rule, Bank& bank,
                 ExampleBuffer& example, Above& above, BlockPredictions& blocks);

  Stage stage_ = Stage::none;
  std::uint64_t labels_ = 0, rows_ = 0;  // when it last began
  std::uint64_t elsewhere_ = 0;          // rows that the reservoir never saw
  std::uint64_t next_ = 0;  // inner node to get models, row to be learned, or label to get a leaf
  std::vector<ChoiceTree> trees_;
  std::vector<std::uint32_t> spare_;     // blocks of models that no tree has, where they take memory
  // Shapes depend on nothing but the rows of when it began. Before they are saved they are finished,
  // and `wait_` tells for how many rows they would have taken part of the time yet.
  std::unique_ptr<Shaping> shaping_;
  std::uint64_t wait_ = 0;
};

}  // namespace labeltree
