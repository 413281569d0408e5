"""Time a row of `predict_proba` and its sparse form where labels are many.

python -m bench.proba
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from labeltree import LabelTreeClassifier, ProbabilityTreeClassifier
from labeltree.datasets import make_multiclass


def milliseconds(call: Callable[[], Any], rows: int) -> float:
    """Return the least time of five calls, a row."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times) / rows


def main() -> None:
    """Print a line for each estimator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=18_546)
    parser.add_argument("--rows", type=int, default=64)
    arguments = parser.parse_args()
    X, y = make_multiclass(2 * arguments.labels, arguments.labels, random_state=0)
    rows = X[: arguments.rows]
    table = np.zeros((arguments.rows, arguments.labels), np.float32)
    print(
        f"filling the table: {milliseconds(lambda: table.fill(0.5), arguments.rows):.4f} ms a row"
    )
    for estimator in (LabelTreeClassifier, ProbabilityTreeClassifier):
        clf: Any = estimator(random_state=0, passes=1).fit(X, y)
        uses: dict[str, Callable[[], Any]] = {
            "predict_topk(k=100)": lambda clf=clf: clf.predict_topk(rows, k=100),
            "predict_topk(k=all)": lambda clf=clf: clf.predict_topk(rows, k=arguments.labels),
            "predict_proba(sparse=True)": lambda clf=clf: clf.predict_proba(rows, sparse=True),
            "predict_proba": lambda clf=clf: clf.predict_proba(rows),
        }
        for name, call in uses.items():
            print(f"{estimator.__name__}.{name}: {milliseconds(call, len(table)):.3f} ms a row")


if __name__ == "__main__":
    main()
