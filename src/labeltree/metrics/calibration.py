"""How far predicted probabilities are from the share of predictions that are right."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labeltree.metrics.labelsets import LabelsLike, one_label_each
from labeltree.metrics.losses import unit_interval
from labeltree.metrics.ranking import check_count, label_array, read_topk


class ReliabilityBin(NamedTuple):
    """Predictions whose probabilities lie between two bounds."""

    low: float
    high: float
    probability: float  # mean of the predictions
    share_right: float
    predictions: int


class Reliability(NamedTuple):
    """Predictions by their probability."""

    bins: tuple[ReliabilityBin, ...]  # those that have predictions, lowest first

    @property
    def error(self) -> float:
        """The expected calibration error: mean distance of probability and share right."""
        total = sum(b.predictions for b in self.bins)
        return sum(b.predictions * abs(b.probability - b.share_right) for b in self.bins) / total


def reliability(
    y_true: LabelsLike,
    topk: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    bins: int = 15,
    threshold: float = 0.0,
) -> Reliability:
    """Compare predicted probabilities with how often the predictions are right.

    Predictions are sorted into bins of equal width by their probability. Of a model that is well
    calibrated, 80 % of the predictions with a probability of 0.8 are right.

    Parameters
    ----------
    y_true : array, list or sparse indicator
        True labels. If they are given as one an example, the best prediction of each is looked at;
        if as sets, all predictions are, each on its own.
    topk : array of shape (n, k)
        Predicted labels, best first, as `predict_topk` returns them; None in an object array or -1
        in an integer array is no prediction, and left out.
    probabilities : array of shape (n, k)
        The probability of each prediction to be right.
    bins : int
        How many bins there are between 0 and 1; each has its lower bound.
    threshold : float
        Predictions of lower probability are left out.

    Returns
    -------
    Reliability
        ``bins``, of those that are not empty bounds, mean probability, share of right predictions,
        and their number; and ``error``, as of `calibration_error`.

    Examples
    --------
    >>> from labeltree.metrics import reliability
    >>> table = reliability(["a", "b", "c"], [["a"], ["b"], ["x"]], [[0.75], [1.0], [0.25]], bins=2)
    >>> [(b.low, b.high, b.probability, b.share_right, b.predictions) for b in table.bins]
    [(0.0, 0.5, 0.25, 0.0, 1), (0.5, 1.0, 0.875, 1.0, 2)]
    """
    bins = check_count(bins, "bins", 15)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be between 0 and 1, but is {threshold!r}; try 0.")
    predicted = label_array(topk)
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape != predicted.shape:
        raise ValueError(
            f"probabilities must have the shape of topk, {predicted.shape}, but have the shape "
            f"{p.shape}; pass both as predict_topk returns them."
        )
    if one_label_each(y_true):
        predicted, p = predicted[:, :1], p[:, :1]
    truth, ids = read_topk(y_true, predicted, predicted.shape[1])
    given = ids >= 0 if sparse.issparse(y_true) else _given(predicted)
    p = unit_interval(np.where(given, p, 0.0), "probabilities")
    chosen = given & (p >= threshold)
    if not chosen.any():
        raise ValueError(
            f"no prediction has a probability of at least {threshold}, so there is nothing to "
            "compare; lower threshold."
        )
    return _table(p[chosen], truth.contain(ids)[chosen], bins)


def calibration_error(
    y_true: LabelsLike,
    topk: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    bins: int = 15,
    threshold: float = 0.0,
) -> float:
    """Compute the expected calibration error of predicted probabilities.

    The mean over predictions of the distance between mean probability and share of right
    predictions of their bin (Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural
    networks", 2017).

    Parameters
    ----------
    y_true, topk, probabilities, bins, threshold
        As for `reliability`, which has the bins.

    Returns
    -------
    float
        Between 0 and 1; 0 is perfect.

    Examples
    --------
    >>> from labeltree.metrics import calibration_error
    >>> calibration_error(["a", "b"], [["a"], ["x"]], [[0.75], [0.75]])
    0.25
    """
    return reliability(y_true, topk, probabilities, bins=bins, threshold=threshold).error


def _given(predicted: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell where there is a prediction."""
    if predicted.dtype.kind == "i":
        return np.asarray(predicted != -1)
    if predicted.dtype == object:
        return np.asarray(predicted != None)  # noqa: E711  # of each element
    return np.ones(predicted.shape, dtype=np.bool_)


def _table(p: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], bins: int) -> Reliability:
    bounds = np.arange(bins + 1) / bins
    place = np.searchsorted(bounds[1:-1], p, side="right")
    predictions = np.bincount(place, minlength=bins)
    sums = np.bincount(place, p, minlength=bins), np.bincount(place, right, minlength=bins)
    return Reliability(
        tuple(
            ReliabilityBin(
                float(bounds[i]),
                float(bounds[i + 1]),
                float(sums[0][i] / predictions[i]),
                float(sums[1][i] / predictions[i]),
                int(predictions[i]),
            )
            for i in np.flatnonzero(predictions).tolist()
        )
    )
