"""What is to be merged: states, and the ids that their labels get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.numbering import Arrangement
from labeltree.merging.weighttable import State, WeightTable


class CannotMergeError(ValueError):
    """Models do not fit together; the message says why, and what to do."""


@dataclass(frozen=True)
class Shards:
    """States of models of one configuration.

    Attributes
    ----------
    states : sequence of dict
        One a model.
    ids : sequence of array of int
        The ids that its labels get, in the order of those they have.
    labels : int
        The number of labels of all.
    base : dict, optional
        The state from which all went on.
    same_rows : bool
        Whether all have learned the same rows, so that counts of rows are to be taken once.
    arrangement : Arrangement
        Of tables of weights.
    """

    states: Sequence[State]
    ids: Sequence[NDArray[np.int64]]
    labels: int
    base: State | None
    same_rows: bool
    arrangement: Arrangement

    @property
    def counted(self) -> Sequence[State]:
        """The states whose counts of rows are to be added."""
        return self.states[:1] if self.same_rows else self.states

    @cached_property
    def shares(self) -> list[float]:
        """How many examples each has learned."""
        return [float(max(1, state["examples"][0])) for state in self.states]

    def are_alike(self, names: Iterable[str]) -> bool:
        """Tell whether labels, and some arrays, are the same in all, so that models are, too."""
        every = self.states if self.base is None else [*self.states, self.base]
        labels = np.arange(self.labels)
        return all(np.array_equal(own, labels) for own in self.ids) and all(
            name in state and np.array_equal(state[name], every[0][name])
            for name in names
            for state in every
        )

    def require_lines(self) -> None:
        """Raise if models cannot be numbered anew."""
        if self.base is not None:
            raise CannotMergeError(
                "the models have other labels, or trees of another shape, than base, which cannot "
                "be told apart from what they began with; tell base all labels by classes before "
                "they learn on, or merge them without base"
            )
        if self.arrangement.layout == "hashed":
            raise CannotMergeError(
                "the models have labels, or trees, of their own, and hashed tables, in which the "
                "weights of a model cannot be found again under another number; train shards with "
                'layout="dense", or let all go on from one model that has learned a row of every '
                "label"
            )

    def averaged_weights(self) -> State:
        """Return the table of weights of models that are numbered alike."""
        tables = [self.arrangement.table(state) for state in self.states]
        if self.base is None:
            return WeightTable.averaged(tables, self.shares).state
        base = self.arrangement.table(self.base)
        return base.updated([base.merged([table.changed_since(base) for table in tables])]).state
