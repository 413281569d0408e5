"""Tables of weights: those of several models of one numbering, merged row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labeltree import _core

State = dict[str, NDArray[Any]]
_NAME = "weights"
_PIECE = 2**23  # bytes of a table that are worked on at a time


@dataclass(frozen=True)
class WeightTable:
    """The rows of a table that are in use, as learners save it.

    Attributes
    ----------
    number : array of uint64
        Which rows these are, in rising order.
    value : array of float32
        What they hold, one behind the other: `lane` weights and, if there are any, as many
        gradient sums.
    lane : int
        How many weights a row has.
    has_sums : bool
        Whether there are gradient sums.
    """

    number: NDArray[np.uint64]
    value: NDArray[np.float32]
    lane: int
    has_sums: bool

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 100 + self.nbytes

    @classmethod
    def of(cls, state: State, lane: int, has_sums: bool) -> Self:
        """Return the table of a state."""
        return cls(state[f"{_NAME}_row"], state[_NAME], lane, has_sums)

    @property
    def state(self) -> State:
        """The arrays that learners save it as."""
        return {_NAME: self.value, f"{_NAME}_row": self.number}

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return self.number.nbytes + self.value.nbytes

    def changed_since(self, base: Self) -> Self:
        """Return the rows that are not those of the table it went on from."""
        return self._like(*_core.changed_rows(self.rows, base.rows, self.lane, self.has_sums))

    def updated(self, changed: Sequence[Self]) -> Self:
        """Return the table with rows of others, no two of which have the same, put into it."""
        rows = [one.rows for one in changed]
        return self._like(*_core.with_rows(self.rows, rows, self.lane, self.has_sums))

    def ranges(self, ends: Sequence[int]) -> list[Self]:
        """Return the rows below the first number, those from it to below the second, and so on."""
        places = np.searchsorted(self.number, np.array([0, *ends], dtype=np.uint64)).tolist()
        length = self.lane * (1 + self.has_sums)
        return [
            self._like(self.number[begin:end], self.value[begin * length : end * length])
            for begin, end in pairwise(places)
        ]

    def pieces(self, others: Sequence[Self]) -> Iterator[tuple[Self, list[Self]]]:
        """Cut this table and others at the same numbers, so that a piece has some ten MB.

        Yields
        ------
        piece, others
            Of this table and of the others, some of them without rows.
        """
        every = [self, *others]
        rows = max(1, _PIECE // (4 * self.lane * (1 + self.has_sums)))
        cuts = [one.number[rows::rows] for one in every]
        ends = [*union(cuts).tolist(), 2**64 - 1]
        for first, *rest in zip(*(one.ranges(ends) for one in every), strict=True):
            yield first, rest

    def merged(self, changed: Sequence[Self]) -> Self:
        """Return the rows that changed in any of several tables that went on from this one.

        A weight moves by the moves of all, weighted by how much its gradient sum grew in each.
        Without sums, it moves by the average of all.
        """
        rows = [one.rows for one in changed]
        return self._like(*_core.merged_moves(rows, self.rows, self.lane, self.has_sums))

    @classmethod
    def averaged(cls, tables: Sequence[Self], shares: Sequence[float]) -> Self:
        """Return the average of tables that were trained apart.

        Weights count by their gradient sums; where there are none, by the shares of the tables
        that have them.
        """
        first = tables[0]
        rows = [table.rows for table in tables]
        return first._like(*_core.averaged_rows(rows, list(shares), first.lane, first.has_sums))

    @property
    def rows(self) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """The numbers and what they hold, as the core takes them."""
        return np.ascontiguousarray(self.number), np.ascontiguousarray(self.value)

    def like(self, state: State) -> Self:
        """Return the table of a state whose rows have the same form."""
        return type(self).of(state, self.lane, self.has_sums)

    def _like(self, number: NDArray[np.uint64], value: NDArray[np.float32]) -> Self:
        return type(self)(number, value, self.lane, self.has_sums)


def largest(states: Sequence[State], name: str) -> State:
    """Return the largest of each entry of tables that have one in a row."""
    row = f"{name}_row"
    rows = union([state[row] for state in states])
    most = np.zeros(len(rows), dtype=np.float32)
    for state in states:
        at = np.searchsorted(rows, state[row])
        most[at] = np.maximum(most[at], state[name])
    return {name: most, row: rows}


def union(rows: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return all numbers of rising arrays, each once."""
    every = np.concatenate(rows).astype(np.uint64)
    every.sort(kind="stable")  # merges what rises already; np.unique takes ten times as long
    new = np.ones(len(every), dtype=bool)
    np.not_equal(every[1:], every[:-1], out=new[1:])
    return every[new]
