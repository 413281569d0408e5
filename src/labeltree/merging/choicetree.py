"""A tree of eight-way choices whose labels get other ids, and that takes labels it lacks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.weighttable import State

WIDTH = 8
NONE = 2**32 - 1


class ChoiceTree:
    """The shape of a tree, to which leaves can be added.

    Parameters
    ----------
    state : dict
        Of a learner.
    prefix : str
        How the names of the tree's arrays begin.
    ids : array of int
        The new ids of its labels.
    """

    def __init__(self, state: State, prefix: str, ids: NDArray[np.int64]) -> None:
        label = state[f"{prefix}label"].astype(np.int64)
        leaf = label != NONE
        label[leaf] = ids[label[leaf]]
        self.random = state[f"{prefix}random"]
        self.label: list[int] = label.tolist()
        self.place: list[int] = state[f"{prefix}place"].tolist()
        self.child: list[list[int]] = state[f"{prefix}child"].reshape(-1, WIDTH).tolist()
        self.block: list[int] = state[f"{prefix}block"].tolist()
        self._below: list[int] = [0] * len(self.label)
        for node in reversed(range(len(self.label))):
            if self.label[node] != NONE:
                self._below[node] = 1
            else:
                children = self.child[self.place[node]]
                self._below[node] = sum(self._below[c] for c in children if c != NONE)

    @property
    def labels(self) -> set[int]:
        """Those that have a leaf."""
        return {label for label in self.label if label != NONE}

    def insert(self, label: int) -> tuple[int, int] | None:
        """Make a leaf of a label, where fewest are; return its place and slot, if it is no root.

        The place of the parent has no block yet if it is as large as `block` is long was before.
        """
        if not self.label:
            self._add(label)
            return None
        node = 0
        while self.label[node] == NONE:
            self._below[node] += 1
            children = self.child[self.place[node]]
            if NONE in children:
                slot = children.index(NONE)
                children[slot] = self._add(label)
                return self.place[node], slot
            node = min(children, key=self._below.__getitem__)
        old, self.label[node] = self.label[node], NONE
        self.place[node] = len(self.child)
        self.child.append([self._add(old), self._add(label)] + [NONE] * (WIDTH - 2))
        self._below[node] = 2
        return self.place[node], 1

    def _add(self, label: int) -> int:
        self.label.append(label)
        self.place.append(NONE)
        self._below.append(1)
        return len(self.label) - 1

    def state(self, prefix: str, block: Iterable[int]) -> State:
        """Return its arrays, with the blocks of its inner nodes."""
        return {
            f"{prefix}random": self.random,
            f"{prefix}label": np.array(self.label, dtype=np.uint32),
            f"{prefix}place": np.array(self.place, dtype=np.uint32),
            f"{prefix}child": np.array(self.child, dtype=np.uint32).ravel(),
            f"{prefix}block": np.array(list(block), dtype=np.uint32),
        }
