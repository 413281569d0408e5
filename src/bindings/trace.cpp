// What bench/limit.py needs of a build with LABELTREE_TRACE.
#include "linear/trace.hpp"

#include <nanobind/nanobind.h>

#include <chrono>

#include "aligned.hpp"
#include "bindings.hpp"

namespace {

std::vector<std::uint64_t> noted;

// Seconds that a bare loop takes to touch the lines, in their order, of a table of this size.
double gather(In<std::uint64_t> lines, std::size_t table_lines, bool write) {
  labeltree::AlignedFloats table(16 * table_lines);
  float* data = table.data();
  for (std::size_t i = 0; i < table.size(); i += 16) data[i] = 1.0f;  // so that all pages exist
  for (std::size_t i = 0; i < lines.shape(0); ++i) {
    if (lines.data()[i] >= table_lines) invalid("a line is not in the table");
  }
  const auto start = std::chrono::steady_clock::now();
  float sum = 0.0f;
  for (std::size_t i = 0; i < lines.shape(0); ++i) {
    float* line = data + 16 * lines.data()[i];
    sum += line[0];
    if (write) line[8] += 1.0f;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  data[0] = sum;  // keeps the loop
  return seconds.count();
}

}  // namespace

void bind_trace(nb::module_& m) {
  m.def("start_trace", [] {
    noted.clear();
    labeltree::trace::lines = &noted;
  });
  m.def("stop_trace", [] {
    labeltree::trace::lines = nullptr;
    return copy_to_numpy(noted.data(), noted.size());
  });
  m.def("gather", &gather, nb::arg("lines"), nb::arg("table_lines"), nb::arg("write"));
}
