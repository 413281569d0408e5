// A curve from the log-odds that a model states to those that its examples bear out.
//
// Beta calibration (Kull, Silva Filho & Flach 2017): where a model states the probability q, the
// curve says a log q - b log(1 - q) + c. Its three numbers are those that fit best to how often
// what was stated with each probability was right. What was stated before an example was learned
// is as good for that as examples held back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "state.hpp"

namespace labeltree {

class Calibration {
 public:
  Calibration();

  // Notes that something was stated with these log-odds, and whether it was right.
  void note(float log_odds, bool right, float weight);
  // Ends what was stated of one example. Old examples are forgotten as the model gets better, and the
  // curve is fitted anew whenever there are a few per cent more examples.
  void end_example();

  // Makes of log-odds that were stated the probabilities that the curve says, which never fall where those
  // rise, but for rounding. Their count is a multiple of eight.
  void to_probabilities(float* stated, std::size_t size) const;

  void visit_state(StateVisitor& state, const std::string& prefix, bool learns);

 private:
  void forget();
  void fit();
  double misfit(const double* curve) const;

  std::uint64_t examples_ = 0;
  std::uint64_t next_fit_ = 1;   // after so many examples
  std::vector<double> curve_;    // a, b, c
  std::vector<double> stated_;   // the weight of what was stated, by its log-odds
  std::vector<double> right_;    // of what was right
};

}  // namespace labeltree
