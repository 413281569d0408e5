"""What the tree learners share."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_random_state

from labeltree import _core
from labeltree.estimators.base import Batch, OnlineClassifier
from labeltree.validation import as_threads


class TreeClassifier(OnlineClassifier):
    """Base of the trees: one label a row, in time logarithmic in the number of labels.

    ``step=None`` takes the step that did best on hold-outs: a larger one for rows of unit length,
    as tf-idf rows are, and a smaller one for others (``_steps``).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "step": [Interval(Real, 0, None, closed="neither"), None],
    }
    _settled: ClassVar[tuple[str, ...]] = (*OnlineClassifier._settled, "step_", "seed_")
    _steps: ClassVar[dict[str, float]]  # by scale_

    step: float | None
    step_: float
    seed_: int

    @abstractmethod
    def _make_learner(self) -> _core.TreeLearner:
        """Make an empty core learner."""

    def _settle(self, batch: Batch, *, streaming: bool) -> None:
        super()._settle(batch, streaming=streaming)
        self.step_ = self._steps[self.scale_] if self.step is None else self.step
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        ids, scores = self._learner.predict_topk(matrix, k, as_threads(self.n_jobs))
        return ids, scores
