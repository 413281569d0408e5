// A bank of linear models on the same features: (model, feature) -> weight.
//
// Every learner here is a reduction to many binary or regression problems; this class owns all of
// them. Its update is online gradient descent, importance-aware (Karampatziakis & Langford 2011)
// and, unless plain steps are asked for, adaptive and normalised (Ross, Mineiro & Langford 2013):
// weights are kept for features divided by their largest value so far, so that a new maximum
// rescales the weights of every model without touching one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "document_counts.hpp"
#include "linear/dense_weights.hpp"
#include "linear/example.hpp"
#include "linear/frozen_dense.hpp"
#include "linear/frozen_lines.hpp"
#include "linear/line_weights.hpp"
#include "linear/rule.hpp"
#include "matrix.hpp"
#include "state.hpp"

namespace labeltree {

// What becomes of rows. Max: every feature divided by its largest value so far. Unit: every row
// divided by its length. Idf: rows of counts weighed by how rare features are, then divided by
// their length.
enum class Scale { max, none, unit, idf };
// Of weights. Dense: a row for each model. Lines: as many weights, those of eight models for one
// feature side by side. Hashed: such lines in a table of fixed size.
enum class Layout { dense, lines, hashed };

struct BankParams {
  Scale scale = Scale::max;
  Layout layout = Layout::hashed;
  unsigned bits = 22;  // hashed: the table holds 2^bits weights
  std::uint64_t features = 0;
  bool indicators = false;  // whether add_indicator is used
  bool frozen = false;      // for prediction only: the state restored must be a frozen one
  bool gradient_sums = true;  // whether any model learns by adaptive steps, which need them
  bool step_counts = true;    // whether any model's plain steps shrink, by how much it has learned
};

class Bank {
 public:
  explicit Bank(const BankParams& params);

  // Makes room for at least this many models; new ones start from zero weights.
  void resize(std::size_t models);

  // Makes room for so many models at once: weights that grow are copied.
  void reserve(std::size_t models);
  std::size_t models() const { return models_; }
  // Bytes of weights that each model which is in use takes: none in the hashed layout.
  std::size_t bytes_of_model() const;
  std::size_t spare_models() const { return 8 * spare_.size(); }
  // Whether the weights of eight models lie side by side, so that all cost about as much as one.
  bool has_lines() const { return params_.layout != Layout::dense; }
  // Adds eight models that learn8 and predict8 take at once; returns their block.
  std::size_t add_block();
  // Makes the weights of some models zero, and lets add_block use some blocks again; not in the hashed
  // layout.
  void give_up(std::span<const std::uint32_t> models, std::span<const std::uint32_t> blocks);
  // Adds a model for a child of the binary node that has the model `parent`, or for a root. In a
  // hashed table three levels of a path share a block: one miss a feature serves all three. Every
  // child may be added once.
  std::size_t add_below(std::size_t parent, bool right);
  static constexpr std::size_t no_model = ~std::size_t{0};  // the parent of a root

  // Notes the features of all rows of positive weight, and for idf in how many of them each is, before
  // they are observed: they can be encoded from then on, and are not counted again. Where
  // rows are neither weighed nor divided by their length, nothing is noted.
  void look_ahead(const Matrix& X, const float* weight);
  // Whether rows to come were observed before; they are not counted again.
  void begin_pass(bool again);

  // Encodes a row for predict and learn. `observe` first counts it as an example of the given
  // weight: feature maxima and the average norm follow the stream. `encode` changes nothing;
  // features never observed are left out, so they cannot meet another feature's weights.
  void observe(const Matrix& X, std::size_t row, float weight, ExampleBuffer& out);
  void encode(const Matrix& X, std::size_t row, ExampleBuffer& out) const;
  // Encodes a row that was observed before, to learn from it again.
  void encode_again(const Matrix& X, std::size_t row, ExampleBuffer& out) const;

  // Adds an indicator feature, numbered apart from the features of rows, to the one example that
  // was encoded; Example views made before are void.
  void add_indicator(std::uint64_t number, ExampleBuffer& out) const;
  // Takes all that was added since `before` was made away again.
  void remove_indicators(const Example& before, ExampleBuffer& out) const;

  float predict(std::size_t model, const Example& x) const;
  // Moves a model whose prediction was p towards y: y = -1 or +1, or any number for squared loss.
  // `alpha` is the dual variable of the example, zero if it is null, and becomes that after the step.
  void learn(std::size_t model, const Example& x, float p, float y, float weight,
             const Rule& rule, float* alpha = nullptr);

  // The same for models 8 block .. 8 block + 7 at once; only lanes set in `active` learn.
  void predict8(std::size_t block, const Example& x, float* p) const;
  // Asks for what tells where the weights of a block are, or for these.
  void prefetch(std::size_t block, const Example& x) const;
  // Calls visit(weights), whatever their layout. Their predictions lack what indicators add.
  template <class Visit> void visit_weights(Visit visit) const { std::visit(visit, weights_); }
  void add_indicators(std::size_t block, const Example& x, float* p) const;
  void learn8(std::size_t block, const Example& x, const float* p, const float* y, float weight,
              const Rule& rule, unsigned active, float* alpha = nullptr);

  // In the hashed layout these touch every feature observed so far, and a weight that shares
  // its slot with another model's is changed for both.
  void zero(std::size_t model);
  void copy(std::size_t from, std::size_t to);

  const BankParams& params() const { return params_; }
  bool weighs_rows() const { return params_.scale == Scale::unit || params_.scale == Scale::idf; }
  std::size_t slots() const { return slots_; }  // that features may have in an Example

  void visit_state(StateVisitor& state, const std::string& prefix = "");
  // Takes the weights of a bank with the same parameters, and gives it its own, of as many models.
  void exchange_weights(Bank& other);

 private:
  std::size_t slot(std::uint64_t feature) const;
  template <class Visit> void visit_entries(const Matrix& X, std::size_t row, Visit visit) const;
  template <class Visit> void visit_observed(Visit visit) const;
  template <class Visit> void visit_learning(Visit visit);
  template <class Visit> void visit_lines(Visit visit) const;
  void visit_seen(StateVisitor& state, const std::string& prefix);
  void visit_documents(StateVisitor& state, const std::string& prefix);
  void visit_frozen(StateVisitor& state, const std::string& prefix, float keep);
  static Example indicators(const Example& x);
  void require_room(std::uint64_t models) const;
  float step_size(std::size_t model, float weight, const Rule& rule);
  float weighed_C(float weight, const Rule& rule) const;
  float rate() const;
  void note_largest(const Matrix& X, std::size_t row);
  template <bool asked> bool encode_row(const Matrix& X, std::size_t row, ExampleBuffer& out) const;
  void weigh(ExampleBuffer& out, ExampleBuffer::Entry& entry) const;

  BankParams params_;
  double total_weight_ = 0.0;   // T: the weight of all examples observed
  double total_norm_ = 0.0;     // S: the weighted sum of their squared norms
  std::size_t slots_;           // features; hashed: the size of the table or 2^28 if that is smaller
  AlignedFloats largest_;       // N: the largest |x| of each feature slot; zero if never seen
  std::optional<DocumentCounts> documents_;  // idf: in how many rows each feature slot was
  std::uint64_t counted_ahead_ = 0;          // rows that are counted, but not observed yet
  bool counting_ = true;                     // whether rows that are observed are new
  std::uint64_t models_ = 0;
  std::vector<double> steps_;   // sgd with power: the weight of each model's examples
  std::vector<std::uint32_t> spare_;  // blocks that were given up, of zero weights
  std::variant<DenseWeights, LineWeights, FrozenDenseWeights, FrozenLineWeights> weights_;
  // Of layouts that are not hashed, with indicators.
  std::optional<LineWeights> indicator_weights_;
  std::optional<FrozenLineWeights> frozen_indicator_weights_;
};

// Calls visit(weights) with weights that can learn.
template <class Visit>
void Bank::visit_learning(Visit visit) {
  if (auto* dense = std::get_if<DenseWeights>(&weights_)) return visit(*dense);
  if (auto* lines = std::get_if<LineWeights>(&weights_)) return visit(*lines);
  throw std::logic_error("a frozen bank cannot learn");
}

template <class Visit>
void Bank::visit_observed(Visit visit) const {
  largest_.visit_rows(1, [&](std::size_t i) {
    if (largest_.data()[i] > 0.0f) visit(i);
  });
}

}  // namespace labeltree
