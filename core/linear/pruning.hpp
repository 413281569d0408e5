// Which weights may be left out of a model for prediction.
#pragma once

#include <vector>

namespace labeltree {

// How much a weight w matters is taken to be w^2 sqrt(G) where it was learned with a gradient sum G,
// and w^2 where it was not. w^2 G is the change of the loss to second order, G being the empirical
// Fisher information (LeCun, Denker & Solla 1990); its root does not overrate the weights that were
// learned most. Of all there is to matter a share `keep` is kept, in each of the two kinds, by as few
// weights as possible.
class Pruning {
 public:
  // First each weight is noted, with its gradient sum or 0; then it is settled which are kept.
  void note(float weight, float gradient_sum);
  void settle(float keep);

  bool keeps(float weight, float gradient_sum) const {
    return weight != 0.0f && matter(weight, gradient_sum) >= least_[gradient_sum > 0.0f];
  }

 private:
  static float matter(float weight, float gradient_sum);

  // Without and with a gradient sum: what weights matter, by classes of about the same, and the least
  // that is kept.
  std::vector<double> of_class_[2];
  float least_[2] = {0.0f, 0.0f};
};

}  // namespace labeltree
