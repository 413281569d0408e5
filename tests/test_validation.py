"""What X becomes before the core gets it."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import OneAgainstAllClassifier
from labeltree.validation import as_rows, as_threads


@pytest.fixture(scope="module")
def clf():
    return OneAgainstAllClassifier().fit(
        sp.eye_array(4, 4, format="csr", dtype=np.float32), [*"abcd"]
    )


def test_rows_that_need_no_change_are_not_copied(clf):
    X = sp.csr_matrix(np.eye(4, dtype=np.float32))
    assert as_rows(clf, X, reset=False) is X


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (sp.csr_matrix(np.full((2, 4), np.nan, np.float32)), "NaN"),
        (sp.csr_matrix(np.full((2, 4), np.inf, np.float32)), "infinity"),
        (sp.csr_matrix((2, 5), dtype=np.float32), "5 features"),
        (sp.csr_matrix((0, 4), dtype=np.float32), "0 sample"),
        (sp.csr_matrix(np.ones((2, 4), np.complex64)), "Complex"),
    ],
)
def test_rows_that_are_refused(clf, X, match):
    with pytest.raises(ValueError, match=match):
        clf.predict(X)


@pytest.mark.parametrize(
    "X",
    [
        sp.csc_matrix(np.eye(4, dtype=np.float32)),
        sp.csr_matrix(np.eye(4)),
        np.eye(4).tolist(),
        sp.csr_matrix(
            ([0.5, 0.5, 1, 1, 1], ([0, 0, 1, 2, 3], [0, 0, 1, 2, 3])), (4, 4), np.float32
        ),
        sp.csr_matrix(
            (np.float32([0.5, 0.5, 1, 1, 1]), np.int32([0, 0, 1, 2, 3]), np.int32([0, 2, 3, 4, 5]))
        ),
    ],
    ids=["csc", "float64", "list", "coo", "duplicates"],
)
def test_rows_that_are_converted(clf, X):
    assert clf.predict(X).tolist() == ["a", "b", "c", "d"]


def test_threads():
    assert as_threads(None) == as_threads(1) == 1
    assert as_threads(-1) >= as_threads(2) >= 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        as_threads(0)
