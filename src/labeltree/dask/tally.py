"""How many rows there are of each label, and who learns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from labeltree.dask.shard import Shard
from labeltree.labels import Label, Targets

_FEW = 4  # rows of a shard for each label


@dataclass(frozen=True)
class Tally:
    """Rows of each label, where every row has one; else there are no labels here.

    Attributes
    ----------
    rows : int
        How many there are.
    labels : list
        Each once, in the order in which `fit` numbers them.
    counts : array of int
        The rows of each.
    """

    rows: int
    labels: list[Label]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[Shard]) -> Self:
        """Count the rows of some parts."""
        return cls.total([cls._of_part(part) for part in parts if len(part)])

    @classmethod
    def _of_part(cls, part: Shard) -> Self:
        targets = Targets.parse(part.y)
        if targets.multilabel:
            return cls(len(part), [], np.zeros(0, np.int64))
        labels = list(targets.distinct)
        return cls(len(part), labels, np.bincount(targets.index, minlength=len(labels)))

    @classmethod
    def total(cls, every: Sequence[Self]) -> Self:
        """Add up."""
        rows = sum(one.rows for one in every)
        some = [one for one in every if one.rows]
        if not all(len(one.labels) for one in some):
            return cls(rows, [], np.zeros(0, np.int64))
        labels = list(Targets.parse([x for one in some for x in one.labels]).distinct)
        place = {label: i for i, label in enumerate(labels)}
        counts = np.zeros(len(labels), np.int64)
        for one in some:
            counts[[place[label] for label in one.labels]] += one.counts
        return cls(rows, labels, counts)

    def is_dealt(self, hands: int) -> bool:
        """Tell whether so many shards would have few rows of most labels.

        Then all rows of a label belong in one shard: none of the others learns what they have in
        common from one or two of them.
        """
        return hands > 1 and self.rows < _FEW * hands * len(self.labels)

    def hands(self, part: Shard, hands: int) -> NDArray[np.int64]:
        """Return who learns each row of a part: who has the label, or anyone if it is frequent."""
        own = np.arange(len(self.labels)) % hands
        place = {label: i for i, label in enumerate(self.labels)}
        targets = Targets.parse(part.y)
        label = np.array([place[x] for x in targets.distinct], np.int64)[targets.index]
        frequent = self.counts[label] > self.rows // (4 * hands)
        return np.where(frequent, np.arange(len(part)) % hands, own[label])
