#include "linear/pruning.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

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

Pruning::Pruning(const AlignedFloats& table, std::size_t row_size, bool sums, float keep) {
  if (keep >= 1.0f) return;
  const std::size_t weights = sums ? row_size / 2 : row_size;
  std::vector<double> of_class[2];
  for (auto& totals : of_class) totals.resize(class_of(INFINITY) + 1, 0.0);
  table.visit_rows(row_size, [&](std::size_t row) {
    const float* w = table.data() + row * row_size;
    for (std::size_t i = 0; i < weights; ++i) {
      if (w[i] == 0.0f) continue;
      const float sum = sums ? w[i + weights] : 0.0f;
      const float m = matter(w[i], sum);
      of_class[sum > 0.0f][class_of(m)] += std::isfinite(m) ? m : 0.0f;
    }
  });
  for (std::size_t kind = 0; kind < 2; ++kind) {
    double left = 0.0;
    for (const double total : of_class[kind]) left += total;
    left *= 1.0 - keep;
    std::size_t number = 0;
    for (; number + 1 < of_class[kind].size() && left >= of_class[kind][number]; ++number) {
      left -= of_class[kind][number];
    }
    least_[kind] = bound(number);
  }
}

}  // namespace labeltree
