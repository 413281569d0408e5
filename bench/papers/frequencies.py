"""The table-based baseline: P(y | x) is how often y came with just this x."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse


class FrequencyTable:
    """Counts of each x and of each pair of x and y."""

    def __init__(self) -> None:
        self.pages: Counter[Hashable] = Counter()
        self.pairs: Counter[tuple[Hashable, Hashable]] = Counter()

    def learn(self, x: Hashable, y: Hashable) -> None:
        """Count a pair."""
        self.pages[x] += 1
        self.pairs[x, y] += 1

    def probability(self, x: Hashable, y: Hashable) -> float:
        """Return how often y came with x; 0 for an x never seen."""
        return self.pairs[x, y] / self.pages[x] if x in self.pages else 0.0


def pages(X: sparse.csr_matrix) -> list[bytes]:
    """Return what tells the rows of indicators apart: their columns."""
    X = X.sorted_indices()
    return [
        X.indices[start:end].tobytes()
        for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def table_loss(x: Sequence[Hashable], y: Sequence[Any], border: int) -> dict[str, float]:
    """Learn the pairs before the border; return the progressive squared loss on the others."""
    table = FrequencyTable()
    total, new = 0.0, 0
    for i, pair in enumerate(zip(x, y, strict=True)):
        if i >= border:
            total += (1 - table.probability(*pair)) ** 2
            new += pair[0] not in table.pages
        table.learn(*pair)
    rows = len(y) - border
    return {"loss": total / rows, "new pages": new / rows, "rows": rows}


def best_possible(x: Sequence[Hashable], y: Sequence[Any], border: int) -> float:
    """Return the loss of the frequencies of the rows from the border on, on these very rows."""
    table = FrequencyTable()
    asked = list(zip(x[border:], y[border:], strict=True))
    for pair in asked:
        table.learn(*pair)
    return float(np.mean([(1 - table.probability(*pair)) ** 2 for pair in asked]))
