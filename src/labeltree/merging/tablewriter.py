"""Tables of weights that are put together row by row, in a file if they are large."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.weighttable import State, WeightTable

MOST_IN_MEMORY = 2**27  # bytes of a table


class TableWriter:
    """Takes rows in rising order, and gives the table that they are.

    Parameters
    ----------
    lane, has_sums
        As of `WeightTable`.
    folder : str, optional
        Where a large table is written to a file, which is gone with the table. Without it tables
        stay in memory.
    """

    def __init__(self, lane: int, has_sums: bool, folder: str | None) -> None:
        self._lane = lane
        self._has_sums = has_sums
        self._folder = folder
        self._blocks: list[tuple[NDArray[Any], ...]] = []
        self._bytes = 0
        self._files: tuple[BinaryIO, ...] | None = None

    def write(self, number: NDArray[np.uint64], value: NDArray[np.float32]) -> None:
        """Take the next rows, if there are any."""
        if not len(number):
            return
        self._blocks.append((number, value))
        self._bytes += number.nbytes + value.nbytes
        if self._folder is not None and self._bytes > MOST_IN_MEMORY:
            self._flush(self._folder)

    def _flush(self, folder: str) -> None:
        if self._files is None:
            self._files = _new_file(folder), _new_file(folder)
        for block in self._blocks:
            for file, array in zip(self._files, block, strict=True):
                file.write(np.ascontiguousarray(array).data)
        self._blocks = []

    def table(self) -> WeightTable:
        """Return the table; nothing can be written any more."""
        if self._files is None:
            numbers = [number for number, _ in self._blocks]
            values = [value for _, value in self._blocks]
            number, value = (
                (numbers[0], values[0])
                if len(self._blocks) == 1
                else (
                    np.concatenate([np.zeros(0, np.uint64), *numbers]),
                    np.concatenate([np.zeros(0, np.float32), *values]),
                )
            )
        else:
            assert self._folder is not None
            self._flush(self._folder)
            number, value = (
                _mapped(file, kind)
                for file, kind in zip(self._files, (np.uint64, np.float32), strict=True)
            )
        self._blocks = []
        return WeightTable(number, value, self._lane, self._has_sums)


def _new_file(folder: str) -> BinaryIO:
    """Return a file without a name, which is gone when nobody has it open or mapped."""
    return tempfile.TemporaryFile(dir=folder, prefix="labeltree-")


def _mapped(file: BinaryIO, kind: Any) -> NDArray[Any]:
    with file:
        file.flush()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(pages, dtype=kind)


def in_files(arrays: State, folder: str | None, most: int | None = None) -> State:
    """Return the same arrays; if they are large they are in files, which are gone with them."""
    most = MOST_IN_MEMORY if most is None else most
    if folder is None or sum(array.nbytes for array in arrays.values()) <= most:
        return arrays
    return {name: _in_file(array, folder) for name, array in arrays.items()}


def _in_file(array: NDArray[Any], folder: str) -> NDArray[Any]:
    if not array.nbytes:
        return array
    file = _new_file(folder)
    file.write(np.ascontiguousarray(array).data)
    return _mapped(file, array.dtype)


def are_small(tables: Sequence[WeightTable]) -> bool:
    """Tell whether tables may be in memory together."""
    return sum(table.nbytes for table in tables) <= MOST_IN_MEMORY


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array is in a file."""
    return _map_of(array) is not None


def let_go(*tables: WeightTable) -> None:
    """Let what was read of the files of tables leave memory; it is read again when needed."""
    for table in tables:
        let_arrays_go((table.number, table.value))


def let_arrays_go(arrays: Iterable[NDArray[Any]]) -> None:
    """Do the same for arrays."""
    for array in arrays:
        found = _map_of(array)
        if found is not None:
            found.madvise(mmap.MADV_DONTNEED)


def _map_of(array: Any) -> mmap.mmap | None:
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array if isinstance(array, mmap.mmap) else None
