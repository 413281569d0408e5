"""Texts on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from labeltree.dask import plans
from labeltree.dask.cluster import Cluster
from labeltree.dask.compat import Client, Future
from labeltree.dask.estimators import DaskClassifier
from labeltree.dask.shard import Shard
from labeltree.data.texts import Texts
from labeltree.estimators import OnlineClassifier, TextClassifier, TextFeatures, classifier_of


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

    def _fit(self, cluster: Cluster, local: TextClassifier, shards: Sequence[Future]) -> Future:
        features = local.unfitted_features()
        counted = [cluster.submit("count-words", count, features, shard) for shard in shards]
        total = cluster.add_up("count-words", add_counts, counted)
        rows = [
            cluster.submit("weigh-words", weigh, total, shard, worker=i)
            for i, shard in enumerate(shards)
        ]
        fitted = plans.fit(cluster, classifier_of(local), rows)
        return cluster.submit("end", put_behind, total, fitted)


def count(features: TextFeatures, shard: Shard) -> TextFeatures | None:
    """Count the texts of a shard; those of weight 0 are not counted."""
    if not len(shard):
        return None
    texts = Texts.of(shard.X)
    counted = texts if shard.weight is None else texts[np.flatnonzero(shard.weight)]
    return TextFeatures(**features.get_params()).fit(counted)


def add_counts(parts: Sequence[TextFeatures | None]) -> TextFeatures:
    """Add up counts."""
    some = [part for part in parts if part is not None]
    if not some:
        raise ValueError("there are no texts, expected at least one; check what was passed")
    return TextFeatures.added(some)


def weigh(features: TextFeatures, shard: Shard) -> Shard:
    """Make rows of texts."""
    return replace(shard, X=features.transform(shard.X))


def put_behind(features: TextFeatures, estimator: OnlineClassifier) -> TextClassifier:
    """Return the classifier of texts."""
    return TextClassifier.of_parts(features, estimator)
