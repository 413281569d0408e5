"""``labeltree demo``: the first two minutes, on data that every machine has."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from labeltree.cli.train import ProgressTable
from labeltree.datasets import stdlib_tokens
from labeltree.estimators import OneAgainstAllClassifier

CONTEXT = 6
BATCH = 512


def demo(examples: int = 30_000, model: Path | None = None) -> None:
    """Learn the next token of the standard library's source, and show what was learned.

    Parameters
    ----------
    examples : int
        How many tokens to learn; a fifth as many again are kept to test on.
    model : Path, optional
        Where to write the model.
    """
    X, y = stdlib_tokens(CONTEXT, examples + examples // 5)
    examples = len(y) * 5 // 6  # a small standard library may have fewer
    print(
        f"Predicting the next token of Python {sys.version.split()[0]}'s standard library from the "
        f"{CONTEXT} before it.\nThe progressive error is measured on each token before it is "
        "learned; every token may be a new label.",
        file=sys.stderr,
    )
    clf = OneAgainstAllClassifier(bits=22)
    table = ProgressTable(quiet=False)
    start = time.perf_counter()
    for begin in range(0, examples, BATCH):
        end = min(begin + BATCH, examples)
        clf.partial_fit(X[begin:end], y[begin:end])
        table.update(clf)
    seconds = time.perf_counter() - start
    print(
        f"\nOne-against-all learned {examples:,} examples and {clf.n_labels_:,} labels in "
        f"{seconds:.1f} s ({examples / seconds:,.0f} a second).\n"
        f"Error on the {len(y) - examples:,} tokens that follow: "
        f"{1 - clf.score(X[examples:], y[examples:]):.3f}\n"
    )
    rows = range(examples + CONTEXT, len(y), max(1, (len(y) - examples) // 8))
    labels, scores = clf.predict_topk(X[list(rows)], k=3)
    print(f"{'after':<42} {'came':<14} predicted")
    for row, best, score in zip(rows, labels, scores, strict=True):
        context = " ".join(y[row - CONTEXT : row])[-40:]
        guesses = "  ".join(f"{b} {s:.2f}" for b, s in zip(best, score, strict=True))
        print(f"{context:<42} {y[row]:<14} {guesses}")
    if model is not None:
        clf.save(model)
        print(f"\nThe model is in {model}.")
    print("\nNext: labeltree train --help")
