"""One-against-all: one linear model per label."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.conventions import available_if
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.locking import reading
from labeltree.estimators.probabilities import BEST, logistic, sparse_table
from labeltree.estimators.survey import Survey
from labeltree.labels import Label
from labeltree.merging import learners
from labeltree.merging.shards import Shards
from labeltree.merging.weighttable import State
from labeltree.parameters import Interval, StrOptions
from labeltree.progress import Progress
from labeltree.validation import as_threads

_MARGINS = ("hinge", "squared_hinge")  # losses that define no probabilities


class OneAgainstAllClassifier(OnlineClassifier):
    """One linear model per label, each learning its label against all others.

    The baseline that the trees are measured against: its cost per example grows with the number
    of labels. It is exact about that work (all labels, all examples) but not slow at it: eight
    labels are scored and updated at a time, in an order that keeps their weights in the cache.

    Parameters
    ----------
    loss : {"logistic", "squared", "hinge", "squared_hinge"}, default=None
        What each model minimises. Logistic and squared loss give probabilities. None takes
        "logistic", or "squared_hinge", which is the only one, for the dual update.
    update : {"adaptive", "sgd", "dual"}, default="adaptive"
        Adaptive, normalised steps that need no tuning, or plain steps of size
        ``step / t ** power``. Both are importance-aware: they never overshoot. "dual" takes exact
        steps of dual coordinate descent, which have no size: `fit` approaches what scikit-learn's
        ``LinearSVC`` finds, with 4 bytes for each row and label meanwhile, 4 GB at most;
        `partial_fit` takes the first step of each row.
    C : float, default=0.3
        With the dual update, how much the loss counts beside the size of the weights, as for
        ``LinearSVC``, for rows of unit length; rows of other units count as if they had it on
        average.
    step : float, default=1.0
        Size of the steps. Label sets with few examples a label often gain from 0.5.
    power : float, default=0.0
        With ``update="sgd"``, how fast the steps shrink.
    scale : {"auto", "max", "none", "unit", "idf"}, default="auto"
        "max" divides every feature by its largest absolute value so far, so that units do not
        matter; "none" takes features as they are; "unit" divides rows by their length; "idf"
        weighs rows of counts by tf-idf, as `TextFeatures` does, with the rows counted so far, in
        `fit` with all. "auto" is "none" if the rows of the first batch have unit length, as tf-idf
        rows do; for the dual update on sparse rows it is "idf" if they hold whole numbers, else
        "unit"; otherwise it is "max".
    layout : {"auto", "dense", "hashed"}, default="auto"
        "dense" keeps labels x features weights; "hashed" keeps 2 ** bits weights, shared by
        chance. "auto" is "dense" for dense rows, and in `fit` for sparse ones if that takes no
        more memory than a table of 2 ** bits weights, else "hashed".
    bits : int, default=None
        Size of the hashed table: 2 ** bits weights of 8 bytes. None takes twice labels x
        features seen, rounded up to a power of two, from 16 to 26 bits, for `fit`, and 24 bits
        for `partial_fit`.
    min_gradient : float, default=None
        A model does not learn from examples on which its loss has a smaller slope. They are most
        of what a rare label's model sees; skipping them saves most of the time and gains
        precision. None takes 0.03 for label sets and 0.001 for one label a row, where all
        probabilities are made to sum to one and many that are not quite zero would distort them.
        0 learns from every example.
    passes : int, default=None
        How often `fit` goes through the rows; None takes 3, or 5 with the dual update.
    shuffle : bool, default=True
        Whether `fit` takes the rows in a new random order in each pass.
    random_state : int, RandomState instance or None, default=None
        Seed of that order.
    n_jobs : int, default=None
        Number of threads, -1 for all processors: for prediction, and for learning in the dense
        layout. The model does not depend on it.

    Attributes
    ----------
    classes_ : array
        The labels. After `fit` they are sorted; labels that come later are appended.
    n_labels_ : int
        How many of them were learned.
    progress_ : Progress
        Progressive validation: the error on each example before it was learned.
    scale_, layout_, bits_, min_gradient_
        What "auto" and None became. A dense layout for sparse rows is called "lines": the weights
        of eight labels for one feature lie side by side.

    Examples
    --------
    >>> from labeltree import OneAgainstAllClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(2000, 50)
    >>> clf = OneAgainstAllClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> clf.score(X[1500:], y[1500:]) > 0.95
    True
    >>> labels, scores = clf.predict_topk(X[1500:], k=3)
    >>> labels.shape
    (500, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "loss": [StrOptions({"logistic", "squared", "hinge", "squared_hinge"}), None],
        "update": [StrOptions({"adaptive", "sgd", "dual"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "step": [Interval(Real, 0, None, closed="neither")],
        "power": [Interval(Real, 0, None, closed="left")],
        "min_gradient": [Interval(Real, 0, None, closed="left"), None],
        "passes": [Interval(Integral, 1, None, closed="left"), None],
    }
    _settled: ClassVar[tuple[str, ...]] = (*OnlineClassifier._settled, "min_gradient_")
    _takes_sets: ClassVar[bool] = True
    _absent_before: ClassVar[dict[str, Any]] = {"C": 0.3}

    min_gradient_: float

    def __init__(
        self,
        *,
        loss: Literal["logistic", "squared", "hinge", "squared_hinge"] | None = None,
        update: Literal["adaptive", "sgd", "dual"] = "adaptive",
        C: float = 0.3,
        step: float = 1.0,
        power: float = 0.0,
        scale: Literal["auto", "max", "none", "unit", "idf"] = "auto",
        layout: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | None = None,
        min_gradient: float | None = None,
        passes: int | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.update = update
        self.C = C
        self.step = step
        self.power = power
        self.scale = scale
        self.layout = layout
        self.bits = bits
        self.min_gradient = min_gradient
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _settle(self, survey: Survey, *, streaming: bool) -> None:
        super()._settle(survey, streaming=streaming)
        if self.update == "dual":
            self._settle_rows(survey)
        room = 0 if streaming else 2**self.bits_
        self._settle_lines(survey, survey.n_labels, room)
        default = 0.03 if survey.multilabel else 1e-3
        self.min_gradient_ = default if self.min_gradient is None else self.min_gradient

    def fit_labels(
        self, X: Any, y: Any, labels: Iterable[Label], sample_weight: Any = None
    ) -> Self:
        """Forget everything and learn some of the labels, each against all others, as `fit` does.

        Where others learn the rest from the same rows, ``merge(models, same_rows=True)`` is the
        model that `fit` learns with ``layout="dense"``, to the last bit, but for `progress_`: how
        all labels together would have predicted a row is not known.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        labels : iterable of int or str
            Some of the labels of y. Weights are never hashed.

        Returns
        -------
        self
            The fitted estimator, which knows these labels alone.

        Examples
        --------
        >>> from labeltree import OneAgainstAllClassifier, merge
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["a", "b", "c"]
        >>> parts = [
        ...     OneAgainstAllClassifier(random_state=0).fit_labels(X, y, some)
        ...     for some in (["a"], ["b", "c"])
        ... ]
        >>> merge(parts, same_rows=True).predict(X)
        array(['a', 'b', 'c'], dtype=object)
        """
        if self.layout == "hashed":
            raise ValueError(
                "layout is 'hashed', in which labels share weights by chance with all others; "
                "leave it out, or set 'dense'"
            )
        self._validate_params()
        new = self._unfitted()
        batch = new._check(X, y, sample_weight, reset=True)
        new._expects_more = new.passes != 1
        new._start(batch, streaming=False)
        if new.layout_ == "hashed":
            new.layout_ = "lines"
            new._take(new._make_learner())
        batch = batch._replace(targets=batch.targets.only(labels))
        new._add_labels(batch.targets.distinct)
        new._learn_all(batch, 0)
        new._progress = Progress()
        self._become(new)
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        dual = self.update == "dual"
        if self.loss is not None and dual != (self.loss == "squared_hinge"):
            raise ValueError(
                f"loss is {self.loss!r} and update {self.update!r}: squared_hinge and dual go "
                "together; leave loss out to take the one that fits"
            )

    def _loss(self) -> str:
        """Return what each model minimises."""
        params = getattr(self, "_fixed", vars(self))
        default = "squared_hinge" if params["update"] == "dual" else "logistic"
        return params["loss"] or default

    def _passes(self) -> int:
        return self.passes or (5 if self._fixed["update"] == "dual" else 3)

    def _keeps_gradient_sums(self) -> bool:
        return bool(self._fixed["update"] != "dual")

    def _make_learner(self) -> _core.OneAgainstAll:
        fixed = self._fixed
        loss = "hinge" if self._loss() == "squared_hinge" else self._loss()
        rule = self._rule(fixed["step"], loss, fixed["update"], self.min_gradient_)
        return _core.OneAgainstAll(self._bank_params(), rule)

    def _merge_states(self, shards: Shards) -> State:
        return learners.one_against_all(shards)

    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        gives_margins = self._loss() in _MARGINS
        normalise = not self.multilabel_ and not gives_margins
        ids, margins, total = self._learner.predict_topk(
            matrix, k, as_threads(self.n_jobs), normalise
        )
        if gives_margins:
            return ids, margins
        p = self._probability(margins)
        return ids, self._normalise(p, margins, total[:, None]) if normalise else p

    @reading
    def _above_threshold(self, matrix: _core.Matrix) -> sp.csr_matrix:
        threshold = 0.5 if self._loss() == "squared" else 0.0
        offset, ids = self._learner.predict_above(matrix, threshold, as_threads(self.n_jobs))
        ones = np.ones(len(ids), dtype=np.int64)
        return sp.csr_matrix((ones, ids, offset), shape=(matrix.rows, len(self._vocabulary)))

    @available_if(lambda self: self._loss() not in _MARGINS)
    @reading
    def predict_proba(self, X: Any, *, sparse: bool = False) -> NDArray[np.float32] | sp.csr_matrix:
        """Return the probability of every label: an array of rows x labels.

        For large numbers of labels use `predict_topk`, which gives the same numbers for the best,
        or `sparse`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        sparse : bool
            Whether to return a CSR matrix of the 100 best labels of each row, as `predict_topk`
            finds them, instead of a table of all.

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_classes)
            Columns in the order of `classes_`; 0 for labels never learned. For single labels
            each row sums to 1; for label sets each label has a probability of its own.
        """
        matrix = self._matrix(X)
        if sparse:
            ids, scores = self._topk(matrix, min(BEST, self.n_labels_))
            return sparse_table(ids, scores, len(self._vocabulary))
        margins = self._margins(matrix)
        p = self._probability(margins)
        if self.multilabel_:
            return p
        return self._normalise(p, margins, p.sum(axis=1, keepdims=True))

    def _decisions(self, X: Any) -> NDArray[np.float64]:
        if self._loss() not in _MARGINS:
            return super()._decisions(X)
        margins = self._margins(self._matrix(X)).astype(np.float64)
        np.maximum(margins, np.finfo(np.float32).min, out=margins)  # of labels never learned
        if margins.shape[1] == 2 and not self.multilabel_:  # what decides is their difference
            margins -= margins.mean(axis=1, keepdims=True)
        return margins

    def _margins(self, matrix: _core.Matrix) -> NDArray[np.float32]:
        """Return what every label's model predicts; minus infinity for labels never learned."""
        margins: NDArray[np.float32] = self._learner.predict_margins(
            matrix, as_threads(self.n_jobs)
        )
        return margins

    def _probability(self, margins: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of a label by its own model."""
        if self._loss() == "squared":
            return np.clip(margins, 0.0, 1.0)
        return logistic(margins)

    def _normalise(
        self,
        p: NDArray[np.float32],
        margins: NDArray[np.float32],
        total: NDArray[np.floating[Any]],
    ) -> NDArray[np.float32]:
        """Divide by the total over all labels; if that is zero, all labels learned are alike."""
        alike: NDArray[np.float64] = np.isfinite(margins) / self.n_labels_
        np.divide(p, total, out=alike, where=total > 0)
        return alike.astype(np.float32)
