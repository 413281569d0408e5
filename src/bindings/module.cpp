// The extension module labeltree._core: each noun of the core is bound in a file of its own.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_text(nb::module_& m);

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of labeltree. Private: use the classes and functions of labeltree.";
  bind_text(m);
}
