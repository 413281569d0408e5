// What every learner of labels offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fair_lock.hpp"
#include "labels.hpp"
#include "linear/bank.hpp"
#include "matrix.hpp"
#include "parallel.hpp"
#include "state.hpp"

namespace labeltree {

class Learner {
 public:
  virtual ~Learner() = default;

  // Makes room for labels 0 .. labels - 1, never for fewer than before. If memory runs out, nothing
  // has changed.
  void resize(std::size_t labels) {
    const std::size_t before = this->labels();
    if (labels <= before) return;
    try {
      set_labels(labels);
    } catch (...) {
      set_labels(before);
      throw;
    }
  }
  virtual std::size_t labels() const = 0;

  // Tells whether the rows to come are those learned before, `again`: no new evidence; and whether
  // they will come once `more`. Passes over one matrix have its `rows`, in any order. Where that is 0
  // rows have numbers, or come in the same order every time.
  void begin_pass(bool again, std::size_t rows, bool more) {
    bank().begin_pass(again);
    start_pass(again, rows, more);
  }

  // Labels that have been seen in an example, and so may be predicted. May be called at any time.
  virtual std::size_t learned_labels() const = 0;

  // Rows learned so far.
  virtual std::uint64_t examples() const = 0;

  // Learns rows order[0] .. order[n - 1], all of weight 1 if `weight` is null. predicted[i] becomes
  // the best label just before row order[i] is learned, unless `predicted` is null;
  // probability[i] becomes the probability its label then had, unless null, if the learner
  // knows such a thing. A row of weight zero is predicted, not
  // learned. Stops early, between examples, if `stop` says so; examples() tells how far it came.
  virtual void learn(const Matrix& X, const LabelSets& y, const float* weight,
                     const std::int64_t* order, std::size_t n, std::size_t threads,
                     LabelId* predicted, float* probability, const StopRequested& stop) = 0;

  virtual const Bank& bank() const = 0;
  virtual Bank& bank() = 0;

  // Whoever calls holds this lock: to read, or to change anything. Learners may share it.
  FairLock& lock() const { return *lock_; }
  void share_lock(std::shared_ptr<FairLock> lock) { lock_ = std::move(lock); }

  // A state is restored into a learner that has learned nothing; std::invalid_argument is thrown
  // if it does not fit, and the learner must then be dropped.
  virtual void visit_state(StateVisitor& state) = 0;

 protected:
  virtual void start_pass(bool /*again*/, std::size_t /*rows*/, bool /*more*/) {}

  // Changes the length of all that has an entry a label; what is large and only grows comes last.
  virtual void set_labels(std::size_t labels) = 0;

 private:
  std::shared_ptr<FairLock> lock_ = std::make_shared<FairLock>();
};

}  // namespace labeltree
