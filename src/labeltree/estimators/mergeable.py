"""The part of an estimator that unites several of its configuration."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

from labeltree.estimators.settling import SettlingClassifier
from labeltree.labels import Kind, Label, Vocabulary
from labeltree.merging.numbering import Arrangement
from labeltree.merging.shards import CannotMergeError, Shards
from labeltree.merging.weighttable import State


class MergeableClassifier(SettlingClassifier):
    """What `labeltree.merge` asks of a classifier."""

    # Settings that models which are merged may have of their own.
    _united: ClassVar[tuple[str, ...]] = ()

    _kind: Kind

    def check_labels(self, labels: Iterable[Label]) -> None:
        """Raise if labels cannot be learned, as learning would: 1 where "1" was learned before.

        Parameters
        ----------
        labels : iterable of int or str
            Labels, known or not.

        Raises
        ------
        ValueError
            If two labels are written alike, one an int and one a str.
        """
        known = getattr(self, "_vocabulary", None) or Vocabulary()
        known.require_one_form(list(labels))

    def _merged_with(self, others: Sequence[Self], base: Self | None, same_rows: bool) -> Self:
        """Return the model that this one and others of its configuration are together."""
        every = [self, *others]
        merged = self._unfitted()
        for name in ("_fixed", "_kind", "compiled_", *self._settled, "feature_names_in_"):
            if hasattr(self, name):
                setattr(merged, name, getattr(self, name))
        states, labels = [], []
        for model in every if base is None else [base, *every]:
            with model._lock.reading:
                labels.append(model._vocabulary.tolist())
                states.append(model._learner.state())
        every_label = list(dict.fromkeys(itertools.chain(*labels)))
        merged.check_labels(every_label)
        merged._vocabulary = Vocabulary(every_label)
        ids = [merged._vocabulary.ids(own) for own in labels]
        first = 0 if base is None else 1
        shards = Shards(
            states[first:],
            ids[first:],
            len(merged._vocabulary),
            states[0] if base is not None else None,
            same_rows,
            self._arrangement(),
        )
        state = self._merge_states(shards)
        del states, shards  # copies of all there is
        merged._unite(every, state)
        merged._take(merged._make_learner())
        merged._learner.restore(state)
        return merged

    def _arrangement(self) -> Arrangement:
        """Return how the tables of weights of its states are arranged."""
        return Arrangement(
            getattr(self, "layout_", "dense"), self.n_features_in_ + 1, self._keeps_gradient_sums()
        )

    def _unite(self, models: Sequence[Self], state: State) -> None:
        """Settle what models that are merged may have of their own (``_united``)."""

    def _merge_states(self, shards: Shards) -> State:  # noqa: ARG002
        """Return the state that several are together."""
        raise CannotMergeError(
            f"models of {type(self).__name__} cannot be merged: its trees ask different questions "
            "in each; use LabelTreeClassifier, OneAgainstAllClassifier, ProbabilityTreeClassifier, "
            "or LdSMClassifier"
        )
