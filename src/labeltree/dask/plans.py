"""How each algorithm is parallel: functions that submit tasks, and what the tasks do.

docs/distributed.md says why, and what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from labeltree.dask.cluster import Cluster
from labeltree.dask.compat import Future
from labeltree.dask.memory import gives_back, local_folder
from labeltree.dask.parcel import Parcel
from labeltree.dask.partitions import Partitions
from labeltree.dask.rows import Rows, deal, gather, numbered
from labeltree.dask.shard import Shard, put_together
from labeltree.dask.tally import Tally
from labeltree.estimators import (
    LabelTreeClassifier,
    LdSMClassifier,
    OneAgainstAllClassifier,
    OnlineClassifier,
    merge,
)
from labeltree.estimators.replica import Left, Replica
from labeltree.estimators.survey import ShardSurvey
from labeltree.labels import Label, Targets

Model = TypeVar("Model", bound=OnlineClassifier)


def fit(cluster: Cluster, estimator: OnlineClassifier, parts: Partitions) -> Any:
    """Let workers fit an estimator to rows; return what it has become."""
    if isinstance(estimator, LabelTreeClassifier):
        return by_rows(cluster, estimator, parts)
    if isinstance(estimator, OneAgainstAllClassifier):
        return by_labels(cluster, estimator, parts)
    if isinstance(estimator, LdSMClassifier):
        return by_trees(cluster, estimator, parts)
    raise ValueError(
        f"{type(estimator).__name__} has no plan for a cluster; use LabelTreeClassifier, "
        "OneAgainstAllClassifier or LdSMClassifier"
    )


def by_rows(cluster: Cluster, estimator: LabelTreeClassifier, parts: Partitions) -> Any:
    """Begin everywhere with one model, learn rows where they are, and merge after some passes.

    Every worker has a replica of the model, and learns its shard. Weights are merged in as many
    ranges as there are shards, each on a worker of its own, which gets what the others have
    learned of it; all else on one.
    """
    shards, dealt = shards_of(cluster, estimator, parts)
    every = range(len(shards))
    surveys = [cluster.submit("survey", survey, estimator, shard) for shard in shards]
    total = cluster.add_up("survey", total_survey, surveys)
    first = cluster.submit("cluster-labels", begin, estimator, total)
    del surveys, total  # so that workers may forget them
    passes = estimator.passes or cluster.result(
        cluster.submit("passes", passes_of, first, 1 if dealt else len(shards))
    )
    replicas, known = [first] * len(shards), [None] * len(shards)
    for numbers in rounds(passes, dealt):
        name = f"pass-{numbers.stop}"
        learned = [
            cluster.submit(
                f"learn-{name}",
                learn,
                replicas[i],
                shards[i],
                (i, len(shards), numbers, passes),
                known[i],
                worker=i,
            )
            for i in every
        ]
        moved_parts = [
            [cluster.submit(f"part-{name}", part_of, one, range_, worker=i) for range_ in every]
            for i, one in enumerate(learned)
        ]
        rests = [
            cluster.submit(f"rest-{name}", rest_of, one, worker=i) for i, one in enumerate(learned)
        ]
        known = [
            cluster.submit(f"known-{name}", known_of, one, worker=i)
            for i, one in enumerate(learned)
        ]
        rest = cluster.submit(f"merge-rest-{name}", merge_rests, rests, replicas[0], worker=0)
        moves = [
            cluster.submit(
                f"merge-{name}",
                merge_range,
                replicas[i],
                i,
                [own[i] for own in moved_parts],
                worker=i,
            )
            for i in every
        ]
        replicas = [
            cluster.submit(f"move-{name}", moved, replicas[i], rest, moves, worker=i) for i in every
        ]
    last = replicas[0]
    del first, replicas, known, learned, moved_parts, rests, rest, moves, shards
    replica: Replica[LabelTreeClassifier] = cluster.result(last)
    return replica.ended()


def shards_of(
    cluster: Cluster, estimator: LabelTreeClassifier, parts: Partitions
) -> tuple[list[Future], bool]:
    """Return a shard of rows for each worker, and whether rows went there by their labels."""
    groups = [*parts.groups]
    mixed, dealt = bool(estimator.shuffle), False
    if mixed and len(groups) > 1:
        counted = [cluster.submit("count-labels", Tally.of, group) for group in groups]
        total = cluster.add_up("count-labels", Tally.total, counted)
        hands = len(groups)
        dealt = cluster.result(cluster.submit("count-labels", Tally.is_dealt, total, hands))
        if dealt:
            dealings = [cluster.submit("deal", deal, group, total, hands) for group in groups]
            groups = [
                [cluster.submit("deal", hand_of, dealing, hand) for dealing in dealings]
                for hand in range(hands)
            ]
    shards = [
        cluster.submit("gather", gather, group, parts.width, mixed, worker=i)
        for i, group in enumerate(groups)
    ]
    parts.release()
    return shards, dealt


def hand_of(dealt: Sequence[Rows], hand: int) -> Rows:
    """Return what one shard gets."""
    return dealt[hand]


@gives_back
def survey(estimator: LabelTreeClassifier, shard: Rows) -> ShardSurvey | None:
    """Return what is to be known of a shard; nothing of one without rows."""
    total: ShardSurvey | None = None
    for rows in shard:
        one = estimator.survey(rows.X, rows.y, rows.weight)
        total = one if total is None else ShardSurvey.total([total, one])
    return total


def total_survey(surveys: Sequence[ShardSurvey | None]) -> ShardSurvey | None:
    """Add up surveys."""
    some = [one for one in surveys if one is not None]
    return ShardSurvey.total(some) if some else None


@gives_back
def begin(
    estimator: LabelTreeClassifier, total: ShardSurvey | None
) -> Replica[LabelTreeClassifier]:
    """Return the model that all begin with."""
    return Replica.of(estimator.begin([] if total is None else [total]))


def passes_of(replica: Replica[LabelTreeClassifier], shards: int) -> int:
    """Return how often a model goes through the rows: with many shards it learns less in a pass."""
    return replica.model.n_passes_ + shards // 4 * 2


def rounds(passes: int, dealt: bool) -> list[range]:
    """Return the numbers of passes between which models are merged.

    That is after the first, in which a model finds most of what it knows, and then every two; after
    each where shards have labels of their own.
    """
    ends = [*range(1, passes, 1 if dealt else 2), passes]
    return [range(begin, end) for begin, end in pairwise([0, *ends])]


@dataclass(frozen=True)
class Taught:
    """What a shard has taught, its weights in ranges."""

    model: LabelTreeClassifier
    parts: list[Parcel]
    known: Known


@dataclass(frozen=True)
class Known:
    """What is known of the rows of a shard, and, as long as it stays where it is, the weights."""

    rows: Parcel
    left: Left | None

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return self.rows.__sizeof__() + (self.left.__sizeof__() if self.left else 0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return it without the weights: where a worker is lost, they come from the replica."""
        return Known, (self.rows, None)


@gives_back
def learn(
    replica: Replica[LabelTreeClassifier],
    shard: Rows,
    place: tuple[int, int, range, int],
    known: Known | None,
) -> Taught | None:
    """Learn a shard until models are merged.

    `place` is the shard's number, how many there are, the numbers of the passes, and how many there
    are in all.
    """
    if not len(shard):
        return None
    own, shards, numbers, passes = place
    learned = replica.learn(
        lambda number: numbered(shard, None if replica.model.shuffle is False else (own, number)),
        len(shard),
        shard=own,
        shards=shards,
        numbers=numbers,
        passes=passes,
        known=known.rows.arrays if known else None,
        left=known.left if known else None,
        folder=local_folder(),
    )
    parts = [Parcel(part.state) for part in learned.moves.ranges(replica.ends(shards))]
    return Taught(learned.model, parts, Known(Parcel(learned.known), learned.left))


def rest_of(taught: Taught | None) -> LabelTreeClassifier | None:
    """Return the model that a shard has taught, without weights."""
    return taught.model if taught else None


def part_of(taught: Taught | None, part: int) -> Parcel | None:
    """Return one range of the weights that a shard has moved."""
    return taught.parts[part] if taught else None


def known_of(taught: Taught | None) -> Known | None:
    """Return what is known of the rows of a shard."""
    return taught.known if taught else None


@gives_back
def merge_rests(
    models: Sequence[LabelTreeClassifier | None], base: Replica[LabelTreeClassifier]
) -> LabelTreeClassifier:
    """Return what models without weights are together."""
    some = [model for model in models if model is not None]
    return some[0] if len(some) == 1 else merge(some, base=base.model)


@gives_back
def merge_range(
    base: Replica[LabelTreeClassifier], part: int, moves: Sequence[Parcel | None]
) -> Parcel:
    """Return how one range of the weights moves, of how it moved for each shard."""
    nothing = base.weights.ranges([0])[0]
    some = [nothing if each is None else base.weights.like(each.arrays) for each in moves]
    return Parcel(base.merged(part, len(moves), some, local_folder()).state)


@gives_back
def moved(
    base: Replica[LabelTreeClassifier], model: LabelTreeClassifier, moves: Sequence[Parcel]
) -> Replica[LabelTreeClassifier]:
    """Return the replica that has learned what all have."""
    tables = [base.weights.like(each.arrays) for each in moves]
    return base.moved(model, tables, local_folder())


def by_labels(cluster: Cluster, estimator: OneAgainstAllClassifier, parts: Partitions) -> Any:
    """Let each worker learn some of the labels from all rows."""
    labels = cluster.submit(
        "labels", all_labels, [cluster.submit("labels", labels_of, part) for part in parts.every]
    )
    workers = range(len(cluster.workers))
    models = [
        cluster.submit(
            "learn-labels", learn_labels, estimator, rows, labels, i, len(workers), worker=i
        )
        for i, rows in zip(workers, whole(cluster, parts), strict=True)
    ]
    return cluster.result(cluster.submit("merge-labels", unite, models))


def whole(cluster: Cluster, parts: Partitions) -> list[Future]:
    """Put all rows on every worker."""
    return [
        cluster.submit("gather-all", put_together, parts.every, parts.width, worker=i)
        for i in range(len(cluster.workers))
    ]


def labels_of(shard: Shard) -> list[Label]:
    """Return the labels of a shard."""
    return list(Targets.parse(shard.y).distinct) if len(shard) else []


def all_labels(parts: Sequence[Sequence[Label]]) -> list[Label]:
    """Return the labels of all shards, in the order in which `fit` numbers them."""
    return list(Targets.parse([label for part in parts for label in part]).distinct)


def learn_labels(
    estimator: OneAgainstAllClassifier, rows: Shard, labels: Sequence[Label], part: int, parts: int
) -> OneAgainstAllClassifier | None:
    """Learn one range of the labels."""
    blocks = np.array_split(np.arange(0, len(labels), 8), parts)[part]  # eight are learned at once
    if not len(blocks):
        return None
    own = labels[blocks[0] : blocks[-1] + 8]
    return _copy(estimator).fit_labels(rows.X, rows.y, own, rows.weight)


def by_trees(cluster: Cluster, estimator: LdSMClassifier, parts: Partitions) -> Any:
    """Let each worker grow some of the trees from all rows."""
    workers = range(len(cluster.workers))
    models = [
        cluster.submit("grow-trees", grow, estimator, rows, i, len(workers), worker=i)
        for i, rows in zip(workers, whole(cluster, parts), strict=True)
    ]
    return cluster.result(cluster.submit("merge-trees", unite, models))


def grow(estimator: LdSMClassifier, rows: Shard, part: int, parts: int) -> LdSMClassifier | None:
    """Grow one share of the trees."""
    trees = np.array_split(np.arange(estimator.n_trees), parts)[part]
    if not len(trees):
        return None
    own = range(int(trees[0]), int(trees[-1]) + 1)
    return _copy(estimator).fit_trees(rows.X, rows.y, own, rows.weight)


def unite(models: Sequence[Model | None]) -> Model:
    """Return what those who learned parts of a model from the same rows are together."""
    return merge([model for model in models if model is not None], same_rows=True)


def _copy(estimator: Model) -> Model:
    """Return an estimator of its own, as tasks may run twice, and must not change what they get."""
    return type(estimator)(**estimator.get_params())
