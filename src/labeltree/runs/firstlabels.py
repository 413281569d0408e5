"""What the labels of the first rows tell of how they were read."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from labeltree.data import Rows
from labeltree.data.rows import Label

ROWS = 8192  # that are looked at; of 100,000 labels, all as frequent, 8 % of them share one
_FEWEST = 20  # rows to say anything of
_NEARLY_ALL = 0.95  # of the rows
_MANY = 0.05  # of the labels
_SEPARATORS = ",;|"


class FirstLabels:
    """The labels of the first rows, and what is odd about them."""

    def __init__(self) -> None:
        self.sets: list[list[Label]] = []

    @property
    def complete(self) -> bool:
        """Whether no more rows are looked at."""
        return len(self.sets) >= ROWS

    def add(self, rows: Rows) -> None:
        """Look at the rows that follow."""
        if not self.complete:
            self.sets += rows[: ROWS - len(self.sets)].sets

    def own(self) -> int:
        """Return how many rows have labels that no other has, if nearly all have; else 0."""
        labelled = [labels for labels in self.sets if labels]
        times = Counter(chain.from_iterable(labelled))
        own = sum(all(times[label] == 1 for label in labels) for labels in labelled)
        return own if own >= max(_FEWEST, _NEARLY_ALL * len(labelled)) else 0

    def joined(self) -> tuple[str, str] | None:
        """Return a label that seems to be several, and what separates them; None if none does.

        Parts of one are labels by themselves, or stand now at the front, now behind others. In
        ``Paris, France``, or a path ``animals|cats``, each has its place.
        """
        if len(self.sets) < _FEWEST or any(len(labels) > 1 for labels in self.sets):
            return None
        labels = {label for label in chain.from_iterable(self.sets) if isinstance(label, str)}
        for separator in _SEPARATORS:
            split = {label: _parts(label, separator) for label in labels if separator in label}
            joined = {label: parts for label, parts in split.items() if len(parts) > 1}
            first = {parts[0] for parts in joined.values()}
            later = {part for parts in joined.values() for part in parts[1:]}
            sets = [
                label
                for label, parts in joined.items()
                if not labels.isdisjoint(parts[1:]) or first.intersection(later).issuperset(parts)
            ]
            if len(sets) >= max(2, _MANY * len(labels), len(joined) / 2):
                return min(sets), separator
        return None


def _parts(label: str, separator: str) -> list[str]:
    return [part.strip() for part in label.split(separator) if part.strip()]
