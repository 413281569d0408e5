"""The Recall Tree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from labeltree import _core
from labeltree.estimators.probabilities import logistic
from labeltree.estimators.published import Published
from labeltree.estimators.tree import TreeClassifier
from labeltree.parameters import Interval, StrOptions


class RecallTreeClassifier(Published, TreeClassifier):
    """Trees that find a few candidate labels, and one scorer per label to decide among them.

    Every node counts the labels that reach it; where an example's descent ends, the most frequent
    ones are its candidates, and only their scorers are asked, and taught (Daumé, Karampatziakis,
    Langford & Mineiro 2017).

    The defaults go beyond the paper where that did better on hold-outs;
    ``RecallTreeClassifier.published()`` is the algorithm as printed.

    Parameters
    ----------
    candidates : int, default=None
        Candidates from each tree. None shares ``4 * ceil(log2(K))`` among the trees, at least 4
        each, for the K labels learned so far.
    n_trees : int, default=3
        Trees that share the scorers; their candidates are united.
    max_depth : int, default=None
        Largest depth of a node. None takes ``2 * ceil(log2(K))`` for the K labels learned so far.
    max_nodes : int, default=None
        Largest number of inner nodes of a tree, on average over the trees. None takes 4 for each
        label learned so far.
    stop : {"fit", "bernstein"}, default="fit"
        "fit" descends to a leaf; leaves are split as long as their labels do not fit into the
        candidates. "bernstein" is the published rule: the descent ends at a node whose lower
        bound on recall is better than its child's.
    bound : float, default=1.0
        The factor of that lower bound (lambda).
    recount : bool, default=False
        Whether an example counts in that bound each time that it is learned, as published, or once
        however many passes there are.
    importance : {"total", "average", "equal"}, default="total"
        How much an example counts to a router: "total" is the number of bits that it saves,
        "average", as published, what this changes in the average over the node's examples. That
        shrinks as the node grows, and routers soon stop learning. "equal" gives all the same, as
        Vowpal Wabbit does.
    path_features : {"path", "node", "none"}, default="none"
        Which nodes on an example's way are features of the scorers: all, the last one, or none.
    fill : bool, default=True
        Whether a node with few labels takes further candidates from its ancestors.
    always_train : bool, default=True
        Whether the true label's scorer learns even if it is no candidate.
    randomized : bool, default=False
        Whether learning follows a router at random, with the router's probability.
    step : float, default=None
        Size of the routers' steps; None takes 1.0 for sparse rows and 0.25 for dense ones.
    scorer_step : float, default=1.0
        Size of the scorers' steps.
    scale, layout, bits
        As for `OneAgainstAllClassifier`.
    min_gradient : float, default=0.03
        Neither router nor scorer learns from examples on which its loss has a smaller slope. 0
        learns from every example.
    passes, shuffle, random_state
        As for `OneAgainstAllClassifier`.
    n_jobs : int, default=None
        Number of threads that predict, -1 for all processors. The answers do not depend on it.

    Attributes
    ----------
    classes_, n_labels_, progress_
        As for `OneAgainstAllClassifier`.
    tree_ : Tree
        The tree as it is now: nodes, leaves, depth, the path of a row, and ways to draw it.

    Examples
    --------
    >>> from labeltree import RecallTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 100)
    >>> clf = RecallTreeClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeClassifier._parameter_constraints,
        "candidates": [Interval(Integral, 1, 2**32 - 1, closed="both"), None],
        "n_trees": [Interval(Integral, 1, 1000, closed="both")],
        "max_depth": [Interval(Integral, 1, 2**32 - 1, closed="both"), None],
        "max_nodes": [Interval(Integral, 1, 2**31, closed="both"), None],
        "stop": [StrOptions({"fit", "bernstein"})],
        "bound": [Interval(Real, 0, None, closed="left")],
        "recount": ["boolean"],
        "importance": [StrOptions({"total", "average", "equal"})],
        "path_features": [StrOptions({"path", "node", "none"})],
        "fill": ["boolean"],
        "always_train": ["boolean"],
        "randomized": ["boolean"],
        "scorer_step": [Interval(Real, 0, None, closed="neither")],
    }
    _steps: ClassVar[dict[str, float]] = {"sparse": 1.0, "dense": 0.25}
    _absent_before: ClassVar[dict[str, Any]] = {"recount": False, "importance": "total"}
    _as_published: ClassVar[dict[str, Any]] = {
        "n_trees": 1,
        "max_nodes": 2**31,
        "stop": "bernstein",
        "recount": True,
        "importance": "average",
        "path_features": "path",
        "fill": False,
        "always_train": False,
        "min_gradient": 0.0,
    }

    def __init__(
        self,
        *,
        candidates: int | None = None,
        n_trees: int = 3,
        max_depth: int | None = None,
        max_nodes: int | None = None,
        stop: Literal["fit", "bernstein"] = "fit",
        bound: float = 1.0,
        recount: bool = False,
        importance: Literal["total", "average", "equal"] = "total",
        path_features: Literal["path", "node", "none"] = "none",
        fill: bool = True,
        always_train: bool = True,
        randomized: bool = False,
        step: float | None = None,
        scorer_step: float = 1.0,
        scale: Literal["auto", "max", "none", "unit", "idf"] = "auto",
        layout: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | None = None,
        min_gradient: float = 0.03,
        passes: int = 3,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.candidates = candidates
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.stop = stop
        self.bound = bound
        self.recount = recount
        self.importance = importance
        self.path_features = path_features
        self.fill = fill
        self.always_train = always_train
        self.randomized = randomized
        self.step = step
        self.scorer_step = scorer_step
        self.scale = scale
        self.layout = layout
        self.bits = bits
        self.min_gradient = min_gradient
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_learner(self) -> _core.RecallTree:
        fixed = self._fixed
        return _core.RecallTree(
            self._bank_params(),
            self._rule(self.step_),
            self._rule(fixed["scorer_step"]),
            candidates=fixed["candidates"] or 0,
            max_depth=fixed["max_depth"] or 0,
            max_nodes=fixed["max_nodes"] or 0,
            trees=fixed["n_trees"],
            bound=fixed["bound"],
            stop=getattr(_core.StopRule, fixed["stop"]),
            fill=fixed["fill"],
            always_train=fixed["always_train"],
            randomized=fixed["randomized"],
            seed=self.seed_,
            path_features=getattr(_core.PathFeatures, fixed["path_features"]),
            importance=getattr(_core.Importance, fixed["importance"]),
            recount=fixed["recount"],
        )

    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        ids, margins = super()._topk(matrix, k)
        return ids, logistic(margins)  # each scorer's own probability; they need not sum to 1

    def _topk_of_row(self, row: _core.Matrix, k: int) -> tuple[list[int], list[float]]:
        ids, margins = super()._topk_of_row(row, k)
        return ids, logistic(np.array(margins, np.float32)).tolist()
