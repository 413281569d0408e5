"""Probabilities of margins, and tables of them, from the labels that were found for each row."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree.estimators.prediction import NO_LABEL

BEST = 100  # labels of a row that are looked for


def logistic(margins: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the probabilities whose log-odds are given."""
    rest = np.exp(-np.abs(margins))  # what is small is exact
    p: NDArray[np.float32] = np.where(margins >= 0, np.float32(1), rest) / (1 + rest)
    return p


def sparse_table(
    ids: NDArray[np.uint32], scores: NDArray[np.float32], n_labels: int
) -> sp.csr_matrix:
    """Return the scores of the labels found, a column for each label id."""
    found = ids != NO_LABEL
    offset = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    shape = (len(ids), n_labels)
    table = sp.csr_matrix((scores[found], ids[found].astype(np.int64), offset), shape=shape)
    table.sort_indices()
    return table


def full_table(
    ids: NDArray[np.uint32],
    scores: NDArray[np.float32],
    others: NDArray[np.float32] | float,
    n_labels: int,
) -> NDArray[np.float32]:
    """Return the scores of the labels found, and `others`, one for each row, for the rest."""
    found = ids != NO_LABEL
    table = np.empty((len(ids), n_labels), dtype=np.float32)
    table[:] = np.broadcast_to(others, len(ids))[:, None]
    table[np.nonzero(found)[0], ids[found].astype(np.int64)] = scores[found]
    return table
