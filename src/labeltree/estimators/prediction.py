"""Estimators that know labels: what they predict, and how well."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.conventions import Classifier, check_is_fitted
from labeltree.estimators.decisions import Decisions
from labeltree.estimators.locking import changing, of_one_model, reading
from labeltree.estimators.persistence import Persistent
from labeltree.labels import Kind, Targets, Vocabulary
from labeltree.progress import Progress
from labeltree.scikit_learn import scikit_learn
from labeltree.validation import as_matrix, as_rows, as_weights

FORMS: dict[Kind, str] = {
    "class": "one a row",
    "sets": "a set a row",
    "indicator": "an indicator matrix",
    "sparse indicator": "an indicator matrix",
}
T = TypeVar("T")
_INDICES = (np.dtype(np.int32), np.dtype(np.uint32))
_FLOAT = np.dtype(np.float32)
NO_LABEL = np.uint32(0xFFFFFFFF)  # the core's id for "none"


class Predictor(Classifier, Decisions, Persistent):
    """The part of an estimator that predicts; a subclass ranks labels (``_topk``)."""

    n_features_in_: int

    @abstractmethod
    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Return the ids of the k best labels of each row, best first, and their scores."""

    def _topk_of_row(self, row: _core.Matrix, k: int) -> tuple[list[int], list[float]]:
        """Return the same for a matrix of one row, as lists without what is missing."""
        ids, scores = self._topk(row, k)
        found = ids[0] != NO_LABEL
        return ids[0, found].tolist(), scores[0, found].tolist()

    def _above_threshold(self, matrix: _core.Matrix) -> sp.csr_matrix:
        """Return an indicator of the labels predicted for each row, one column a label id."""
        raise NotImplementedError  # only for estimators that take sets

    def _above_threshold_of_row(self, row: _core.Matrix) -> list[int]:
        """Return the ids of the labels predicted for one row, in their order."""
        ids: list[int] = self._above_threshold(row).indices.tolist()
        return ids

    @property
    @reading
    def progress_(self) -> Progress:
        """How examples were predicted before they were learned, as a copy of what is known now."""
        if not hasattr(self, "_progress"):
            raise AttributeError("progress_ is known once something was learned")
        return copy.deepcopy(self._progress)

    @progress_.setter
    @changing
    def progress_(self, progress: Progress) -> None:
        self._progress = copy.deepcopy(progress)

    @property
    def multilabel_(self) -> bool:
        """Whether rows have sets of labels."""
        return self._kind != "class"

    @property
    def label_form_(self) -> str:
        """How labels were given: "class", "sets", "indicator" or "sparse indicator"."""
        return self._kind

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether anything was learned."""
        return hasattr(self, "_learner")

    @property
    @reading
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of their ids, which is that of `predict_proba`'s columns."""
        if not hasattr(self, "_vocabulary"):
            raise AttributeError("classes_ is known once labels were seen")
        return self._vocabulary.array

    @property
    @reading
    def n_labels_(self) -> int:
        """How many labels were learned, and can be predicted."""
        check_is_fitted(self)
        return int(self._learner.learned_labels)

    @of_one_model
    def predict(self, X: Any) -> Any:
        """Predict the best label of each row, or the set of its labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,), list of lists, or indicator matrix
            In the form in which `y` was given.
        """
        matrix = self._matrix(X)
        if not self.multilabel_:
            (ids, _), vocabulary = self._asked(lambda: self._topk(matrix, 1))
            return vocabulary.take(ids[:, 0])
        indicator, vocabulary = self._asked(lambda: self._above_threshold(matrix))
        if self._kind == "sparse indicator":
            return indicator
        if self._kind == "indicator":
            return indicator.toarray()
        labels = vocabulary.take(indicator.indices).tolist()
        return [
            labels[begin:end]
            for begin, end in zip(indicator.indptr[:-1], indicator.indptr[1:], strict=True)
        ]

    @of_one_model
    def predict_topk(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Predict the k best labels of each row, best first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        k : int
            How many labels; at most as many as were learned are returned.

        Returns
        -------
        labels : array of shape (n_samples, k)
            The labels; None where an algorithm that looks at some labels only found fewer.
        scores : array of shape (n_samples, k)
            Probabilities where the estimator defines them, else margins.
        """
        matrix = self._matrix(X)
        wanted = _count(k)
        (ids, scores), vocabulary = self._asked(
            lambda: self._topk(matrix, min(wanted, self._learner.learned_labels))
        )
        missing = ids == NO_LABEL
        if not missing.any():
            return vocabulary.take(ids), scores
        labels = vocabulary.take(np.where(missing, 0, ids)).astype(object)
        labels[missing] = None
        return labels, scores

    @of_one_model
    def predict_one(self, x: Any, k: int | None = None) -> Any:
        """Predict for one row, in little more than the time the model takes.

        Parameters
        ----------
        x : dict, pair of arrays, array of shape (n_features,), or sparse row
            The features and their values: a dict, or an array of feature numbers and one of as
            many values, each feature once; or the values of all features; or a sparse matrix of
            one row.
        k : int, optional
            Ask for the k best labels.

        Returns
        -------
        label, list of labels, or list of (label, score)
            What `predict` gives for the row; with `k` the labels and scores of `predict_topk`.

        Examples
        --------
        >>> from labeltree import RecallTreeClassifier
        >>> clf = RecallTreeClassifier(random_state=0).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
        >>> clf.predict_one({0: 1.0})
        'a'
        """
        self._check_learned()
        matrix = self._row(x)
        if k is None and self.multilabel_:
            chosen, vocabulary = self._asked(lambda: self._above_threshold_of_row(matrix))
            return vocabulary.pick(chosen)
        wanted = 1 if k is None else _count(k)
        (ids, scores), vocabulary = self._asked(
            lambda: self._topk_of_row(matrix, min(wanted, self._learner.learned_labels))
        )
        labels = vocabulary.pick(ids)
        return labels[0] if k is None else list(zip(labels, scores, strict=True))

    def _asked(self, ask: Callable[[], T]) -> tuple[T, Vocabulary]:
        """Ask the core for ids; return its answer, and the vocabulary that they are of.

        The lock is not held between the two, unless others forget labels time and again: then
        ids are other labels' afterwards, and the vocabulary is another one.
        """
        for _ in range(3):
            vocabulary = self._vocabulary
            answer = ask()
            if self._vocabulary is vocabulary:
                self._check_learned()
                return answer, vocabulary
        with self._lock.reading:
            self._check_learned()
            return ask(), self._vocabulary

    def _row(self, x: Any) -> _core.Matrix:
        """Check the features of one row."""
        features = self.n_features_in_
        if isinstance(x, tuple) and _is_plain(x):
            return _core.Matrix.row(x[0], x[1], features)
        if sp.issparse(x):
            return self._sparse_row(x)
        if isinstance(x, dict):
            x = list(x.keys()), list(x.values())
        if isinstance(x, tuple):
            if len(x) != 2:
                raise ValueError(
                    f"x is a tuple of {len(x)}, expected two arrays: feature numbers and values"
                )
            indices, values = np.ascontiguousarray(x[0]), _floats(x[1])
            if not np.ndim(x[0]) == values.ndim == 1 or len(indices) != len(values):
                raise ValueError(
                    f"x has feature numbers of shape {np.shape(x[0])} and values of shape "
                    f"{values.shape}, expected as many of each, in one dimension"
                )
            if indices.dtype not in _INDICES:
                if indices.dtype.kind not in "iu" and len(indices):
                    raise ValueError(
                        f"the features of x are numbers, but {indices.flat[0]!r} was given"
                    )
                if len(indices) and not 0 <= indices.min() <= indices.max() < features:
                    raise ValueError(
                        f"x has features numbered {indices.min()} to {indices.max()}, expected "
                        f"numbers from 0 to {features - 1}"
                    )
                indices = indices.astype(np.uint32)
            return _core.Matrix.row(indices, values, features)
        values = _floats(x)
        if values.shape != (features,):
            raise ValueError(
                f"x has shape {values.shape}, expected ({features},): all features of one row; "
                "for some of them pass a dict"
            )
        return _core.Matrix.dense(values[None])

    def _sparse_row(self, x: Any) -> _core.Matrix:
        x = sp.csr_matrix(x.reshape(1, -1)) if x.ndim == 1 else x
        if x.shape[0] != 1:
            raise ValueError(f"x has {x.shape[0]} rows, expected one; for several use predict")
        return as_matrix(as_rows(self, x, reset=False))

    @of_one_model
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose best label is right.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like, list of lists, or indicator matrix
            The true labels. For label sets the best label is right if it is in the set
            (precision@1); rows without labels count as wrong.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        float
            Accuracy, or precision@1.
        """
        targets = Targets.parse(y)
        matrix = self._matrix(X)
        if len(targets) != matrix.rows:
            raise ValueError(f"X has {matrix.rows} rows, y has {len(targets)}")
        self._require_form(targets)
        weight = as_weights(sample_weight, matrix.rows)
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to score")
        (best, _), vocabulary = self._asked(lambda: self._topk(matrix, 1))
        vocabulary.require_common_type(targets.distinct)
        rows = np.flatnonzero(np.diff(targets.offset))
        right = np.zeros(matrix.rows)
        right[rows] = ~targets.wrong(targets.ids(vocabulary), rows, best[rows, 0])
        return float(np.average(right, weights=weight))

    def _matrix(self, X: Any) -> _core.Matrix:
        """Check rows to predict."""
        check_is_fitted(self)
        matrix = as_matrix(as_rows(self, X, reset=False))
        self._check_learned()
        return matrix

    def _check_learned(self) -> None:
        if not hasattr(self, "_learner"):
            check_is_fitted(self)  # which takes longer
        if self._learner.learned_labels == 0:
            raise scikit_learn("exceptions").NotFittedError(
                "no label was learned yet: all rows seen had no labels or weight zero, or all "
                "labels were forgotten"
            )

    def _require_form(self, targets: Targets) -> None:
        if not targets.fits(self._kind):
            raise ValueError(
                f"y gives labels as {FORMS[targets.kind]}, expected {FORMS[self._kind]}, as in "
                "the data learned before; fit a new estimator to change the task"
            )


def _is_plain(row: tuple[Any, ...]) -> bool:
    """Tell whether a row is two arrays in the form that the core takes; few calls, as most are."""
    if len(row) != 2:
        return False
    indices, values = row
    return (
        type(indices) is type(values) is np.ndarray
        and indices.dtype in _INDICES
        and values.dtype == _FLOAT
        and indices.ndim == 1
        and indices.shape == values.shape
        and indices.flags.c_contiguous
        and values.flags.c_contiguous
    )


def _floats(values: Any) -> NDArray[np.float32]:
    if isinstance(values, np.ndarray) and values.dtype == np.float32:
        return np.ascontiguousarray(values)
    numbers = np.asarray(values)
    if numbers.size and numbers.dtype.kind not in "biuf":
        raise ValueError(f"the values of x are of type {numbers.dtype}, expected numbers")
    with np.errstate(over="ignore"):  # the core refuses what is not finite
        return np.asarray(numbers, np.float32, order="C")


def _count(k: Any) -> int:
    if type(k) is int and k >= 1:  # quicker than to ask what an integer is
        return k
    if not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k is {k!r}, expected an integer from 1")
    return int(k)
