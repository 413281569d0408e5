#include "linear/pruning.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace labeltree {
namespace {

// Sums are kept for classes of numbers that agree in their upper bits, a hundredth apart.
constexpr unsigned lower_bits = 16;

std::size_t class_of(float matter) { return std::bit_cast<std::uint32_t>(matter) >> lower_bits; }

// The least number of a class.
float bound(std::size_t number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number << lower_bits));
}

}  // namespace

float Pruning::matter(float weight, float gradient_sum) {
  return weight * weight * (gradient_sum > 0.0f ? std::sqrt(gradient_sum) : 1.0f);
}

void Pruning::note(float weight, float gradient_sum) {
  if (weight == 0.0f) return;
  std::vector<double>& of_class = of_class_[gradient_sum > 0.0f];
  if (of_class.empty()) of_class.resize(class_of(INFINITY) + 1, 0.0);
  const float m = matter(weight, gradient_sum);
  of_class[class_of(m)] += std::isfinite(m) ? m : 0.0f;
}

void Pruning::settle(float keep) {
  if (keep >= 1.0f) return;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    double left = 0.0;
    for (const double total : of_class_[kind]) left += total;
    left *= 1.0 - keep;
    for (std::size_t number = 0; number < of_class_[kind].size() && left >= 0.0; ++number) {
      if (of_class_[kind][number] == 0.0) continue;
      least_[kind] = bound(number);  // at last of the weights that matter most
      left -= of_class_[kind][number];
    }
  }
}

}  // namespace labeltree
