// The lock of a model, as two context managers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bindings.hpp"
#include "model_lock.hpp"

using namespace labeltree;

namespace {

struct LockUse {
  std::shared_ptr<FairLock> lock;
  FairLock::Use use;
};

}  // namespace

void bind_lock(nb::module_& m) {
  nb::class_<LockUse>(m, "LockUse", "Holds a lock in a with statement.")
      .def("__enter__", [](LockUse& self) { acquire(*self.lock, self.use); })
      .def(
          "__exit__", [](LockUse& self, nb::handle, nb::handle, nb::handle) { self.lock->unlock(); },
          nb::arg().none(), nb::arg().none(), nb::arg().none());
  nb::class_<FairLock>(m, "Lock", "Many threads read a model, or one changes it, in turn.")
      .def(nb::init<>())
      .def_prop_ro("reading",
                   [](std::shared_ptr<FairLock> lock) {
                     return LockUse{std::move(lock), FairLock::Use::read};
                   })
      .def_prop_ro("changing",
                   [](std::shared_ptr<FairLock> lock) {
                     return LockUse{std::move(lock), FairLock::Use::write};
                   })
      .def("condemn", &FairLock::condemn, nb::arg("why"), "Let nobody have it from now on.")
      .def_prop_ro("condemned", &FairLock::condemned);
}
