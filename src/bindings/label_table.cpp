// Tables of labels, and how they grow together with a learner.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "label_table.hpp"
#include "learner.hpp"
#include "model_lock.hpp"

using namespace labeltree;

namespace {

using Labels = nb::typed<nb::list, nb::any>;

// A label as a table may hold it: an int of 64 bits, or a str that has a form in UTF-8. Others stand for no
// such label, though a bool or a float may be equal to one.
struct Read {
  std::optional<std::int64_t> integer;
  std::optional<std::string_view> text;
  bool exact = false;  // the label itself, not one that is equal to it
};

Read read(nb::handle label) {
  Read out;
  if (PyUnicode_Check(label.ptr())) {
    Py_ssize_t size;
    const char* data = PyUnicode_AsUTF8AndSize(label.ptr(), &size);
    if (data == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
      PyErr_Clear();
      return out;
    }
    out.text = std::string_view(data, static_cast<std::size_t>(size));
    out.exact = PyUnicode_CheckExact(label.ptr());
    return out;
  }
  if (PyFloat_Check(label.ptr())) {
    const double value = PyFloat_AsDouble(label.ptr());
    if (!(value >= -9.2e18 && value <= 9.2e18) || value != static_cast<double>(static_cast<std::int64_t>(value))) {
      return out;
    }
    out.integer = static_cast<std::int64_t>(value);
    return out;
  }
  if (!PyLong_Check(label.ptr())) return out;
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(label.ptr(), &overflow);
  if (overflow != 0) return out;
  out.integer = value;
  out.exact = PyLong_CheckExact(label.ptr());
  return out;
}

std::uint32_t find(const LabelTable& table, nb::handle label) {
  const Read given = read(label);
  if (given.integer) return table.find(*given.integer);
  if (given.text) return table.find(*given.text);
  return LabelTable::unknown;
}

nb::ndarray<nb::numpy, std::int64_t> ids(const LabelTable& table, const Labels& labels) {
  NewArray<std::int64_t> out({labels.size()});
  std::int64_t* next = out.data();
  for (const nb::handle label : labels) {
    const std::uint32_t id = find(table, label);
    *next++ = id == LabelTable::unknown ? -1 : std::int64_t{id};
  }
  return out.release();
}

bool takes(const LabelTable& table, const Labels& labels) {
  LabelTable::Kind kind = table.kind();
  for (const nb::handle label : labels) {
    const Read given = read(label);
    if (!given.exact) return false;
    const LabelTable::Kind own = given.integer ? LabelTable::Kind::integers : LabelTable::Kind::texts;
    if (kind != LabelTable::Kind::none && kind != own) return false;
    kind = own;
  }
  return true;
}

nb::object label(const LabelTable& table, std::size_t id) {
  if (id >= table.size()) throw nb::index_error("there is no label with this id");
  if (table.kind() == LabelTable::Kind::integers) return nb::int_(table.integer(id));
  const std::string_view text = table.text(id);
  return nb::str(text.data(), text.size());
}

Labels pick(const LabelTable& table, const std::vector<std::size_t>& wanted) {
  nb::list out;
  for (const std::size_t id : wanted) out.append(label(table, id));
  return nb::cast<Labels>(out);
}

Labels all(const LabelTable& table) {
  nb::list out;
  for (std::size_t id = 0; id < table.size(); ++id) out.append(label(table, id));
  return nb::cast<Labels>(out);
}

LabelTable without(const LabelTable& table, In<std::uint32_t> gone) {
  std::vector<bool> marked(table.size(), false);
  for (std::size_t i = 0; i < gone.shape(0); ++i) {
    if (gone.data()[i] >= marked.size()) throw nb::index_error("there is no label with this id");
    marked[gone.data()[i]] = true;
  }
  return table.without(marked);
}

State arrays(const LabelTable& table) {
  State out;
  if (table.kind() == LabelTable::Kind::integers) {
    out["labels"] = copy_to_numpy(table.integers().data(), table.size());
  } else if (table.kind() == LabelTable::Kind::texts) {
    out["labels"] = copy_to_numpy(reinterpret_cast<const std::uint8_t*>(table.bytes().data()),
                                  table.bytes().size());
    NewArray<std::int64_t> ends({table.size()});
    std::copy(table.ends().begin(), table.ends().end(), ends.data());
    out["labels_end"] = ends.release();
  }
  return out;
}

// Gives labels the next ids in a table, and makes room for them in a learner: all or none of it, since
// nothing of Python can come between.
void add_labels(Learner& self, LabelTable& table, const Labels& labels) {
  Changing lock(self.lock());
  require_unfrozen(self.bank().params());
  const std::size_t before = self.labels();
  if (table.size() != before) {
    invalid("there are " + std::to_string(table.size()) + " ids, but the model has " +
            std::to_string(before) + " labels");
  }
  if (!takes(table, labels)) invalid("a label is of another kind than the table's");
  try {
    for (const nb::handle label : labels) {
      if (find(table, label) != LabelTable::unknown) invalid("a label is there already");
      const Read given = read(label);
      given.integer ? table.add(*given.integer) : table.add(*given.text);
    }
    self.resize(table.size());
  } catch (...) {
    table.truncate(before);
    throw;
  }
}

}  // namespace

void bind_label_table(nb::module_& m, nb::class_<Learner>& learner) {
  nb::class_<LabelTable>(m, "LabelTable", "Labels, all integers or all texts, and their ids.")
      .def(nb::init<>())
      .def("__init__",
           [](LabelTable* self, const Labels& labels) {
             new (self) LabelTable();
             if (!takes(*self, labels)) invalid("labels are not of one kind");
             for (const nb::handle label : labels) {
               if (find(*self, label) != LabelTable::unknown) invalid("a label is there twice");
               const Read given = read(label);
               given.integer ? self->add(*given.integer) : self->add(*given.text);
             }
           },
           nb::arg("labels"))
      .def("__len__", &LabelTable::size)
      .def("takes", &takes, nb::arg("labels"), "Whether labels are of the table's kind.")
      .def("ids", &ids, nb::arg("labels"), "The ids of labels, -1 for those that are not there.")
      .def("pick", &pick, nb::arg("ids"), "The labels with these ids.")
      .def("tolist", &all, "All labels, in the order of their ids.")
      .def("without", &without, nb::arg("ids"), "A table without some of the labels.")
      .def("copy", [](const LabelTable& self) { return self; })
      .def("arrays", &arrays, "The labels as a model file has them; nothing, if there are none.")
      .def_prop_ro("nbytes", &LabelTable::memory);
  learner.def("add_labels", &add_labels, nb::arg("table"), nb::arg("labels"),
              "Give labels the next ids in a table and make room for them: all or none of it.");
}
