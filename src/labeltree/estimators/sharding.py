"""The part of a learner that learns rows which are in several places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labeltree import _core
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.survey import ShardSurvey
from labeltree.validation import as_matrix


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
        >>> before = [None, None]
        >>> for number in range(model.n_passes_):
        ...     before = [
        ...         model.learn_shard(*shard, shard=i, number=number, before=before[i])
        ...         for i, shard in enumerate(shards)
        ...     ]
        ...     model = merge(before, base=model)
        >>> model.score(X, y) > 0.9
        True
        """
        self._validate_params()
        total = ShardSurvey.total(surveys)
        new = self._unfitted()
        new.n_features_in_ = total.n_features
        new._expects_more = new.passes != 1
        new._start_with(total, total.kind, streaming=False)
        new._add_labels(list(total.labels))
        sums = total.sums.astype(np.float32)
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
        number: int,
        passes: int | None = None,
        before: Self | None = None,
    ) -> Self:
        """Return a copy that has learned a shard in one of the passes of `fit`.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the shard, in the same order every time.
        shard : int
            Its number, which, with the seed, gives the order in which rows are learned.
        number : int
            That of the pass, from 0.
        passes : int, optional
            How many there will be; `n_passes_` by default.
        before : estimator, optional
            What this has returned for the shard in the pass before; what it knows of single rows
            is taken over.

        Returns
        -------
        estimator
            A new one, for `labeltree.merge` with this one as the base.
        """
        with self._lock.reading:
            new = self._copy()
            state = self._learner.state()
        if before is not None:
            state.update(before._of_rows())
        new._learner.restore(state)
        batch = new._check(X, y, sample_weight, reset=False)
        more = number + 1 < (passes or self._passes())
        new._learner.begin_pass(again=number > 0, rows=batch.matrix.rows, more=more)
        order = np.arange(batch.matrix.rows)
        if self.shuffle:
            order = np.random.default_rng([self._seed(), number, shard]).permutation(order)
        new._learn(batch, order, record=number == 0)
        return new

    def ended(self) -> Self:
        """Return a copy that knows that the rows will not come again.

        Returns
        -------
        estimator
            As `fit` leaves it.
        """
        with self._lock.reading:
            new = self._copy()
            new._learner.restore(self._learner.state())
        new._learner.begin_pass(again=False)
        return new

    @property
    def n_passes_(self) -> int:
        """How often `fit` goes through the rows."""
        return self._passes()

    def _copy(self) -> Self:
        """Return a copy without what the learner knows."""
        new = object.__new__(type(self))
        new.__dict__ = {**self._state(), "_vocabulary": self._vocabulary.copy()}
        new._take(new._make_learner())
        return new

    def _seed(self) -> int:
        """Return what the order of rows depends on."""
        raise NotImplementedError

    def _organize_sums(self, sums: _core.Matrix, labels: int) -> None:
        """Give labels their places, from the sum of the rows of each."""
        raise NotImplementedError

    def _of_rows(self) -> dict[str, NDArray[Any]]:
        """Return the part of the state that is about single rows."""
        return {}


def identity(labels: int) -> _core.LabelSets:
    """Return the labels of rows of which each has its own."""
    return _core.LabelSets(
        np.arange(labels + 1, dtype=np.int64), np.arange(labels, dtype=np.uint32)
    )
