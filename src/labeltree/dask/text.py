"""Texts on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from labeltree.dask import plans
from labeltree.dask.cluster import Cluster
from labeltree.dask.compat import Client
from labeltree.dask.estimators import DaskClassifier
from labeltree.dask.partitions import Partitions
from labeltree.dask.shard import Shard
from labeltree.data.texts import Texts
from labeltree.estimators import TextClassifier, TextFeatures, classifier_of

NO_TEXTS = "there are no texts, expected at least one; check what was passed"


class DaskTextClassifier(DaskClassifier):
    """`TextClassifier` on a cluster: words are counted, and learned, where the texts are.

    Parameters
    ----------
    estimator : estimator, optional
        A classifier of this library, as for `TextClassifier`.
    client : distributed.Client, optional
        Who knows the workers; the current one by default.
    **params
        As for `TextClassifier`.
    """

    _local = TextClassifier

    def __init__(
        self, estimator: Any = None, *, client: Client | None = None, **params: Any
    ) -> None:
        super().__init__(estimator=estimator, client=client, **params)

    def _fit(self, cluster: Cluster, local: TextClassifier, parts: Partitions) -> TextClassifier:
        features = local.unfitted_features()
        counted = [cluster.submit("count-words", count, features, group) for group in parts.groups]
        total = cluster.add_up("count-words", add_counts, counted)
        groups = [
            [cluster.submit("weigh-words", weigh, total, part) for part in group]
            for group in parts.groups
        ]
        rows = Partitions(groups, parts.width)
        parts.release()
        fitted = plans.fit(cluster, classifier_of(local), rows)
        return TextClassifier.of_parts(cluster.result(total), fitted)


def count(features: TextFeatures, parts: Sequence[Shard]) -> TextFeatures | None:
    """Count the texts of some parts; those of weight 0 are not counted."""
    total: TextFeatures | None = None
    for part in parts:
        if not len(part):
            continue
        texts = Texts.of(part.X)
        counted = texts if part.weight is None else texts[np.flatnonzero(part.weight)]
        own = TextFeatures(**features.get_params()).fit(counted)
        total = own if total is None else TextFeatures.added([total, own])
    return total


def add_counts(parts: Sequence[TextFeatures | None]) -> TextFeatures:
    """Add up counts."""
    some = [part for part in parts if part is not None]
    if not some:
        raise ValueError(NO_TEXTS)
    return TextFeatures.added(some)


def weigh(features: TextFeatures | None, shard: Shard) -> Shard:
    """Make rows of texts."""
    if features is None:
        raise ValueError(NO_TEXTS)
    return replace(shard, X=features.transform(shard.X))
