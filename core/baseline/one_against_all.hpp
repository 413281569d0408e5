// One-against-all: one linear model per label, each learning its label against all others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "learner.hpp"

namespace labeltree {

// A label's model takes part from the label's first example on: before that it neither learns nor
// is predicted. Models of the dense layout do not influence each other: there the loops run over
// blocks of eight labels outside and over a chunk of examples inside, which keeps a block's weights
// in the cache, and blocks are shared among threads. In the hashed layout labels may share
// weights, so examples are outside and one thread learns. Either way the result is the same, bit
// for bit, for any chunk length and any number of threads.
//
// By the dual rule, passes over one matrix go on with the dual variables of all rows and labels. They
// take four bytes each; rows for which there is no room start from zero in every pass.
class OneAgainstAll : public Learner {
 public:
  OneAgainstAll(const BankParams& params, const Rule& rule) : bank_(params), rule_(rule) {}

  std::size_t labels() const override { return counts_.size(); }
  std::size_t learned_labels() const override { return learned_labels_; }
  std::uint64_t examples() const override { return examples_done_; }
  const Bank& bank() const override { return bank_; }
  Bank& bank() override { return bank_; }
  void learn(const Matrix& X, const LabelSets& y, const float* weight, const std::int64_t* order,
             std::size_t n, std::size_t threads, LabelId* predicted, float* probability,
             const StopRequested& stop) override;
  void visit_state(StateVisitor& state) override;

  // The k best labels of each row, best first, with their margins; missing ones are `no_label`.
  // If `total` is given, it receives each row's sum of probability(margin) over all labels.
  void predict_topk(const Matrix& X, std::size_t k, std::size_t threads, LabelId* labels,
                    float* margins, double* total, const StopRequested& stop) const;

  // All margins, rows x labels(); -infinity for labels never learned.
  void predict_margins(const Matrix& X, std::size_t threads, float* margins,
                       const StopRequested& stop) const;

  // The labels of each row whose margin is above the threshold, in ascending order.
  void predict_above(const Matrix& X, float threshold, std::size_t threads,
                     std::vector<std::vector<LabelId>>& labels, const StopRequested& stop) const;

 protected:
  void start_pass(bool again, std::size_t rows, bool more) override;
  void set_labels(std::size_t labels) override;

 private:
  // The labels of a row that fall into one block, as a set of lanes.
  struct Positive {
    std::uint32_t block;
    std::uint32_t row;
    unsigned lanes;
  };

  using PositiveIterator = std::vector<Positive>::const_iterator;

  // The best label of each row of a chunk before the row was learned.
  struct Best {
    std::vector<float> margin;
    std::vector<LabelId> label;
  };

  void make_room_for_duals();
  float* duals(std::size_t block, std::size_t row);
  void begin_chunk(const Matrix& X, const LabelSets& y, const float* weight,
                   const std::int64_t* order, std::size_t rows);
  void end_chunk();
  unsigned take_lanes(PositiveIterator& next, std::size_t block, std::size_t row);
  void learn_blocks(std::size_t begin, std::size_t end, Best& best);
  void learn_rows(Best& best);
  void learn_cell(std::size_t block, std::size_t row, unsigned positive, Best& best);
  unsigned learned_lanes(std::size_t block) const;
  template <class Visit>
  void visit_margins(ExampleBuffer& examples, const Matrix& X, std::size_t begin, std::size_t end,
                     Visit visit) const;
  template <class Work>
  void in_chunks(const Matrix& X, std::size_t threads, const StopRequested& stop,
                 Work work) const;

  Bank bank_;
  Rule rule_;
  std::uint64_t examples_done_ = 0;
  std::atomic<std::size_t> learned_labels_ = 0;
  std::vector<double> counts_;  // weight of the examples of each label; zero: never learned

  // For each label the row of the chunk in which it was first seen; `known` if before the chunk.
  std::vector<std::int32_t> first_;

  // One chunk of examples while learning; kept to reuse its memory.
  ExampleBuffer examples_;
  std::vector<float> weight_;
  std::vector<Positive> positives_;
  std::vector<LabelId> new_labels_;
  std::vector<std::size_t> number_;  // of each row, in the matrix

  // Dual variables: for each block of labels eight of each row.
  AlignedFloats alpha_;
  std::size_t rows_ = 0;       // of the matrix, if they come again
  std::size_t rows_kept_ = 0;  // that have dual variables
};

}  // namespace labeltree
