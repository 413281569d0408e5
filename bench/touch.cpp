// What it costs to touch a weight of the hashed table, against a bare gather of as many floats
// from random places of a table of the same size. Interleaved, with repeats; prints ratios.
//
//   cmake -S bench -B build/bench && cmake --build build/bench && build/bench/touch
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "aligned.hpp"
#include "linear/bank.hpp"

using namespace labeltree;

namespace {

constexpr std::size_t features = std::size_t{1} << 22;
constexpr std::size_t models = 100'000;
constexpr std::size_t examples = 2'000;
constexpr std::size_t nonzeros = 50;
constexpr std::size_t pairs = 100'000;  // (model, example) pairs, each touching 51 weights

template <class Work>
double nanoseconds_per_weight(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(pairs * (nonzeros + 1));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(unsigned bits) {
  std::mt19937_64 random(0);
  BankParams params;
  params.scale = Scale::none;
  params.bits = bits;
  params.features = features;
  Bank bank(params);
  bank.resize(models);

  std::vector<std::int64_t> indptr(examples + 1);
  std::vector<std::uint32_t> indices(examples * nonzeros);
  std::vector<float> values(indices.size(), 0.1f);
  for (std::size_t i = 0; i <= examples; ++i) indptr[i] = static_cast<std::int64_t>(i * nonzeros);
  for (auto& index : indices) index = static_cast<std::uint32_t>(random() % features);
  const Matrix X{indptr.data(), indices.data(), values.data(), examples, features};
  ExampleBuffer encoded;
  for (std::size_t row = 0; row < examples; ++row) bank.observe(X, row, 1.0f, encoded);

  std::vector<std::size_t> model(pairs), example(pairs);
  for (auto& m : model) m = random() % models;
  for (auto& e : example) e = random() % examples;

  AlignedFloats table(std::size_t{2} << bits);
  std::fill_n(table.data(), table.size(), 1.0f);
  std::vector<std::uint32_t> places(pairs * (nonzeros + 1));
  for (auto& place : places) place = static_cast<std::uint32_t>(random() % table.size());

  const Rule rule;
  float sink = 0.0f;
  for (std::size_t i = 0; i < pairs; ++i) {  // so that the table's pages are there
    bank.learn(model[i], encoded[example[i]], 0.0f, 1.0f, 1.0f, rule);
  }
  std::vector<double> gather, scatter, predict, learn;
  for (int repeat = 0; repeat < 7; ++repeat) {
    gather.push_back(nanoseconds_per_weight([&] {
      for (const std::uint32_t place : places) sink += table.data()[place];
    }));
    predict.push_back(nanoseconds_per_weight([&] {
      for (std::size_t i = 0; i < pairs; ++i) sink += bank.predict(model[i], encoded[example[i]]);
    }));
    scatter.push_back(nanoseconds_per_weight([&] {
      for (const std::uint32_t place : places) table.data()[place] += 1.0f;
    }));
    learn.push_back(nanoseconds_per_weight([&] {
      for (std::size_t i = 0; i < pairs; ++i) {
        const Example x = encoded[example[i]];
        const float p = bank.predict(model[i], x);
        bank.learn(model[i], x, p, p > 0.0f ? -1.0f : 1.0f, 1.0f, rule);
      }
    }));
  }
  std::printf("%4u %6.0f MB %8.2f %8.2f %8.2f %10.2f %8.2f %8.2f\n", bits,
              static_cast<double>(table.size() * sizeof(float)) / 1e6, median(gather),
              median(predict), median(predict) / median(gather), median(scatter), median(learn),
              median(learn) / median(scatter));
  if (sink == 42.0f) std::puts("");  // so that nothing is optimised away
}

}  // namespace

int main() {
  std::puts("ns per weight, median of 7 interleaved repeats");
  std::puts("bits     table   gather  predict    ratio  read+write    learn    ratio");
  for (const unsigned bits : {20u, 22u, 24u, 26u}) measure(bits);
}
