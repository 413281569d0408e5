"""Trees that the others are measured against: a random tree, the filter tree, and PECOC."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

from labeltree import _core
from labeltree.estimators.published import Published
from labeltree.estimators.survey import Survey
from labeltree.estimators.tree import TreeClassifier
from labeltree.parameters import Interval, StrOptions


class FixedTreeClassifier(TreeClassifier):
    """Base of trees whose shape does not depend on the features: a label goes where most room is.

    The best label of a row is where the nodes send it; `predict_topk` finds the others by the
    product of the nodes' estimates, which may be larger than that of the best.

    Parameters
    ----------
    loss : {"logistic", "squared"}, default="logistic"
        What the regressors minimise.
    step : float, default=None
        Size of the steps; None takes 1.5 for sparse rows and 0.4 for dense ones.
    min_gradient : float, default=1e-3
        A model does not learn from examples on which its loss has a smaller slope. 0 learns from
        every example.
    scale, layout, bits, passes, shuffle, random_state
        As for `OneAgainstAllClassifier`.
    n_jobs : int, default=None
        Number of threads that predict, -1 for all processors. The answers do not depend on it.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeClassifier._parameter_constraints,
        "loss": [StrOptions({"logistic", "squared"})],
    }
    _steps: ClassVar[dict[str, float]] = {"sparse": 1.5, "dense": 0.4}
    _filter: ClassVar[bool] = False

    def __init__(
        self,
        *,
        loss: Literal["logistic", "squared"] = "logistic",
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

    def _make_learner(self) -> _core.ProbabilityTree:
        return self._fixed_tree(arity=2, greedy=True)

    def _fixed_tree(
        self, *, arity: int, greedy: bool, estimates: str = "shares"
    ) -> _core.ProbabilityTree:
        return _core.ProbabilityTree(
            self._bank_params(),
            self._rule(self.step_, self._fixed["loss"]),
            shape=_core.TreeShape.balanced,
            alpha=1.0,
            arity=arity,
            search_budget=64,
            copy_leaves=False,
            seed=self.seed_,
            greedy=greedy,
            filter=self._filter,
            estimates=getattr(_core.Estimates, estimates),
        )


class RandomTreeClassifier(FixedTreeClassifier):
    """A balanced tree with the labels at its leaves in the order in which they come.

    Each node learns which side the label is on; a row goes where the nodes send it.

    Examples
    --------
    >>> from labeltree import RandomTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 100)
    >>> clf = RandomTreeClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.8
    True
    """


class FilterTreeClassifier(FixedTreeClassifier):
    """A balanced tree whose nodes learn only from examples that the nodes below get right.

    A node then answers: which of the two labels that came up from below is right
    (Beygelzimer, Langford & Ravikumar 2009).

    Examples
    --------
    >>> from labeltree import FilterTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 100)
    >>> clf = FilterTreeClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.8
    True
    """

    _filter: ClassVar[bool] = True


class PECOCClassifier(Published, FixedTreeClassifier):
    """Probabilistic error-correcting output codes: each regressor learns half of the labels.

    One node with a regressor for each row of a Hadamard code; the cost grows with the number of
    labels. The published method needs to know that number: here `max_labels` is the room, and
    labels beyond it go one level deeper, two or more sharing a place in the code.
    ``PECOCClassifier.published()`` is the algorithm as printed.

    Parameters
    ----------
    max_labels : int, default=None
        Room for labels, rounded up to a power of two. None takes the labels of the first batch in
        `fit`, and 256 in `partial_fit`.
    estimates : {"shares", "clipped", "formula"}, default="clipped"
        What is made of the code's estimates, which may be negative: "clipped" lifts them above
        zero; "shares" also makes them sum to one, which costs squared loss; "formula" leaves them
        as they are, as published, and probabilities may then be negative.

    Examples
    --------
    >>> from labeltree import PECOCClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 30)
    >>> clf = PECOCClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FixedTreeClassifier._parameter_constraints,
        "max_labels": [Interval(Integral, 2, 2**16, closed="both"), None],
        "estimates": [StrOptions({"shares", "clipped", "formula"})],
    }
    _settled: ClassVar[tuple[str, ...]] = (*FixedTreeClassifier._settled, "arity_")
    _absent_before: ClassVar[dict[str, Any]] = {"estimates": "shares"}
    _as_published: ClassVar[dict[str, Any]] = {"estimates": "formula", "min_gradient": 0.0}
    _estimates_probabilities: ClassVar[bool] = True

    arity_: int

    def __init__(
        self,
        *,
        max_labels: int | None = None,
        estimates: Literal["shares", "clipped", "formula"] = "clipped",
        loss: Literal["logistic", "squared"] = "logistic",
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
        super().__init__(
            loss=loss,
            step=step,
            scale=scale,
            layout=layout,
            bits=bits,
            min_gradient=min_gradient,
            passes=passes,
            shuffle=shuffle,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.max_labels = max_labels
        self.estimates = estimates

    def _settle(self, survey: Survey, *, streaming: bool) -> None:
        super()._settle(survey, streaming=streaming)
        room = self.max_labels or (256 if streaming else max(2, survey.n_labels))
        self.arity_ = 1 << (room - 1).bit_length()

    def _make_learner(self) -> _core.ProbabilityTree:
        return self._fixed_tree(arity=self.arity_, greedy=False, estimates=self._fixed["estimates"])
