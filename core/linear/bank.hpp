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
#include <variant>
#include <vector>

#include "linear/dense_weights.hpp"
#include "linear/example.hpp"
#include "linear/hashed_weights.hpp"
#include "linear/loss.hpp"
#include "matrix.hpp"

namespace labeltree {

enum class Update { adaptive, sgd };
enum class Scale { max, none };
enum class Layout { dense, hashed };

struct BankParams {
  Loss loss = Loss::logistic;
  Update update = Update::adaptive;
  Scale scale = Scale::max;
  Layout layout = Layout::hashed;
  float step = 0.5f;
  float power = 0.0f;  // sgd: the step of a model's t-th example is step / t^power
  unsigned bits = 22;  // hashed: the table holds 2^bits weights
  std::uint64_t features = 0;
  // Examples on which the loss has a smaller slope than this are not learned from: they are nearly
  // all that a rare label's model sees, and change next to nothing.
  float min_gradient = 1e-3f;
};

class Bank {
 public:
  explicit Bank(const BankParams& params);

  // Makes room for at least this many models; new ones start from zero weights.
  void resize(std::size_t models);
  std::size_t models() const { return steps_.size(); }

  // Encodes a row for predict and learn. `observe` first counts it as an example of the given
  // weight: feature maxima and the average norm follow the stream. `encode` changes nothing;
  // features never observed are left out, so they cannot meet another feature's weights.
  void observe(const Matrix& X, std::size_t row, float weight, ExampleBuffer& out);
  void encode(const Matrix& X, std::size_t row, ExampleBuffer& out) const;

  float predict(std::size_t model, const Example& x) const;
  // Moves a model whose prediction was p towards y: y = -1 or +1, or any number for squared loss.
  void learn(std::size_t model, const Example& x, float p, float y, float weight);

  // The same for models 8 block .. 8 block + 7 at once; only lanes set in `active` learn.
  void predict8(std::size_t block, const Example& x, float* p) const;
  void learn8(std::size_t block, const Example& x, const float* p, const float* y, float weight,
              unsigned active);

  // In the hashed layout these touch every feature observed so far, and a weight that shares
  // its slot with another model's is changed for both.
  void zero(std::size_t model);
  void copy(std::size_t from, std::size_t to);

  const BankParams& params() const { return params_; }

  // The state, in plain arrays, for saving and merging.
  double& total_weight() { return total_weight_; }
  double total_weight() const { return total_weight_; }
  double& total_norm() { return total_norm_; }
  double total_norm() const { return total_norm_; }
  AlignedFloats& largest() { return largest_; }
  const AlignedFloats& largest() const { return largest_; }
  std::vector<double>& steps() { return steps_; }
  const std::vector<double>& steps() const { return steps_; }
  AlignedFloats& table();
  const AlignedFloats& table() const;
  std::size_t row_size() const;  // the unit of `table`: a model's row, or a line of the hash table

 private:
  std::size_t slot(std::uint64_t feature) const;
  template <class Visit> void visit_entries(const Matrix& X, std::size_t row, Visit visit) const;
  template <class Visit> void visit_observed(Visit visit) const;
  float step_size(std::size_t model, float weight);

  BankParams params_;
  double total_weight_ = 0.0;   // T: the weight of all examples observed
  double total_norm_ = 0.0;     // S: the weighted sum of their squared norms
  std::size_t slots_;           // features, or the size of the table if that is smaller
  AlignedFloats largest_;       // N: the largest |x| of each feature slot; zero if never seen
  std::vector<double> steps_;   // sgd with power: the weight of each model's examples
  std::variant<DenseWeights, HashedWeights> weights_;
};

}  // namespace labeltree
