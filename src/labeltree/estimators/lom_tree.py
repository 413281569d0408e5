"""The LOMtree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from labeltree import _core
from labeltree.estimators.published import Published
from labeltree.estimators.tree import TreeClassifier
from labeltree.parameters import Interval, StrOptions


class LOMTreeClassifier(Published, TreeClassifier):
    """A binary tree that splits its examples in a pure and balanced way; leaves vote.

    Each node's regressor learns to send a label to the side on which its average score lies; a
    leaf predicts the label it has seen most. When the tree has all the nodes it may have, the
    least visited leaf and its parent are recycled (Choromanska & Langford 2015, Algorithm 1).
    ``LOMTreeClassifier.published(max_nodes=T)`` is the algorithm as printed.

    Parameters
    ----------
    max_nodes : int, default=None
        The most inner nodes (T), each of which has a regressor. None takes 16 for each label
        learned so far.
    swap_resistance : float, default=4.0
        How much more than the least visited leaf another must have seen to get its nodes. From 4
        on, with a fixed `max_nodes`, no node is recycled more often than log2 of the number of
        examples.
    loss : {"logistic", "squared", "hinge"}, default="logistic"
        What the regressors minimise.
    step : float, default=None
        Size of the steps; None takes 1.0 for sparse rows and 0.5 for dense ones.
    scale, layout, bits
        As for `OneAgainstAllClassifier`.
    min_gradient : float, default=1e-3
        A model does not learn from examples on which its loss has a smaller slope. 0 learns from
        every example.
    passes, shuffle, random_state
        As for `OneAgainstAllClassifier`.
    n_jobs : int, default=None
        Number of threads that predict, -1 for all processors. The answers do not depend on it.

    Attributes
    ----------
    classes_, n_labels_, progress_
        As for `OneAgainstAllClassifier`.

    tree_ : Tree
        The tree; its `measures` are J, purity and balance of each inner node, by the examples
        that have reached its children.

    Notes
    -----
    The scores of `predict_topk` are the labels' shares of the examples that reached the leaf, of
    which a leaf remembers the 16 most frequent. In the hashed layout, recycling a node visits
    every feature seen so far.

    Examples
    --------
    >>> from labeltree import LOMTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 50)
    >>> clf = LOMTreeClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.7
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeClassifier._parameter_constraints,
        "max_nodes": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
        "swap_resistance": [Interval(Real, 1, None, closed="left")],
        "loss": [StrOptions({"logistic", "squared", "hinge"})],
    }
    _steps: ClassVar[dict[str, float]] = {"sparse": 1.0, "dense": 0.5}
    _as_published: ClassVar[dict[str, Any]] = {"min_gradient": 0.0}

    def __init__(
        self,
        *,
        max_nodes: int | None = None,
        swap_resistance: float = 4.0,
        loss: Literal["logistic", "squared", "hinge"] = "logistic",
        step: float | None = None,
        scale: Literal["auto", "max", "none", "unit", "idf"] = "auto",
        layout: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | None = None,
        min_gradient: float = 1e-3,
        passes: int = 3,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_nodes = max_nodes
        self.swap_resistance = swap_resistance
        self.loss = loss
        self.step = step
        self.scale = scale
        self.layout = layout
        self.bits = bits
        self.min_gradient = min_gradient
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_learner(self) -> _core.LomTree:
        return _core.LomTree(
            self._bank_params(),
            self._rule(self.step_, self._fixed["loss"]),
            max_nodes=self._fixed["max_nodes"] or 0,
            swap_resistance=self._fixed["swap_resistance"],
        )

    def _measures(self) -> dict[str, NDArray[np.float64]]:
        objective, purity, balance = self._learner.splits()
        return {"J": objective, "purity": purity, "balance": balance}

    def _topk(self, matrix: _core.Matrix, k: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        ids, shares = super()._topk(matrix, k)
        return ids, np.maximum(shares, 0.0)  # where a leaf knows fewer labels than asked for
