// The extension module labeltree._core: each noun of the core is bound in a file of its own.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of labeltree. Private: use the classes and functions of labeltree.";
  nb::set_leak_warnings(false);  // daemon threads hold what they have when a program ends
  bind_matrix(m);
  bind_bank(m);
  bind_learner(m);
  bind_ldsm(m);
  bind_lock(m);
  bind_one_against_all(m);
  bind_merging(m);
  bind_packing(m);
  bind_text(m);
  bind_tree(m);
#ifdef LABELTREE_TRACE
  bind_trace(m);
#endif
}
