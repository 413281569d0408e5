"""Tables of weights as model files hold them: without their zeros, and rounded if one likes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree import _core

Arrays = Mapping[str, NDArray[Any]]

_ROW, _NONZERO = "_row", "_nonzero"  # how the names of a table's other arrays end


def pack(arrays: Arrays, *, exact: bool) -> dict[str, NDArray[Any]]:
    """Return arrays whose tables are packed; if not `exact`, numbers are rounded to bfloat16.

    A table `name` has, in a learner's state, the rows that are not all zero, one after the other,
    and their numbers in `name_row`. Packed, row numbers are bytes; and rows that may have zeros
    have a bit for each number, whether it is another, in `name_nonzero`, and only these others.
    """
    packed = dict(arrays)
    for name in _tables(arrays, np.uint64):
        rows, numbers = arrays[name + _ROW], arrays[name]
        packed[name + _ROW] = _core.pack_ascending(rows)
        if len(rows) == 0 or len(numbers) // len(rows) % 8:  # of one number, which is not zero
            continue
        packed[name + _NONZERO], kept = _core.pack_nonzero(numbers)
        packed[name] = kept if exact else _to_bfloat16(kept)
    return packed


def unpack(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` was given; files of before had them as they are."""
    plain = dict(arrays)
    for name in _tables(arrays, np.uint8):
        plain[name + _ROW] = _core.unpack_ascending(_list(arrays, name + _ROW, np.uint8))
        if name + _NONZERO not in arrays:
            continue
        bits = _list(arrays, name + _NONZERO, np.uint8)
        kept = _list(arrays, name, np.float32, np.uint16)
        kept = kept if kept.dtype == np.float32 else _from_bfloat16(kept)
        plain[name] = _core.unpack_nonzero(bits, kept, 8 * len(bits))
        del plain[name + _NONZERO]
    return plain


def _list(arrays: Arrays, name: str, *types: type) -> NDArray[Any]:
    if arrays[name].ndim != 1 or arrays[name].dtype not in types:
        raise ValueError(f"the saved array {name} has the wrong type or shape")
    return arrays[name]


def _tables(arrays: Arrays, row_type: type) -> list[str]:
    ends = [name for name in arrays if name.endswith(_ROW) and arrays[name].dtype == row_type]
    return [end.removesuffix(_ROW) for end in ends if end.removesuffix(_ROW) in arrays]


def _to_bfloat16(numbers: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round finite numbers to the nearest; of two equally near, to that with an even last bit."""
    bits = numbers.view(np.uint32)
    return ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(np.uint16)


def _from_bfloat16(numbers: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (numbers.astype(np.uint32) << 16).view(np.float32)
