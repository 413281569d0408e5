"""Labels and their ids: any int or str, appearing at any time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.packedlabels import PackedLabels, as_array, as_integer, object_array
from labeltree.scikit_learn import scikit_learn
from labeltree.sparse import as_csr

Label = Any  # an int or a str; bools and whole floats are taken as they come
Kind = Literal["class", "sets", "indicator", "sparse indicator"]
MOST_COLUMNS = 2**24  # of an indicator matrix


class Vocabulary:
    """Gives every label a dense id, in the order in which labels are added.

    Ids never change, but `without` makes another vocabulary in which those of others move up.

    Examples
    --------
    >>> vocabulary = Vocabulary(["cat", "dog"])
    >>> vocabulary.ids(["dog", "emu"])
    array([ 1, -1])
    >>> vocabulary.take(np.array([1, 0]))
    array(['dog', 'cat'], dtype=object)
    """

    def __init__(self, labels: Iterable[Label] | PackedLabels | _core.LabelTable = ()) -> None:
        # Labels of a model file wait in it until their ids are asked for. Then they are in a
        # table of the core, or in a dictionary, of five times the size, if they are a mixture.
        self._packed: PackedLabels | None = None
        self._known: _core.LabelTable | dict[Label, int] | None = None
        self._array: NDArray[Any] | None = None
        if isinstance(labels, PackedLabels):
            self._packed = labels
        elif isinstance(labels, _core.LabelTable):
            self._known = labels
        else:
            self._known = _known(list(labels))

    @property
    def _ids(self) -> _core.LabelTable | dict[Label, int]:
        if self._known is None:
            assert self._packed is not None
            labels = self._packed.tolist()
            known = _known(labels)
            if len(known) != len(labels):
                raise ValueError("the model file has one label twice: it is damaged")
            self._known = known
        return self._known

    @property
    def _unread(self) -> PackedLabels | None:
        """The labels in their file, as long as no ids were asked for."""
        return self._packed if self._known is None else None

    def __len__(self) -> int:
        packed = self._unread
        return len(self._ids) if packed is None else len(packed)

    def __contains__(self, label: Label) -> bool:
        ids = self._ids
        return label in ids if isinstance(ids, dict) else bool(ids.ids([label])[0] >= 0)

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[list[Label]]]:
        return Vocabulary, (self.tolist(),)

    def copy(self) -> Vocabulary:
        """Return the same labels, to which others may be added."""
        if isinstance(self._known, _core.LabelTable):
            return Vocabulary(self._known.copy())
        return Vocabulary(self._unread or self.tolist())

    def add(self, labels: Iterable[Label], enter: Callable[[Any, list[Label]], None]) -> None:
        """Let `enter` give the next ids to the labels that are not there yet, in their order."""
        each = list(dict.fromkeys(labels))
        new = [each[i] for i in np.flatnonzero(self.ids(each) < 0).tolist()]
        if not new:
            return
        ids = self._ids
        if isinstance(ids, _core.LabelTable) and not ids.takes(new):
            self._known = ids = _dictionary(ids.tolist())
        enter(ids, new)

    def require_one_form(self, labels: Sequence[Label]) -> None:
        """Raise if a label is written as another is, of these or of those there: 1 and "1"."""
        known = self._ids
        if isinstance(known, _core.LabelTable) and known.takes(list(labels)):
            return  # all of one kind
        own = set(labels)
        for label in labels:
            other = other_form(label)
            if other is None or label in self:
                continue
            if other in self:
                raise ValueError(
                    f"the label {label!r} is of type {type(label).__name__}, and the model has "
                    f"learned {other!r}, of type {type(other).__name__}, which would be another "
                    "label: expected labels of the type learned before; convert them, as by "
                    f"[{'str' if isinstance(other, str) else 'int'}(label) for label in y]"
                )
            if other in own:
                raise ValueError(
                    f"the labels {label!r}, of type {type(label).__name__}, and {other!r}, of "
                    f"type {type(other).__name__}, would be two: expected one type for labels that "
                    "are written alike; convert them, as by [str(label) for label in y]"
                )

    def require_common_type(self, labels: Sequence[Label]) -> None:
        """Raise if labels are all strings and those there all numbers, or the other way round."""
        known = self._ids
        if isinstance(known, _core.LabelTable):
            is_text = {known.takes([""])} if len(known) else set()
        else:
            is_text = {isinstance(label, str) for label in known}
        given = {isinstance(label, str) for label in labels}
        if given and is_text and given.isdisjoint(is_text):
            raise ValueError(
                "y and the labels of the model have no type in common: expected both strings or "
                f"both numbers, received {labels[0]!r}, and the model has {self.pick([0])[0]!r}; "
                "convert y"
            )

    def without(self, ids: NDArray[np.uint32]) -> Vocabulary:
        """Return the labels that have none of these ids, in their order."""
        known = self._ids
        if isinstance(known, _core.LabelTable):
            return Vocabulary(known.without(ids))
        stay = np.ones(len(self), dtype=bool)
        stay[ids] = False
        return Vocabulary(itertools.compress(known, stay.tolist()))

    def ids(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the ids of labels, -1 for those that are not there."""
        known = self._ids
        if isinstance(known, _core.LabelTable):
            ids = known.ids(labels if isinstance(labels, list) else list(labels))
            return ids.view(np.int64)  # of the type that numpy calls so itself
        return np.array([known.get(label, -1) for label in labels], dtype=np.int64)

    def tolist(self) -> list[Label]:
        """Return the labels in the order of their ids."""
        packed = self._unread
        if packed is not None:
            return packed.tolist()
        ids = self._ids
        return list(ids) if isinstance(ids, dict) else ids.tolist()

    def packed(self) -> PackedLabels:
        """Return the labels as plain arrays."""
        if isinstance(self._known, _core.LabelTable) and len(self._known):
            return PackedLabels(self._known.arrays())
        return self._unread or PackedLabels.pack(self.tolist())

    @property
    def nbytes(self) -> int:
        """How many bytes the labels and their ids take, more or less."""
        ids = self._ids
        return 160 * len(ids) if isinstance(ids, dict) else ids.nbytes

    def take(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return the labels with these ids, in an array of their shape."""
        if not self._is_listed and 8 * ids.size < len(self):  # few of many: no need of an array
            if self._unread is not None:
                return self._unread.take(ids)
            return as_array(self.pick(ids.ravel().tolist())).reshape(ids.shape)
        labels: NDArray[Any] = self.array[ids]
        return labels

    def pick(self, ids: Sequence[int]) -> list[Label]:
        """Return the labels with these ids: quicker than `take` for a few."""
        array = self._array
        if array is None or len(array) != len(self):
            if self._unread is not None:
                return self._unread.pick(ids)
            if isinstance(self._known, _core.LabelTable):
                return self._known.pick(ids)
            array = self.array
        item = array.item
        return [item(label) for label in ids]

    @property
    def _is_listed(self) -> bool:
        return self._array is not None and len(self._array) == len(self)

    @property
    def array(self) -> NDArray[Any]:
        """The labels in the order of their ids, as an array that must not be written to."""
        if self._array is None or not self._is_listed:
            self._array = as_array(self.tolist())
            self._array.flags.writeable = False
        return self._array


def other_form(label: Label) -> Label | None:
    """Return the label that is written alike, "1" for 1 and 1 for "1"; None if there is none."""
    if isinstance(label, str):
        number = as_integer(label)
        return None if isinstance(number, str) else number
    return str(int(label))


def _known(labels: list[Label]) -> _core.LabelTable | dict[Label, int]:
    """Return labels with their ids, in a table if they are of one kind."""
    if _core.LabelTable().takes(labels):
        with contextlib.suppress(ValueError):  # one that is there twice
            return _core.LabelTable(labels)
    return _dictionary(labels)


def _dictionary(labels: list[Label]) -> dict[Label, int]:
    return dict(zip(labels, range(len(labels)), strict=True))


@dataclass(frozen=True)
class Targets:
    """The labels of each row, in whichever form they were given.

    ``distinct`` holds each label once, sorted where labels can be compared. The labels of row i
    are at the positions ``index[offset[i] : offset[i + 1]]`` of it.
    """

    kind: Kind
    offset: NDArray[np.int64]
    distinct: list[Label]
    index: NDArray[np.int64]

    @classmethod
    def parse(cls, y: Any) -> Targets:
        """Read labels: a 1-d array, list or column, a list of lists, or an indicator matrix."""
        if isinstance(y, Targets):  # parsed before, as the command line does while it reads
            return y
        if y is None:
            raise ValueError("a classifier requires y to be passed, but the target y is None")
        if sp.issparse(y):
            return cls._from_indicator(as_csr(y, "y")[0], "sparse indicator")
        if _has_arrow_only(y):
            y = _from_arrow(y)
        # Taken one by one: numpy would turn [1, "a"] into strings.
        if isinstance(y, Sequence) and not isinstance(y, str | bytes):
            y = y if isinstance(y, list | tuple) else list(y)  # a column of Hugging Face's datasets
            if any(map(_is_set, y)):
                return cls._from_sets(y)
            return cls._from_classes(object_array(y))
        dtype = getattr(y, "dtype", None)
        if dtype is not None and not isinstance(dtype, np.dtype):  # of pandas, with room for NA
            y = np.asarray(y, dtype=object)
        array = np.asarray(y)
        if array.dtype == object and array.ndim == 1 and any(map(_is_set, array)):
            return cls._from_sets(array.tolist())
        if array.ndim == 2 and array.shape[1] > 1:
            if array.dtype.kind not in "biuf":
                raise ValueError(
                    f"y is a matrix of type {array.dtype}, expected an indicator of zeros and "
                    "ones; for sets of labels pass a list of lists"
                )
            return cls._from_indicator(sp.csr_matrix(array), "indicator")
        if array.ndim != 1 or array.dtype.kind not in "biufUO":
            array = scikit_learn("utils").column_or_1d(array, warn=True)
        return cls._from_classes(array)

    @classmethod
    def _from_classes(cls, y: NDArray[Any]) -> Targets:
        if y.dtype != object:
            if y.dtype.kind == "f" and np.isnan(y).any():
                _refuse_missing(np.nan, int(np.argmax(np.isnan(y))))
            if y.dtype.kind == "f" and not np.isfinite(y).all():
                scikit_learn("utils").assert_all_finite(y, input_name="y")
        try:
            distinct, index = _distinct(y)
        except ValueError:
            for row, label in enumerate(y):
                _scalar(label, row)  # which raises once more, and says where
            raise
        offset = np.arange(len(y) + 1, dtype=np.int64)
        return cls("class", offset, distinct, index)

    @classmethod
    def _from_sets(cls, y: Sequence[Any]) -> Targets:
        sets: list[list[Label]] = []
        for row, labels in enumerate(y):
            if not _is_set(labels):
                raise ValueError(
                    f"y[{row}] is {labels!r}, expected a list of labels as in other rows; "
                    "write [] for a row without labels"
                )
            plain = list(dict.fromkeys(_scalar(label, row) for label in labels))
            if isinstance(labels, set | frozenset):  # which list strings in no order that stays
                plain.sort(key=lambda label: (isinstance(label, str), label))
            sets.append(plain)
        offset = np.zeros(len(sets) + 1, dtype=np.int64)
        np.cumsum([len(labels) for labels in sets], out=offset[1:])
        distinct, index = _distinct(object_array([label for labels in sets for label in labels]))
        return cls("sets", offset, distinct, index)

    @classmethod
    def _from_indicator(cls, y: Any, kind: Kind) -> Targets:
        if y.shape[1] > MOST_COLUMNS:
            raise ValueError(
                f"y is an indicator of {y.shape[1]:,} columns, each of which would be a label, "
                f"expected at most {MOST_COLUMNS:,}; pass a list of the labels of each row"
            )
        # Made anew: it may not know of itself that there are duplicates.
        y = sp.csr_matrix((y.data, y.indices, y.indptr), y.shape, copy=True)
        y.sum_duplicates()
        y.eliminate_zeros()
        if not np.all(y.data == 1):
            bad = y.data[y.data != 1][0]
            raise ValueError(
                f"y is a matrix with the entry {bad}, expected an indicator of zeros and ones; "
                "for one label a row pass a 1-d array. Unknown label type otherwise."
            )
        return cls(
            kind, y.indptr.astype(np.int64), list(range(y.shape[1])), y.indices.astype(np.int64)
        )

    def __len__(self) -> int:
        return len(self.offset) - 1

    @property
    def multilabel(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.kind != "class"

    def fits(self, kind: Kind) -> bool:
        """Tell whether labels of this form can follow those of another."""
        return self.kind == kind or (self.kind.endswith("indicator") and kind.endswith("indicator"))

    def by_appearance(self) -> list[Label]:
        """Return the labels in the order in which they first appear; columns in their order."""
        if self.kind.endswith("indicator"):
            return self.distinct
        _, first = np.unique(self.index, return_index=True)
        return [self.distinct[i] for i in np.argsort(first)]

    def labels_of(self, row: int) -> list[Label]:
        """Return the labels of a row."""
        return [self.distinct[i] for i in self.index[self.offset[row] : self.offset[row + 1]]]

    def part(self, begin: int, end: int) -> Targets:
        """Return the labels of some rows."""
        first, last = self.offset[begin], self.offset[end]
        used, index = np.unique(self.index[first:last], return_inverse=True)
        distinct = [self.distinct[i] for i in used]
        return Targets(
            self.kind, self.offset[begin : end + 1] - first, distinct, index.astype(np.int64)
        )

    def only(self, labels: Iterable[Label]) -> Targets:
        """Return the same rows without any other labels, as sets: some have none then."""
        wanted = set(labels)
        kept = np.array([label in wanted for label in self.distinct], dtype=bool)
        each = kept[self.index]
        offset = np.concatenate([[0], np.cumsum(each)])[self.offset]
        place = np.cumsum(kept) - 1
        distinct = [label for label in self.distinct if label in wanted]
        kind: Kind = "sets" if self.kind == "class" else self.kind
        return Targets(kind, offset, distinct, place[self.index[each]])

    def ids(self, vocabulary: Vocabulary) -> NDArray[np.uint32]:
        """Translate into ids; every label must be in the vocabulary."""
        return vocabulary.ids(self.distinct).astype(np.uint32)[self.index]

    def wrong(
        self, ids: NDArray[np.uint32], rows: NDArray[np.int64], predicted: NDArray[np.uint32]
    ) -> NDArray[np.bool_]:
        """Tell which predictions are none of their row's labels, rows without labels left out."""
        labelled = self.offset[rows + 1] > self.offset[rows]
        rows, predicted = rows[labelled], predicted[labelled]
        if not self.multilabel:
            wrong: NDArray[np.bool_] = ids[rows] != predicted
            return wrong
        row_of = np.repeat(np.arange(len(self)), np.diff(self.offset))
        return ~np.isin((rows << 32) | predicted, (row_of << 32) | ids)


def _is_set(labels: Any) -> bool:
    if isinstance(labels, np.ndarray):
        return labels.ndim == 1
    return isinstance(labels, list | tuple | set | frozenset)


def _has_arrow_only(y: Any) -> bool:
    is_arrow = hasattr(y, "__arrow_c_stream__") or hasattr(y, "__arrow_c_array__")
    return is_arrow and not hasattr(y, "__array__")


def _from_arrow(y: Any) -> Any:
    """Return the labels of a column with Arrow's interface, y if pyarrow is not there to ask."""
    try:
        import pyarrow as pa
    except ImportError:
        return y
    column = pa.chunked_array(y) if hasattr(y, "__arrow_c_stream__") else pa.array(y)
    return column.to_pylist()


def _scalar(label: Any, row: int | None = None) -> Label:
    """Return the label as a plain Python value, or raise if it cannot be one."""
    if isinstance(label, np.generic) or (isinstance(label, np.ndarray) and label.ndim == 0):
        label = label.item()
    if isinstance(label, int | str):
        return label
    if isinstance(label, float) and label.is_integer():
        return label
    _refuse_missing(label, row)
    where = "" if row is None else f" of row {row}"
    raise ValueError(
        f"Unknown label type: the label {label!r}{where} is a {type(label).__name__}, expected an "
        "int or a str; numbers to be estimated are a matter for a regressor"
    )


def _refuse_missing(label: Any, row: int | None) -> None:
    """Raise if a label is what stands for none: None, NaN, or pandas' NA and NaT."""
    if (
        label is None
        or type(label).__name__ in ("NAType", "NaTType")
        or (isinstance(label, float) and np.isnan(label))
    ):
        where = "y" if row is None else f"row {row} of y"
        raise ValueError(
            f"{where} has {label!r} for a label, expected an int or a str; leave rows without a "
            "label out, or give lists of labels, and [] for those"
        )


def _distinct(labels: NDArray[Any]) -> tuple[list[Label], NDArray[np.int64]]:
    """Return the distinct labels, sorted where they can be compared, and each label's index."""
    if labels.dtype != object:
        values, index = np.unique(labels, return_inverse=True)
        return [_scalar(label) for label in values], index.astype(np.int64)
    positions: dict[Label, int] = {}
    index = np.array(
        [positions.setdefault(_scalar(label), len(positions)) for label in labels], dtype=np.int64
    )
    distinct = list(positions)
    try:
        order = sorted(range(len(distinct)), key=distinct.__getitem__)
    except TypeError:  # ints and strs in one vocabulary: in the order of appearance
        return distinct, index
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [distinct[i] for i in order], rank[index] if len(index) else index
