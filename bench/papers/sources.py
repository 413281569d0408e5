"""The rows of the experiments: real data, or the stand-ins for those the papers have."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from bench.data import read
from labeltree.data import load
from labeltree.datasets import stdlib_tokens

FEW_LABELS, FEW_ROWS = 105, 92  # Sector's labels, and its rows of a label


class Parts(NamedTuple):
    """Rows and labels to learn, and others to be asked for."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    def held_out(self, share: float = 0.1) -> Parts:
        """Return the rows to learn, cut in two: a part of this share is to be asked for."""
        order = np.random.default_rng(0).permutation(self.X.shape[0])
        border = len(order) - max(1, round(share * len(order)))
        learn, ask = np.sort(order[:border]), np.sort(order[border:])
        y = np.asarray(self.y)
        return Parts(self.X[learn], y[learn], self.X[ask], y[ask])


class Source(Protocol):
    """Where rows come from: a folder, or a test that makes them on the spot."""

    def parts(self, name: str) -> Parts:
        """Return a data set that is split in two."""

    def words(self, limit: int) -> tuple[sparse.csr_matrix, Any]:
        """Return words of text, in order: the six before each, and the word."""

    def tokens(self, limit: int) -> tuple[sparse.csr_matrix, Any]:
        """Return tokens of source text, in order: the two before each, and the token."""


class Files:
    """Data sets in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cache  # noqa: B019  there is one for a run
    def parts(self, name: str) -> Parts:
        """Return a data set of the folder, or one made of it."""
        if name == "isolet1":
            data = load(self.folder / "isolet1_all.svm.gz")
            return Parts(data.X.toarray(), data.y, None, None).held_out()
        if name == "packages105":
            return most_frequent(self.parts("maintainer"), FEW_LABELS, FEW_ROWS)
        parts = Parts(*read(self.folder, name, "train"), *read(self.folder, name, "test"))
        return with_labels(parts) if name == "delicious_xc" else parts

    def words(self, limit: int) -> tuple[sparse.csr_matrix, Any]:
        """Return words of text8, in order."""
        with gzip.open(self.folder / "text8_prefix.txt.gz", "rt") as file:
            return contexts(file.read().split()[:limit], 6)

    def tokens(self, limit: int) -> tuple[sparse.csr_matrix, Any]:
        """Return tokens of the standard library, in order."""
        return stdlib_tokens(context=2, limit=limit)


def contexts(words: list[str], before: int) -> tuple[sparse.csr_matrix, Any]:
    """Turn words into rows that tell the words before each, and where they stood."""
    vocabulary, ids = np.unique(
        np.array([*[""] * before, *words], dtype=object), return_inverse=True
    )
    seen = np.lib.stride_tricks.sliding_window_view(ids, before)[: len(words)]
    columns = seen + len(vocabulary) * np.arange(before)
    offsets = np.arange(0, columns.size + 1, before)
    ones = np.ones(columns.size, dtype=np.float32)
    shape = (len(words), before * len(vocabulary))
    return sparse.csr_matrix((ones, columns.ravel().astype(np.int32), offsets), shape), ids[before:]


def most_frequent(parts: Parts, labels: int, rows: int) -> Parts:
    """Keep the rows of the most frequent labels, of each the first ones only, for the test too."""
    values, counts = np.unique(parts.y, return_counts=True)
    kept = values[np.argsort(-counts, kind="stable")[:labels]]

    def first(y: Any, most: int) -> Any:
        return np.sort(np.concatenate([np.flatnonzero(y == label)[:most] for label in kept]))

    learn, ask = first(parts.y, rows), first(parts.y_test, max(1, rows // 9))
    return Parts(parts.X[learn], parts.y[learn], parts.X_test[ask], parts.y_test[ask])


def with_labels(parts: Parts) -> Parts:
    """Leave out the rows without labels, as the authors of LdSM do with their files."""
    learn, ask = (
        [row for row, labels in enumerate(y) if len(labels)] for y in (parts.y, parts.y_test)
    )
    return Parts(
        parts.X[learn],
        [parts.y[row] for row in learn],
        parts.X_test[ask],
        [parts.y_test[row] for row in ask],
    )
