"""What is to be known of rows before a learner for them is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.estimators.prediction import FORMS
from labeltree.labels import Kind, Label, Targets
from labeltree.validation import as_matrix, has_counts

FIRST_ROWS = 1000  # of the first batch: settings of a stream are chosen from them
_MOST = 2**24  # pairs of a feature and a label that are counted
_AT_ONCE = 2**20  # rows of a shard that are added up, for which they are copied


class Batch(NamedTuple):
    """Rows to learn from, all of them checked."""

    rows: Any  # CSR or a dense array
    matrix: _core.Matrix  # the same, as the core sees them
    targets: Targets
    weight: NDArray[np.float32] | None
    numbers: NDArray[np.int64] | None = None  # of the rows, where they come several times

    def part(self, begin: int, end: int) -> Batch:
        """Return some of the rows."""
        if begin == 0 and end == len(self.targets):
            return self
        rows = self.rows[begin:end]
        weight = None if self.weight is None else self.weight[begin:end]
        batch = Batch(rows, as_matrix(rows), self.targets.part(begin, end), weight)
        return batch if self.numbers is None else batch.numbered(self.numbers[begin:end])

    def numbered(self, numbers: NDArray[np.int64]) -> Batch:
        """Return the same rows with numbers."""
        self.matrix.number(numbers)
        return self._replace(numbers=numbers)


class Survey(Protocol):
    """What settings are chosen from: of one batch, or of the shards of a cluster."""

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse."""

    @property
    def has_unit_rows(self) -> bool:
        """Whether all rows have length one."""

    @property
    def has_counts(self) -> bool:
        """Whether all entries are whole numbers."""

    @property
    def n_labels(self) -> int:
        """How many labels there are."""

    @property
    def multilabel(self) -> bool:
        """Whether rows may have several labels."""

    @property
    def labels_of_a_row(self) -> float:
        """How many labels rows have on average, those without left out."""

    @property
    def features_seen(self) -> int:
        """How many features are in any row."""

    @property
    def pairs(self) -> int | None:
        """How many pairs of a feature and a label meet in a row; None if too many to count."""


class BatchSurvey:
    """What a batch tells; if it is the first of a stream, by its first rows.

    Parameters
    ----------
    batch : Batch
        The rows.
    streaming : bool
        Whether it is the first of a stream.
    """

    def __init__(self, batch: Batch, *, streaming: bool) -> None:
        self._batch = batch
        self._first = batch.rows[:FIRST_ROWS] if streaming else batch.rows
        self._sizes = np.diff(batch.targets.offset)[: FIRST_ROWS if streaming else None]
        self.is_sparse = sp.issparse(batch.rows)
        self.n_labels = len(batch.targets.distinct)
        self.multilabel = batch.targets.multilabel

    @property
    def has_unit_rows(self) -> bool:
        """Whether all rows have length one."""
        batch = self._batch
        matrix = batch.matrix if self._first is batch.rows else as_matrix(self._first)
        return _core.has_unit_rows(matrix)

    @property
    def has_counts(self) -> bool:
        """Whether all entries are whole numbers."""
        return has_counts(self._first)

    @property
    def labels_of_a_row(self) -> float:
        """How many labels rows have on average, those without left out."""
        sizes = self._sizes
        return float(sizes[sizes > 0].mean()) if sizes.any() else 1.0

    @property
    def features_seen(self) -> int:
        """How many features are in any row."""
        matrix = self._batch.matrix
        return _core.count_features(matrix) if self.is_sparse else matrix.cols

    @property
    def pairs(self) -> int | None:
        """How many pairs of a feature and a label meet in a row; None if too many to count."""
        X, y = self._batch.rows, self._batch.targets
        if X.nnz * len(y.index) / len(y) > _MOST:
            return None
        sets = _core.LabelSets(y.offset, y.index.astype(np.uint32))
        return _core.count_pairs(self._batch.matrix, sets, len(y.distinct))


@dataclass(frozen=True)
class ShardSurvey:
    """What rows tell that are in several places: surveys of each add up.

    Attributes
    ----------
    kind : str
        The form of the labels.
    n_features : int
        Of the rows.
    is_sparse : bool
        Whether rows are sparse.
    has_unit_rows, has_counts : bool
        Whether all have length one, or whole numbers only.
    rows, labelled_rows, given_labels : int
        How many there are, how many of them have labels, and how many labels these have.
    labels : tuple
        Each once, sorted where they can be compared.
    sums : CSR matrix of float64
        The sum of the rows of each label.
    """

    kind: Kind
    n_features: int
    is_sparse: bool
    has_unit_rows: bool
    has_counts: bool
    rows: int
    labelled_rows: int
    given_labels: int
    labels: tuple[Label, ...]
    sums: sp.csr_matrix

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """Survey the rows of a batch whose weight is not zero."""
        targets, rows = batch.targets, sp.csr_matrix(batch.rows)
        counted = np.ones(len(targets)) if batch.weight is None else (batch.weight > 0) * 1.0
        sizes = np.diff(targets.offset)
        shape = (len(targets), len(targets.distinct))
        given = sp.csr_matrix(
            (np.repeat(counted, sizes), targets.index, targets.offset), shape=shape
        )
        given.eliminate_zeros()
        sums = sp.csr_matrix((len(targets.distinct), rows.shape[1]), dtype=np.float64)
        for begin in range(0, len(targets), _AT_ONCE):
            sums += given[begin : begin + _AT_ONCE].T @ rows[begin : begin + _AT_ONCE]
        return cls(
            targets.kind,
            int(rows.shape[1]),
            sp.issparse(batch.rows),
            _core.has_unit_rows(batch.matrix),
            sp.issparse(batch.rows) and has_counts(batch.rows),
            len(targets),
            int(np.count_nonzero(sizes)),
            int(sizes.sum()),
            tuple(targets.distinct),
            sums,
        )

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        sums = self.sums
        return 1000 + int(sums.data.nbytes + sums.indices.nbytes + sums.indptr.nbytes)

    @classmethod
    def total(cls, every: Sequence[ShardSurvey]) -> ShardSurvey:
        """Add up what several tell; those of no rows tell nothing."""
        some = [one for one in every if one.rows]
        if not some:
            raise ValueError("there are no rows, expected at least one; check what was passed")
        first = some[0]
        if len(some) == 1:
            return first
        for other in some[1:]:
            if other.kind != first.kind:
                raise ValueError(
                    f"labels are {FORMS[first.kind]} in some files or partitions, but "
                    f"{FORMS[other.kind]} in others; give all in one form (a row without a label "
                    "makes those of its file sets)"
                )
            for name in ("n_features", "is_sparse"):
                if getattr(other, name) != getattr(first, name):
                    raise ValueError(
                        f"{name} is {getattr(first, name)!r} in one part of the rows, but "
                        f"{getattr(other, name)!r} in another; give all in one form"
                    )
        labels = Targets.parse([label for one in some for label in one.labels]).distinct
        place = {label: i for i, label in enumerate(labels)}
        sums = None  # so that there are no more than two and their sum at a time
        for one in some:
            given = one.sums
            if one.labels != tuple(labels):
                own = sp.csr_matrix(
                    (
                        np.ones(len(one.labels)),
                        ([place[x] for x in one.labels], range(len(one.labels))),
                    ),
                    shape=(len(labels), len(one.labels)),
                )
                given = own @ given
            sums = given if sums is None else sums + given
        return cls(
            first.kind,
            first.n_features,
            first.is_sparse,
            all(one.has_unit_rows for one in some),
            all(one.has_counts for one in some),
            sum(one.rows for one in some),
            sum(one.labelled_rows for one in some),
            sum(one.given_labels for one in some),
            tuple(labels),
            sums,
        )

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.labels)

    @property
    def multilabel(self) -> bool:
        """Whether rows may have several labels."""
        return self.kind != "class"

    @property
    def labels_of_a_row(self) -> float:
        """How many labels rows have on average, those without left out."""
        return self.given_labels / max(1, self.labelled_rows)

    @property
    def features_seen(self) -> int:
        """How many features are in any row."""
        return len(np.unique(self.sums.indices)) if self.is_sparse else self.n_features

    @property
    def pairs(self) -> int | None:
        """How many pairs of a feature and a label meet in a row; None if too many to count."""
        each = self.sums.nnz
        return int(each) if each <= _MOST else None
