"""What X becomes before the core gets it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from labeltree import OneAgainstAllClassifier
from labeltree.validation import as_rows, as_threads, as_weights, number_of_rows


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


ROWS = np.random.default_rng(0).integers(-3, 4, (8, 4)) / 3
PLAIN = {
    "float32": ROWS.astype(np.float32),
    "float64": ROWS,
    "float16": ROWS.astype(np.float16),
    "longdouble": ROWS.astype(np.longdouble),
    "big-endian": ROWS.astype(">f8"),
    "int": (3 * ROWS).astype(int),
    "uint8": np.abs(3 * ROWS).astype(np.uint8),
    "bool": ROWS > 0,
    "Fortran": np.asfortranarray(ROWS),
    "negative strides": ROWS[::-1, ::-1],
    "every second": ROWS[::2],
    "broadcast": np.broadcast_to(ROWS[:1], ROWS.shape),
    "list": ROWS.tolist(),
    "list of int": (3 * ROWS).astype(int).tolist(),
    "list of rows": list(ROWS),
    "tuple": tuple(map(tuple, ROWS)),
    "csr": sp.csr_matrix(ROWS),
    "csr array": sp.csr_array(ROWS.astype(np.float32)),
    "csr of int64": sp.csr_matrix((3 * ROWS).astype(int)),
    "csr of bool": sp.csr_matrix(ROWS > 0),
    "csc": sp.csc_matrix(ROWS),
    "coo": sp.coo_matrix(ROWS),
    "lil": sp.lil_matrix(ROWS),
    "empty rows": sp.csr_matrix((8, 4)),
}


def read_only():
    X = ROWS.astype(np.float32)
    X.flags.writeable = False
    return X


def wide_indices():
    X = sp.csr_matrix(ROWS)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


PLAIN |= {"read-only": read_only(), "int64 indices": wide_indices()}


def by_scikit_learn(estimator, X, *, reset):
    return validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=np.float32, order="C"
    )


def same(one, two):
    assert type(one) is type(two)
    assert one.dtype == two.dtype == np.float32
    if sp.issparse(one):
        return one.shape == two.shape and all(
            np.array_equal(getattr(one, part), getattr(two, part))
            for part in ("data", "indices", "indptr")
        )
    return one.flags.c_contiguous and np.array_equal(one, two)


@pytest.mark.parametrize("X", PLAIN.values(), ids=PLAIN)
def test_plain_rows_become_what_scikit_learn_makes_of_them(clf, X, monkeypatch):
    unfitted, theirs = OneAgainstAllClassifier(), OneAgainstAllClassifier()
    expected = by_scikit_learn(theirs, X, reset=True)
    monkeypatch.setattr("sklearn.utils.validation.check_array", None)  # it is not asked
    assert same(as_rows(unfitted, X, reset=True), expected)
    assert vars(unfitted) == vars(theirs)
    assert same(as_rows(clf, X, reset=False), expected)
    assert number_of_rows(X) == expected.shape[0]


def outcome(check):
    """Return what a check returns, or what it raises."""
    try:
        return check()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


WRONG = {
    "NaN": np.full((2, 4), np.nan),
    "infinity": np.array([[np.inf, -np.inf, 0, 0]]),
    "too large": [[1e300, 0.0, 0.0, 0.0]],
    "1-d": np.zeros(4),
    "list of numbers": [0.0] * 4,
    "3-d": np.zeros((2, 4, 1)),
    "0-d": np.array(1.0),
    "a number": 1.0,
    "None": None,
    "no rows": np.zeros((0, 4)),
    "no rows in a list": [],
    "no features": np.zeros((2, 0)),
    "no features in a list": [[], []],
    "too few": np.zeros((2, 3)),
    "too many in a list": [[0.0] * 5],
    "ragged": [[0.0] * 4, [0.0] * 3],
    "complex": np.zeros((2, 4), complex),
    "words": np.array([["a"] * 4]),
    "lists of words": [["a"] * 4],
    "objects": np.array([[{}] * 4], dtype=object),
    "None inside": [[None] * 4],
    "sparse NaN": sp.csr_matrix(np.full((2, 4), np.nan)),
    "sparse, too large": sp.csr_matrix(np.full((2, 4), 1e300)),
    "sparse, no rows": sp.csr_matrix((0, 4)),
    "sparse, too few": sp.csc_matrix((2, 3)),
    "matrix": np.zeros((2, 4)).view(np.matrix),
    "masked": np.ma.masked_invalid(np.full((2, 4), np.nan)),
}


@pytest.mark.parametrize("X", WRONG.values(), ids=WRONG)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("reset", [True, False])
def test_what_is_wrong_is_refused_in_scikit_learns_words(clf, X, reset):
    def checked(check):
        return check(OneAgainstAllClassifier() if reset else clf, X, reset=reset)

    expected, received = (
        outcome(lambda: checked(by_scikit_learn)),
        outcome(lambda: checked(as_rows)),
    )
    if isinstance(expected, tuple):
        assert received == expected
    else:  # too few and too many are so for a fitted one only
        assert reset
        assert same(received, expected)


def test_objects_that_are_numbers_are_converted(clf):
    assert as_rows(clf, np.ones((2, 4), dtype=object), reset=False).tolist() == [[1.0] * 4] * 2
    assert as_rows(clf, [["1"] * 4], reset=False).tolist() == [[1.0] * 4]


def test_names_of_features_are_remembered_and_compared():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(3), columns=[*"xyz"])
    clf = OneAgainstAllClassifier().fit(frame, [*"abc"])
    assert clf.feature_names_in_.tolist() == [*"xyz"]
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        clf.predict(np.eye(3))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[[*"zyx"]])
    assert not hasattr(clf.fit(np.eye(3), [*"abc"]), "feature_names_in_")


@pytest.mark.parametrize(
    "weight",
    [
        *(np.arange(3), np.arange(3.0), [1, 2, 3], np.arange(6.0)[::2], np.ones(3, bool)),
        *(np.ones((3, 1)), np.array([1, np.nan, 1]), [1e300] * 3, ["a"] * 3, [], [[1], [2, 3]]),
        *(np.ones(3, dtype=object), np.array(1.0), (1.0, 2.0, 3.0)),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_are_what_scikit_learn_makes_of_them(weight):
    def by_scikit_learn():
        return check_array(weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight")

    expected, received = outcome(by_scikit_learn), outcome(lambda: as_weights(weight, 3))
    if isinstance(expected, np.ndarray) and expected.shape == (3,):
        assert received.tolist() == expected.tolist()
    elif isinstance(expected, np.ndarray):
        assert "one weight for each row" in received[1]
    else:
        assert received == expected


def test_threads():
    assert as_threads(None) == as_threads(1) == 1
    assert as_threads(-1) >= as_threads(2) >= 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        as_threads(0)
