"""Rows of one shard, wherever they came from, and how shards are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree.data import load
from labeltree.data.texts import Texts


@dataclass(frozen=True)
class Shard:
    """Rows, or texts, with their labels."""

    X: Any
    y: Any
    weight: NDArray[np.float32] | None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 100 + self.nbytes

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows take."""
        arrays = [self.X, self.y]
        if isinstance(self.X, Texts):
            arrays += [self.X.data, self.X.offsets]
        elif sp.issparse(self.X):
            arrays += [self.X.data, self.X.indices, self.X.indptr]
        return sum(int(getattr(array, "nbytes", 0)) for array in arrays)

    def take(self, rows: NDArray[np.int64]) -> Shard:
        """Return some of the rows."""
        y = self.y if hasattr(self.y, "shape") else None
        return Shard(
            self.X[rows],
            [self.y[i] for i in rows.tolist()] if y is None else y[rows],
            None if self.weight is None else self.weight[rows],
        )


def make_shard(X: Any, y: Any, weight: Any, where: str) -> Shard:
    """Check that a partition has as many labels, and weights, as rows.

    Parameters
    ----------
    X, y, weight
        Of a partition: blocks of arrays, columns, or lists of a bag.
    where : str
        Which it is, for messages.

    Returns
    -------
    Shard
        With texts, a CSR matrix, or an array for X.
    """
    if isinstance(X, list | tuple) or not hasattr(X, "shape") or len(X.shape) == 1:
        X = Texts.of(list(X) if isinstance(X, tuple) else X)
    elif sp.issparse(X):
        X = sp.csr_matrix(X)
    else:
        X = np.asarray(X)
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    rows = {"X": X.shape[0], "y": y.shape[0] if hasattr(y, "shape") else len(y)}
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float32)
        rows["sample_weight"] = len(weight)
    if len(set(rows.values())) > 1:
        counts = ", ".join(f"{name} has {count:,}" for name, count in rows.items())
        raise ValueError(f"{where}: {counts} rows, expected as many of each; cut all of them alike")
    return Shard(X, y, weight)


def read_shard(path: str, options: dict[str, Any]) -> Shard:
    """Read a file, on the worker that learns it; what is wrong with it names file and line."""
    data = load(path, **options)
    return Shard(data.X, data.y, data.weight)


def put_together(shards: Sequence[Shard], width: int | None = None) -> Shard:
    """Return the rows of several partitions, one after the other.

    Parameters
    ----------
    shards : sequence of Shard
        Some may be empty.
    width : int, optional
        How many features there are in all partitions, where files do not tell.

    Returns
    -------
    Shard
        All of them.
    """
    some = [shard for shard in shards if len(shard)]
    if not some:
        return shards[0]
    if len({isinstance(shard.X, Texts) for shard in some}) > 1:
        raise ValueError("some parts of X are texts and others rows, expected all of one form")
    X: Any
    if isinstance(some[0].X, Texts):
        X = some[0].X if len(some) == 1 else Texts.of([text for one in some for text in one.X])
    elif any(sp.issparse(shard.X) for shard in some):
        X = sp.vstack([_widened(sp.csr_matrix(shard.X), width) for shard in some], format="csr")
    else:
        X = np.concatenate([shard.X for shard in some])
    weight = None
    if any(shard.weight is not None for shard in some):
        weight = np.concatenate([_weight(shard) for shard in some])
    return Shard(X, _labels([shard.y for shard in some]), weight)


def _widened(X: sp.csr_matrix, width: int | None) -> sp.csr_matrix:
    if width is None or X.shape[1] == width:
        return X
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _weight(shard: Shard) -> NDArray[np.float32]:
    return np.ones(len(shard), np.float32) if shard.weight is None else shard.weight


def _labels(parts: Sequence[Any]) -> Any:
    """Return the labels of several partitions; one label a row becomes a set where others are."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    if all(isinstance(part, np.ndarray) and part.dtype != object for part in parts) and (
        len({part.dtype.kind for part in parts}) == 1
    ):
        return np.concatenate(parts)
    rows = [label for part in parts for label in (part.tolist() if _is_array(part) else part)]
    if any(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in rows):
        return [
            row if isinstance(row, list | tuple | set | frozenset | np.ndarray) else [row]
            for row in rows
        ]
    return rows


def _is_array(part: Any) -> bool:
    return isinstance(part, np.ndarray)
