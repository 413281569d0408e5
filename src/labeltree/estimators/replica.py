"""A model in two parts, for workers that learn together: weights, and all else, which is small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from labeltree.estimators.sharding import ShardedClassifier
from labeltree.merging.learners import OF_ROWS
from labeltree.merging.weighttable import State, WeightTable

Model = TypeVar("Model", bound=ShardedClassifier)


@dataclass(frozen=True)
class Learned(Generic[Model]):
    """What a shard has taught a replica in one pass.

    Attributes
    ----------
    model : estimator
        Without weights.
    moves : WeightTable
        The rows of the table of weights that are others than before.
    known : dict of str to array
        What is known of the rows, for the next pass over the same shard.
    """

    model: Model
    moves: WeightTable
    known: State


@dataclass(frozen=True)
class Replica(Generic[Model]):
    """A model, from which several workers go on.

    Parameters
    ----------
    model : estimator
        Without weights: trees, index, labels and counts.
    weights : WeightTable
        The weights.
    """

    model: Model
    weights: WeightTable

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 1000 + self.weights.nbytes

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return a model in two parts."""
        with model._lock.reading:
            state = model._learner.state()
        weights = model._arrangement().table(state)
        return cls(_without_weights(model, state), weights)

    def learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        shard: int,
        shards: int,
        number: int,
        passes: int,
        known: State | None,
    ) -> Learned[Model]:
        """Learn a shard in one pass; the replica stays what it is.

        Parameters
        ----------
        X, y, sample_weight, shard, shards, number, passes, known
            As for `ShardedClassifier.learn_shard`.

        Returns
        -------
        Learned
            For `merge` and `moved`.
        """
        new = self.whole()
        new._go_through(X, y, sample_weight, shard, shards, number, passes, known)
        found, state = new.known_rows(), new._learner.state()
        new._take(new._make_learner())  # the learner has a copy of all that, which is large
        learned = new._arrangement().table(state)
        moves = learned.changed_since(self.weights)
        del learned
        state = _emptied(new, state)
        new._learner.restore(state)
        return Learned(new, moves, found)

    def ends(self, parts: int) -> list[int]:
        """Return where ranges of the rows of weights end, which are of about the same size."""
        state = self.model._learner.state()
        models = len(state["steps"]) if "steps" in state else int(state["n_models"][0])
        rows = self.model._arrangement().rows(models, self.model.bits_)
        return [rows * (part + 1) // parts for part in range(parts)]

    def merged(self, part: int, parts: int, moves: Sequence[WeightTable]) -> WeightTable:
        """Return how one range of the weights moves, of how it moved for several shards."""
        return self.weights.ranges(self.ends(parts))[part].merged(moves)

    def moved(self, model: Model, moves: Sequence[WeightTable]) -> Self:
        """Return the replica that has learned what all have: a merged model, and all ranges."""
        return type(self)(model, self.weights.updated(moves))

    def ended(self) -> Model:
        """Return the model with its weights, as `fit` leaves it."""
        model = self.whole()
        model._learner.begin_pass(again=False)
        return model

    def whole(self) -> Model:
        """Return the model with its weights."""
        return self.model._restored({**self.model._learner.state(), **self.weights.state})


def _without_weights(model: Model, state: State) -> Model:
    return model._restored(_emptied(model, state))


def _emptied(model: ShardedClassifier, state: State) -> State:
    """Return a state without weights, and without what is known of rows."""
    empty = {*model._arrangement().table(state).state, *OF_ROWS}
    return {n: array[:0].copy() if n in empty else array for n, array in state.items()}
