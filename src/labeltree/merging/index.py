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
    every = [(state, own, 1) for state, own in zip(states, ids, strict=True)]
    if base is not None:
        every.append((base, ids[0], 1 - len(states)))
    squares = np.zeros(labels)
    for state, own, sign in every:
        label = own[state["index_label"].astype(np.int64)]
        squared = state["index_sum"].astype(np.float64) ** 2
        left_out = -np.bincount(label, squared, minlength=labels).astype(np.float64)
        left_out[own] += state["index_squared_norm"]
        squares += sign * np.maximum(left_out, 0)
    squares = np.maximum(squares, 0)
    indexes = [_Index(state, own, sign) for state, own, sign in every]
    slots = union([state["index_slot"] for state, _, _ in every])
    ends = _ends(indexes, slots)
    for begin, end in pairwise(ends):
        _, label, total = _total(indexes, begin, end, labels)
        squares += np.bincount(label, total**2, minlength=labels)
    weight = np.maximum(squares, 1e-12) ** -0.375
    kept = [
        _most_typical(*_total(indexes, *ends, labels), weight, length) for ends in pairwise(ends)
    ]
    slot, label, total = (np.concatenate(each) for each in zip(*kept, strict=True))
    found, size = np.unique(slot, return_counts=True)
    return {
        "index_label": label,
        "index_sum": total,
        "index_slot": found.astype(np.uint32),
        "index_size": size.astype(np.uint32),
        "index_squared_norm": squares,
    }


class _Index:
    """What one model has, and how often it counts: the entries of each feature, one by one."""

    def __init__(self, state: State, ids: NDArray[np.int64], sign: int) -> None:
        self.slot = state["index_slot"]
        self.size = state["index_size"]
        self.end = np.concatenate([[0], np.cumsum(self.size, dtype=np.int64)])
        self._state, self._ids, self._sign = state, ids, sign

    def entries(
        self, begin: int, end: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return features from one to below another, labels, and sums."""
        first, last = np.searchsorted(self.slot, [begin, end]).tolist()
        own = slice(self.end[first], self.end[last])
        slot = np.repeat(self.slot[first:last], self.size[first:last]).astype(np.int64)
        label = self._ids[self._state["index_label"][own].astype(np.int64)]
        return slot, label, self._sign * self._state["index_sum"][own].astype(np.float64)


def _ends(indexes: Sequence[_Index], slots: NDArray[np.uint64]) -> list[int]:
    """Return between which features there are so few entries that they take little memory."""
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
    slot, label, value = (
        np.concatenate(each)
        for each in zip(*(one.entries(begin, end) for one in indexes), strict=True)
    )
    key = slot * labels + label
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
    order = np.lexsort((-total * weight[label], slot))
    _, begin, size = np.unique(slot, return_index=True, return_counts=True)
    kept = np.sort(order[np.arange(len(order)) - np.repeat(begin, size) < length])
    return slot[kept], label[kept].astype(np.uint32), total[kept].astype(np.float32)
