"""The index of labels by features, of several label trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.weighttable import State, union

_AT_ONCE = 2**20  # entries that are added up together


def add(
    states: Sequence[State],
    base: State | None,
    ids: Sequence[NDArray[np.int64]],
    labels: int,
    length: int,
) -> State:
    """Add up the centroids of labels, and keep of each feature those it is most typical of.

    Each index has only the largest entries of its centroids; of what it left out only the
    length is known, so that the length of a sum is that of what is kept, and of what is left out
    of each.
    """
    indexes = [_Index(state, own, 1) for state, own in zip(states, ids, strict=True)]
    if base is not None:
        indexes.append(_Index(base, ids[0], 1 - len(states)))
    ends = list(pairwise(_ends(indexes)))
    squares = _squares(indexes, ends, labels)
    weight = np.maximum(squares, 1e-12) ** -0.375
    most = sum(len(one.slot) * length for one in indexes)
    every = min(most, sum(int(one.end[-1]) for one in indexes))
    kept_label, kept_total = np.empty(every, np.uint32), np.empty(every, np.float32)
    slots, sizes, used = [], [], 0
    for begin, end in ends:
        slot, label, total = _most_typical(*_total(indexes, begin, end, labels), weight, length)
        found, size = np.unique(slot, return_counts=True)
        slots.append(found.astype(np.uint32))
        sizes.append(size.astype(np.uint32))
        kept_label[used : used + len(label)] = label
        kept_total[used : used + len(label)] = total
        used += len(label)
    return {
        "index_label": kept_label[:used],
        "index_sum": kept_total[:used],
        "index_slot": np.concatenate(slots),
        "index_size": np.concatenate(sizes),
        "index_squared_norm": squares,
    }


def _squares(
    indexes: Sequence[_Index], ends: Sequence[tuple[int, int]], labels: int
) -> NDArray[np.float64]:
    """Return the squared length of the sum of each label."""
    squares = np.zeros(labels)
    left_out = [one.squares(labels) for one in indexes]
    for begin, end in ends:
        for one, left in zip(indexes, left_out, strict=True):
            _, label, value = one.entries(begin, end)
            left -= np.bincount(label, value**2, minlength=labels)
        _, label, total = _total(indexes, begin, end, labels)
        squares += np.bincount(label, total**2, minlength=labels)
    every = sum(one.sign * np.maximum(left, 0) for one, left in zip(indexes, left_out, strict=True))
    return squares + np.maximum(every, 0)


class _Index:
    """What one model has, and how often it counts: the entries of each feature, one by one."""

    def __init__(self, state: State, ids: NDArray[np.int64], sign: int) -> None:
        self.slot = state["index_slot"]
        self.size = state["index_size"]
        self.end = np.concatenate([[0], np.cumsum(self.size, dtype=np.int64)])
        self.sign = sign
        self._state, self._ids = state, ids

    def squares(self, labels: int) -> NDArray[np.float64]:
        """Return the squared lengths of centroids."""
        squares = np.zeros(labels)
        squares[self._ids] = self._state["index_squared_norm"]
        return squares

    def entries(
        self, begin: int, end: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return features from one to below another, labels, and values."""
        first, last = np.searchsorted(self.slot, [begin, end]).tolist()
        own = slice(self.end[first], self.end[last])
        slot = np.repeat(self.slot[first:last], self.size[first:last]).astype(np.int64)
        label = self._ids[self._state["index_label"][own].astype(np.int64)]
        return slot, label, self._state["index_sum"][own].astype(np.float64)


def _ends(indexes: Sequence[_Index]) -> list[int]:
    """Return between which features there are so few entries that they take little memory."""
    slots = union([one.slot for one in indexes])
    entries = np.zeros(len(slots), dtype=np.int64)
    for one in indexes:
        entries[np.searchsorted(slots, one.slot)] += one.size
    piece = np.cumsum(entries) // _AT_ONCE
    ends = slots[1:][piece[1:] != piece[:-1]].tolist()
    return [0, *ends, 2**33]


def _total(
    indexes: Sequence[_Index], begin: int, end: int, labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return features, labels and the sums of all, where they are positive."""
    keys, values = [], []
    for one in indexes:
        slot, label, value = one.entries(begin, end)
        keys.append(slot * labels + label)
        values.append(one.sign * value)
    key, value = np.concatenate(keys), np.concatenate(values)
    order = np.argsort(key, kind="stable")  # quick where much is in order
    key = key[order]
    new = np.flatnonzero(np.diff(key, prepend=-1))
    total = np.add.reduceat(value[order], new) if len(new) else np.zeros(0)
    key, total = key[new][total > 0], total[total > 0]
    return key // labels, key % labels, total


def _most_typical(
    slot: NDArray[np.int64],
    label: NDArray[np.int64],
    total: NDArray[np.float64],
    weight: NDArray[np.float64],
    length: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
    """Return what a feature keeps, in the order of its labels."""
    _, place, size = np.unique(slot, return_inverse=True, return_counts=True)
    kept = size[place] <= length
    long = np.flatnonzero(~kept)  # few features have more than they may keep
    order = long[np.lexsort((-total[long] * weight[label[long]], slot[long]))]
    sizes = size[size > length]
    ranks = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept[order[ranks < length]] = True
    return slot[kept], label[kept].astype(np.uint32), total[kept].astype(np.float32)
