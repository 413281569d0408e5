"""Helpers to compare rows with what a reference parser says."""

from itertools import pairwise

import numpy as np

from labeltree.data import Texts


def row_dicts(rows):
    """Return the features of each row as a dict."""
    X = rows.X
    return [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in pairwise(X.indptr)
    ]


def label_lists(rows):
    """Return the labels of each row as a list."""
    offsets, ids, vocabulary = rows.labels
    sets = [[vocabulary[i] for i in ids[a:b]] for a, b in pairwise(offsets)]
    assert rows.sets == sets
    return sets


def text_bytes(texts):
    """Return each text as the bytes it is."""
    return [texts.data[a:b].tobytes() for a, b in pairwise(texts.offsets.tolist())]


def assert_rows(rows, expected, rtol=0):
    """Compare with a list of (labels, features, weight); the features may be a text."""
    assert len(rows) == len(expected) == rows.X.shape[0]
    assert label_lists(rows) == [labels for labels, _, _ in expected]
    weight = np.ones(len(rows), np.float32) if rows.weight is None else rows.weight
    np.testing.assert_array_equal(weight, np.array([w for _, _, w in expected], np.float32))
    if isinstance(rows.X, Texts):
        assert list(rows.X) == [text for _, text, _ in expected]
        return
    for found, (_, features, _) in zip(row_dicts(rows), expected, strict=True):
        assert list(found) == sorted(features)
        values = np.array([features[index] for index in found], dtype=np.float32)
        np.testing.assert_allclose(np.array(list(found.values())), values, rtol=rtol)


def assert_same(a, b):
    """Check that two batches are equal bit for bit."""
    assert type(a.X) is type(b.X)
    assert a.X.shape == b.X.shape
    if isinstance(a.X, Texts):
        assert text_bytes(a.X) == text_bytes(b.X)
    else:
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(a.X, name), getattr(b.X, name))
    assert label_lists(a) == label_lists(b)
    np.testing.assert_array_equal(
        *(np.ones(len(r)) if r.weight is None else r.weight for r in (a, b))
    )
