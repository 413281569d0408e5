"""The conditional probability tree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.estimators.locking import reading
from labeltree.estimators.prediction import FORMS
from labeltree.estimators.published import Published
from labeltree.estimators.survey import Survey
from labeltree.estimators.tree import TreeClassifier
from labeltree.labels import Targets
from labeltree.merging import learners
from labeltree.merging.shards import Shards
from labeltree.merging.weighttable import State
from labeltree.parameters import Interval, StrOptions


class ProbabilityTreeClassifier(Published, TreeClassifier):
    """A tree whose leaves are the labels and whose nodes estimate which child is right.

    The probability of a label is the product of the estimates on its path: training follows one
    path, and so does asking for the probability of a given label. The best labels are found by
    best-first search, those of sets level by level. A new label is inserted where it fits and
    where the tree is short (Beygelzimer, Langford, Lifshits, Sorkin & Strehl 2009, Algorithm 3).

    ``ProbabilityTreeClassifier.published()`` is the algorithm as printed, and with the squared loss
    of the paper's experiments.

    Rows may have sets of labels: a node then asks, for each of its eight children, whether any
    label of the row lies below it, and every label has a probability of its own.

    Parameters
    ----------
    tree : {"online", "random", "balanced"}, default="online"
        Where a new label goes: by the paper's rule, at random, or to the side with fewer labels.
    alpha : float, default=0.8
        For the online tree, how much balance counts: 1 builds a balanced tree, 0 follows the
        regressors alone.
    arity : int, default=8
        Children of a node, a power of two. Above 2 a node has ``arity - 1`` regressors, combined
        as an error-correcting code (PECOC): more work at each node, more robust estimates.
    estimates : {"shares", "clipped", "formula"}, default="shares"
        What a node makes of the code's estimates, which may be negative: "shares" are lifted above
        zero and made to sum to one; "clipped" are lifted only, and have a smaller squared loss;
        "formula" leaves them as they are, as published, and probabilities may then be negative.
        For single labels.
    search_budget : int, default=8
        Nodes that the search may expand for each label asked for; past it only the likeliest child
        is followed. For label sets, the nodes that it expands on each level. 0 sets no limit: the
        labels returned are then exactly the most probable, and for label sets the whole tree is
        looked through.
    copy_leaves : bool, default=False
        Whether a leaf that is split hands a copy of its regressor to its old label, as published.
        In the hashed layout this costs a visit to every feature seen; it has not helped. Leaves
        have a regressor only where `arity` is 2.
    loss : {"logistic", "squared"}, default="logistic"
        What the regressors minimise.
    step : float, default=None
        Size of the steps; None takes 1.5 for sparse rows and 0.4 for dense ones; 0.5 for sparse
        rows with label sets.
    threshold : float, default=0.5
        Labels of a set are predicted from this probability on.
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
        The tree as it is now: nodes, leaves, depth, the path of a row, and ways to draw it.

    Examples
    --------
    >>> from labeltree import ProbabilityTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 100)
    >>> clf = ProbabilityTreeClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.8
    True
    >>> clf.label_proba(X[2500:2502], y[2500:2502]).shape
    (2,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeClassifier._parameter_constraints,
        "tree": [StrOptions({"online", "random", "balanced"})],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "arity": [Interval(Integral, 2, 2**16, closed="both")],
        "estimates": [StrOptions({"shares", "clipped", "formula"})],
        "search_budget": [Interval(Integral, 0, 2**32 - 1, closed="both")],
        "copy_leaves": ["boolean"],
        "loss": [StrOptions({"logistic", "squared"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
    }
    _changeable: ClassVar[tuple[str, ...]] = (*TreeClassifier._changeable, "threshold")
    _estimates_probabilities: ClassVar[bool] = True
    _takes_sets: ClassVar[bool] = True
    _steps: ClassVar[dict[str, float]] = {"sparse": 1.5, "sparse sets": 0.5, "dense": 0.4}
    _absent_before: ClassVar[dict[str, Any]] = {"estimates": "shares"}
    _as_published: ClassVar[dict[str, Any]] = {
        "arity": 2,
        "estimates": "formula",
        "copy_leaves": True,
        "loss": "squared",
        "min_gradient": 0.0,
    }

    def __init__(
        self,
        *,
        tree: Literal["online", "random", "balanced"] = "online",
        alpha: float = 0.8,
        arity: int = 8,
        estimates: Literal["shares", "clipped", "formula"] = "shares",
        search_budget: int = 8,
        copy_leaves: bool = False,
        loss: Literal["logistic", "squared"] = "logistic",
        step: float | None = None,
        threshold: float = 0.5,
        scale: Literal["auto", "max", "none", "unit", "idf"] = "auto",
        layout: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | None = None,
        min_gradient: float = 1e-3,
        passes: int = 3,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.tree = tree
        self.alpha = alpha
        self.arity = arity
        self.estimates = estimates
        self.search_budget = search_budget
        self.copy_leaves = copy_leaves
        self.loss = loss
        self.step = step
        self.threshold = threshold
        self.scale = scale
        self.layout = layout
        self.bits = bits
        self.min_gradient = min_gradient
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _settle(self, survey: Survey, *, streaming: bool) -> None:
        if survey.multilabel:
            self._require_for_sets()
        super()._settle(survey, streaming=streaming)

    def _require_for_sets(self) -> None:
        """Refuse what makes no sense where a node asks about each of its eight children."""
        needed = {
            "arity": (8,),
            "estimates": ("shares",),
            "tree": ("online", "balanced"),
            "loss": ("logistic",),
        }
        for name, values in needed.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}, expected "
                    f"{' or '.join(map(repr, values))} for label sets"
                )

    def _learning_threads(self) -> int:
        return 1  # so that two runs give the same model

    def _make_learner(self) -> _core.ProbabilityTree | _core.LabelTree:
        fixed = self._fixed
        if self.multilabel_:
            rule = self._rule(self.step_)
            return _core.LabelTree(
                self._bank_params(),
                rule,
                rule,
                trees=1,
                tree_candidates=1,
                beam=fixed["search_budget"] or 2**32 - 1,
                improbable=0.0,
                alpha=1.0 if fixed["tree"] == "balanced" else fixed["alpha"],
                tree_weight=1.0,
                index_length=0,
                index_candidates=0,
                index_weight=0.0,
                hopeless=np.inf,
                scorers=False,
                exclusive=False,
                seed=self.seed_,
            )
        return _core.ProbabilityTree(
            self._bank_params(),
            self._rule(self.step_, fixed["loss"]),
            shape=getattr(_core.TreeShape, fixed["tree"]),
            alpha=fixed["alpha"],
            arity=fixed["arity"],
            search_budget=fixed["search_budget"],
            copy_leaves=fixed["copy_leaves"],
            seed=self.seed_,
            estimates=getattr(_core.Estimates, fixed["estimates"]),
        )

    def _merge_states(self, shards: Shards) -> State:
        if self.multilabel_:
            return learners.label_tree(shards, 0, None)
        return learners.same_tree(shards, ("parent", "slot", "child", "label", "regressor"))

    @reading
    def label_proba(self, X: Any, y: Any) -> NDArray[np.float32]:
        """Return the probability of one given label for each row, in logarithmic time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            A label for each row.

        Returns
        -------
        array of shape (n_samples,)
            P(y | x); 0 for a label that was never learned.
        """
        matrix = self._matrix(X)
        targets = Targets.parse(y)
        if targets.multilabel:
            raise ValueError(f"y gives labels as {FORMS[targets.kind]}, expected one a row")
        if len(targets) != matrix.rows:
            raise ValueError(f"X has {matrix.rows} rows, y has {len(targets)}")
        known = self._vocabulary.ids(targets.distinct)[targets.index]
        ids = np.where(known < 0, 0, known).astype(np.uint32)
        p: NDArray[np.float32] = self._learner.label_probability(matrix, ids)
        p[known < 0] = 0.0
        return p

    @reading
    def predict_proba(self, X: Any, *, sparse: bool = False) -> NDArray[np.float32] | sp.csr_matrix:
        """Return the probability of every label, by all nodes of the tree.

        This takes as long as one-against-all. For large numbers of labels use `predict_topk`, which
        gives the same numbers for the best, or `sparse`.

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
            Columns in the order of `classes_`. For single labels each row sums to 1; for label
            sets each label has a probability of its own.
        """
        matrix = self._matrix(X)
        return self._best_probabilities(matrix) if sparse else self._all_probabilities(matrix)
