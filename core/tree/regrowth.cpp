#include "tree/regrowth.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace labeltree {
namespace {

// What is done after one row of the stream: some milliseconds of work.
constexpr std::size_t entries_at_once = std::size_t{1} << 18;  // of centroids, to cluster
constexpr std::size_t nodes_at_once = 64;                      // to get models
constexpr std::size_t rows_at_once = 8;                        // to be learned
constexpr std::size_t labels_at_once = 512;                    // to get leaves

constexpr std::size_t fewest_rows = 256;  // that tell anything

// Whether each block of models has memory of its own.
bool takes_memory(const Bank& bank) { return bank.params().layout != Layout::hashed; }

}  // namespace

struct Regrowth::Shaping {
  std::vector<std::shared_ptr<const Reservoir::Content>> kept;
  LabelledRows rows;
  LabelClusters clusters;
  Steps steps;

  Shaping(std::vector<ChoiceTree>& trees, std::size_t cols, const Reservoir& reservoir,
          const Bank& bank, std::size_t labels, std::uint64_t seed)
      : clusters(labels, seed, Pace(entries_at_once)), steps(shape(trees, bank)) {
    std::size_t entries = 0;
    for (const Reservoir::Row& row : reservoir.rows()) {
      kept.push_back(row.content);
      entries += row.content->values.size();
    }
    rows = {kept.size(), cols, entries, [this, cols](std::size_t i) { return kept[i]->matrix(cols); },
            [this](std::size_t i) -> std::span<const LabelId> { return kept[i]->labels; }};
  }

  Steps shape(std::vector<ChoiceTree>& trees, const Bank& bank) {
    for (Steps gathering = clusters.gather(rows, bank); gathering.next();) co_await Steps::pause;
    for (ChoiceTree& tree : trees) {
      for (Steps organizing = tree.organize(clusters); organizing.next();) co_await Steps::pause;
    }
  }
};

Regrowth::Regrowth() = default;
Regrowth::~Regrowth() = default;

void Regrowth::count_elsewhere() {
  std::atomic_ref(elsewhere_).fetch_add(1, std::memory_order_relaxed);
}

bool Regrowth::is_due(std::size_t labels, const Reservoir& reservoir) const {
  const std::uint64_t rows = reservoir.seen() + elsewhere_;
  return rows >= fewest_rows && labels > ChoiceTree::width &&
         (labels >= 2 * labels_ || rows >= 4 * rows_) && 2 * reservoir.rows().size() >= rows;
}

void Regrowth::start(std::vector<ChoiceTree> trees, std::size_t labels, std::size_t cols,
                     const Reservoir& reservoir, const Bank& bank, std::uint64_t seed) {
  trees_ = std::move(trees);
  labels_ = labels;
  rows_ = reservoir.seen() + elsewhere_;
  const std::size_t all = trees_[0].labels();
  shaping_ = std::make_unique<Shaping>(trees_, cols, reservoir, bank, all, seed);
  wait_ = 0;
  stage_ = Stage::shaping;
}

void Regrowth::step(const Reservoir& reservoir, const std::vector<double>& counts,
                    std::size_t cols, const Rule& rule, Bank& bank, ExampleBuffer& example,
                    Above& above, BlockPredictions& blocks) {
  if (stage_ == Stage::shaping) return shape();
  if (stage_ == Stage::planting) return plant(bank);
  if (stage_ == Stage::placing) {  // labels none of whose rows is kept
    const std::size_t end = std::min<std::size_t>(next_ + labels_at_once, counts.size());
    place(trees_, counts, next_, end, example[0], bank);
    next_ = end;
    if (next_ == counts.size()) stage_ = Stage::ready;
    return;
  }
  for (std::size_t i = 0; i < rows_at_once && next_ < reservoir.rows().size(); ++i) {
    learn_row(*reservoir.rows()[next_++].content, cols, rule, bank, example, above, blocks);
  }
  if (next_ < reservoir.rows().size()) return;
  stage_ = Stage::placing;
  next_ = 0;
}

void Regrowth::place(std::vector<ChoiceTree>& trees, const std::vector<double>& counts,
                     std::size_t begin, std::size_t end, const Example& example, Bank& bank) {
  for (ChoiceTree& tree : trees) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto label = static_cast<LabelId>(i);
      if (counts[i] > 0.0 && !tree.has(label)) tree.insert(label, example, bank);
    }
  }
}

// Returns whether shapes are not finished yet. Without memory for it, nothing is regrown.
bool Regrowth::shape_more() {
  try {
    if (shaping_->steps.next()) return true;
  } catch (...) {
    shaping_.reset();
    trees_.clear();
    stage_ = Stage::none;
    throw;
  }
  shaping_.reset();
  return false;
}

void Regrowth::shape() {
  if (shaping_) {
    if (shape_more()) return;
  } else if (--wait_ > 0) {
    return;
  }
  stage_ = Stage::planting;
  next_ = 0;
}

// Gives models to inner nodes, tree after tree.
void Regrowth::plant(Bank& bank) {
  std::size_t first = 0;  // of the tree's inner nodes, among those of all
  std::size_t left = nodes_at_once;
  for (ChoiceTree& tree : trees_) {
    const std::size_t end = first + tree.blocks().size();
    for (; next_ < end && left > 0; ++next_, --left) {
      std::size_t block;
      if (spare_.empty()) {
        block = bank.add_block();
      } else {
        block = spare_.back();
        spare_.pop_back();
      }
      if (takes_memory(bank)) {  // of new ones, which are zero, it is best touched in order
        for (std::size_t model = 8 * block; model < 8 * block + 8; ++model) bank.zero(model);
      }
      tree.set_block(next_ - first, static_cast<std::uint32_t>(block));
    }
    first = end;
  }
  if (next_ < first) return;
  stage_ = Stage::learning;
  next_ = 0;
}

void Regrowth::learn_row(const Reservoir::Content& row, std::size_t cols, const Rule& rule,
                         Bank& bank, ExampleBuffer& example, Above& above,
                         BlockPredictions& blocks) {
  example.clear();
  bank.encode_again(row.matrix(cols), 0, example);
  for (ChoiceTree& tree : trees_) {
    for (const LabelId label : row.labels) {
      if (!tree.has(label)) tree.insert(label, example[0], bank);
    }
    tree.learn(row.labels, example, row.weight, rule, bank, above, blocks);
  }
}

void Regrowth::exchange(std::vector<ChoiceTree>& trees, const Bank& bank) {
  if (takes_memory(bank)) {
    for (const ChoiceTree& tree : trees) {
      spare_.insert(spare_.end(), tree.blocks().begin(), tree.blocks().end());
    }
  }
  trees = std::exchange(trees_, {});
  stage_ = Stage::none;
}

void Regrowth::resize(std::size_t labels) {
  for (ChoiceTree& tree : trees_) tree.resize(labels);
}

// What is left of it would have taken part of the time of so many rows.
void Regrowth::finish_shaping() {
  while (shaping_) {
    shape_more();
    ++wait_;
  }
}

void Regrowth::forget(const Forgotten& forgotten, bool reuse, GivenUp& given_up) {
  finish_shaping();
  std::size_t nodes = 0, planted = 0;
  for (ChoiceTree& tree : trees_) {
    tree.forget(forgotten, reuse, given_up);
    nodes += tree.blocks().size();
    planted += tree.blocks().size() -
               static_cast<std::size_t>(std::count(tree.blocks().begin(), tree.blocks().end(),
                                                   ChoiceTree::no_block));
  }
  if (stage_ == Stage::placing) next_ = forgotten.position(next_);
  if (stage_ != Stage::planting) return;
  next_ = planted;
  if (planted < nodes) return;
  stage_ = Stage::learning;
  next_ = 0;
}

std::size_t Regrowth::bytes() const {
  std::size_t bytes = 0;
  for (const ChoiceTree& tree : trees_) bytes += tree.bytes();
  return bytes;
}

void Regrowth::visit_state(StateVisitor& state, std::size_t labels, std::size_t models,
                           const std::vector<ChoiceTree>& empty) {
  if (!state.restoring()) finish_shaping();
  auto stage = static_cast<std::uint32_t>(stage_);
  state.value("regrowth_stage", stage);
  state.value("regrowth_labels", labels_);
  state.value("regrowth_rows", rows_);
  state.value("regrowth_elsewhere", elsewhere_);
  state.value("regrowth_next", next_);
  state.value("regrowth_wait", wait_);
  state.array("regrowth_spare", spare_);
  const auto require = StateVisitor::require;
  if (state.restoring()) {
    require(stage < static_cast<std::uint32_t>(Stage::ready) && (stage != 1 || wait_ > 0),
            "the saved trees are regrown in a way that is unknown");
    stage_ = static_cast<Stage>(stage);
    trees_ = is_running() ? empty : std::vector<ChoiceTree>();
    for (const std::uint32_t block : spare_) {
      require((std::size_t{block} + 1) * ChoiceTree::width <= models,
              "the saved model has a spare model that does not exist");
    }
  }
  std::size_t nodes = 0, planted = stage_ == Stage::planting ? next_ : 0;
  for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
    const std::string name = "regrown" + std::to_string(tree) + "_";
    trees_[tree].visit_state(state, name, labels, models, stage_ >= Stage::learning);
    for (const std::uint32_t block : trees_[tree].blocks()) {
      require(stage_ >= Stage::learning || (nodes++ < planted) == (block != ChoiceTree::no_block),
              "a node of the saved trees has models out of turn");
    }
  }
  require(stage_ != Stage::planting || next_ < nodes, "the saved trees need no more models");
  require(stage_ != Stage::placing || next_ <= labels, "the saved trees have no such label");
}

}  // namespace labeltree
