"""Rows made for given labels, as many non-zero features each as asked for."""

import numpy as np
from scipy import sparse

from labeltree.datasets import _mix

NOISE = 0.25  # the share of features that tell nothing of the label


def rows(labels, *, nnz=20, n_features=1 << 16, seed=0):
    """Return a row of unit length for each label, of exactly `nnz` features.

    As in `labeltree.datasets.make_multiclass`, which draws its labels itself, a label has a
    signature of `nnz` features, hashed from the label alone, and some features of a row are drawn
    at random instead. Here each feature comes from a range of columns of its own, so that no two
    fall together.
    """
    rng = np.random.default_rng(seed)
    places = np.arange(nnz)
    columns = _mix(_mix(labels.astype(np.uint64))[:, np.newaxis] + places.astype(np.uint64))
    noisy = rng.random(columns.shape) < NOISE
    columns[noisy] = rng.integers(0, 1 << 63, noisy.sum())
    width = n_features // nnz
    columns = (columns % np.uint64(width)).astype(np.int32) + (places * width).astype(np.int32)
    values = np.full(columns.size, nnz**-0.5, dtype=np.float32)
    offsets = np.arange(0, columns.size + 1, nnz, dtype=np.int32)
    return sparse.csr_matrix((values, columns.ravel(), offsets), (len(labels), n_features))
