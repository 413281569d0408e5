// LdSM (Majzoubi & Choromanska 2019): trees over label sets whose predictions are averaged.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "learner.hpp"
#include "tree/ldsm_examples.hpp"
#include "tree/ldsm_state.hpp"
#include "tree/ldsm_tree.hpp"
#include "tree/tree_learner.hpp"

namespace labeltree {

class LdsmForest : public Learner {
 public:
  // The bank has no models here: it scales rows, and knows their average length.
  LdsmForest(const BankParams& bank, const LdsmParams& params);

  std::size_t labels() const override { return counts_.size(); }
  std::size_t learned_labels() const override { return learned_labels_; }
  std::uint64_t examples() const override { return examples_; }
  const Bank& bank() const override { return bank_; }
  Bank& bank() override { return bank_; }
  void visit_state(StateVisitor& state) override;

  // Learns all rows at once, as published: every tree is grown from scratch, `threads` at a time.
  // For a forest that has learned nothing. If it is stopped, trees have fewer nodes.
  void fit(const Matrix& X, const LabelSets& y, const float* weight, std::size_t threads,
           const StopRequested& stop);

  // One thread learns, whatever `threads` says.
  void learn(const Matrix& X, const LabelSets& y, const float* weight, const std::int64_t* order,
             std::size_t n, std::size_t threads, LabelId* predicted, float* probability,
             const StopRequested& stop) override;

  // The k best labels of each row, best first, and their probabilities; missing ones are
  // `no_label`.
  void predict_topk(const Matrix& X, std::size_t k, std::size_t threads, LabelId* labels,
                    float* scores, const StopRequested& stop) const;

  // The labels of each row whose probability is above the threshold, sorted.
  void predict_above(const Matrix& X, float threshold, std::size_t threads,
                     std::vector<std::vector<LabelId>>& sets, const StopRequested& stop) const;

  TreeView view() const;
  // The nodes on the way to the best leaf, root first; tree after tree.
  std::vector<std::uint32_t> path(const Matrix& X, std::size_t row) const;

 protected:
  void set_labels(std::size_t labels) override { counts_.resize(labels, 0.0); }

 private:
  // Memory that one thread uses and uses again.
  struct Scratch {
    struct Share {  // of a leaf's histogram in a prediction
      const LabelId* label;
      const double* count;
      std::size_t size;
      double share;
    };
    ExampleBuffer buffer;
    LdsmRows rows;
    std::vector<LdsmExample> examples;
    LdsmTree::Descent descent;
    std::vector<std::uint32_t> leaves;        // how many each row reached in one tree
    std::vector<std::vector<Share>> reached;  // by each row, in all trees
    std::vector<double> scores;               // by label, zero between rows
    std::vector<LabelId> touched;             // those with a score
    std::vector<ScoredLabel> ranked;
  };

  template <class Visit>
  void predict_rows(const Matrix& X, std::size_t begin, std::size_t end, Scratch& scratch,
                    Visit visit) const;
  template <class Visit>
  void predict(const Matrix& X, std::size_t threads, const StopRequested& stop, Visit visit) const;
  static void rank(std::size_t k, Scratch& scratch);
  void count_labels(std::span<const LabelId> labels, float weight);

  LdsmParams params_;
  Bank bank_;
  std::vector<LdsmTree> trees_;
  LdsmCodes codes_;  // frozen: of the weights that were restored
  std::vector<double> counts_;  // weight of the examples of each label
  std::atomic<std::size_t> learned_labels_ = 0;
  std::uint64_t examples_ = 0;

  LdsmRecent recent_;  // examples of a stream, for leaves to be split
  LdsmTrainer trainer_;
  Scratch learning_;
};

}  // namespace labeltree
