"""Estimators that forget labels: when they are told to, and when there are too many."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labeltree.conventions import check_is_fitted
from labeltree.estimators.locking import changing
from labeltree.estimators.survey import Batch
from labeltree.estimators.tree import TreeClassifier
from labeltree.labels import Label, Targets
from labeltree.parameters import Interval

CHECKED = 256  # memory is looked at whenever so many rows were learned
SHARE = 8  # of the labels one in so many goes at once: to forget goes through all of the model


class ForgettingClassifier(TreeClassifier):
    """The part of a tree that forgets labels, and bounds how many there are.

    A core learner has ``forget`` and ``longest_unseen``. Ids of labels that stay move up, so that
    whoever uses ids holds the lock, or sees to it that the vocabulary is the same afterwards.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeClassifier._parameter_constraints,
        "max_labels": [Interval(Integral, 1, None, closed="left"), None],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
    }

    max_labels: int | None
    max_memory: float | None
    replay: int

    @changing
    def forget(self, labels: Iterable[Label]) -> Self:
        """Forget labels, and free what they take.

        They are gone from trees, index, counts and the rows kept for `replay`, and are not
        predicted until they are learned anew, from scratch. The labels that stay have the same
        order in `classes_`, without gaps, and so do the columns of `predict_proba`. Where `y` is
        an indicator matrix its columns stay, as those of labels never seen.

        All of the model is gone through once: forget many labels in one call.

        Parameters
        ----------
        labels : iterable of int or str
            Labels of `classes_`. If any is unknown, nothing is forgotten.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from labeltree import LabelTreeClassifier
        >>> clf = LabelTreeClassifier(random_state=0)
        >>> clf = clf.partial_fit([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "c"])
        >>> clf.forget(["b"]).classes_
        array(['a', 'c'], dtype=object)
        >>> str(clf.predict([[0.0, 1.0]])[0]) in ("a", "c")
        True
        """
        check_is_fitted(self)
        self._require_learning()
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
            raise ValueError(
                f"labels is {labels!r}, expected a list of labels; to forget one, pass it in a list"
            )
        each = list(labels)
        nested = next((one for one in each if not isinstance(one, str) and np.ndim(one)), None)
        if nested is not None:
            raise ValueError(
                f"labels has {nested!r}, expected labels one by one; pass them in one flat list"
            )
        given = Targets.parse(each).distinct
        ids = self._vocabulary.ids(given)
        unknown = [label for label, i in zip(given, ids.tolist(), strict=True) if i < 0]
        if unknown:
            more = f" and {len(unknown) - 1:,} others are" if len(unknown) > 1 else " is"
            raise ValueError(
                f"{unknown[0]!r}{more} not among the {len(self._vocabulary):,} labels of this "
                "model, expected labels of classes_; nothing was forgotten: leave out what is "
                "unknown"
            )
        self._forget(np.sort(ids).astype(np.uint32))
        return self

    def _forget(self, ids: NDArray[np.uint32]) -> None:
        """Forget labels by their ids, in ascending order: in vocabulary and core at once."""
        if not len(ids):
            return
        keep = self._kind.endswith("indicator")
        left = self._vocabulary if keep else self._vocabulary.without(ids)
        # Native, so that no signal can come between.
        then = functools.partial(self.__dict__.__setitem__, "_vocabulary", left)
        try:
            self._learner.forget(ids, keep, then)
        except MemoryError:
            self._lock.condemn(
                "memory ran out while this model forgot labels, and it may have forgotten half of "
                "them; load the file that was saved last, or fit it anew"
            )
            raise

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.max_memory is not None and self.max_memory <= self.replay:
            raise ValueError(
                f"max_memory is {self.max_memory}, expected more than replay = {self.replay}, the "
                "megabytes that rows to be learned again may take; raise it, or lower replay"
            )

    @property
    def _bounded(self) -> bool:
        return self._fixed["max_labels"] is not None or self._fixed["max_memory"] is not None

    def _most_labels(self) -> int | None:
        fixed = getattr(self, "_fixed", None)
        most: int | None = self.max_labels if fixed is None else fixed["max_labels"]
        return most

    def _grown(self) -> int:
        """Return about how many bytes hold what grows with labels and rows."""
        return int(self._learner.grown_bytes) + self._vocabulary.nbytes

    def _require_room(
        self, targets: Targets, declared: Sequence[Label], *, streaming: bool
    ) -> None:
        most = self._most_labels()
        if most is None:
            return
        if targets.kind.endswith("indicator") or not streaming:
            count = len(targets.distinct)
            if count > most:
                what = "columns" if targets.kind.endswith("indicator") else "labels"
                raise ValueError(
                    f"y has {count:,} {what}, expected at most max_labels = {most:,}, all of which "
                    "are kept here; raise max_labels, or learn lists of labels by partial_fit, "
                    "which forgets those longest unseen"
                )
        if len(declared) > most:
            raise ValueError(
                f"classes has {len(declared):,} labels, expected at most max_labels = {most:,}; "
                "leave classes out, since labels are welcome at any time"
            )
        sizes = np.diff(targets.offset)
        if sizes.max(initial=0) > most:
            row = int(np.argmax(sizes > most))
            raise ValueError(
                f"row {row} of y has {sizes[row]:,} labels, expected at most max_labels = "
                f"{most:,}; raise max_labels, or leave the row out"
            )

    def _learn_stream(self, batch: Batch, declared: Sequence[Label]) -> None:
        """Learn rows in their order, and forget labels where a row brings too many.

        When depends on the rows before alone, not on how they were cut into batches.
        """
        if not self._bounded or self._kind.endswith("indicator"):
            super()._learn_stream(batch, declared)
            return
        if declared:
            self._make_room(declared)
            self._add_labels(declared)
        begin, rows = 0, len(batch.targets)
        while begin < rows:
            end = self._end_of_room(batch.targets, begin)
            if end == begin:
                self._make_room(batch.targets.labels_of(begin))
            else:
                super()._learn_stream(batch.part(begin, end), [])
                self._shrink()
            begin = end

    def _end_of_room(self, targets: Targets, begin: int) -> int:
        """Return the row, from `begin` on, before which labels, or memory, are to be looked at."""
        most, end = self._most_labels(), len(targets)
        if self._fixed["max_memory"] is not None:
            end = min(end, begin + CHECKED - self.examples_ % CHECKED)
        if most is None:
            return end
        known, new = self._vocabulary, set[Label]()
        room = most - len(known)
        for row in range(begin, end):
            new.update(label for label in targets.labels_of(row) if label not in known)
            if len(new) > room:
                return row
        return end

    def _shrink(self) -> None:
        """Forget labels longest unseen as long as memory is more than it may be."""
        megabytes = self._fixed["max_memory"]
        if megabytes is None or self.examples_ % CHECKED:
            return
        nobody = np.empty(0, dtype=np.uint32)
        while len(self._vocabulary) > 1 and self._grown() > megabytes * 2**20:
            share = -(-len(self._vocabulary) // SHARE)
            self._forget(self._learner.longest_unseen(share, nobody))

    def _make_room(self, labels: Sequence[Label]) -> None:
        """Forget the labels longest unseen, an eighth of all at least, if there are too many."""
        most = self._most_labels()
        assert most is not None
        ids = self._vocabulary.ids(labels)
        over = len(self._vocabulary) + int(np.count_nonzero(ids < 0)) - most
        if over > 0:
            own = ids[ids >= 0].astype(np.uint32)
            self._forget(self._learner.longest_unseen(max(over, most // SHARE), own))
