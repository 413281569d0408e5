// What a bank keeps for one model and one feature.
#pragma once

namespace labeltree {

struct WeightRef {
  float& weight;
  float* gradient_sum;  // null where none is kept
};

}  // namespace labeltree
