"""What the tree learners share."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.conventions import check_random_state
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.locking import reading
from labeltree.estimators.prediction import NO_LABEL
from labeltree.estimators.probabilities import BEST, sparse_table
from labeltree.estimators.survey import Survey
from labeltree.parameters import Interval
from labeltree.treeview import NO_NODE, Tree
from labeltree.validation import as_threads

_FIRST = 16  # labels asked for at first where those above a threshold are wanted


class TreeClassifier(OnlineClassifier):
    """Base of the trees: one label a row, in time logarithmic in the number of labels.

    ``step=None`` takes the step that did best on hold-outs: a larger one for sparse rows, of which
    each feature is seen rarely, and a smaller one for dense rows (``_steps``).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "step": [Interval(Real, 0, None, closed="neither"), None],
    }
    _settled: ClassVar[tuple[str, ...]] = (*OnlineClassifier._settled, "step_", "seed_")
    _steps: ClassVar[dict[str, float]]  # for sparse rows, those with label sets, and dense rows

    step: float | None
    threshold: float  # of those that take sets
    step_: float
    seed_: int

    @abstractmethod
    def _make_learner(self) -> _core.TreeLearner | _core.LdsmForest:
        """Make an empty core learner."""

    def _settle(self, survey: Survey, *, streaming: bool) -> None:
        super()._settle(survey, streaming=streaming)
        self.step_ = self._default_step(survey) if self.step is None else self.step
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _default_step(self, survey: Survey) -> float:
        if not survey.is_sparse:
            return self._steps["dense"]
        return self._steps["sparse sets" if survey.multilabel else "sparse"]

    @property
    @reading
    def tree_(self) -> Tree:
        """The tree as it is now: nodes, leaves, depth, the path of a row, and ways to draw it."""
        self._check_learned()
        parent, label, weight, labels_below = self._learner.view()
        names = np.array([*self._vocabulary.tolist(), None], dtype=object)
        return Tree(
            np.where(parent == NO_NODE, -1, parent.astype(np.int64)),
            names[np.where(label == NO_LABEL, len(names) - 1, label)],
            weight,
            labels_below.astype(np.int64),
            self._path,
            self._measures(),
        )

    @reading
    def _path(self, X: Any) -> list[int]:
        """Return the nodes that the first row of X passes."""
        path: list[int] = self._learner.path(self._matrix(X), 0)
        return path

    def _html_below(self) -> str:
        """Return the shape of a fitted tree."""
        return self.tree_.to_html() if hasattr(self, "_learner") else ""

    def _measures(self) -> dict[str, NDArray[np.float64]]:
        """Return what the algorithm knows of each node besides."""
        return {}

    def _all_probabilities(self, matrix: _core.Matrix) -> NDArray[np.float32]:
        """Return the probability of every label, one column a label id; 0 if never learned."""
        p: NDArray[np.float32] = self._learner.predict_all(matrix, as_threads(self.n_jobs))
        return p

    def _best_probabilities(self, matrix: _core.Matrix) -> sp.csr_matrix:
        """Return the probabilities of the best labels, one column a label id."""
        ids, scores = self._topk(matrix, min(BEST, self.n_labels_))
        return sparse_table(ids, scores, len(self._vocabulary))

    @reading
    def _above_threshold(self, matrix: _core.Matrix) -> sp.csr_matrix:
        k = min(_FIRST, self.n_labels_)
        found_rows, found_ids = [], []
        open_rows = np.ones(matrix.rows, dtype=bool)
        while True:
            ids, scores = self._topk(matrix, k)
            chosen = (scores >= self.threshold) & (ids != NO_LABEL)
            full = open_rows & chosen[:, -1] if k < self.n_labels_ else np.zeros_like(open_rows)
            rows, places = np.nonzero(chosen & (open_rows & ~full)[:, None])
            found_rows.append(rows)
            found_ids.append(ids[rows, places].astype(np.int64))
            if not full.any():
                break
            open_rows = full  # these may have more; the others' labels do not depend on them
            k = min(4 * k, self.n_labels_)
        at = np.concatenate(found_rows), np.concatenate(found_ids)
        shape = (matrix.rows, len(self._vocabulary))
        indicator = sp.csr_matrix((np.ones(len(at[0]), dtype=np.int64), at), shape=shape)
        indicator.sort_indices()
        return indicator

    def _above_threshold_of_row(self, row: _core.Matrix) -> list[int]:
        most = self._learner.learned_labels
        k = min(_FIRST, most)
        threshold = float(np.float32(self.threshold))  # scores have no more places
        while True:  # a matrix of the labels of one row would take longer than the model
            ids, scores = self._topk_of_row(row, k)
            chosen = [i for i, score in zip(ids, scores, strict=True) if score >= threshold]
            if k == most or len(chosen) < k:
                return sorted(chosen)
            k = min(4 * k, most)

    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        ids, scores = self._learner.predict_topk(matrix, k, as_threads(self.n_jobs))
        return ids, scores

    def _topk_of_row(self, row: _core.Matrix, k: int) -> tuple[list[int], list[float]]:
        ids, scores = self._learner.predict_row(row, k)
        return ids, scores
