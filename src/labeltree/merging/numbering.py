"""Models under other numbers: tables of weights whose models are numbered anew, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.weighttable import State, WeightTable

LANES = 8  # models side by side in a line
NOBODY = -1


@dataclass(frozen=True)
class Weights:
    """Weights of linear models, one by one: which model, which feature, weight, gradient sum."""

    model: NDArray[np.int64]
    slot: NDArray[np.int64]
    weight: NDArray[np.float32]
    gradient_sum: NDArray[np.float32]

    def renumbered(self, numbers: NDArray[np.int64]) -> Weights:
        """Return the weights with other numbers of models, without those that have none."""
        model = numbers[self.model]
        kept = model != NOBODY
        return Weights(model[kept], self.slot[kept], self.weight[kept], self.gradient_sum[kept])

    @classmethod
    def average(cls, parts: Sequence[Weights], shares: Sequence[float], slots: int) -> Weights:
        """Put models together: by gradient sums, or by the shares of those who have a weight."""
        key = np.concatenate([part.model * slots + part.slot for part in parts])
        weight = np.concatenate([part.weight for part in parts]).astype(np.float64)
        sums = np.concatenate([part.gradient_sum for part in parts]).astype(np.float64)
        share = np.repeat(shares, [len(part.model) for part in parts]) * (weight != 0)
        keys, place = np.unique(key, return_inverse=True)

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.bincount(place, values, minlength=len(keys)).astype(np.float64)

        every = total(sums)
        share = np.where(every[place] > 0, sums, share)
        weighed, shared = total(share * weight), total(share)
        np.divide(weighed, shared, out=weighed, where=shared > 0)
        alone = np.bincount(place)[place] == 1
        weighed[place[alone]] = weight[alone]  # to the last bit
        return cls(
            keys // slots, keys % slots, weighed.astype(np.float32), every.astype(np.float32)
        )


@dataclass(frozen=True)
class Arrangement:
    """How a table holds weights: "dense", a row for each model, or "lines" of eight models."""

    layout: str
    slots: int  # of features, the constant among them
    has_sums: bool

    @property
    def _stride(self) -> int:
        return -(-self.slots // 16) * 16

    @property
    def lane(self) -> int:
        """How many weights of a row have their sums behind them."""
        return self._stride if self.layout == "dense" else LANES

    @property
    def _has_room_for_sums(self) -> bool:
        return self.has_sums or self.layout == "dense"

    def rows(self, models: int, bits: int) -> int:
        """Return how many rows the table of so many models has, used or not."""
        if self.layout == "hashed":
            return (1 << bits) // LANES
        return models if self.layout == "dense" else -(-models // LANES) * self.slots

    def table(self, state: State) -> WeightTable:
        """Return the table of a state, row by row."""
        return WeightTable.of(state, self.lane, self._has_room_for_sums)

    def read(self, state: State) -> Weights:
        """Return the weights of a state that are not zero."""
        sums = self._has_room_for_sums
        rows = state["weights_row"].astype(np.int64)
        table = state["weights"].reshape(len(rows), 1 + sums, self.lane)
        weight = table[:, 0]
        gradient_sum = table[:, 1] if sums else np.zeros_like(weight)
        row, lane = np.nonzero((weight != 0) | (gradient_sum != 0))
        if self.layout == "dense":
            model, slot = rows[row], lane
        else:
            model, slot = rows[row] // self.slots * LANES + lane, rows[row] % self.slots
        return Weights(model, slot, weight[row, lane], gradient_sum[row, lane])

    def write(self, weights: Weights) -> State:
        """Return the table that holds them, as learners save it."""
        sums = self._has_room_for_sums
        if self.layout == "dense":
            number, lane = weights.model, weights.slot
        else:
            number = weights.model // LANES * self.slots + weights.slot
            lane = weights.model % LANES
        rows, place = np.unique(number, return_inverse=True)
        table = np.zeros((len(rows), 1 + sums, self.lane), dtype=np.float32)
        table[place, 0, lane] = weights.weight
        if sums:
            table[place, 1, lane] = weights.gradient_sum
        return {"weights": table.ravel(), "weights_row": rows.astype(np.uint64)}
