// The way of examples down a binary tree, all together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "linear/block_predictions.hpp"

namespace labeltree {

constexpr std::uint32_t no_node = 0xffffffffu;

// Memory that one thread uses and uses again.
struct Walk {
  std::vector<std::uint32_t> walking;             // examples
  std::vector<std::vector<std::uint32_t>> paths;  // of each example

  void clear(std::size_t examples) {
    paths.resize(std::max(paths.size(), examples));
    for (std::size_t i = 0; i < examples; ++i) paths[i].clear();
  }
};

// Appends the nodes that each example passes to its path, from `root` on. model(node) is that of an
// inner node, no_node for a leaf; next(node, prediction) is the child where an example goes on, or
// no_node if it stays. Models of several levels may lie in one block, and are then asked at once.
template <class Model, class Next>
void walk(std::uint32_t root, const Bank& bank, const ExampleBuffer& examples, Walk& memory,
          BlockPredictions& blocks, Model model, Next next) {
  auto& [walking, paths] = memory;
  walking.clear();
  for (std::uint32_t i = 0; i < examples.size(); ++i) {
    paths[i].push_back(root);
    if (model(root) != no_node) walking.push_back(i);
  }
  while (!walking.empty()) {
    blocks.clear();
    for (const std::uint32_t i : walking) blocks.ask_one(model(paths[i].back()), i);
    blocks.answer(bank, examples);
    std::size_t still = 0;
    for (std::size_t answer = 0; answer < walking.size(); ++answer) {
      std::vector<std::uint32_t>& path = paths[walking[answer]];
      std::uint32_t at = model(path.back());
      const std::uint32_t block = at / 8;
      do {
        const std::uint32_t child = next(path.back(), blocks[answer][at % 8]);
        if (child != no_node) path.push_back(child);
        at = child == no_node ? no_node : model(child);
      } while (at != no_node && bank.has_lines() && at / 8 == block);
      if (at != no_node) walking[still++] = walking[answer];
    }
    walking.resize(still);
  }
}

}  // namespace labeltree
