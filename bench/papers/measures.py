"""What is measured of a model on a data set, and the choice of parameters on a hold-out."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.papers.sources import Parts
from labeltree.metrics import error

Make = Callable[..., Any]


def seconds(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the processor time that a call takes, and what it returns."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def microseconds_a_row(clf: Any, X: Any, repeats: int = 3) -> float:
    """Return the processor time of predicting a row of a batch, best of several."""
    return 1e6 * min(seconds(clf.predict, X)[0] for _ in range(repeats)) / X.shape[0]


def fit_and_score(clf: Any, parts: Parts) -> dict[str, Any]:
    """Learn one part and predict the other: error with its interval, times, depth and size."""
    training, _ = seconds(clf.fit, parts.X, parts.y)
    wrong = error(parts.y_test, clf.predict(parts.X_test))
    return {
        "error": wrong.value,
        "low": wrong.low,
        "high": wrong.high,
        "train": training,
        "test": microseconds_a_row(clf, parts.X_test),
        "depth": int(clf.tree_.depth) if hasattr(clf, "tree_") else 0,
        "bytes": state_bytes(clf),
        "rows": int(parts.X.shape[0]),
        "labels": int(clf.n_labels_),
    }


def state_bytes(clf: Any) -> int:
    """Return what the arrays of a model take, of a hashed table only the rows in use."""
    return sum(np.asarray(array).nbytes for array in clf._learner.state().values())


def tuned(make: Make, grid: Mapping[str, Sequence[Any]], parts: Parts) -> dict[str, Any]:
    """Choose parameters on a tenth of the rows to learn, then learn all and score."""
    inner = parts.held_out()
    choices = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]

    def loss(choice: dict[str, Any]) -> float:
        clf = make(**choice, random_state=0).fit(inner.X, inner.y)
        return float(1 - clf.score(inner.X_test, inner.y_test))

    best = min(choices, key=loss) if len(choices) > 1 else choices[0]
    return fit_and_score(make(**best, random_state=0), parts) | {"chosen": best}


def differ(wrong: int, other: int, rows: int, other_rows: int) -> float:
    """Return the p-value of two error counts, by the N - 1 chi-squared test."""
    n = rows + other_rows
    pooled = (wrong + other) / n
    spread = pooled * (1 - pooled) * (1 / rows + 1 / other_rows)
    if spread == 0:
        return 1.0
    chi2 = (wrong / rows - other / other_rows) ** 2 / spread * (n - 1) / n
    return math.erfc(math.sqrt(chi2 / 2))
