"""Losses of one prediction an example, with intervals where the theory gives one."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from labeltree.metrics.labelsets import LabelsLike, as_labels, compare

Floats = npt.NDArray[np.float64]

_ROUNDING = 1e-6  # single-precision probabilities may leave [0, 1] by this much


class Estimate(NamedTuple):
    """A measured value and its confidence interval."""

    value: float
    low: float
    high: float


def error(
    y_true: LabelsLike,
    y_pred: npt.ArrayLike,
    confidence: float = 0.95,
    sample_weight: npt.ArrayLike | None = None,
) -> Estimate:
    """Compute the share of wrong predictions, with Wilson's binomial interval.

    Wilson's interval stays inside [0, 1], is not empty when no example is wrong, and covers the
    true error close to `confidence` of the time even for few examples or rare errors, where the
    symmetric interval does not.

    Parameters
    ----------
    y_true : array, list or sparse indicator
        True labels. Of an example with several, predicting any one is right; an example without
        labels is always wrong.
    y_pred : 1-d array
        The predicted label of each example; column numbers if `y_true` is an indicator. None is
        no prediction, and wrong.
    confidence : float
        Probability that the interval covers the true error, between 0 and 1.
    sample_weight : 1-d array, optional
        Weight of each example. The value is then the weighted mean, and the interval is that of
        the effective number of examples, (sum w)^2 / sum w^2 (Kish): equal weights change
        nothing, and weights which differ much widen it.

    Returns
    -------
    Estimate
        The error, and the low and high end of its interval.

    Examples
    --------
    >>> from labeltree.metrics import error
    >>> e = error(["a", "b", "c", "d"], ["a", "b", "c", "x"])
    >>> e.value, round(e.low, 4), round(e.high, 4)
    (0.25, 0.0456, 0.6994)
    """
    _check_confidence(confidence)
    predicted = as_labels(y_pred)
    if predicted.ndim != 1:
        raise ValueError(
            "y_pred must be 1-d, one label an example, but has the shape "
            f"{predicted.shape}; for several predictions an example use precision_at_k."
        )
    truth, ids = compare(y_true, predicted[:, np.newaxis])
    wrong = ~truth.contain(ids)[:, 0]
    weight = _weights(sample_weight, len(wrong))
    value = float(np.average(wrong, weights=weight))
    n = float(weight.sum() ** 2 / np.sum(weight**2))

    return wilson(value, n, confidence)


def wilson(value: float, n: float, confidence: float = 0.95) -> Estimate:
    """Put Wilson's interval around a share of n examples, or the mean of n values in [0, 1].

    Of means, those of zeros and ones vary most: for all others the interval is too wide.

    Parameters
    ----------
    value : float
        The share or mean, between 0 and 1.
    n : float
        The number of examples.
    confidence : float
        Probability that the interval covers the expected value, between 0 and 1.

    Returns
    -------
    Estimate
        The value, and the low and high end of its interval.

    Examples
    --------
    >>> from labeltree.metrics import wilson
    >>> [round(end, 3) for end in wilson(0.25, 4)]
    [0.25, 0.046, 0.699]
    """
    z = float(ndtri(0.5 + confidence / 2))
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    # Rounding alone could leave the value just outside when it is 0 or 1.
    return Estimate(value, min(value, max(0.0, centre - half)), max(value, min(1.0, centre + half)))


def squared_loss(prob_of_true: npt.ArrayLike, confidence: float = 0.95) -> Estimate:
    """Compute the mean of (1 - P(y|x))^2 over the true labels y, with Hoeffding's interval.

    The observable squared loss by which Beygelzimer et al., "Conditional probability tree
    estimation analysis and algorithms" (UAI 2009), compare probability estimates: it needs the
    probability of the true label only, and is minimised by the true conditional probability.

    Parameters
    ----------
    prob_of_true : 1-d array
        The probability predicted for the true label of each example.
    confidence : float
        Probability that the interval covers the expected loss, between 0 and 1.

    Returns
    -------
    Estimate
        The loss, and the ends of the two-sided interval value ± sqrt(log(2 / δ) / (2 n)) with
        δ = 1 - confidence, cut at 0 and 1.

    Notes
    -----
    The half-widths printed in that paper, .012 for 20 thousand examples and .00055 for 10 million,
    are sqrt(log(1 / δ) / n), 1.28 times wider at δ = 0.05 than Hoeffding's inequality asks for.

    Examples
    --------
    >>> from labeltree.metrics import squared_loss
    >>> loss = squared_loss([1.0, 0.5] * 500)
    >>> loss.value, round(loss.low, 4), round(loss.high, 4)
    (0.125, 0.0821, 0.1679)
    """
    _check_confidence(confidence)
    p = _probabilities(prob_of_true)
    value = float(np.mean((1 - p) ** 2))
    half = math.sqrt(math.log(2 / (1 - confidence)) / (2 * len(p)))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def log_loss(prob_of_true: npt.ArrayLike, eps: float = 1e-15) -> float:
    """Compute the mean of -log P(y|x) over the true labels y, in nats.

    Parameters
    ----------
    prob_of_true : 1-d array
        The probability predicted for the true label of each example.
    eps : float
        Probabilities below it count as `eps`, so that one impossible label costs -log(eps)
        (34.5 by default) and not infinity.

    Returns
    -------
    float
        The loss; 0 is perfect.

    Examples
    --------
    >>> from labeltree.metrics import log_loss
    >>> round(log_loss([1.0, 0.25]), 4)
    0.6931
    """
    if not 0 < eps < 1:
        raise ValueError(f"eps must be between 0 and 1, but is {eps!r}; 1e-15 is the default.")
    return float(-np.log(np.maximum(_probabilities(prob_of_true), eps)).mean()) + 0.0


def _probabilities(values: npt.ArrayLike) -> Floats:
    p = np.asarray(values, dtype=np.float64)
    if p.ndim != 1 or len(p) == 0:
        raise ValueError(
            "prob_of_true must be a non-empty 1-d array, the probability of the true label of "
            f"each example, but has the shape {p.shape}; take one probability an example."
        )
    return unit_interval(p, "prob_of_true")


def unit_interval(p: Floats, name: str) -> Floats:
    """Refuse what is no probability, and cut what rounding has made of 0 and 1."""
    # Written so that NaN, for which every comparison is false, is refused too.
    good = (p >= -_ROUNDING) & (p <= 1 + _ROUNDING)
    if not good.all():
        at = np.unravel_index(int(np.argmin(good)), p.shape)
        raise ValueError(
            f"{name} must lie between 0 and 1, but example {at[0]} has {p[at]}; "
            "pass probabilities, not scores or logarithms."
        )
    return p.clip(0, 1)


def _weights(values: npt.ArrayLike | None, n: int) -> Floats:
    if values is None:
        return np.ones(n)
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have the shape ({n},), one weight an example, but has the shape "
            f"{weight.shape}; pass weights of the same examples."
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError(
            "sample_weight must be finite, not negative and not all zero, but ranges from "
            f"{weight.min()} to {weight.max()}; give examples to ignore the weight 0."
        )
    return weight


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence!r}; try 0.95.")
