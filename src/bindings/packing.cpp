// Arrays in fewer bytes, for files.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "arrays.hpp"
#include "ascending.hpp"
#include "bindings.hpp"
#include "nonzero.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

template <class T>
std::span<const T> span_of(const In<T>& array) {
  return {array.data(), array.shape(0)};
}

}  // namespace

void bind_packing(nb::module_& m) {
  m.def(
      "pack_ascending",
      [](In<std::uint64_t> numbers) {
        const auto bytes = pack_ascending(span_of(numbers));
        return copy_to_numpy(bytes.data(), bytes.size());
      },
      nb::arg("numbers"), "Rising numbers as bytes.");
  m.def(
      "unpack_ascending",
      [](In<std::uint8_t> bytes) {
        const auto numbers = unpack_ascending(span_of(bytes));
        return copy_to_numpy(numbers.data(), numbers.size());
      },
      nb::arg("bytes"), "The numbers that pack_ascending was given.");
  m.def(
      "pack_nonzero",
      [](In<float> numbers) {
        Nonzero packed;
        {
          const ReleasedGil released;
          packed = pack_nonzero(span_of(numbers));
        }
        return std::tuple(copy_to_numpy(packed.bits.data(), packed.bits.size()),
                          copy_to_numpy(packed.values.data(), packed.values.size()));
      },
      nb::arg("numbers"), "Which numbers are not zero, a bit each, and these numbers.");
  m.def(
      "unpack_nonzero",
      [](In<std::uint8_t> bits, In<float> values, std::size_t size) {
        if (bits.shape(0) != (size + 7) / 8) invalid("there are not as many bits as numbers");
        NewArray<float> numbers({size});
        {
          const ReleasedGil released;
          unpack_nonzero(span_of(bits), span_of(values), {numbers.data(), size});
        }
        return numbers.release();
      },
      nb::arg("bits"), nb::arg("values"), nb::arg("size"),
      "The numbers that pack_nonzero was given, which were so many.");
}
