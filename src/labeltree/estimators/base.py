"""What every online classifier shares: labels in, labels out, passes, progress, files."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples, check_is_fitted

from labeltree import _core, modelfile
from labeltree.labels import Label, Targets, Vocabulary
from labeltree.metrics import precision_at_k
from labeltree.progress import Progress
from labeltree.validation import as_matrix, as_rows, as_threads, as_weights

NO_LABEL = np.uint32(0xFFFFFFFF)  # the core's id for "none"


class Batch(NamedTuple):
    """Rows to learn from, all of them checked."""

    rows: Any  # CSR or a dense array
    matrix: _core.Matrix  # the same, as the core sees them
    targets: Targets
    weight: NDArray[np.float32] | None


class OnlineClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers: `fit` is a reset, then passes of what `partial_fit` does.

    A subclass settles the parameters left to the data (``_settle``), makes its core learner from
    parameters and settled attributes (``_make_learner``), and ranks labels (``_topk``). A core
    learner has ``resize``, ``learn``, ``examples``, ``learned_labels``, ``state``, ``restore``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "passes": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    # The fitted attributes from which, with the parameters, the core learner is made.
    _settled: ClassVar[tuple[str, ...]] = ("n_features_in_",)

    passes: int
    shuffle: bool
    random_state: Any
    n_jobs: int | None

    n_features_in_: int
    progress_: Progress

    @abstractmethod
    def _settle(self, batch: Batch, *, streaming: bool) -> None:
        """Set the fitted attributes that depend on the first batch."""

    @abstractmethod
    def _make_learner(self) -> Any:
        """Make an empty core learner."""

    @abstractmethod
    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Return the ids of the k best labels of each row, best first, and their scores."""

    @abstractmethod
    def _above_threshold(self, matrix: _core.Matrix) -> sp.csr_matrix:
        """Return an indicator of the labels predicted for each row, one column a label id."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn the rows in `passes` passes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like, list of lists, or indicator matrix
            One label a row, an int or a str; or a set of labels a row.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; rows of weight 0 are left out.

        Returns
        -------
        self
            The fitted estimator. After Ctrl-C what was learned so far remains.
        """
        self._validate_params()
        batch = self._check(X, y, sample_weight, reset=True)
        if batch.weight is not None and not batch.weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
        self._start(batch, batch.targets.distinct, streaming=False)
        random = check_random_state(self.random_state)
        order = np.arange(batch.matrix.rows)
        for number in range(self.passes):
            if self.shuffle:
                order = random.permutation(batch.matrix.rows)
            self._learn(batch, order, record=number == 0)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows once, in their order, on top of what is known.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. Labels never seen before are welcome at any time.
        classes : array-like, optional
            Labels that get the next ids. Never needed: a label is predicted once it was seen.

        Returns
        -------
        self
            The estimator.
        """
        first = not hasattr(self, "_learner")
        self._validate_params()
        batch = self._check(X, y, sample_weight, reset=first)
        if first:
            self._start(batch, [], streaming=True)
        if classes is not None:
            self._vocabulary.add(Targets.parse(classes).distinct)
        self._learn(batch, np.arange(batch.matrix.rows), record=True)
        return self

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Batch:
        """Check everything before anything is changed."""
        targets = Targets.parse(y)
        rows = _num_samples(X)
        if len(targets) != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {rows} rows, "
                f"y has {len(targets)}"
            )
        if not reset and targets.multilabel != self.multilabel_:
            expected = "a set of labels" if self.multilabel_ else "one label"
            raise ValueError(
                f"y has the form of a {targets.kind}, expected {expected} for each row, as in the "
                "data learned before; fit a new estimator to change the task"
            )
        weight = as_weights(sample_weight, rows)
        checked = as_rows(self, X, reset=reset)
        return Batch(checked, as_matrix(checked), targets, weight)

    def _start(self, batch: Batch, labels: list[Label], *, streaming: bool) -> None:
        """Begin with no knowledge but the order of some labels, for data like `batch`."""
        self._settle(batch, streaming=streaming)
        self._vocabulary = Vocabulary(labels)
        self._kind = batch.targets.kind
        self._learner = self._make_learner()
        self.progress_ = Progress()

    def _learn(self, batch: Batch, order: NDArray[np.int64], *, record: bool) -> None:
        """Learn rows in the given order; count progressive errors if `record`."""
        targets = batch.targets
        self._vocabulary.add(targets.by_appearance())
        self._learner.resize(len(self._vocabulary))
        ids = targets.ids(self._vocabulary)
        predicted = np.full(len(order), NO_LABEL)
        before = self._learner.examples
        try:
            self._learner.learn(
                batch.matrix,
                _core.LabelSets(targets.offset, ids),
                batch.weight,
                order,
                as_threads(self.n_jobs),
                predicted,
            )
        finally:  # after Ctrl-C too: count what was learned
            learned = self._learner.examples - before
            if record:
                self.progress_.add(targets.wrong(ids, order[:learned], predicted[:learned]))

    @property
    def multilabel_(self) -> bool:
        """Whether rows have sets of labels."""
        return self._kind != "class"

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether anything was learned."""
        return hasattr(self, "_learner")

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of their ids, which is that of `predict_proba`'s columns."""
        if not hasattr(self, "_vocabulary"):
            raise AttributeError("classes_ is known once labels were seen")
        return self._vocabulary.array

    @property
    def n_labels_(self) -> int:
        """How many labels were learned, and can be predicted."""
        check_is_fitted(self)
        return int(self._learner.learned_labels)

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
            ids, _ = self._topk(matrix, 1)
            return self._vocabulary.array[ids[:, 0]]
        indicator = self._above_threshold(matrix)
        if self._kind == "sparse indicator":
            return indicator
        if self._kind == "indicator":
            return indicator.toarray()
        labels = self._vocabulary.array
        return [
            labels[indicator.indices[begin:end]].tolist()
            for begin, end in zip(indicator.indptr[:-1], indicator.indptr[1:], strict=True)
        ]

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
            The labels.
        scores : array of shape (n_samples, k)
            Probabilities where the estimator defines them, else margins.
        """
        matrix = self._matrix(X)
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k is {k!r}, expected an integer from 1")
        ids, scores = self._topk(matrix, min(int(k), self.n_labels_))
        return self._vocabulary.array[ids], scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose best label is right.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like, list of lists, or indicator matrix
            The true labels. For label sets the best label is right if it is in the set
            (precision@1).
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; for single labels only.

        Returns
        -------
        float
            Accuracy, or precision@1.
        """
        if not self.multilabel_:
            return float(super().score(X, y, sample_weight))
        labels, _ = self.predict_topk(X, 1)
        truth = sp.csr_matrix(y) if self._kind.endswith("indicator") else y
        return precision_at_k(truth, labels, 1)

    def _matrix(self, X: Any) -> _core.Matrix:
        """Check rows to predict."""
        check_is_fitted(self)
        matrix = as_matrix(as_rows(self, X, reset=False))
        if self.n_labels_ == 0:
            raise NotFittedError(
                "no label was learned yet: all rows seen had no labels or weight zero"
            )
        return matrix

    def save(self, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
        """Write the model to one file; `labeltree.load` reads it back.

        The file holds every parameter, the labels and the whole state of learning: training on
        after loading gives, bit for bit, the model that uninterrupted training gives.

        Parameters
        ----------
        path : str or path-like
            Where to write. An existing file is replaced only once the new one is complete.
        notes : dict, optional
            Anything that JSON can hold, to be kept in the header.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        header = {
            "estimator": type(self).__name__,
            "params": {name: _plain(name, value) for name, value in self.get_params().items()},
            "settled": {name: _plain(name, getattr(self, name)) for name in self._settled},
            "feature_names": None if names is None else names.tolist(),
            "kind": self._kind,
            "progress": vars(self.progress_),
            "notes": notes or {},
        }
        labels = json.dumps(self._vocabulary.tolist()).encode()
        arrays = {"labels": np.frombuffer(labels, np.uint8), **self._learner.state()}
        modelfile.write(path, header, arrays)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Make the estimator that `save` wrote."""
        model = cls(**header["params"])
        for name, value in header["settled"].items():
            setattr(model, name, value)
        if header["feature_names"] is not None:
            model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        model._kind = header["kind"]
        progress = dict(header["progress"])
        progress["checkpoints"] = [tuple(row) for row in progress["checkpoints"]]
        model.progress_ = Progress(**progress)
        labels: list[Label] = json.loads(arrays.pop("labels").tobytes())
        model._vocabulary = Vocabulary(labels)
        model._learner = model._make_learner()
        model._learner.restore(arrays)
        return model

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_learner" in state:
            state = {**state, "_learner": state["_learner"].state()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays = state.pop("_learner", None)
        super().__setstate__(state)
        if arrays is not None:
            self._learner = self._make_learner()
            self._learner.restore(arrays)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"{name} is a {type(value).__name__}, which a model file cannot hold; "
        "set it to a number, a string or None before saving"
    )
