"""Metrics of the k best predictions of each example.

All four follow the Extreme Classification Repository: an example without true labels counts as
an example on which nothing was right, so it lowers precision and nDCG, and adds nothing to either
side of the propensity-scored ratios.
"""

import operator
from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labeltree.metrics.labelsets import Ids, LabelSets, LabelsLike, compare
from labeltree.metrics.propensity import inverse_propensities

Floats: TypeAlias = npt.NDArray[np.float64]
TopK: TypeAlias = npt.ArrayLike | sparse.sparray
PropensitiesLike: TypeAlias = Mapping[Hashable, float] | npt.ArrayLike


def precision_at_k(y_true: LabelsLike, topk: TopK, k: int) -> float:
    """Compute the share of true labels among the k best predictions, averaged over examples.

    An example with fewer than k labels, or fewer than k predictions, cannot reach 1: the divisor
    is always k. An example without labels counts 0.

    Parameters
    ----------
    y_true : array, list or sparse indicator
        True labels.
    topk : array of shape (n, >= k) or sparse matrix of scores
        Predicted labels, best first, as `predict_topk` returns them; where there is no
        prediction, None in an object array or -1 in an integer array, which is wrong. Or scores,
        examples x labels: the k highest stored entries of a row are its predictions, of equal
        ones the lower column first, and labels are column numbers.
    k : int
        How many predictions to look at.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from labeltree.metrics import precision_at_k
    >>> precision_at_k([["a", "b"], ["c"]], [["b", "x"], ["x", "c"]], k=2)
    0.5
    >>> precision_at_k(["a", "c"], [["a", "b"], ["b", "c"]], k=1)
    0.5
    """
    truth, ids = read_topk(y_true, topk, k)
    return float(truth.contain(ids).mean())


def ndcg_at_k(y_true: LabelsLike, topk: TopK, k: int) -> float:
    """Compute the normalised discounted cumulative gain of the k best predictions.

    The mean over examples, 0 for an example without labels, of

          sum of 1 / log2(r + 1) over the ranks r <= k that hold a true label
        / sum of 1 / log2(r + 1) over the ranks r <= min(k, number of labels)

    Parameters
    ----------
    y_true : array, list or sparse indicator
        True labels.
    topk : array of shape (n, >= k) or sparse matrix of scores
        Predictions, best first, as for `precision_at_k`.
    k : int
        How many predictions to look at.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from labeltree.metrics import ndcg_at_k
    >>> round(ndcg_at_k([["a", "b"]], [["x", "a"]], k=2), 4)
    0.3869
    """
    truth, ids = read_topk(y_true, topk, k)
    gains = truth.contain(ids) @ _discounts(k)
    # An example without labels has no gain, whatever it is divided by.
    best = np.cumsum(_discounts(k))[truth.sizes.clip(1, k) - 1]
    return float(np.mean(gains / best))


def psp_at_k(y_true: LabelsLike, topk: TopK, k: int, propensities: PropensitiesLike) -> float:
    """Compute propensity-scored precision at k, as a share of the best attainable.

    Every right prediction of a label l counts 1 / p_l, so that rare labels, which are often
    missing from the data, weigh more. With T_i the true labels of example i and P_i its k best
    predictions

          sum over examples i of  sum of 1 / p_l over l in P_i and T_i
        / sum over examples i of  sum of 1 / p_l over the k rarest l in T_i

    where the rarest are those of lowest p_l. It is a ratio of two sums, not a mean of ratios: this
    is what the Extreme Classification Repository and the papers that cite it (in percent) report.

    Parameters
    ----------
    y_true : array, list or sparse indicator
        True labels.
    topk : array of shape (n, >= k) or sparse matrix of scores
        Predictions, best first, as for `precision_at_k`.
    k : int
        How many predictions to look at.
    propensities : array by label position, or mapping from label
        What `propensities` returned for the training labels.

    Returns
    -------
    float
        Between 0 and 1; 0 if no example has a label.

    Examples
    --------
    >>> from labeltree.metrics import psp_at_k
    >>> psp_at_k([["often", "rare"]], [["often"]], 1, {"often": 0.5, "rare": 0.25})
    0.5
    >>> psp_at_k([["often", "rare"]], [["rare"]], 1, {"often": 0.5, "rare": 0.25})
    1.0
    """
    return _propensity_scored(y_true, topk, np.ones(check_count(k, "k", 5)), propensities)


def psndcg_at_k(y_true: LabelsLike, topk: TopK, k: int, propensities: PropensitiesLike) -> float:
    """Compute propensity-scored nDCG at k, as a share of the best attainable.

    As `psp_at_k`, but a label at rank r counts 1 / (p_l log2(r + 1)), both in what was predicted
    and in the best attainable, where the rarest true label of an example comes first

          sum over examples i of  sum of 1 / (p_l log2(r + 1)), l at rank r in P_i, l in T_i
        / sum over examples i of  sum of 1 / (p_l log2(r + 1)), l the r-th rarest of T_i, r <= k

    Parameters
    ----------
    y_true : array, list or sparse indicator
        True labels.
    topk : array of shape (n, >= k) or sparse matrix of scores
        Predictions, best first, as for `precision_at_k`.
    k : int
        How many predictions to look at.
    propensities : array by label position, or mapping from label
        What `propensities` returned for the training labels.

    Returns
    -------
    float
        Between 0 and 1; 0 if no example has a label.

    Notes
    -----
    Jain et al. (2016) and the repository's own scripts divide each example's gain by the same
    sum of 1 / log2(r + 1) over r <= k, which cancels in the ratio. The pyxclib package divides by
    that sum over r <= min(k, number of labels), so its values differ slightly when examples have
    fewer than k labels.

    Examples
    --------
    >>> from labeltree.metrics import psndcg_at_k
    >>> p = {"often": 0.5, "rare": 0.25}
    >>> round(psndcg_at_k([["often", "rare"]], [["often", "rare"]], 2, p), 4)
    0.8597
    """
    return _propensity_scored(y_true, topk, _discounts(check_count(k, "k", 5)), propensities)


def _propensity_scored(
    y_true: LabelsLike, topk: TopK, discounts: Floats, propensities: PropensitiesLike
) -> float:
    k = len(discounts)
    truth, ids = read_topk(y_true, topk, k)
    inverse = inverse_propensities(truth, propensities, exact=sparse.issparse(y_true))
    if len(truth.keys) == 0:
        return 0.0
    rows, ranks = np.nonzero(truth.contain(ids))
    reached = np.sum(inverse[ids[rows, ranks]] * discounts[ranks])
    values = inverse[truth.ids]
    best, best_ranks = _best_of_rows(truth.sizes, values, k)
    return float(reached / np.sum(values[best] * discounts[best_ranks]))


def _discounts(k: int) -> Floats:
    discounts: Floats = 1 / np.log2(np.arange(2, k + 2))
    return discounts


def read_topk(y_true: LabelsLike, topk: TopK, k: int) -> tuple[LabelSets, Ids]:
    """Return the true labels, and the ids of the k best predictions of each example."""
    k = check_count(k, "k", 5)
    if sparse.issparse(topk):
        scores = sparse.csr_array(topk)
        truth, ids = compare(y_true, _best_columns(scores, k))
        _check_columns(truth, scores.shape[1], exact=sparse.issparse(y_true))
        return truth, ids
    predicted = label_array(topk)
    if predicted.shape[1] < k:
        raise ValueError(
            f"k is {k} but topk has {predicted.shape[1]} predictions an example: expected at least "
            "k; predict more labels or lower k."
        )
    predicted = predicted[:, :k]
    truth, ids = compare(y_true, predicted)
    if predicted.dtype.kind == "i" and not sparse.issparse(y_true) and -1 in truth.names:
        raise ValueError(
            "y_true holds the label -1, which in an integer topk means no prediction; "
            "pass topk as an object array, with None where there is no prediction."
        )
    _check_distinct(ids)
    return truth, ids


def label_array(topk: npt.ArrayLike) -> npt.NDArray[Any]:
    """Read predicted labels, one row an example, without changing them."""
    # Lists become objects first: numpy would turn [1, "a"] into strings.
    predicted = np.array(topk, dtype=object) if isinstance(topk, list) else np.asarray(topk)
    if predicted.ndim != 2:
        raise ValueError(
            "topk must have the shape (examples, k), labels best first, but has the shape "
            f"{predicted.shape}; pad short rows with None."
        )
    if predicted.dtype.kind == "f":
        raise ValueError(
            f"topk must hold labels, but is a dense array of {predicted.dtype}; "
            "pass scores as csr_array(scores), or the labels that predict_topk returns."
        )
    return predicted


def _best_columns(scores: sparse.csr_array, k: int) -> Ids:
    """Return the columns of the k highest stored scores of each row, -1 where there are fewer."""
    n, n_columns = scores.shape
    if k > n_columns:
        raise ValueError(
            f"k is {k} but the scores have {n_columns} columns: expected at least k; lower k."
        )
    if np.isnan(scores.data).any():
        raise ValueError(
            "the scores hold NaN, which has no rank: expected numbers; remove those entries."
        )
    if not scores.has_canonical_format:  # columns in order decide between equal scores
        scores = scores.copy()
        scores.sum_duplicates()
    sizes = np.diff(scores.indptr).astype(np.int64)
    best, ranks = _best_of_rows(sizes, scores.data, k)
    columns = np.full((n, k), -1, dtype=np.int64)
    columns[np.repeat(np.arange(n), sizes.clip(max=k)), ranks] = scores.indices[best]
    return columns


def _best_of_rows(sizes: Ids, values: npt.NDArray[Any], k: int) -> tuple[Ids, Ids]:
    """Find the k highest of `values` in each of consecutive rows of the given sizes.

    Return their positions, rows in order and the highest first, and their ranks from 0. Of equal
    values the earlier comes first.
    """
    rows = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-values.astype(np.float64), rows))
    ranks = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = ranks < k
    return order[kept], ranks[kept]


def check_count(value: int, name: str, example: int) -> int:
    """Refuse what is no integer from 1."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, but is {value!r}; pass for example {example}."
        ) from None
    if value < 1:
        raise ValueError(f"{name} must be at least 1, but is {value}; pass for example {example}.")
    return value


def _check_columns(truth: LabelSets, n_columns: int, *, exact: bool) -> None:
    """Refuse true labels that are not columns of the scores."""
    names = truth.names
    if exact:
        good = len(names) == n_columns
    else:
        good = len(names) == 0 or bool(
            names.dtype.kind == "i" and names.min() >= 0 and names.max() < n_columns
        )
    if not good:
        raise ValueError(
            f"the scores have {n_columns} columns, but y_true has labels that are not numbers of "
            "these columns; pass y_true as an indicator of the same shape or as column numbers."
        )


def _check_distinct(ids: Ids) -> None:
    """Refuse a label predicted twice for one example: it would count twice."""
    ordered = np.sort(ids, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if twice.any():
        raise ValueError(
            f"topk predicts a label twice for example {int(np.argmax(twice))}: expected different "
            "labels; remove repeated predictions."
        )
