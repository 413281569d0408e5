"""Whether labels come in runs, as in a file that is sorted by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SURE = 6.0  # standard deviations
_LONG = 0.5  # of the rows, beyond what chance gives, follow one of the same label


class LabelRuns:
    """Counts how often a row has the label of the row before it, and how often it would by chance.

    Rows in a random order repeat a label with the probability that two rows share one. Progressive
    validation of rows that come in runs is far too good: to predict the last label again suffices.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.repeats = 0
        self._last = -1
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, ids: NDArray[np.uint32]) -> None:
        """Count the rows that follow, by the ids of their labels, one a row."""
        if not len(ids):
            return
        self.repeats += int(ids[0] == self._last) + int(np.count_nonzero(ids[1:] == ids[:-1]))
        self.rows += len(ids)
        self._last = int(ids[-1])
        size = max(len(self._counts), int(ids.max()) + 1)
        counts = np.bincount(ids, minlength=size)
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    @property
    def by_chance(self) -> float:
        """The share of rows expected to repeat a label, were their order random."""
        n = self.rows
        return float(self._counts @ (self._counts - 1)) / (n * (n - 1)) if n > 1 else 0.0

    @property
    def share(self) -> float:
        """The share of rows that do."""
        return self.repeats / max(1, self.rows - 1)

    @property
    def found(self) -> bool:
        """Whether labels surely come in runs, and in long ones."""
        if self.rows < 2:
            return False
        n, chance = self.rows - 1, self.by_chance
        beyond_chance = self.repeats - n * chance
        return beyond_chance > _SURE * max(
            1.0, n * chance * (1 - chance)
        ) ** 0.5 and self.share - chance > _LONG * (1 - chance)

    def sentence(self, *, shuffled: bool) -> str:
        """Return what was found, and what to do."""
        more = "give a larger" if shuffled else "give"
        return (
            f"{self.share:.0%} of the rows have the label of the row before them, where a random "
            f"order would give {self.by_chance:.1%}: the error shown is too good, and the model "
            f"learns less than it could; shuffle the file, or {more} --shuffle ROWS"
        )
