"""Rows in any form that Dask has, or files, as shards on workers."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from labeltree.dask.cluster import Cluster
from labeltree.dask.compat import Future, array, dask
from labeltree.dask.shard import make_shard, read_shard


def is_lazy(X: Any) -> bool:
    """Tell whether something is a collection of Dask."""
    return bool(dask.is_dask_collection(X))


@dataclass(frozen=True)
class Partitions:
    """Rows on workers.

    Attributes
    ----------
    groups : list of list of Future
        Of each worker, of a `Shard` each: those that follow one another. No group is empty.
    width : Future
        Of how many features all have, None of texts.
    """

    groups: list[list[Future]]
    width: Future

    def release(self) -> None:
        """Let workers forget them once what is made of them is there."""
        self.groups.clear()

    @property
    def every(self) -> list[Future]:
        """All of them, in their order."""
        return [part for group in self.groups for part in group]


def partitions_of(
    cluster: Cluster, X: Any, y: Any, sample_weight: Any, reader: dict[str, Any] | None
) -> Partitions:
    """Put rows on workers, in their order.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    X, y, sample_weight
        As for `DaskClassifier.fit`.
    reader : dict, optional
        Options for `labeltree.data.load`, where X names files.

    Returns
    -------
    Partitions
        In as many groups as there are workers, or fewer, if there are not so many.
    """
    files = files_of(X)
    if files is not None:
        if y is not None or sample_weight is not None:
            raise ValueError("X names files, which have their labels and weights: leave y out")
        parts = [
            cluster.submit("read", read_shard, path, reader or {}, worker=own)
            for own, group in enumerate(_groups(cluster, len(files)))
            for path in (files[j] for j in group)
        ]
    else:
        if reader:
            raise ValueError("reader is given, but X names no files: leave it out")
        parts = _parts_of(cluster, X, y, sample_weight)
    width = cluster.submit("width", widest, [cluster.submit("width", width_of, p) for p in parts])
    groups = [[parts[j] for j in group] for group in _groups(cluster, len(parts)) if group]
    return Partitions(groups, width)


def _groups(cluster: Cluster, parts: int) -> list[list[int]]:
    """Return which partitions each worker has: those that follow one another."""
    return [group.tolist() for group in np.array_split(np.arange(parts), len(cluster.workers))]


def files_of(X: Any) -> list[str] | None:
    """Return the files that X names, by a pattern or a list; None if it is something else."""
    if isinstance(X, str | os.PathLike):
        pattern = os.fspath(X)
        found = sorted(glob.glob(pattern)) or ([pattern] if os.path.exists(pattern) else [])
        if not found:
            raise FileNotFoundError(f"{pattern}: there is no such file; check the name")
        return found
    if not (isinstance(X, list | tuple) and X and all(isinstance(x, str | os.PathLike) for x in X)):
        return None
    for name in map(os.fspath, X):
        if not os.path.exists(name):
            raise FileNotFoundError(
                f"{name[:100]}: there is no such file; a list has the names of files here, texts "
                "go to TextClassifier"
            )
    return [os.fspath(x) for x in X]


def _parts_of(cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> list[Future]:
    """Return the partitions of a collection with their labels and weights."""
    if not is_lazy(X):
        raise ValueError(
            f"X is a {type(X).__name__}, expected a dask array, series or bag, or names of files; "
            "for rows that are here use the estimator itself"
        )
    if y is None:
        raise ValueError("y is missing, expected the labels of X")
    blocks = _blocks(X, "X")
    labels = _cut(y, X, len(blocks), "y")
    weights: Sequence[Any] = [None] * len(blocks)
    if sample_weight is not None:
        weights = _cut(sample_weight, X, len(blocks), "sample_weight")
    parts = []
    for i, (rows, label, weight) in enumerate(zip(blocks, labels, weights, strict=True)):
        args = [
            cluster.client.compute(part) if is_lazy(part) else part
            for part in (rows, label, weight)
        ]
        parts.append(cluster.submit("partition", make_shard, *args, f"partition {i} of X"))
    return parts


def _blocks(X: Any, name: str) -> list[Any]:
    """Return the partitions of a collection, each with whole rows."""
    if isinstance(X, array.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    if hasattr(X, "to_delayed"):
        if getattr(X, "ndim", 1) == 2:
            raise ValueError(
                f"{name} is a table, expected one column of texts, as frame['text'], or a dask "
                "array of numbers, as frame.to_dask_array()"
            )
        return list(X.to_delayed())
    raise ValueError(f"{name} is a {type(X).__name__}, expected a dask array, series or bag")


def _cut(values: Any, X: Any, parts: int, name: str) -> list[Any]:
    """Return labels or weights, cut as the rows are."""
    if is_lazy(values):
        if isinstance(X, array.Array) and isinstance(values, array.Array):
            known = not any(math.isnan(size) for size in (*X.chunks[0], *values.chunks[0]))
            if known and X.chunks[0] != values.chunks[0] and len(X) == len(values):
                values = values.rechunk({0: X.chunks[0]})
        blocks = _blocks(values, name)
        if len(blocks) != parts:
            raise ValueError(
                f"{name} has {len(blocks):,} partitions, expected {parts:,}, as X has; cut both "
                "alike, as by repartition"
            )
        return blocks
    sizes = X.chunks[0] if isinstance(X, array.Array) else (math.nan,)
    if any(math.isnan(size) for size in sizes):
        sizes = dask.compute(*[dask.delayed(len)(block) for block in _blocks(X, "X")])
    total = values.shape[0] if hasattr(values, "shape") else len(values)
    if total != sum(sizes):
        raise ValueError(f"X has {sum(sizes):,} rows, {name} {total:,}; expected as many of each")
    ends = np.cumsum([0, *sizes]).tolist()
    return [values[begin:end] for begin, end in pairwise(ends)]


def width_of(shard: Any) -> int | None:
    """Return how many features the rows of a shard have; None of texts, or none."""
    return int(shard.X.shape[1]) if len(shard) and len(shard.X.shape) == 2 else None


def widest(widths: Sequence[int | None]) -> int | None:
    """Return the largest width: files tell only of the features that they have."""
    known = [width for width in widths if width is not None]
    return max(known) if known else None
