"""A model in two parts, for workers that learn together: weights, and all else, which is small.

Weights may be as large as half the memory, so they are in memory once, in the learner, while rows
are learned: what it began with, and what has changed, are in files if they are large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from labeltree.estimators.sharding import Block, ShardedClassifier
from labeltree.merging.learners import OF_ROWS
from labeltree.merging.tablewriter import (
    TableWriter,
    are_small,
    in_files,
    is_mapped,
    let_arrays_go,
    let_go,
)
from labeltree.merging.weighttable import State, WeightTable

Model = TypeVar("Model", bound=ShardedClassifier)
MOST_LEFT = 2**28  # bytes of weights that a learner leaves to the next pass in memory


class Left:
    """The weights of a learner, for the next pass over its shard: they may be taken once.

    They save time only: a replica has all that they are made of.
    """

    def __init__(self, learner: Any, nbytes: int) -> None:
        self._learners = [learner]
        self._nbytes = nbytes

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 1000 + self._nbytes * len(self._learners)

    def take(self) -> Any:
        """Return the learner; None if somebody has taken it."""
        try:
            return self._learners.pop()
        except IndexError:
            return None


@dataclass(frozen=True)
class Learned(Generic[Model]):
    """What a shard has taught a replica until models are merged.

    Attributes
    ----------
    model : estimator
        Without weights.
    moves : WeightTable
        The rows of the table of weights that are others than before.
    known : dict of str to array
        What is known of the rows, for the next pass over the same shard.
    left : Left or None
        The weights, for the next pass, if they are not too many to stay in memory.
    """

    model: Model
    moves: WeightTable
    known: State
    left: Left | None


@dataclass(frozen=True)
class Replica(Generic[Model]):
    """A model, from which several workers go on.

    Parameters
    ----------
    model : estimator
        Without weights: trees, index, labels and counts.
    weights : WeightTable
        The weights.
    rows : int
        How many rows of weights there could be.
    moves : tuple of WeightTable
        What was put into the weights last.
    """

    model: Model
    weights: WeightTable
    rows: int
    moves: tuple[WeightTable, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what it is made of elsewhere, where nobody has weights without the moves."""
        return type(self), (self.model, self.weights, self.rows)

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 1000 + (0 if is_mapped(self.weights.value) else self.weights.nbytes)

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return a model in two parts."""
        with model._lock.reading:
            state = model._learner.state()
        arrangement = model._arrangement()
        models = len(state["steps"]) if "steps" in state else int(state["n_models"][0])
        rows = arrangement.rows(models, model.bits_)
        return cls(_without_weights(model), arrangement.table(state), rows)

    def learn(
        self,
        blocks: Callable[[int], Iterable[Block]],
        rows: int,
        *,
        shard: int,
        shards: int,
        numbers: range,
        passes: int,
        known: State | None,
        left: Left | None = None,
        folder: str | None = None,
    ) -> Learned[Model]:
        """Learn a shard in some passes; the replica stays what it is.

        Parameters
        ----------
        blocks : callable
            Returns, for the number of a pass, the rows of the shard as an iterable of `Block`: as
            many as are to be in memory at a time, in any order.
        rows : int
            How many there are in all blocks.
        numbers : range
            Of the passes.
        shard, shards, passes, known
            As for `ShardedClassifier.learn_shard`.
        left : Left, optional
            What the shard's passes before, whose moves came to this replica last, has left.
        folder : str, optional
            Where to put files.

        Returns
        -------
        Learned
            For `merge` and `moved`.
        """
        new = self.whole(known, left)
        for number in numbers:
            new._go_through(blocks(number), rows, shard, shards, number, passes)
        moves = self._writer(folder)
        base = self.weights

        def write(number: NDArray[np.uint64], value: NDArray[np.float32]) -> None:
            moves.write(number, value)
            let_go(base)

        new._learner.changed_weights(base.rows, base.lane, base.has_sums, write)
        changed, more = moves.table(), numbers.stop < passes
        weights = new._make_learner()
        weights.exchange_weights(new._learner)
        size = max(self.weights.nbytes, changed.nbytes)
        to_leave = Left(weights, size) if more and size <= MOST_LEFT else None
        del weights  # large ones go before the rest is copied
        found = in_files(new.known_rows(), folder) if more else {}
        rest = _empty_of_rows(new._learner.state(weights=False))
        new._take(new._make_learner())
        new._learner.restore(rest)
        return Learned(new, changed, found, to_leave)

    def ends(self, parts: int) -> list[int]:
        """Return where ranges of the rows of weights end, which are of about the same size."""
        return [self.rows * (part + 1) // parts for part in range(parts)]

    def merged(
        self, part: int, parts: int, moves: Sequence[WeightTable], folder: str | None = None
    ) -> WeightTable:
        """Return how one range of the weights moves, of how it moved for several shards."""
        own = self.weights.ranges(self.ends(parts))[part]
        if are_small([own, *moves]):
            return own.merged(moves)
        writer = self._writer(folder)
        for base, changed in own.pieces(moves):
            piece = base.merged(changed)
            writer.write(piece.number, piece.value)
            let_go(base, *changed)
        return writer.table()

    def moved(self, model: Model, moves: Sequence[WeightTable], folder: str | None = None) -> Self:
        """Return the replica that has learned what all have: a merged model, and all ranges."""
        if are_small([self.weights, *moves]):
            return type(self)(model, self.weights.updated(moves), self.rows, tuple(moves))
        writer = self._writer(folder)
        for base, changed in self.weights.pieces(moves):
            piece = base.updated(changed)
            writer.write(piece.number, piece.value)
            let_go(base, *changed)
        return type(self)(model, writer.table(), self.rows, tuple(moves))

    def _writer(self, folder: str | None) -> TableWriter:
        return TableWriter(self.weights.lane, self.weights.has_sums, folder)

    def ended(self) -> Model:
        """Return the model with its weights, as `fit` leaves it."""
        model = self.whole()
        model._learner.begin_pass(again=False)
        return model

    def whole(self, known: State | None = None, left: Left | None = None) -> Model:
        """Return the model with its weights; what is known of rows, and was left, may be given."""
        whole = self.model._restored(self.model._learner.state())
        if known is not None:  # first, as it takes memory twice
            whole._learner.restore_rows(known)
            let_arrays_go(known.values())
        before = left.take() if left is not None and self.moves else None
        if before is not None:  # it has all but what others have moved, and how that was merged
            whole._learner.exchange_weights(before)
        for table in [self.weights] if before is None else self.moves:
            for piece, _ in table.pieces([]):
                whole._learner.put_weights(piece.rows, piece.lane, piece.has_sums)
                let_go(piece)
        return whole


def _without_weights(model: Model) -> Model:
    """Return a copy without weights, and without what is known of rows."""
    return model._restored(_empty_of_rows(model._learner.state(weights=False)))


def _empty_of_rows(state: State) -> State:
    return {n: array[:0].copy() if n in OF_ROWS else array for n, array in state.items()}
