"""Label sets: the true labels of every example, and predictions of them, as integer ids."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

LabelsLike: TypeAlias = npt.ArrayLike | Sequence[Iterable[Hashable]] | sparse.sparray
Ids: TypeAlias = npt.NDArray[np.int64]

_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True)
class LabelSets:
    """The set of true labels of each example.

    Stored as one sorted array of ``example * n_labels + id``: a membership test of many
    (example, label) pairs is then one binary search, with no examples x labels array.
    """

    n_examples: int
    names: npt.NDArray[Any]  # the label of each id
    keys: Ids

    @property
    def rows(self) -> Ids:
        """The example of each true label."""
        return self.keys // max(1, len(self.names))

    @property
    def ids(self) -> Ids:
        """The id of each true label, examples in order."""
        return self.keys % max(1, len(self.names))

    @property
    def sizes(self) -> Ids:
        """How many labels each example has."""
        return np.bincount(self.rows, minlength=self.n_examples)

    @property
    def counts(self) -> Ids:
        """How many examples have each label."""
        return np.bincount(self.ids, minlength=len(self.names))

    def contain(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """Tell which of `ids`, one row an example, are true labels of it; -1 never is."""
        if len(self.keys) == 0:
            return np.zeros(ids.shape, dtype=np.bool_)
        wanted = np.arange(self.n_examples)[:, np.newaxis] * len(self.names) + ids
        at = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        found: npt.NDArray[np.bool_] = (self.keys[at] == wanted) & (ids >= 0)
        return found


def label_sets(y: LabelsLike) -> LabelSets:
    """Read true labels in any of their three forms."""
    if sparse.issparse(y):
        return _from_indicator(y)
    rows, labels, n_examples = _flatten(y)
    names, ids, _ = _encode(labels, np.empty(0, dtype=np.int64))
    return _from_pairs(rows, ids, n_examples, names)


def compare(y_true: LabelsLike, predicted: npt.NDArray[Any]) -> tuple[LabelSets, Ids]:
    """Read true labels, and predictions (one row an example) as ids of the same labels.

    A prediction that is nobody's true label gets the id -1, as a missing one does: both are wrong.
    """
    if sparse.issparse(y_true):
        truth = _from_indicator(y_true)
        _check_lengths(truth.n_examples, len(predicted))
        return truth, _columns(predicted, len(truth.names))
    rows, labels, n_examples = _flatten(y_true)
    _check_lengths(n_examples, len(predicted))
    names, ids, predicted_ids = _encode(labels, predicted)
    return _from_pairs(rows, ids, n_examples, names), predicted_ids


def one_label_each(y: LabelsLike) -> bool:
    """Tell whether true labels are given as one an example, and not as sets."""
    if sparse.issparse(y):
        return False
    labels: Collection[Any] = y if isinstance(y, list | tuple) else np.asarray(y)
    return not any(issubclass(kind, _COLLECTIONS) for kind in _kinds(labels))


def as_labels(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Turn labels into an array without changing them; a list [1, "a"] must not become strings."""
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    if all(issubclass(kind, int | np.integer) for kind in set(map(type, values))):
        return np.array(values)
    return np.array(values, dtype=object)


def _from_pairs(rows: Ids, ids: Ids, n_examples: int, names: npt.NDArray[Any]) -> LabelSets:
    # Rows are in order already, so a stable sort has little to do; np.unique would hash first.
    keys = np.sort(rows * len(names) + ids, kind="stable")
    distinct = np.diff(keys, prepend=-1) > 0
    return LabelSets(n_examples, names, keys[distinct])


def _from_indicator(y: sparse.sparray) -> LabelSets:
    indicator = sparse.csr_array(y)
    n_examples, n_labels = indicator.shape
    _check_not_empty(n_examples)
    if np.isnan(indicator.data).any():
        raise ValueError(
            "y_true holds NaN: expected an indicator of zeros and ones; replace the NaN values."
        )
    rows = np.repeat(np.arange(n_examples), np.diff(indicator.indptr))
    # A stored zero says that the label is absent.
    present = indicator.data != 0
    return _from_pairs(
        rows[present],
        indicator.indices[present].astype(np.int64),
        n_examples,
        np.arange(n_labels),
    )


def _flatten(y: LabelsLike) -> tuple[Ids, npt.NDArray[Any], int]:
    """Return the example and the label of every true label, and the number of examples."""
    labels = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise ValueError(
            "y_true must be a 1-d array of labels, a list of label lists or a sparse indicator, "
            f"but is an array of shape {labels.shape}; pass a dense indicator as csr_array(y)."
        )
    n_examples = len(labels)
    _check_not_empty(n_examples)
    kinds = _kinds(labels)
    nested = {kind for kind in kinds if issubclass(kind, _COLLECTIONS)}
    if not nested:
        return np.arange(n_examples), as_labels(labels), n_examples
    if nested != kinds:
        raise ValueError(
            "y_true mixes single labels and collections of labels: expected one or the other, "
            f"received {', '.join(sorted(kind.__name__ for kind in kinds))}; "
            "put single labels into lists."
        )
    collections: Collection[Any] = labels
    sizes = np.fromiter(map(len, collections), dtype=np.int64, count=n_examples)
    flat = as_labels(list(chain.from_iterable(collections)))
    return np.repeat(np.arange(n_examples), sizes), flat, n_examples


def _kinds(labels: Collection[Any]) -> set[type]:
    """Return the types of single labels or collections; none where these are numbers or text."""
    may_nest = not isinstance(labels, np.ndarray) or labels.dtype == object
    return set(map(type, labels)) if may_nest else set()


def _encode(
    labels: npt.NDArray[Any], predicted: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], Ids, Ids]:
    """Give ids to the distinct true labels; return these, and the ids of both arguments."""
    if _fits_int64(labels) and _fits_int64(predicted):
        names, ids = np.unique(labels.astype(np.int64), return_inverse=True)
        if len(names) == 0:
            return names, ids, np.full(predicted.shape, -1)
        at = np.searchsorted(names, predicted).clip(max=len(names) - 1)
        return names, ids, np.where(names[at] == predicted, at, -1)

    index: dict[Any, int] = {}
    ids = np.fromiter(
        (index.setdefault(label, len(index)) for label in labels.tolist()),
        dtype=np.int64,
        count=len(labels),
    )
    guesses = predicted.ravel().tolist()
    _check_values(index, _distinct(guesses))
    predicted_ids = np.fromiter(
        (index.get(guess, -1) for guess in guesses), dtype=np.int64, count=len(guesses)
    )
    return as_labels(list(index)), ids, predicted_ids.reshape(predicted.shape)


def _distinct(guesses: list[Any]) -> set[Any]:
    try:
        return set(guesses)
    except TypeError:
        raise ValueError(
            "the predictions hold collections: expected one label in each place, or rows of the "
            "same length; pad short rows with None."
        ) from None


def _fits_int64(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" and np.can_cast(values.dtype, np.int64)


def _check_values(true: Iterable[Any], predicted: Iterable[Any]) -> None:
    """Refuse labels that can never be right: missing ones, and strings against numbers."""
    true, predicted = set(true), set(predicted) - {None, -1}
    if None in true or any(label != label for label in true):
        raise ValueError(
            "y_true holds None or NaN: expected a label in every place; "
            "leave the example out, or give it an empty list of labels."
        )
    if any(label != label for label in predicted):
        raise ValueError(
            "the predictions hold NaN: expected labels; write None for a missing prediction."
        )
    is_text = [{isinstance(label, str) for label in labels} for labels in (true, predicted)]
    if all(is_text) and is_text[0].isdisjoint(is_text[1]):
        raise ValueError(
            "y_true and the predictions have no type in common: expected both strings or both "
            f"numbers, received {next(iter(true))!r} and {next(iter(predicted))!r}; convert one."
        )


def _columns(predicted: npt.NDArray[Any], n_labels: int) -> Ids:
    """Read predictions that are column numbers of an indicator."""
    if predicted.dtype == object:
        predicted = as_labels([-1 if label is None else label for label in predicted.flat]).reshape(
            predicted.shape
        )
    if predicted.dtype.kind not in "iu":
        raise ValueError(
            "y_true is an indicator, so predictions must be its column numbers, but they are of "
            f"type {predicted.dtype}; pass column numbers, or y_true as lists of labels."
        )
    if predicted.size and (predicted.min() < -1 or predicted.max() >= n_labels):
        raise ValueError(
            f"predictions must be column numbers below {n_labels}, the columns of y_true, or -1 "
            f"for none, but range from {predicted.min()} to {predicted.max()}; check that both "
            "number the labels alike."
        )
    return predicted.astype(np.int64)


def _check_lengths(n_true: int, n_predicted: int) -> None:
    if n_true != n_predicted:
        raise ValueError(
            f"y_true has {n_true} examples but the predictions have {n_predicted}: expected one "
            "prediction an example; pass both for the same examples."
        )


def _check_not_empty(n_examples: int) -> None:
    if n_examples == 0:
        raise ValueError("y_true is empty: expected at least one example, received none.")
