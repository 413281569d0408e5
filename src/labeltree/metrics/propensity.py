"""Propensities: how likely a label that applies is to have been recorded (Jain et al. 2016)."""

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labeltree.metrics.labelsets import LabelSets, LabelsLike, label_sets

Floats = npt.NDArray[np.float64]


class Propensities(dict[Hashable, float]):
    """The propensity of each label; a label never seen in training has that of a count of zero.

    Attributes
    ----------
    unseen : float
        The propensity of a label that no training example has.
    """

    def __init__(self, known: Mapping[Hashable, float], unseen: float) -> None:
        super().__init__(known)
        self.unseen = unseen

    def __missing__(self, label: Hashable) -> float:
        return self.unseen


def propensities(
    y_train: LabelsLike | Mapping[Hashable, int],
    A: float = 0.55,
    B: float = 1.5,
    *,
    n_examples: int | None = None,
    N: int | None = None,
) -> Floats | Propensities:
    """Estimate the propensity of every label from how often training examples have it.

    The model of Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation,
    tagging, ranking & other missing label applications" (KDD 2016), with `N` training examples of
    which `N_l` have the label `l`:

        p_l = 1 / (1 + C exp(-A log(N_l + B))),   C = (log N - 1) (B + 1)^A

    Parameters
    ----------
    y_train : array, list or sparse indicator, or counts
        The labels of the training examples; or, when `n_examples` is given, how many examples
        have each label, as an array by label position or as a mapping from label to count.
    A, B : float
        Parameters of the model, both positive. Published results use 0.5 and 0.4 for Wikipedia
        data sets, 0.6 and 2.6 for Amazon data sets, and 0.55 and 1.5 for all others.
    n_examples : int, optional
        The number of training examples `N`, and the sign that `y_train` holds counts.
    N : int, optional
        What to put for `N` in place of the number of training examples. Some published results,
        those of LdSM among them, come from a program that takes the number of test examples:
        ``propensities(y_train, N=len(y_test))``.

    Returns
    -------
    ndarray or Propensities
        An array by column for an indicator, by position for an array of counts; otherwise a
        mapping from label to propensity, which also answers for labels never seen.

    Examples
    --------
    >>> from labeltree.metrics import propensities
    >>> p = propensities([["a", "b"], ["a"], ["a"], ["a", "c"]])
    >>> round(p["a"], 4), round(p["b"], 4), round(p["never seen"], 4)
    (0.7998, 0.7213, 0.6615)
    >>> propensities([4, 1, 1, 0], n_examples=4).round(4)
    array([0.7998, 0.7213, 0.7213, 0.6615])
    >>> propensities([4, 1, 1, 0], n_examples=4, N=100).round(4)
    array([0.2997, 0.2171, 0.2171, 0.1732])
    """
    if not (np.isfinite([A, B]).all() and A > 0 and B > 0):
        raise ValueError(
            f"A and B must be positive numbers, but are {A!r} and {B!r}; "
            "0.55 and 1.5 suit most data sets."
        )
    for name, value in (("n_examples", n_examples), ("N", N)):
        if value is not None and not (isinstance(value, Integral) and 0 < value < 2**63):
            raise ValueError(
                f"{name} is {value!r}, expected how many examples there are, a number from 1 on."
            )
    if n_examples is not None:
        return _from_counts(y_train, n_examples, n_examples if N is None else N, A, B)
    truth = label_sets(y_train)
    total = truth.n_examples if N is None else N
    values = _model(truth.counts, total, A, B)
    if sparse.issparse(y_train):
        return values
    return _named(truth.names.tolist(), values, total, A, B)


def inverse_propensities(
    truth: LabelSets, given: Mapping[Any, float] | npt.ArrayLike, *, exact: bool
) -> Floats:
    """Return 1 / p of each id of `truth`, from an array by label position or a mapping by label.

    With `exact`, as many array values are expected as there are labels.
    """
    if isinstance(given, Mapping):
        values = _look_up(truth.names, given)
    else:
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1:
            raise ValueError(
                "propensities must be a 1-d array, one a label, or a mapping from label to "
                f"propensity, but have the shape {values.shape}; pass what propensities() returns."
            )
        values = _select(values, truth.names, exact=exact)
    if not ((values > 0) & (values <= 1)).all():
        raise ValueError(
            "propensities must be above 0 and at most 1, but range from "
            f"{values.min()} to {values.max()}; if these are inverse propensities, pass 1 / them."
        )
    return 1 / values


def _look_up(names: npt.NDArray[Any], given: Mapping[Any, float]) -> Floats:
    try:
        return np.fromiter((given[name] for name in names.tolist()), np.float64, count=len(names))
    except KeyError as missing:
        raise ValueError(
            f"propensities have no entry for the label {missing.args[0]!r} of y_true: expected one "
            "for every true label; pass what propensities() returns, which knows unseen labels."
        ) from None


def _select(values: Floats, names: npt.NDArray[Any], *, exact: bool) -> Floats:
    if len(names) == 0:
        return np.empty(0)
    if names.dtype.kind not in "iu":
        raise ValueError(
            "propensities are an array by label position, but the labels of y_true are not "
            "integers; pass a mapping from label to propensity, as propensities() returns."
        )
    if names.min() < 0 or names.max() >= len(values) or (exact and len(names) != len(values)):
        raise ValueError(
            f"propensities are {len(values)} values, but the labels of y_true range from "
            f"{names.min()} to {names.max()}; pass one propensity for each label."
        )
    selected: Floats = values[names]
    return selected


def _from_counts(
    counts: Any, n_examples: int, total: int, A: float, B: float
) -> Floats | Propensities:
    named = isinstance(counts, Mapping)
    given = np.asarray(list(counts.values()) if named else counts, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= n_examples)).all():
        raise ValueError(
            "with n_examples, y_train must hold 1-d label counts between 0 and "
            f"n_examples={n_examples}, but has the shape {given.shape} or values outside; "
            "to pass the labels themselves, leave n_examples out."
        )
    values = _model(given, total, A, B)
    return _named(list(counts), values, total, A, B) if named else values


def _named(names: list[Hashable], values: Floats, total: int, A: float, B: float) -> Propensities:
    unseen = _model(np.zeros(1), total, A, B)[0]
    return Propensities(dict(zip(names, values.tolist(), strict=True)), float(unseen))


def _model(counts: npt.NDArray[Any], total: int, A: float, B: float) -> Floats:
    if total < 3:  # C would be negative, and p no probability
        raise ValueError(
            f"propensities need at least 3 training examples, but there are {total}; "
            "pass the labels of the whole training set."
        )
    C = (np.log(total) - 1) * (B + 1) ** A
    p: Floats = 1 / (1 + C * np.exp(-A * np.log(counts + B)))
    return p
