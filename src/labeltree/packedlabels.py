"""Labels as plain arrays: what model files hold, and what is read of them only when needed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
_INTEGER = re.compile("0|-?[1-9][0-9]{0,18}")


class PackedLabels:
    """Labels in the order of their ids.

    ``labels`` holds integers as they are; strings one after the other in UTF-8, of which
    ``labels_end`` tells where each ends; and any mixture as a JSON array.

    Examples
    --------
    >>> packed = PackedLabels.pack(["cat", "dog", "emu"])
    >>> packed.arrays["labels_end"]
    array([3, 6, 9])
    >>> packed.take(np.array([2, 0]))
    array(['emu', 'cat'], dtype=object)
    """

    def __init__(self, arrays: Arrays) -> None:
        """Check the arrays of a model file; strings themselves are read later."""
        self.arrays = {name: arrays[name] for name in ("labels", "labels_end") if name in arrays}
        if "labels" not in arrays:
            raise ValueError("the array labels is missing")
        labels = arrays["labels"]
        self._mixture: list[Any] | None = None
        self._end: NDArray[np.int64] | None = None
        if labels.dtype == np.int64 and labels.ndim == 1:
            self._length = len(labels)
        elif labels.dtype != np.uint8 or labels.ndim != 1:
            raise ValueError("the array labels is of the wrong type")
        elif "labels_end" in arrays:
            end = self._end = arrays["labels_end"]
            if end.dtype != np.int64 or end.ndim != 1:
                raise ValueError("the array labels_end is of the wrong type")
            last = end[-1] if len(end) else 0
            if last != len(labels) or np.any(end[1:] < end[:-1]) or (len(end) and end[0] < 0):
                raise ValueError("the array labels_end does not fit to the array labels")
            self._length = len(end)
        else:
            self._mixture = _parse_mixture(labels.tobytes())
            self._length = len(self._mixture)

    @classmethod
    def pack(cls, labels: Sequence[Any]) -> Self:
        """Make arrays of labels."""
        kinds = {type(label) for label in labels}
        if kinds == {int} and min(labels) >= -(2**63) and max(labels) < 2**63:
            return cls({"labels": np.array(labels, dtype=np.int64)})
        if kinds == {str}:
            texts = [label.encode("utf-8", "surrogatepass") for label in labels]
            end = np.cumsum([len(text) for text in texts], dtype=np.int64)
            return cls({"labels": np.frombuffer(b"".join(texts), np.uint8), "labels_end": end})
        return cls({"labels": np.frombuffer(json.dumps(labels).encode(), np.uint8)})

    def __len__(self) -> int:
        return self._length

    def check(self) -> None:
        """Read all labels of a model file; ValueError says what is wrong with them."""
        if self._mixture is None and self._end is None:
            labels = np.sort(self.arrays["labels"])
            twice = bool(np.any(labels[1:] == labels[:-1]))
        else:
            twice = len(set(self.tolist())) < self._length
        if twice:
            raise ValueError("it has one label twice")

    def tolist(self) -> list[Any]:
        """Return all labels."""
        if self._mixture is not None:
            return list(self._mixture)
        if self._end is None:
            return list(self.arrays["labels"].tolist())
        end = self._end.tolist()
        return self._strings([0, *end[:-1]], end)

    def take(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return the labels with these ids, in an array of their shape."""
        if self._mixture is not None:
            labels: NDArray[Any] = as_array(self._mixture)[ids]
            return labels
        if self._end is None:
            numbers: NDArray[Any] = self.arrays["labels"][ids]
            return numbers
        flat = ids.reshape(-1).astype(np.int64)
        begin = np.where(flat > 0, self._end[flat - 1], 0)
        texts = self._strings(begin.tolist(), self._end[flat].tolist())
        return object_array(texts).reshape(ids.shape)

    def pick(self, ids: Sequence[int]) -> list[Any]:
        """Return the labels with these ids: quicker than `take` for a few."""
        if self._mixture is not None:
            return [self._mixture[label] for label in ids]
        end = self._end
        if end is None:
            numbers = self.arrays["labels"]
            return [numbers.item(label) for label in ids]
        begin = [end.item(label - 1) if label > 0 else 0 for label in ids]
        return self._strings(begin, [end.item(label) for label in ids])

    def _strings(self, begin: Sequence[int], end: Sequence[int]) -> list[str]:
        text = self.arrays["labels"].data
        try:
            return [
                str(text[b:e], "utf-8", "surrogatepass") for b, e in zip(begin, end, strict=True)
            ]
        except UnicodeDecodeError as error:
            raise ValueError(f"a label of the model file is no UTF-8: {error}") from error


def _parse_mixture(text: bytes) -> list[Any]:
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the array labels is no JSON: {error}") from error
    if not isinstance(labels, list):
        raise ValueError(f"the array labels holds a {type(labels).__name__}, expected a list")
    for label in labels:
        if not isinstance(label, int | str) and not (
            isinstance(label, float) and label.is_integer()
        ):
            raise ValueError(f"a label is a {type(label).__name__}, expected an int or a str")
    return labels


def as_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels as numbers if they are all of one kind of number, else as objects."""
    kinds = {type(label) for label in labels}
    if kinds not in ({int}, {bool}, {float}):
        return object_array(labels)
    array = np.array(labels)
    exact = array.dtype.kind in "bi" or kinds == {float}  # larger ints would become floats
    return array if exact else object_array(labels)


def as_integer(label: Any) -> Any:
    """Return a label as an integer if it is a string that is written as one in shortest form."""
    if isinstance(label, str) and _INTEGER.fullmatch(label):
        number = int(label)
        return number if -(2**63) <= number < 2**63 else label
    return label


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return a 1-d array of any objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
