"""How often each label was learned, as it is noted with a model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of
from labeltree.labels import Label


def forgets(clf: OnlineClassifier | TextClassifier) -> bool:
    """Tell whether a model forgets labels by itself."""
    bounds = ("max_labels", "max_memory")
    return any(getattr(classifier_of(clf), name, None) is not None for name in bounds)


def add_counts(
    counts: NDArray[np.int64],
    clf: OnlineClassifier | TextClassifier,
    labels: Iterable[Label],
    times: NDArray[np.int64] | int = 1,
) -> NDArray[np.int64]:
    """Return counts, by the learner's ids, to which those of some labels were added.

    Where labels are forgotten, ids change, and nothing is counted.
    """
    if forgets(clf):
        return counts[:0]
    ids = classifier_of(clf).label_ids(labels)
    more = 1 + int(ids.max(initial=-1)) - len(counts)
    if more > 0:
        counts = np.concatenate([counts, np.zeros(more, np.int64)])
    times = np.broadcast_to(times, ids.shape)
    np.add.at(counts, ids[ids >= 0], times[ids >= 0])
    return counts
