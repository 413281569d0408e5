"""How each algorithm is parallel: functions that submit tasks, and what the tasks do.

docs/distributed.md says why, and what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from labeltree.dask.cluster import Cluster
from labeltree.dask.compat import Future
from labeltree.dask.shard import Shard, put_together
from labeltree.estimators import (
    LabelTreeClassifier,
    LdSMClassifier,
    OneAgainstAllClassifier,
    OnlineClassifier,
    merge,
)
from labeltree.estimators.replica import Replica
from labeltree.estimators.survey import ShardSurvey
from labeltree.labels import Label, Targets
from labeltree.merging.weighttable import WeightTable

Model = TypeVar("Model", bound=OnlineClassifier)


def fit(cluster: Cluster, estimator: OnlineClassifier, shards: Sequence[Future]) -> Future:
    """Let workers fit an estimator to shards; return the future of what it has become."""
    if isinstance(estimator, LabelTreeClassifier):
        return by_rows(cluster, estimator, shards)
    if isinstance(estimator, OneAgainstAllClassifier):
        return by_labels(cluster, estimator, shards)
    if isinstance(estimator, LdSMClassifier):
        return by_trees(cluster, estimator, shards)
    raise ValueError(
        f"{type(estimator).__name__} has no plan for a cluster; use LabelTreeClassifier, "
        "OneAgainstAllClassifier or LdSMClassifier"
    )


def by_rows(cluster: Cluster, estimator: LabelTreeClassifier, shards: Sequence[Future]) -> Future:
    """Begin everywhere with one model, learn rows where they are, and merge after each pass.

    Every worker has a replica of the model, and learns its shard. Weights are merged in as many
    ranges as there are shards, each on a worker of its own, which gets what the others have
    learned of it; all else on one.
    """
    every = range(len(shards))
    surveys = [cluster.submit("survey", survey, estimator, shard) for shard in shards]
    total = cluster.add_up("survey", total_survey, surveys)
    first = cluster.submit("cluster-labels", begin, estimator, total)
    passes = estimator.passes or cluster.result(
        cluster.submit("passes", passes_of, first, len(shards))
    )
    replicas, known = [first] * len(shards), [None] * len(shards)
    for number in range(passes):
        name = f"pass-{number + 1}"
        learned = [
            cluster.submit(
                f"learn-{name}",
                learn,
                replicas[i],
                shards[i],
                (i, len(shards), number, passes),
                known[i],
                worker=i,
            )
            for i in every
        ]
        parts = [
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
                f"merge-{name}", merge_range, replicas[i], i, [own[i] for own in parts], worker=i
            )
            for i in every
        ]
        replicas = [
            cluster.submit(f"move-{name}", moved, replicas[i], rest, moves, worker=i) for i in every
        ]
    return cluster.submit("end", ended, replicas[0], worker=0)


def survey(estimator: LabelTreeClassifier, shard: Shard) -> ShardSurvey | None:
    """Return what is to be known of a shard; nothing of one without rows."""
    return estimator.survey(shard.X, shard.y, shard.weight) if len(shard) else None


def total_survey(surveys: Sequence[ShardSurvey | None]) -> ShardSurvey | None:
    """Add up surveys."""
    some = [one for one in surveys if one is not None]
    return ShardSurvey.total(some) if some else None


def begin(
    estimator: LabelTreeClassifier, total: ShardSurvey | None
) -> Replica[LabelTreeClassifier]:
    """Return the model that all begin with."""
    return Replica.of(estimator.begin([] if total is None else [total]))


def passes_of(replica: Replica[LabelTreeClassifier], shards: int) -> int:
    """Return how often a model goes through the rows: with many shards it learns less in a pass."""
    model = replica.model
    return model.n_passes_ + shards // 4 * (2 if model.scorer_update_ == "dual" else 1)


@dataclass(frozen=True)
class Taught:
    """What a shard has taught, its weights in ranges."""

    model: LabelTreeClassifier
    parts: list[WeightTable]
    known: dict[str, Any]


def learn(
    replica: Replica[LabelTreeClassifier],
    shard: Shard,
    place: tuple[int, int, int, int],
    known: dict[str, Any] | None,
) -> Taught | None:
    """Learn a shard in one pass.

    `place` is the shard's number, how many there are, the number of the pass, and how many.
    """
    if not len(shard):
        return None
    own, shards, number, passes = place
    learned = replica.learn(
        shard.X,
        shard.y,
        shard.weight,
        shard=own,
        shards=shards,
        number=number,
        passes=passes,
        known=known,
    )
    return Taught(learned.model, learned.moves.ranges(replica.ends(shards)), learned.known)


def rest_of(taught: Taught | None) -> LabelTreeClassifier | None:
    """Return the model that a shard has taught, without weights."""
    return taught.model if taught else None


def part_of(taught: Taught | None, part: int) -> WeightTable | None:
    """Return one range of the weights that a shard has moved."""
    return taught.parts[part] if taught else None


def known_of(taught: Taught | None) -> dict[str, Any] | None:
    """Return what is known of the rows of a shard."""
    return taught.known if taught else None


def merge_rests(
    models: Sequence[LabelTreeClassifier | None], base: Replica[LabelTreeClassifier]
) -> LabelTreeClassifier:
    """Return what models without weights are together."""
    some = [model for model in models if model is not None]
    return some[0] if len(some) == 1 else merge(some, base=base.model)


def merge_range(
    base: Replica[LabelTreeClassifier], part: int, moves: Sequence[WeightTable | None]
) -> WeightTable:
    """Return how one range of the weights moves, of how it moved for each shard."""
    nothing = base.weights.ranges([0])[0]
    return base.merged(part, len(moves), [nothing if each is None else each for each in moves])


def moved(
    base: Replica[LabelTreeClassifier], model: LabelTreeClassifier, moves: Sequence[WeightTable]
) -> Replica[LabelTreeClassifier]:
    """Return the replica that has learned what all have."""
    return base.moved(model, moves)


def ended(replica: Replica[LabelTreeClassifier]) -> LabelTreeClassifier:
    """Return a model whose rows do not come again."""
    return replica.ended()


def by_labels(
    cluster: Cluster, estimator: OneAgainstAllClassifier, shards: Sequence[Future]
) -> Future:
    """Let each worker learn some of the labels from all rows."""
    labels = cluster.submit(
        "labels", all_labels, [cluster.submit("labels", labels_of, shard) for shard in shards]
    )
    workers = range(len(cluster.workers))
    parts = [
        cluster.submit(
            "learn-labels", learn_labels, estimator, rows, labels, i, len(workers), worker=i
        )
        for i, rows in zip(workers, whole(cluster, shards), strict=True)
    ]
    return cluster.submit("merge-labels", unite, parts)


def whole(cluster: Cluster, shards: Sequence[Future]) -> list[Future]:
    """Put all rows on every worker."""
    return [
        cluster.submit("gather-all", put_together, list(shards), worker=i)
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


def by_trees(cluster: Cluster, estimator: LdSMClassifier, shards: Sequence[Future]) -> Future:
    """Let each worker grow some of the trees from all rows."""
    workers = range(len(cluster.workers))
    parts = [
        cluster.submit("grow-trees", grow, estimator, rows, i, len(workers), worker=i)
        for i, rows in zip(workers, whole(cluster, shards), strict=True)
    ]
    return cluster.submit("merge-trees", unite, parts)


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
