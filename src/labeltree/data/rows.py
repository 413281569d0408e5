"""Rows of features with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from labeltree.data.texts import Texts

Label = int | str


class Labels(NamedTuple):
    """The labels of rows: row i has ``ids[offsets[i]:offsets[i + 1]]``.

    Ids index `vocabulary`, the labels in the order in which they were first met. All batches of a
    stream that keeps its labels share one vocabulary, which grows: an id means the same label in
    each of them.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.uint32]
    vocabulary: list[Label]

    def __repr__(self) -> str:
        return (
            f"<{len(self.ids):,} labels of {len(self.offsets) - 1:,} rows, "
            f"{len(self.vocabulary):,} in the vocabulary>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """A batch of rows.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix of float32, or Texts
        The features; indices ascend and are unique in each row. Of formats of text, the texts.
    labels : Labels
        The labels as ids.
    weight : ndarray of float32, or None
        The importance of each row; None if all are 1.
    """

    X: Any
    labels: Labels
    weight: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.labels.offsets) - 1

    def __repr__(self) -> str:
        what = "of text"
        if not isinstance(self.X, Texts):
            what = f"{self.X.shape[1]:,} features, {self.X.nnz:,} values"
        return (
            f"<{type(self).__name__}: {len(self):,} rows, {what}, "
            f"{len(np.unique(self.labels.ids)):,} labels>"
        )

    def __getitem__(self, part: slice) -> Rows:
        """Return consecutive rows."""
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError(f"rows[{part}]: expected consecutive rows, without a step")
        offsets, ids, vocabulary = self.labels
        bounds = offsets[start : max(start, stop) + 1]
        return Rows(
            X=self.X[start:stop],
            labels=Labels(bounds - bounds[0], ids[bounds[0] : bounds[-1]], vocabulary),
            weight=None if self.weight is None else self.weight[start:stop],
        )

    def take(self, chosen: NDArray[np.intp]) -> Rows:
        """Return some of the rows, given by their numbers, in that order."""
        offsets, ids, vocabulary = self.labels
        sizes = np.diff(offsets)[chosen]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        shift = np.repeat(offsets[:-1][chosen] - bounds[:-1], sizes)
        return Rows(
            X=self.X[chosen],
            labels=Labels(bounds, ids[np.arange(bounds[-1]) + shift], vocabulary),
            weight=None if self.weight is None else self.weight[chosen],
        )

    @property
    def single_label(self) -> bool:
        """Whether each row has exactly one label."""
        return bool(np.all(np.diff(self.labels.offsets) == 1))

    @cached_property
    def y(self) -> NDArray[Any] | list[list[Label]]:
        """The labels, as an array if each row has exactly one, otherwise as `sets`.

        The array is of int64, or of object if any label is a str.
        """
        if not self.single_label:
            return self.sets
        names, index = self.distinct()
        if all(isinstance(name, int) for name in names):
            return np.array(names, dtype=np.int64)[index]
        table = np.empty(len(names), dtype=object)
        table[:] = names
        return table[index]

    @property
    def sets(self) -> list[list[Label]]:
        """The labels of each row as a list."""
        names, index = self.distinct()
        flat = [names[i] for i in index.tolist()]
        return [flat[start:end] for start, end in pairwise(self.labels.offsets.tolist())]

    def distinct(self) -> tuple[list[Label], NDArray[np.intp]]:
        """Return the labels that occur, and each label's position among them, row after row."""
        _, ids, vocabulary = self.labels  # which may be far larger than a batch
        used, index = np.unique(ids, return_inverse=True)
        return [vocabulary[i] for i in used.tolist()], index


def build_csr(
    offsets: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.float32],
    n_features: int,
) -> Any:
    """Make a matrix of canonical rows without copying features, if 32-bit indices will do."""
    small = n_features <= 2**31 and len(indices) < 2**31
    narrow: NDArray[Any] = indices.view(np.int32) if small else indices.astype(np.int64)
    matrix = csr_matrix(
        (values, narrow, offsets.astype(narrow.dtype, copy=False)),
        shape=(len(offsets) - 1, n_features),
        copy=False,
    )
    matrix.has_canonical_format = True
    return matrix


def concatenate(parts: Sequence[Rows], n_features: int) -> Rows:
    """Join batches of one stream; no copy if there is but one."""
    if len(parts) == 1:
        if not isinstance(parts[0].X, Texts):
            parts[0].X.resize((len(parts[0]), n_features))
        return parts[0]
    return Rows(
        X=_join_rows(parts, n_features),
        labels=_join_labels([part.labels for part in parts]),
        weight=None
        if all(part.weight is None for part in parts)
        else _join(
            [np.ones(len(p), np.float32) if p.weight is None else p.weight for p in parts],
            np.float32,
        ),
    )


def _join_labels(parts: Sequence[Labels]) -> Labels:
    offsets = _join_offsets([part.offsets for part in parts])
    vocabulary = parts[0].vocabulary if parts else []
    if all(part.vocabulary is vocabulary for part in parts):
        return Labels(offsets, _join([part.ids for part in parts], np.uint32), vocabulary)
    known: dict[Label, int] = {}
    ids = []
    for part in parts:
        used, index = np.unique(part.ids, return_inverse=True)
        labels = (part.vocabulary[i] for i in used.tolist())
        ids.append(
            np.array([known.setdefault(each, len(known)) for each in labels], np.uint32)[index]
        )
    return Labels(offsets, _join(ids, np.uint32), list(known))


def _join_rows(parts: Sequence[Rows], n_features: int) -> Any:
    if parts and isinstance(parts[0].X, Texts):
        return Texts.join([part.X for part in parts])
    return build_csr(
        _join_offsets([part.X.indptr.astype(np.int64) for part in parts]),
        _join([part.X.indices.astype(np.uint32, copy=False) for part in parts], np.uint32),
        _join([part.X.data for part in parts], np.float32),
        n_features,
    )


def _join(arrays: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays])


def _join_offsets(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    lengths = _join([np.diff(part) for part in parts], np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
