"""Arrays that a task leaves to others: if they are large, in a file of the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltree.dask.memory import local_folder
from labeltree.merging.tablewriter import in_files, is_mapped, let_arrays_go
from labeltree.merging.weighttable import State


@dataclass(frozen=True)
class Parcel:
    """Named arrays that may be in files, which they are again where they are sent to.

    What was read of a file to be sent would count as memory of the worker as long as the file is
    there, so it is copied, and the copy is gone when it is sent.
    """

    arrays: State

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 1000 + sum(one.nbytes for one in self.arrays.values() if not is_mapped(one))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what the same arrays are made of at another worker."""
        in_file = any(is_mapped(one) for one in self.arrays.values())
        arrays = self.arrays
        if in_file:
            arrays = {name: np.array(one) for name, one in arrays.items()}
            let_arrays_go(self.arrays.values())
        return _received, (arrays, in_file)


def _received(arrays: State, in_file: bool) -> Parcel:
    return Parcel(in_files(arrays, local_folder(), most=0) if in_file else arrays)
