"""What settings are chosen from, beside slow and obvious counts."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import _core
from labeltree.validation import as_matrix


def rows_and_sets(seed, cols):
    random = np.random.default_rng(seed)
    X = sp.random(60, 40, 0.1, format="csr", dtype=np.float32, random_state=seed)
    features = random.choice(cols, 40, replace=False)  # far more of them than entries, or not
    X = sp.csr_matrix((X.data, features[X.indices], X.indptr), (60, cols))
    X.sort_indices()
    sets = [random.choice(7, random.integers(0, 4), replace=False) for _ in range(60)]
    return X, sets


@pytest.mark.parametrize("cols", [40, 10**9])
@pytest.mark.parametrize("seed", range(3))
def test_counts_of_features_and_of_pairs_are_those_of_sets(seed, cols):
    X, sets = rows_and_sets(seed, cols)
    pairs = {
        (feature, label)
        for row, labels in enumerate(sets)
        for feature in X.indices[X.indptr[row] : X.indptr[row + 1]]
        for label in labels
    }
    offset = np.concatenate([[0], np.cumsum([len(labels) for labels in sets])])
    given = _core.LabelSets(offset, np.concatenate(sets).astype(np.uint32))
    assert _core.count_pairs(as_matrix(X), given, 7) == len(pairs)
    assert _core.count_features(as_matrix(X)) == len(set(X.indices.tolist()))


def test_labels_beyond_their_number_are_refused():
    X, _ = rows_and_sets(0, 40)
    given = _core.LabelSets(np.arange(61), np.full(60, 7, dtype=np.uint32))
    with pytest.raises(ValueError, match="label id 7 is not below the number of labels, 7"):
        _core.count_pairs(as_matrix(X), given, 7)


def test_more_labels_than_have_ids_are_refused():
    X, _ = rows_and_sets(0, 40)
    given = _core.LabelSets(np.arange(61), np.zeros(60, dtype=np.uint32))
    with pytest.raises(ValueError, match=r"labels is 18446744073709551615, expected fewer"):
        _core.count_pairs(as_matrix(X), given, 2**64 - 1)


def test_dense_rows_are_refused_where_entries_are_counted():
    X = as_matrix(np.ones((2, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="X is dense, expected sparse rows"):
        _core.count_features(X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_unit_rows_have_length_one_to_one_percent(form):
    X = np.array([[0.6, 0.8], [0.0, 0.0], [-1.005, 0.0]], dtype=np.float32)
    assert _core.has_unit_rows(as_matrix(form(X)))
    assert not _core.has_unit_rows(as_matrix(form(np.float32(1.02) * X)))
    assert not _core.has_unit_rows(as_matrix(form(np.float32(0) * X)))
    assert not _core.has_unit_rows(as_matrix(form(np.float32(1e30) * X)))
