#include "tree/reservoir.hpp"

#include <cmath>
#include <utility>

#include "hash.hpp"

namespace labeltree {
namespace {

template <class T>
void append(std::vector<T>& all, std::vector<std::uint64_t>& ends, const std::vector<T>& some) {
  all.insert(all.end(), some.begin(), some.end());
  ends.push_back(all.size());
}

// The part of `all` that belongs to a row.
template <class T>
std::vector<T> part(const std::vector<T>& all, const std::vector<std::uint64_t>& ends,
                    std::size_t row) {
  const std::uint64_t begin = row == 0 ? 0 : ends[row - 1];
  StateVisitor::require(begin <= ends[row] && ends[row] <= all.size(), "the saved rows overlap");
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(ends[row])};
}

}  // namespace

std::size_t Reservoir::size_of(const Row& row) {
  constexpr std::size_t each = 224;  // with what allocations take beside their memory
  const Content& content = *row.content;
  return each + content.features.size() * sizeof(std::uint32_t) +
         content.values.size() * sizeof(float) + content.labels.size() * sizeof(LabelId) +
         row.pairs.size() * sizeof(DualPair);
}

// Any rows have to go until there is room.
void Reservoir::make_room(std::size_t bytes) {
  while (!rows_.empty() && bytes_ + bytes > limit_) {
    Row& gone = rows_[next_random(random_) % rows_.size()];
    bytes_ -= size_of(gone);
    std::swap(gone, rows_.back());
    rows_.pop_back();
  }
}

// A new row comes as often as an old one has stayed, once there is no room to speak of. Rows so long
// that many others would have to go for one are left out.
void Reservoir::add(const Matrix& X, std::size_t row, std::span<const LabelId> labels, float weight,
                    std::span<const DualPair> pairs) {
  const std::uint64_t number = seen_++;
  const bool full = bytes_ + limit_ / 16 > limit_;
  if (full && next_random(random_) % seen_ >= rows_.size()) return;
  Content content{weight, {}, {}, {labels.begin(), labels.end()}};
  if (X.dense()) {
    content.values.assign(X.values + row * X.cols, X.values + (row + 1) * X.cols);
  } else {
    content.features.assign(X.indices + X.indptr[row], X.indices + X.indptr[row + 1]);
    content.values.assign(X.values + X.indptr[row], X.values + X.indptr[row + 1]);
  }
  content.ends[1] = static_cast<std::int64_t>(content.features.size());
  Row added{number, std::make_shared<Content>(std::move(content)),
            {pairs.begin(), pairs.end()}};
  const std::size_t size = size_of(added);
  if (size > limit_ / 64) return;
  make_room(size);
  bytes_ += size;
  rows_.push_back(std::move(added));
}

std::size_t Reservoir::draw(Row& out) {
  const std::size_t place = next_random(random_) % rows_.size();
  out = rows_[place];
  return place;
}

void Reservoir::keep_pairs(std::size_t place, const Row& drawn, std::span<const DualPair> pairs) {
  if (place >= rows_.size() || rows_[place].number != drawn.number) return;
  Row& row = rows_[place];
  bytes_ -= size_of(row);
  row.pairs.assign(pairs.begin(), pairs.end());
  bytes_ += size_of(row);
  make_room(0);
}

std::size_t Reservoir::forget(const Forgotten& forgotten, const GivenUp& given_up,
                              std::size_t counted) {
  std::vector<Row> left;
  std::size_t stay = 0;
  bytes_ = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    forgotten.apply(row.content->labels);
    if (row.content->labels.empty()) continue;
    std::erase_if(row.pairs, [&](const DualPair& pair) { return given_up.has(pair.model); });
    bytes_ += size_of(row);
    stay += i < counted;
    left.push_back(std::move(row));
  }
  rows_ = std::move(left);
  return stay;
}

void Reservoir::visit_state(StateVisitor& state, std::size_t features, std::size_t labels,
                            std::size_t models) {
  std::vector<std::uint64_t> number, feature_end, value_end, label_end, pair_end;
  std::vector<std::uint32_t> feature, label, model;
  std::vector<float> weight, value, alpha;
  if (!state.restoring()) {
    for (const Row& row : rows_) {
      number.push_back(row.number);
      weight.push_back(row.content->weight);
      append(feature, feature_end, row.content->features);
      append(value, value_end, row.content->values);
      append(label, label_end, row.content->labels);
      for (const DualPair& pair : row.pairs) {
        model.push_back(pair.model);
        alpha.push_back(pair.alpha);
      }
      pair_end.push_back(model.size());
    }
  }
  state.value("replay_random", random_);
  state.value("replay_seen", seen_);
  state.array("replay_number", number);
  state.array("replay_weight", weight);
  state.array("replay_feature", feature);
  state.array("replay_feature_end", feature_end);
  state.array("replay_value", value);
  state.array("replay_value_end", value_end);
  state.array("replay_label", label);
  state.array("replay_label_end", label_end);
  state.array("replay_model", model);
  state.array("replay_alpha", alpha);
  state.array("replay_pair_end", pair_end);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  const std::size_t n = number.size();
  require(weight.size() == n && feature_end.size() == n && value_end.size() == n &&
              label_end.size() == n && pair_end.size() == n && model.size() == alpha.size() &&
              n <= seen_ && seen_ < std::uint64_t{1} << 63,
          "the arrays of the saved rows differ in length");
  std::vector<Row> rows(n);
  bytes_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Row& row = rows[i];
    Content content{weight[i], part(feature, feature_end, i), part(value, value_end, i),
                    part(label, label_end, i)};
    content.ends[1] = static_cast<std::int64_t>(content.features.size());
    const std::vector<std::uint32_t> models_of_row = part(model, pair_end, i);
    const std::vector<float> alphas = part(alpha, pair_end, i);
    for (std::size_t k = 0; k < alphas.size(); ++k) {
      require(models_of_row[k] < models && std::isfinite(alphas[k]) &&
                  (k == 0 || models_of_row[k - 1] < models_of_row[k]),
              "a saved row has a dual variable that is none");
      row.pairs.push_back({models_of_row[k], alphas[k]});
    }
    require(!content.dense() || (content.features.empty() && content.values.size() == features),
            "a saved row has features without values, or values without features");
    require(number[i] < seen_ && std::isfinite(content.weight) && content.weight > 0.0f &&
                !content.labels.empty(),
            "a saved row has no number, weight or label");
    for (const std::uint32_t f : content.features) require(f < features, "a saved row has an unknown feature");
    for (const LabelId l : content.labels) require(l < labels, "a saved row has an unknown label");
    for (const float v : content.values) require(std::isfinite(v), "a saved row has a value that is none");
    row.number = number[i];
    row.content = std::make_shared<Content>(std::move(content));
    bytes_ += size_of(row);
  }
  rows_ = std::move(rows);
}

}  // namespace labeltree
