"""Texts that lie one after the other in memory, as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_SHOWN = 60  # characters of a value in a message


class Texts(Sequence[str]):
    """A sequence of texts: text i is the UTF-8 of ``data[offsets[i]:offsets[i + 1]]``.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes of all texts.
    offsets : ndarray of int64
        Where the texts begin, and the last ends.

    Examples
    --------
    >>> from labeltree.data import Texts
    >>> texts = Texts.of(["it purrs", "it barks", "it sings"])
    >>> texts[1], list(texts[1:])
    ('it barks', ['it barks', 'it sings'])
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, X: Any) -> Texts:
        """Return anything that holds texts: a list, an array, a column of pandas or of Arrow.

        What has Arrow's layout is not copied.

        Raises
        ------
        ValueError
            If X is not one-dimensional, or a value is no str.
        """
        if isinstance(X, Texts):
            return X
        if isinstance(X, str | bytes):
            raise ValueError("X is one text, expected a list of texts: give [text]")
        if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
            found = _from_arrow(X)
            if found is not None:
                return found
        shape = getattr(X, "shape", None)
        if shape is not None and len(shape) != 1:
            raise ValueError(
                f"X has shape {tuple(shape)}, expected one column of texts: give the column alone"
            )
        if not isinstance(X, Iterable) or isinstance(X, dict):
            raise ValueError(f"X is a {type(X).__name__}, expected a list or column of texts")
        return cls._encode(X.tolist() if hasattr(X, "tolist") else list(X))

    @classmethod
    def _encode(cls, values: list[Any]) -> Texts:
        try:
            encoded = [value.encode() for value in values]
            data = b"".join(encoded)
        except (AttributeError, TypeError, UnicodeEncodeError):
            _refuse(values)
            raise
        return cls(np.frombuffer(data, np.uint8), _ends([len(text) for text in encoded]))

    def __len__(self) -> int:
        return max(0, len(self.offsets) - 1)

    @property
    def shape(self) -> tuple[int]:
        """The number of texts, as of an array of them."""
        return (len(self),)

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice | NDArray[Any] | list[int]) -> Texts: ...
    def __getitem__(self, which: Any) -> str | Texts:
        """Return a text; or some of them, by a slice or an array of numbers."""
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                return Texts(self.data, self.offsets[start : max(start, stop) + 1])
            which = np.arange(start, stop, step)
        if isinstance(which, np.ndarray | list):
            return self._take(np.arange(len(self))[which])
        begin, end = self.offsets[:-1][which], self.offsets[1:][which]
        return self.data[begin:end].tobytes().decode(errors="replace")

    def _take(self, numbers: NDArray[np.intp]) -> Texts:
        begins, sizes = self.offsets[numbers], np.diff(self.offsets)[numbers]
        ends = _ends(sizes)
        at = np.arange(ends[-1]) + np.repeat(begins - ends[:-1], sizes)
        return Texts(self.data[at], ends)

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        size = int(self.offsets[-1] - self.offsets[0]) if len(self) else 0
        return f"<{len(self):,} texts of {size:,} bytes>"

    @staticmethod
    def join(parts: Sequence[Texts]) -> Texts:
        """Return the texts of several, one after the other."""
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts if len(part)]
        sizes = list(chain.from_iterable(np.diff(part.offsets).tolist() for part in parts))
        return Texts(np.concatenate([np.empty(0, np.uint8), *data]), _ends(sizes))


def _ends(sizes: Any) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _refuse(values: list[Any]) -> None:
    for row, value in enumerate(values):
        if not isinstance(value, str):
            shown = repr(value)[:_SHOWN]
            raise ValueError(
                f"row {row} of X is {shown}, of type {type(value).__name__}: expected a str; leave "
                "rows without text out, or give them an empty one"
            )
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"row {row} of X has {value[error.start]!r} at {error.start}, half of a character: "
                'expected text that UTF-8 can hold; try text.encode(errors="replace").decode()'
            ) from error


def _from_arrow(X: Any) -> Texts | None:
    """Return the texts of a column with Arrow's interface, None if pyarrow is not there to ask."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    try:
        column = pa.chunked_array(X) if hasattr(X, "__arrow_c_stream__") else pa.array(X)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ValueError(f"X cannot be read as an Arrow column: {error}") from error
    if pa.types.is_struct(column.type):
        fields = [column.type.field(i).name for i in range(column.type.num_fields)]
        raise ValueError(
            f"X is a table with the columns {', '.join(fields)}, expected the column of texts, as "
            f"X[{fields[0]!r}]"
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if isinstance(column, pa.ChunkedArray):
        if pa.types.is_string(column.type):  # whose offsets may be too small for all chunks
            column = column.cast(pa.large_string())
        column = column.combine_chunks()
    return from_arrow_column(column)


def from_arrow_column(column: Any) -> Texts:
    """Return the texts of an Arrow array, without a copy if its offsets are of 64 bits."""
    import pyarrow as pa

    if str(column.type) not in ("string", "large_string", "string_view"):
        raise ValueError(f"X is a column of {column.type}, expected one of strings")
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"row {row} of X is null: expected a text; leave rows without text out, or give them "
            "an empty one"
        )
    column = column.cast(pa.large_string())
    _, offsets, data = column.buffers()
    if not len(column):
        return Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Texts(content, bounds)
