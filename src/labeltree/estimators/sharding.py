"""The part of a learner that learns rows which are in several places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from labeltree import _core
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.survey import ShardSurvey
from labeltree.merging.weighttable import State
from labeltree.validation import as_matrix


class Block(NamedTuple):
    """Rows of a shard that are learned together, as for `fit`; `first` is the first's number."""

    X: Any
    y: Any
    weight: Any
    first: int = 0

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)


class ShardedClassifier(OnlineClassifier):
    """Learns shards of rows from one common beginning, in passes between which models are merged.

    ``survey`` tells what is to be known of a shard, ``begin`` makes the model that all begin
    with, ``learn_shard`` learns a shard in one pass, and `labeltree.merge` with ``base`` puts
    together what was learned. None of them changes the estimator that is asked.
    """

    def survey(self, X: Any, y: Any, sample_weight: Any = None) -> ShardSurvey:
        """Return what is to be known of a shard before all begin.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the shard, as for `fit`.

        Returns
        -------
        ShardSurvey
            Of these rows; ``ShardSurvey.total`` adds up those of all shards.
        """
        self._validate_params()
        return ShardSurvey.of(self._unfitted()._check(X, y, sample_weight, reset=True))

    def begin(self, surveys: Sequence[ShardSurvey]) -> Self:
        """Return the model that all begin with: all labels and trees, and no weights.

        Parameters
        ----------
        surveys : sequence of ShardSurvey
            Of all shards.

        Returns
        -------
        estimator
            A new one.

        Examples
        --------
        >>> from labeltree import LabelTreeClassifier, merge
        >>> from labeltree.datasets import make_multiclass
        >>> X, y = make_multiclass(600, 10)
        >>> shards = [(X[:300], y[:300]), (X[300:], y[300:])]
        >>> clf = LabelTreeClassifier(random_state=0, passes=2)
        >>> model = clf.begin([clf.survey(*shard) for shard in shards])
        >>> known = [None, None]
        >>> for number in range(model.n_passes_):
        ...     learned = [
        ...         model.learn_shard(*shard, shard=i, shards=2, number=number, known=known[i])
        ...         for i, shard in enumerate(shards)
        ...     ]
        ...     known = [each.known_rows() for each in learned]
        ...     model = merge(learned, base=model)
        >>> model.score(X, y) > 0.9
        True
        """
        self._validate_params()
        total = ShardSurvey.total(surveys)
        new = self._unfitted()
        new.n_features_in_ = total.n_features
        new._expects_more = new.passes != 1
        new._start_with(total, total.kind, streaming=False)
        new.check_labels(total.labels)
        new._add_labels(list(total.labels))
        every = total.sums
        sums = sp.csr_matrix(
            (every.data.astype(np.float32), every.indices, every.indptr), every.shape
        )
        matrix = as_matrix(sums if total.is_sparse else np.ascontiguousarray(sums.toarray()))
        new._learner.begin_pass(again=False, rows=total.rows, more=new._passes() > 1)
        new._organize_sums(matrix, len(total.labels))
        return new

    def learn_shard(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        shard: int,
        shards: int,
        number: int,
        passes: int | None = None,
        known: State | None = None,
    ) -> Self:
        """Return a copy that has learned a shard in one of the passes of `fit`.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the shard, in the same order every time.
        shard : int
            Its number, which, with the seed, gives the order in which rows are learned.
        shards : int
            How many there are.
        number : int
            That of the pass, from 0.
        passes : int, optional
            How many there will be; `n_passes_` by default.
        known : dict of str to array, optional
            ``known_rows()`` of what this has returned for the shard in the pass before: what is
            known of its rows, so that it need not be found again.

        Returns
        -------
        estimator
            A new one, for `labeltree.merge` with this one as the base.
        """
        with self._lock.reading:
            new = self._restored(self._learner.state())
        passes = passes or self._passes()
        block = Block(X, y, sample_weight)
        if known is not None:
            new._learner.restore_rows(known)
        new._go_through([block], len(block), shard, shards, number, passes)
        return new

    def known_rows(self) -> State:
        """Return what is known of the rows that were learned, for the next pass of `learn_shard`.

        Returns
        -------
        dict of str to array
            In the order of the rows.
        """
        return dict(self._learner.rows_state())

    def _restored(self, state: State) -> Self:
        """Return a copy that has learned something else."""
        new = object.__new__(type(self))
        new.__dict__ = {**self._state(), "_vocabulary": self._vocabulary.copy()}
        new._take(new._make_learner())
        new._learner.restore(state)
        return new

    def _go_through(
        self,
        blocks: Iterable[Block],
        rows: int,
        shard: int,
        shards: int,
        number: int,
        passes: int,
    ) -> None:
        """Learn a shard in one pass: block by block, the rows of each in an order of its own."""
        self._learner.begin_pass(again=number > 0, rows=rows, more=number + 1 < passes)
        self._learner.set_shards(shards)
        rng = np.random.default_rng([self._seed(), number, shard])
        for block in blocks:
            batch = self._check(block.X, block.y, block.weight, reset=False)
            order = np.arange(batch.matrix.rows)
            if self.shuffle:
                order = rng.permutation(order)
            if block.first or batch.matrix.rows < rows:
                batch = batch.numbered(np.arange(block.first, block.first + len(order)))
            self._learn(batch, order, record=number == 0)
        self._learner.set_shards(1)

    def ended(self) -> Self:
        """Return a copy that knows that the rows will not come again.

        Returns
        -------
        estimator
            As `fit` leaves it.
        """
        with self._lock.reading:
            new = self._restored(self._learner.state())
        new._learner.begin_pass(again=False)
        return new

    @property
    def n_passes_(self) -> int:
        """How often `fit` goes through the rows."""
        return self._passes()

    def _seed(self) -> int:
        """Return what the order of rows depends on."""
        raise NotImplementedError

    def _organize_sums(self, sums: _core.Matrix, labels: int) -> None:
        """Give labels their places, from the sum of the rows of each."""
        raise NotImplementedError


def identity(labels: int) -> _core.LabelSets:
    """Return the labels of rows of which each has its own."""
    return _core.LabelSets(
        np.arange(labels + 1, dtype=np.int64), np.arange(labels, dtype=np.uint32)
    )
