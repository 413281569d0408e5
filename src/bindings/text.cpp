// Binds the text readers of core/text.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <stdexcept>

#include "bindings.hpp"
#include "signals.hpp"
#include "text/annif.hpp"
#include "text/fasttext.hpp"
#include "text/features.hpp"
#include "text/names.hpp"
#include "text/plain.hpp"
#include "text/reader.hpp"
#include "text/svmlight.hpp"
#include "text/tsv.hpp"
#include "text/vw.hpp"
#include "text/xmc.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace labeltree::text {
namespace {

// The bytes of anything that has a buffer, for as long as this lives.
class BytesView {
 public:
  explicit BytesView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  BytesView(const BytesView&) = delete;
  BytesView& operator=(const BytesView&) = delete;
  ~BytesView() { PyBuffer_Release(&view_); }
  std::string_view bytes() const {
    return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(Buffer<T>& buffer) {
  if (buffer.data() == nullptr) buffer.reserve(1);  // an array of no values still needs an address
  const std::size_t size = buffer.size();
  T* const data = buffer.release();
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

nb::tuple take(Reader& reader) {
  Batch batch = reader.take();
  return nb::make_tuple(to_numpy(batch.row_offsets), to_numpy(batch.indices), to_numpy(batch.values),
                        to_numpy(batch.label_offsets), to_numpy(batch.label_ids),
                        to_numpy(batch.weights));
}

nb::tuple take_texts(Reader& reader) {
  Batch batch = reader.take();
  return nb::make_tuple(to_numpy(batch.text), to_numpy(batch.text_offsets),
                        to_numpy(batch.label_offsets), to_numpy(batch.label_ids),
                        to_numpy(batch.weights));
}

nb::list new_labels(const Reader& reader, std::size_t start) {
  const Labels& labels = reader.rows().labels();
  nb::list names;
  for (std::size_t id = start; id < labels.size(); ++id) {
    const std::string& name = labels.name(id);
    if (labels.is_integer(id)) {
      std::int64_t value = 0;
      std::from_chars(name.data(), name.data() + name.size(), value);
      names.append(value);
    } else {
      names.append(nb::str(name.data(), name.size()));
    }
  }
  return names;
}

std::size_t feed(Reader& reader, nb::handle data, std::size_t start) {
  const BytesView view(data);
  const std::string_view bytes = view.bytes();
  if (start > bytes.size()) throw std::out_of_range("start is beyond the end of the data");
  const ReleasedGil released;
  return start + reader.feed(bytes.substr(start));
}

// Texts that lie one after the other: text i is data[offsets[i] .. offsets[i + 1] - 1].
class TextsView {
 public:
  TextsView(nb::handle data, In<std::int64_t> offsets) : view_(data), offsets_(offsets) {
    const std::string_view bytes = view_.bytes();
    for (std::size_t i = 0; i < offsets_.shape(0); ++i) {
      // As unsigned numbers negative ones are too large, and are caught with them.
      const auto at = static_cast<std::size_t>(offsets_.data()[i]);
      const auto before = i == 0 ? 0 : static_cast<std::size_t>(offsets_.data()[i - 1]);
      if (at > bytes.size() || at < before) invalid("text offsets must ascend inside the data");
    }
  }
  std::size_t size() const { return offsets_.shape(0) == 0 ? 0 : offsets_.shape(0) - 1; }
  std::string_view operator[](std::size_t i) const {
    const std::int64_t start = offsets_.data()[i];
    return view_.bytes().substr(static_cast<std::size_t>(start),
                                static_cast<std::size_t>(offsets_.data()[i + 1] - start));
  }

 private:
  BytesView view_;
  In<std::int64_t> offsets_;
};

// The rows of texts; those whose `counted` is not zero are counted, each after it was weighed.
nb::tuple text_rows(TextFeatures& features, nb::handle data, In<std::int64_t> offsets,
                    std::optional<In<std::uint8_t>> counted, std::shared_ptr<FeatureNames> names) {
  const TextsView texts(data, offsets);
  if (counted && counted->shape(0) != texts.size()) invalid("there must be a mark for each text");
  Rows rows(LabelRule::text, std::move(names));
  {
    const ReleasedGil released;
    TextFeatures::Scratch scratch(features);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (counted && counted->data()[i] != 0) {
        features.learn(texts[i], scratch, rows);
      } else {
        features.weigh(texts[i], scratch, rows);
      }
    }
  }
  Batch batch = rows.take();
  return nb::make_tuple(to_numpy(batch.row_offsets), to_numpy(batch.indices), to_numpy(batch.values));
}

void forget_texts(TextFeatures& features, nb::handle data, In<std::int64_t> offsets) {
  const TextsView texts(data, offsets);
  const ReleasedGil released;
  TextFeatures::Scratch scratch(features);
  for (std::size_t i = 0; i < texts.size(); ++i) features.forget(texts[i], scratch);
}

nb::tuple counts_to_arrays(const TextFeatures& features) {
  std::vector<std::uint32_t> places, counts;
  if (features.counts() != nullptr) features.counts()->used(places, counts);
  return nb::make_tuple(copy_to_numpy(places.data(), places.size()),
                        copy_to_numpy(counts.data(), counts.size()));
}

void extend_names(FeatureNames& names, In<std::uint32_t> indices, In<std::uint8_t> text) {
  std::string_view rest(reinterpret_cast<const char*>(text.data()), text.shape(0));
  std::vector<NamedFeature> features;
  for (std::size_t i = 0; i < indices.shape(0); ++i) {
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) invalid("there are more features than names of them");
    features.push_back({indices.data()[i], {}, rest.substr(0, newline)});
    rest.remove_prefix(newline + 1);
  }
  if (!rest.empty()) invalid("there are more names than features");
  names.add(features);
}

nb::tuple names_to_arrays(const FeatureNames& names) {
  const auto [indices, text] = names.all();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return nb::make_tuple(copy_to_numpy(indices.data(), indices.size()),
                        copy_to_numpy(bytes, text.size()));
}

nb::dict names_to_dict(const FeatureNames& names) {
  const auto [indices, text] = names.all();
  nb::dict found;
  std::string_view rest = text;
  for (const std::uint32_t index : indices) {
    const std::size_t newline = rest.find('\n');
    // Names of Vowpal Wabbit text may be any bytes.
    found[nb::int_(index)] = nb::steal(
        PyUnicode_DecodeUTF8(rest.data(), static_cast<Py_ssize_t>(newline), "replace"));
    rest.remove_prefix(newline + 1);
  }
  return found;
}

}  // namespace
}  // namespace labeltree::text

void bind_text(nb::module_& m) {
  using namespace labeltree::text;
  using Features = std::optional<std::uint64_t>;
  using Names = std::shared_ptr<FeatureNames>;

  nb::class_<ReaderLimits>(m, "ReaderLimits")
      .def(nb::init<std::size_t, std::size_t, bool>(), "batch_rows"_a, "max_line"_a, "skip_bad_lines"_a);

  nb::class_<NgramOptions>(m, "NgramOptions")
      .def(
          "__init__",
          [](NgramOptions* self, unsigned word_ngrams, std::pair<unsigned, unsigned> char_ngrams,
             bool lowercase, unsigned hash_bits) {
            new (self)
                NgramOptions{word_ngrams, char_ngrams.first, char_ngrams.second, lowercase, hash_bits};
          },
          "word_ngrams"_a, "char_ngrams"_a, "lowercase"_a, "hash_bits"_a);

  nb::class_<FeatureNames>(m, "FeatureNames",
                           "The first name of each of the first `limit` hashed features met.")
      .def(nb::init<std::size_t>(), "limit"_a = 1'000'000)
      .def_prop_ro("limit", &FeatureNames::limit)
      .def("__len__", &FeatureNames::size)
      .def("extend", &extend_names, "indices"_a, "names"_a,
           nb::sig("def extend(self, indices: numpy.typing.NDArray[numpy.uint32], "
                   "names: numpy.typing.NDArray[numpy.uint8]) -> None"),
           "Add what `arrays` returned.")
      .def("arrays", &names_to_arrays,
           nb::sig("def arrays(self) -> tuple[numpy.typing.NDArray[numpy.uint32], "
                   "numpy.typing.NDArray[numpy.uint8]]"),
           "The features as they were met, and their names in UTF-8, each ended by a newline.")
      .def("to_dict", &names_to_dict, nb::sig("def to_dict(self) -> dict[int, str]"),
           "The names by the features' indices.");

  nb::class_<Reader>(m, "TextReader")
      .def_static(
          "svmlight",
          [](ReaderLimits limits, Features n_features) {
            return new Reader(std::make_unique<SvmlightParser>(n_features), limits);
          },
          "limits"_a, "n_features"_a.none())
      .def_static(
          "xmc",
          [](ReaderLimits limits, Features n_features) {
            return new Reader(std::make_unique<XmcParser>(n_features), limits);
          },
          "limits"_a, "n_features"_a.none())
      .def_static(
          "vw",
          [](ReaderLimits limits, unsigned hash_bits, Names names) {
            return new Reader(std::make_unique<VwParser>(hash_bits), limits, std::move(names));
          },
          "limits"_a, "hash_bits"_a, "names"_a.none())
      .def_static(
          "tsv",
          [](ReaderLimits limits, std::optional<char> label_separator) {
            return new Reader(std::make_unique<TsvParser>(label_separator), limits);
          },
          "limits"_a, "label_separator"_a.none())
      .def_static(
          "fasttext",
          [](ReaderLimits limits, std::string label_prefix) {
            return new Reader(std::make_unique<FastTextParser>(std::move(label_prefix)), limits);
          },
          "limits"_a, "label_prefix"_a)
      .def_static(
          "annif",
          [](ReaderLimits limits) { return new Reader(std::make_unique<AnnifParser>(), limits); },
          "limits"_a)
      .def_static(
          "plain",
          [](ReaderLimits limits) { return new Reader(std::make_unique<PlainParser>(), limits); },
          "limits"_a)
      .def("start_file", &Reader::start_file)
      .def("feed", &feed, "data"_a, "start"_a = 0,
           nb::sig("def feed(self, data: bytes | bytearray | memoryview, start: int = 0) -> int"),
           "Parse from `start`; returns where parsing stopped: at the end, or earlier if the batch is "
           "full or a line is bad.")
      .def("finish_file", &Reader::finish_file, "cut"_a = false,
           nb::call_guard<ReleasedGil>(),
           "Parse the last line, and check what only the end of a file tells; one that may be cut can "
           "have fewer rows than it announces.")
      .def_prop_ro("missing", &Reader::missing,
                   "How many more rows the file has announced than it has had.")
      .def("take", &take,
           nb::sig("def take(self) -> tuple[numpy.typing.NDArray[numpy.int64], "
                   "numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float32], "
                   "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint32], "
                   "numpy.typing.NDArray[numpy.float32]]"),
           "The finished rows: row offsets, indices, values, label offsets, label ids, weights.")
      .def("take_texts", &take_texts,
           nb::sig("def take_texts(self) -> tuple[numpy.typing.NDArray[numpy.uint8], "
                   "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], "
                   "numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float32]]"),
           "The finished rows of a format of text: text, its offsets, label offsets, label ids, "
           "weights.")
      .def("new_labels", &new_labels, "start"_a,
           nb::sig("def new_labels(self, start: int) -> list[int | str]"),
           "The labels with ids from `start` up.")
      .def("forget_labels", &Reader::forget_labels,
           "Let ids begin anew with the next row; all rows must have been taken.")
      .def("take_bad_lines",
           [](Reader& reader) {
             nb::list lines;
             for (const BadLine& bad : reader.take_bad_lines()) {
               lines.append(nb::make_tuple(bad.line, bad.message));
             }
             return lines;
           },
           nb::sig("def take_bad_lines(self) -> list[tuple[int, str]]"))
      .def_prop_ro(
          "error",
          [](const Reader& reader) -> std::optional<std::pair<std::uint64_t, std::string>> {
            if (!reader.error()) return std::nullopt;
            return std::pair{reader.error()->line, reader.error()->message};
          },
          "The line, 0 for the whole file, and the message, once reading had to stop.")
      .def_prop_ro("rows", [](const Reader& reader) { return reader.rows().size(); })
      .def_prop_ro("full", &Reader::full)
      .def_prop_ro("lines", &Reader::lines)
      .def_prop_ro("bad_count", &Reader::bad_count)
      .def_prop_ro("n_features", &Reader::n_features);

  nb::class_<TextFeatures>(m, "TextFeatures", "Text to weighted rows.")
      .def(nb::init<const NgramOptions&, bool>(), "options"_a, "idf"_a)
      .def("rows", &text_rows, "data"_a, "offsets"_a, "counted"_a.none() = nb::none(),
           "names"_a.none() = nb::none(),
           nb::sig("def rows(self, data: bytes | bytearray | memoryview | numpy.typing.NDArray[Any], "
                   "offsets: numpy.typing.NDArray[numpy.int64], "
                   "counted: numpy.typing.NDArray[numpy.uint8] | None = None, "
                   "names: FeatureNames | None = None) -> "
                   "tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint32], "
                   "numpy.typing.NDArray[numpy.float32]]"),
           "The CSR rows of texts that lie one after the other; those marked are counted.")
      .def("forget", &forget_texts, "data"_a, "offsets"_a,
           nb::sig("def forget(self, data: bytes | bytearray | memoryview | "
                   "numpy.typing.NDArray[Any], offsets: numpy.typing.NDArray[numpy.int64]) -> None"),
           "Take texts that were counted out of the counts again.")
      .def_prop_ro("documents",
                   [](const TextFeatures& features) {
                     return features.counts() == nullptr ? 0 : features.counts()->documents();
                   })
      .def("counts", &counts_to_arrays,
           nb::sig("def counts(self) -> tuple[numpy.typing.NDArray[numpy.uint32], "
                   "numpy.typing.NDArray[numpy.uint32]]"),
           "The places of features that were counted, and in how many documents they were.")
      .def(
          "add_counts",
          [](TextFeatures& features, std::uint64_t documents, In<std::uint32_t> places,
             In<std::uint32_t> counts) {
            if (features.counts() == nullptr) invalid("features without idf have no counts");
            features.counts()->add(documents, {places.data(), places.shape(0)},
                                   {counts.data(), counts.shape(0)});
          },
          "documents"_a, "places"_a, "counts"_a, "Add what `counts` returned.");
}
