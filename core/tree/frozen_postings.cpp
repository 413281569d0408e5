#include "tree/frozen_postings.hpp"

#include <cmath>
#include <utility>

namespace labeltree {
namespace {

constexpr float largest_code = 255.0f;

bool are_narrow(std::size_t n_labels) { return n_labels <= 0x10000; }

}  // namespace

void FrozenPostings::set(std::vector<std::uint64_t> slots, std::vector<std::uint64_t> end,
                         std::span<const LabelId> labels, std::span<const float> typical,
                         std::size_t n_labels, float keep) {
  slots_ = std::move(slots);
  end_ = std::move(end);
  n_labels_ = n_labels;
  const std::size_t n = labels.size();
  const auto copied = [n]<class T>(T /*type*/, const auto& make) {
    AlignedArray<T> copy(n);
    for (std::size_t i = 0; i < n; ++i) copy.data()[i] = make(i);
    return SharedArray<T>(std::move(copy));
  };
  if (are_narrow(n_labels)) {
    labels_ = copied(std::uint16_t{}, [&](std::size_t i) { return static_cast<std::uint16_t>(labels[i]); });
  } else {
    wide_labels_ = copied(LabelId{}, [&](std::size_t i) { return labels[i]; });
  }
  if (keep < 1.0f) {
    const float largest = n == 0 ? 1.0f : *std::max_element(typical.begin(), typical.end());
    scale_ = std::max(largest / (largest_code * largest_code * largest_code), 1e-37f);
    codes_ = copied(std::uint8_t{}, [&](std::size_t i) {
      return static_cast<std::uint8_t>(
          std::clamp(std::round(std::cbrt(typical[i] / scale_)), 0.0f, largest_code));
    });
  } else {
    wide_codes_ = copied(bfloat16{}, [&](std::size_t i) { return to_bfloat16(typical[i]); });
  }
}

void FrozenPostings::prefetch(std::size_t list) const {
  constexpr std::size_t line = 64, page = 4096;
  const std::uint64_t begin = list == 0 ? 0 : end_[list - 1], end = end_[list];
  const auto ask = [&](const auto& values) {
    if (values.size() == 0) return;
    const auto* byte = reinterpret_cast<const char*>(values.data() + begin);
    const std::size_t bytes = (end - begin) * sizeof *values.data();
    for (std::size_t i = 0; i < std::min(bytes, page); i += line) __builtin_prefetch(byte + i);
  };
  ask(labels_);
  ask(wide_labels_);
  ask(codes_);
  ask(wide_codes_);
}

void FrozenPostings::visit_state(StateVisitor& state, std::size_t n_labels) {
  state.ascending("index_slot", slots_);
  state.ascending("index_end", end_);
  std::uint64_t code_size = wide_codes_.size() > 0 ? 2 : 1;
  state.value("index_code_size", code_size);
  state.value("index_scale", scale_);
  if (are_narrow(n_labels)) {
    state.shared("index_label", labels_);
  } else {
    state.shared("index_label", wide_labels_);
  }
  if (code_size == 1) {
    state.shared("index_typical", codes_);
  } else {
    state.shared("index_typical", wide_codes_);
  }
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  const std::size_t n = std::max(labels_.size(), wide_labels_.size());
  require((code_size == 1 || code_size == 2) && slots_.size() == end_.size() &&
              n == std::max(codes_.size(), wide_codes_.size()) &&
              n == (end_.empty() ? 0 : end_.back()),
          "the arrays of the saved index differ in length");
  n_labels_ = n_labels;
  require(slots_.empty() || slots_.back() < used_.size(),
          "the saved index has a feature that does not exist");
  for (const std::uint64_t slot : slots_) used_.use(slot);
  used_.count();
  for (std::size_t code = 0; code < typical_.size(); ++code) {
    const auto q = static_cast<float>(code);
    typical_[code] = scale_ * q * q * q;
  }
}

}  // namespace labeltree
