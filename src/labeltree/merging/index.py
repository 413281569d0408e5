"""The index of labels by features, of several label trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.weighttable import State


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
    slots, of_label, sums = [], [], []
    squares = np.zeros(labels)
    for state, own, sign in every:
        label = own[state["index_label"].astype(np.int64)]
        value = state["index_sum"].astype(np.float64)
        slots.append(np.repeat(state["index_slot"], state["index_size"]).astype(np.int64))
        of_label.append(label)
        sums.append(sign * value)
        left_out = -np.bincount(label, value**2, minlength=labels).astype(np.float64)
        left_out[own] += state["index_squared_norm"]
        squares += sign * np.maximum(left_out, 0)
    keys, place = np.unique(
        np.concatenate(slots) * labels + np.concatenate(of_label), return_inverse=True
    )
    total = np.bincount(place, np.concatenate(sums), minlength=len(keys))
    keys, total = keys[total > 0], total[total > 0]
    slot, label = keys // labels, keys % labels
    squares = np.maximum(squares, 0) + np.bincount(label, total**2, minlength=labels)
    typical = total * np.maximum(squares, 1e-12)[label] ** -0.375
    order = np.lexsort((-typical, slot))
    found, begin, size = np.unique(slot, return_index=True, return_counts=True)
    kept = order[np.arange(len(order)) - np.repeat(begin, size) < length]
    kept = np.sort(kept)  # of a feature in the order of its labels
    found, size = np.unique(slot[kept], return_counts=True)
    return {
        "index_label": label[kept].astype(np.uint32),
        "index_sum": total[kept].astype(np.float32),
        "index_slot": found.astype(np.uint32),
        "index_size": size.astype(np.uint32),
        "index_squared_norm": squares,
    }
