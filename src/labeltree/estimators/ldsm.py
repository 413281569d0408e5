"""LdSM forests."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp

from labeltree import _core
from labeltree.conventions import check_random_state
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.locking import reading
from labeltree.estimators.prediction import Predictor
from labeltree.estimators.published import Published
from labeltree.estimators.survey import Batch, Survey
from labeltree.estimators.tree import TreeClassifier
from labeltree.labels import Label, Targets
from labeltree.merging import learners
from labeltree.merging.shards import Shards
from labeltree.merging.weighttable import State
from labeltree.parameters import Interval, StrOptions
from labeltree.progress import Meter
from labeltree.validation import as_threads

_FEATURE_BITS = 24  # features beyond 2 ** 24 share places


class LdSMClassifier(Published, TreeClassifier):
    """A forest for label sets: M-ary trees whose leaves remember the labels that reached them.

    A node of a tree has M linear regressors, trained to send examples to its children in equal
    shares, examples with the same label to the same child, and each to few children. An example
    goes to every child whose regressor says more than one half, or else to the best; the prediction
    is the average of the label histograms of the leaves it reaches in all trees (Majzoubi &
    Choromanska 2019).

    `fit` grows the trees from all rows at once: the heaviest leaf is split next. `partial_fit`
    takes rows one by one: they update the histograms and regressors on their way, and a leaf that
    has gathered `split_rows` of the most recent rows is split by them.

    The defaults go beyond the paper where that did better on hold-outs; with
    ``LdSMClassifier.published()`` `fit` does what the paper prints, by the authors' optimiser.

    Where rows have more than 2 ** 24 features, some share a place by hash.

    Parameters
    ----------
    arity : int, default=4
        Children of a node (M), from 2 to 8.
    n_trees : int, default=20
        Number of trees.
    max_nodes : int, default=1500
        Largest number of nodes of a tree, leaves included.
    epochs : int, default=5
        How often the regressors of a node see its rows when it is split.
    lambda1 : float, default=2.0
        How much it counts that examples of one label stay together, against equal shares.
    lambda2 : float, default=4.0
        How much it counts that an example goes to few children. Values below `lambda1` send
        examples to many leaves, which takes time and blurs the prediction.
    priority : {"rows", "labels"}, default="rows"
        Which leaf is split next: that with most rows, or, as published, that whose rows have most
        labels, its most frequent one not counted.
    min_leaf : int, default=2
        `fit` does not split leaves with fewer rows.
    min_feature_rows : int, default=2
        A node's regressors leave out features that fewer of its rows have; 1 takes all.
    max_share : float, default=0.9
        A split that would send more than this share of the rows to one child is not made.
    empty_children : bool, default=True
        Whether a split is made that sends no row to some child. As published it is not.
    top_labels : int, default=None
        How many labels the histogram of a node keeps, the most frequent ones; None keeps all.
    leaf_shares : {"rows", "labels"}, default="rows"
        What a leaf predicts of a label: the share of its rows that have it, or, as published, the
        share of their labels. These sum to one, and are thus smaller, for `threshold`, too.
    update : {"plain", "nag"}, default="plain"
        How regressors learn: by plain importance-aware steps of squared loss, or, as published, by
        normalised adaptive gradient steps of logistic loss. Only plain steps can learn a stream.
    reorder : bool, default=True
        Whether each epoch after the first takes a node's rows in a new order. As published all
        epochs have one.
    step : float, default=2.0
        Size of the regressors' steps. That of a node's t-th row is ``step / sqrt(t)``, for rows of
        average length, where they are plain.
    idf : float, default=0.0
        Let `fit` train with features whose values are multiplied by a power of their inverse
        document frequency, ``(log(n / n_i) + 0.1) ** idf`` relative to the mean, where n_i of the n
        rows have feature i; 0 is as published. The factors go into the regressors: they change
        neither rows to predict nor what `partial_fit` does.
    split_rows : int, default=50
        How many rows a leaf gathers before `partial_fit` splits it.
    recent_rows : int, default=10000
        How many of the most recent rows `partial_fit` keeps for that.
    threshold : float, default=0.5
        `predict` returns the labels of a set whose probability is above this.
    scale : {"auto", "max", "none"}, default="auto"
        As for `OneAgainstAllClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which each tree sees the rows; it is what makes trees differ.
    n_jobs : int, default=None
        Number of threads, -1 for all processors: trees that `fit` grows, and rows to predict, at a
        time. The model does not depend on it.

    Attributes
    ----------
    classes_, n_labels_
        As for `OneAgainstAllClassifier`.
    progress_ : Progress
        Progressive validation of `partial_fit`; `fit` adds nothing to it.
    tree_ : Tree
        The trees as they are now: nodes, leaves, depth, the path of a row, and ways to draw them.

    Examples
    --------
    >>> from labeltree import LdSMClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(2000, 50)
    >>> sets = [[int(label), 100 + int(label) % 3] for label in y]
    >>> clf = LdSMClassifier(n_trees=5, random_state=0).fit(X[:1500], sets[:1500])
    >>> clf.score(X[1500:], sets[1500:]) > 0.9
    True
    >>> labels, probabilities = clf.predict_topk(X[1500:], k=2)
    >>> labels.shape
    (500, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: OnlineClassifier._parameter_constraints[name] for name in ("random_state", "n_jobs")
    } | {
        "scale": [StrOptions({"auto", "max", "none"})],
        "arity": [Interval(Integral, 2, 8, closed="both")],
        "n_trees": [Interval(Integral, 1, 10_000, closed="both")],
        "max_nodes": [Interval(Integral, 1, 2**31, closed="both")],
        "epochs": [Interval(Integral, 1, 1000, closed="both")],
        "lambda1": [Interval(Real, 0, None, closed="left")],
        "lambda2": [Interval(Real, 0, None, closed="left")],
        "min_leaf": [Interval(Integral, 1, 2**32 - 1, closed="both")],
        "min_feature_rows": [Interval(Integral, 1, 2**32 - 1, closed="both")],
        "max_share": [Interval(Real, 0, 1, closed="right")],
        "empty_children": ["boolean"],
        "priority": [StrOptions({"rows", "labels"})],
        "leaf_shares": [StrOptions({"rows", "labels"})],
        "update": [StrOptions({"plain", "nag"})],
        "reorder": ["boolean"],
        "top_labels": [Interval(Integral, 1, 2**32 - 1, closed="both"), None],
        "step": [Interval(Real, 0, None, closed="neither")],
        "idf": [Interval(Real, 0, None, closed="left")],
        "split_rows": [Interval(Integral, 2, 2**32 - 1, closed="both")],
        "recent_rows": [Interval(Integral, 2, 2**31, closed="both")],
        "threshold": [Interval(Real, 0, 1, closed="left")],
    }
    _changeable: ClassVar[tuple[str, ...]] = ("threshold", "random_state", "n_jobs")
    _settled: ClassVar[tuple[str, ...]] = ("n_features_in_", "scale_", "seed_")
    _takes_sets: ClassVar[bool] = True
    _absent_before: ClassVar[dict[str, Any]] = {
        "priority": "rows",
        "empty_children": True,
        "leaf_shares": "rows",
        "update": "plain",
        "reorder": True,
    }
    _as_published: ClassVar[dict[str, Any]] = {
        "n_trees": 50,
        "epochs": 20,
        "priority": "labels",
        "min_feature_rows": 1,
        "max_share": 1.0,
        "empty_children": False,
        "leaf_shares": "labels",
        "update": "nag",
        "reorder": False,
        "step": 0.1,
        "scale": "none",
    }
    _first_tree = 0  # number of the first, where others are grown elsewhere
    _united: ClassVar[tuple[str, ...]] = ("n_trees",)

    def __init__(
        self,
        *,
        arity: int = 4,
        n_trees: int = 20,
        max_nodes: int = 1500,
        epochs: int = 5,
        lambda1: float = 2.0,
        lambda2: float = 4.0,
        priority: Literal["rows", "labels"] = "rows",
        min_leaf: int = 2,
        min_feature_rows: int = 2,
        max_share: float = 0.9,
        empty_children: bool = True,
        top_labels: int | None = None,
        leaf_shares: Literal["rows", "labels"] = "rows",
        update: Literal["plain", "nag"] = "plain",
        reorder: bool = True,
        step: float = 2.0,
        idf: float = 0.0,
        split_rows: int = 50,
        recent_rows: int = 10_000,
        threshold: float = 0.5,
        scale: Literal["auto", "max", "none"] = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.arity = arity
        self.n_trees = n_trees
        self.max_nodes = max_nodes
        self.epochs = epochs
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.priority = priority
        self.min_leaf = min_leaf
        self.min_feature_rows = min_feature_rows
        self.max_share = max_share
        self.empty_children = empty_children
        self.top_labels = top_labels
        self.leaf_shares = leaf_shares
        self.update = update
        self.reorder = reorder
        self.step = step
        self.idf = idf
        self.split_rows = split_rows
        self.recent_rows = recent_rows
        self.threshold = threshold
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit_trees(self, X: Any, y: Any, trees: range, sample_weight: Any = None) -> Self:
        """Forget everything and grow some trees of the forest, as `fit` grows all.

        Where others grow the rest from the same rows, ``merge(forests, same_rows=True)`` is the
        forest that `fit` grows, to the last bit.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        trees : range
            Their numbers, from 0 to `n_trees` - 1, one after the other.

        Returns
        -------
        self
            The fitted estimator, whose `n_trees` is the number of these trees.

        Examples
        --------
        >>> from labeltree import LdSMClassifier, merge
        >>> from labeltree.datasets import make_multiclass
        >>> X, y = make_multiclass(300, 10)
        >>> y = [[int(label)] for label in y]
        >>> parts = [
        ...     LdSMClassifier(n_trees=4, random_state=0).fit_trees(X, y, part)
        ...     for part in (range(0, 1), range(1, 4))
        ... ]
        >>> merge(parts, same_rows=True).n_trees
        4
        """
        if trees.step != 1 or not 0 <= trees.start < trees.stop <= self.n_trees:
            raise ValueError(
                f"trees is {trees}, expected a range of some of the {self.n_trees:,} trees, one "
                "after the other"
            )
        every = self.n_trees
        self.n_trees, self._first_tree = len(trees), trees.start
        try:
            return self.fit(X, y, sample_weight)
        except BaseException:
            self.n_trees = every
            raise
        finally:
            self._first_tree = 0

    def _settle(self, survey: Survey, *, streaming: bool) -> None:  # noqa: ARG002
        self.scale_ = self.scale
        if self.scale == "auto":
            self.scale_ = "none" if survey.has_unit_rows else "max"
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _make_learner(self) -> _core.LdsmForest:
        fixed = self._fixed
        # The bank holds no weights here: it scales rows and knows their average length. More
        # features than it has room for share their places by hash.
        wide = self.n_features_in_ > 2**_FEATURE_BITS
        bank = _core.BankParams(
            scale=getattr(_core.Scale, self.scale_),
            layout=_core.Layout.hashed if wide else _core.Layout.dense,
            bits=_FEATURE_BITS,
            features=self.n_features_in_,
            frozen=self.compiled_,
        )
        return _core.LdsmForest(
            bank,
            arity=fixed["arity"],
            lambda1=fixed["lambda1"],
            lambda2=fixed["lambda2"],
            trees=fixed["n_trees"],
            max_nodes=fixed["max_nodes"],
            epochs=fixed["epochs"],
            min_leaf=fixed["min_leaf"],
            min_feature_rows=fixed["min_feature_rows"],
            max_share=fixed["max_share"],
            step=fixed["step"],
            idf=fixed["idf"],
            top_labels=fixed["top_labels"] or 0,
            split_rows=fixed["split_rows"],
            recent_rows=fixed["recent_rows"],
            seed=self.seed_,
            first_tree=self._first_tree,
            update=getattr(_core.LdsmUpdate, fixed["update"]),
            reorder=fixed["reorder"],
            priority=getattr(_core.LdsmPriority, fixed["priority"]),
            empty_children=fixed["empty_children"],
            leaf_shares=getattr(_core.LeafShares, fixed["leaf_shares"]),
        )

    def _require_room(
        self, targets: Targets, declared: Sequence[Label], *, streaming: bool
    ) -> None:
        super()._require_room(targets, declared, streaming=streaming)
        if streaming and self.update != "plain":
            raise ValueError(
                f"update is {self.update!r}, expected 'plain' to learn a stream: only `fit` takes "
                "the published steps"
            )

    def _unite(self, models: Sequence[Self], state: State) -> None:  # noqa: ARG002
        self._first_tree = 0
        self.n_trees = sum(model._fixed["n_trees"] for model in models)
        self._fixed = {**self._fixed, "n_trees": self.n_trees}

    def _merge_states(self, shards: Shards) -> State:
        return learners.ldsm_forest(shards)

    def _learn_all(self, batch: Batch, verbose: int) -> None:
        meter = Meter(1, batch.matrix.rows, verbose)
        threads = as_threads(self.n_jobs)
        ids = batch.targets.ids(self._vocabulary)
        sets = _core.LabelSets(batch.targets.offset, ids)
        self._learner.fit(batch.matrix, sets, batch.weight, threads)
        meter.advance(batch.matrix.rows, self._progress)

    @reading
    def _above_threshold(self, matrix: _core.Matrix) -> sp.csr_matrix:
        offset, ids = self._learner.predict_above(matrix, self.threshold, as_threads(self.n_jobs))
        ones = np.ones(len(ids), dtype=np.int64)
        return sp.csr_matrix((ones, ids, offset), shape=(matrix.rows, len(self._vocabulary)))

    _above_threshold_of_row = Predictor._above_threshold_of_row
