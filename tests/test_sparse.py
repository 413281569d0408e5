"""Sparse matrices whose arrays lie are refused; no lie leads out of an array."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LabelTreeClassifier, OneAgainstAllClassifier, RecallTreeClassifier, _core
from labeltree.sparse import as_csr

I32, I64 = np.int32, np.int64
DENSE = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]], np.float32)
FAR = 2**40


def csr(**arrays):
    return lie(sp.csr_matrix(DENSE), **arrays)


def lie(matrix, **arrays):
    for name, values in arrays.items():
        setattr(matrix, name, values)
    return matrix


# indptr is 0 2 3 5 6; indices are 0 3 1 2 3 0.
LIES = {
    "indptr beyond the data": lambda: csr(indptr=I32([0, 2, 3, 5, 2**30])),
    "a row beyond the data": lambda: csr(indptr=I32([0, 2**30, 2**30, 2**30, 6])),
    "indptr far beyond": lambda: csr(
        indptr=I64([0, 2, 3, 5, FAR]), indices=I64([0, 3, 1, 2, 3, 0])
    ),
    "indptr negative": lambda: csr(indptr=I32([0, -7, 3, 5, 6])),
    "indptr ends below zero": lambda: csr(indptr=I32([0, 2, 3, 5, -6])),
    "indptr short": lambda: csr(indptr=I32([0, 2, 6])),
    "indptr long": lambda: csr(indptr=I32([0, 2, 3, 5, 6, 6, 6])),
    "indptr empty": lambda: csr(indptr=I32([])),
    "indptr falls": lambda: csr(indptr=I32([0, 4, 3, 5, 6])),
    "indptr begins late": lambda: csr(indptr=I32([1, 2, 3, 5, 6])),
    "indptr of floats": lambda: csr(indptr=np.array([0.0, 2, 3, 5, 6])),
    "indptr of objects": lambda: csr(indptr=np.array([0, 2, 3, 5, None])),
    "indptr a matrix": lambda: csr(indptr=np.zeros((5, 5), I32)),
    "an index too large": lambda: csr(indices=I32([0, 3, 1, 2, 4, 0])),
    "an index far too large": lambda: csr(indices=I32([0, 3, 1, 2, 2**31 - 1, 0])),
    "an index beyond 32 bits": lambda: csr(
        indptr=I64([0, 2, 3, 5, 6]), indices=I64([0, 3, 1, 2, 2**32, 0])
    ),
    "an index negative": lambda: csr(indices=I32([0, -1, 1, 2, 3, 0])),
    "an index far below zero": lambda: csr(indices=I32([0, -(2**31), 1, 2, 3, 0])),
    "indices of floats": lambda: csr(indices=np.array([0.0, 3, 1, 2, 3, 0])),
    "indices short": lambda: csr(indices=I32([0, 3])),
    "unsigned indices": lambda: csr(indices=np.array([0, 3, 1, 2, 2**64 - 1, 0], np.uint64)),
    "data short": lambda: csr(data=np.float32([1, 1])),
    "data a matrix": lambda: csr(data=np.ones((6, 2), np.float32)),
    "fewer rows than it says": lambda: csr(_shape=(9, 4)),
    "fewer columns than it has": lambda: csr(_shape=(4, 2)),
    "three dimensions": lambda: csr(_shape=(4, 2, 2)),
    "csr_array": lambda: lie(sp.csr_array(DENSE), indices=I32([0, -1, 1, 2, 2**30, 0])),
    "csc indices": lambda: lie(sp.csc_matrix(DENSE), indices=I32([0, 3, 1, 2, 2**30, 2])),
    "csc indptr": lambda: lie(sp.csc_matrix(DENSE), indptr=I32([0, 2, -9, 4, 6])),
    "bsr indices": lambda: lie(
        sp.bsr_matrix(DENSE, blocksize=(2, 2)), indices=I32([0, 2**29, 0, 1])
    ),
    "bsr indptr": lambda: lie(sp.bsr_matrix(DENSE, blocksize=(2, 2)), indptr=I32([0, 2, 2**28])),
    "bsr blocks": lambda: lie(
        sp.bsr_matrix(DENSE, blocksize=(2, 2)), data=np.ones((4, 3, 3), np.float32)
    ),
    "coo column": lambda: lie(
        sp.coo_matrix(DENSE), coords=(I32([0, 0, 1, 2, 2, 3]), I32([0, 3, 1, 2, 2**30, 0]))
    ),
    "coo row": lambda: lie(
        sp.coo_matrix(DENSE), coords=(I32([0, 0, -5, 2, 2, 3]), I32([0, 3, 1, 2, 3, 0]))
    ),
    "coo lengths": lambda: lie(sp.coo_matrix(DENSE), data=np.float32([1])),
    "lil lengths": lambda: lil_with(rows=[0, 1, 2, 3]),
    "lil column": lambda: lil_with(rows=[0, 2**40]),
    "dok key": lambda: dok_with((1, 2**31)),
    "dia offsets": lambda: lie(sp.dia_matrix(DENSE), offsets=I32([0])),
}


def lil_with(rows):
    matrix = sp.lil_matrix(DENSE)
    matrix.rows[0] = rows
    return matrix


def dok_with(key):
    matrix = sp.dok_matrix(DENSE)
    matrix._dict[key] = np.float32(1)
    return matrix


@pytest.fixture(scope="module")
def clf():
    return LabelTreeClassifier(random_state=0).fit(sp.csr_matrix(DENSE), [*"abcd"])


@pytest.fixture(scope="module")
def sets():
    return OneAgainstAllClassifier().fit(sp.csr_matrix(DENSE), sp.csr_matrix(DENSE))


@pytest.mark.parametrize("what", LIES)
@pytest.mark.parametrize("call", ["fit", "partial_fit", "predict", "predict_topk", "score"])
def test_rows_that_lie_are_refused(clf, call, what):
    before = clf._learner.state()
    X = LIES[what]()
    y = [] if call.startswith("predict") else [["a"] * X.shape[0]]
    with pytest.raises(ValueError, match=r"^X is a .*, expected|^X is a .*; make it anew"):
        getattr(clf, call)(X, *y)
    after = clf._learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("what", LIES)
@pytest.mark.parametrize("call", ["fit", "partial_fit", "score"])
def test_labels_that_lie_are_refused(sets, call, what):
    before = sets._learner.state()
    y = LIES[what]()
    with pytest.raises(ValueError, match=r"^y is a .*, expected|^y is a .*; make it anew"):
        getattr(sets, call)(np.ones((y.shape[0], 4)), y)
    after = sets._learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_all_formats_are_read(clf, sets, form, kind):
    X = kind(DENSE).asformat(form)
    expected, canonical = as_csr(X, "X")
    np.testing.assert_array_equal(expected.toarray(), DENSE)
    assert canonical
    assert clf.predict(X).tolist() == [*"abcd"]
    assert sets.score(X, X) == 1.0


def test_what_a_matrix_says_of_its_duplicates_is_not_believed(clf, sets):
    X = sp.csr_matrix((np.float32([0.5, 0.5, 1]), I32([0, 0, 1]), I32([0, 2, 3, 3, 3])), (4, 4))
    X.has_canonical_format = True
    once = sp.csr_matrix(X.toarray())
    np.testing.assert_array_equal(clf.predict_topk(X, 4)[1], clf.predict_topk(once, 4)[1])
    y = sp.csr_matrix((np.int8([1, 1]), I32([0, 0]), I32([0, 2, 2, 2, 2])), (4, 4))
    y.has_canonical_format = True
    with pytest.raises(ValueError, match="the entry 2"):
        sets.partial_fit(DENSE, y)


def test_arrays_may_be_longer_than_the_last_row_says(clf):
    X = csr(indices=I32([0, 3, 1, 2, 3, 0, 9, 9]), data=np.ones(8, np.float32))
    assert clf.predict(X).tolist() == [*"abcd"]


def test_integers_of_other_sizes_are_taken(clf):
    X = csr(indptr=np.uint8([0, 2, 3, 5, 6]), indices=np.array([0, 3, 1, 2, 3, 0], ">i4"))
    assert clf.predict(X).tolist() == [*"abcd"]


@pytest.mark.parametrize("dtype", [I32, I64])
def test_canonical_rows_are_told_from_others(dtype):
    """Compared with the definition, on many small matrices."""
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(500):
        rows = [random.integers(0, 5, random.integers(0, 4)) for _ in range(random.integers(1, 6))]
        rows = [np.sort(row) if random.random() < 0.7 else row for row in rows]
        indptr = np.cumsum([0, *map(len, rows)], dtype=dtype)
        indices = np.concatenate(rows).astype(dtype)
        expected = all((np.diff(row) > 0).all() for row in rows)
        assert _core.check_compressed(indptr, indices, len(rows), 5) == expected
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("dtype", [I32, I64])
@pytest.mark.parametrize("at", [0, 1, 16_383, 16_384, 40_000])
def test_one_bad_index_is_found_wherever_it_is(dtype, at):
    indices = np.arange(40_001, dtype=dtype)
    indptr = np.array([0, len(indices)], dtype)
    assert _core.check_compressed(indptr, indices, 1, 40_001)
    for value in (-1, 40_001, np.iinfo(dtype).max, np.iinfo(dtype).min):
        bad = indices.copy()
        bad[at] = value
        with pytest.raises(ValueError, match=f"index {value} at position {at} is not"):
            _core.check_compressed(indptr, bad, 1, 40_001)
    indices[at] = indices[at - 1] if at else 1
    assert not _core.check_compressed(indptr, indices, 1, 40_001)


def test_a_negative_width_is_refused():
    X = sp.csr_matrix(np.eye(2))
    X._shape = (2, -1)
    with pytest.raises(ValueError, match=r"X is a sparse array of shape \(2, -1\)"):
        as_csr(X, "X")


def test_arrays_with_gaps_are_read_as_any_other():
    X = sp.csr_matrix(np.eye(4, dtype=np.float32))
    clf = RecallTreeClassifier(random_state=0).fit(X, [0, 1, 2, 3])
    gaps = X.copy()
    gaps.data = np.repeat(gaps.data, 2)[::2]
    gaps.indices = np.repeat(gaps.indices, 2)[::2]
    np.testing.assert_array_equal(clf.predict(gaps), clf.predict(X))
    row = np.repeat(np.array([1], np.uint32), 2)[::2], np.repeat(np.ones(1, np.float32), 2)[::2]
    assert clf.predict_one(row) == clf.predict(X)[1]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ((3, 1.0), "expected as many of each, in one dimension"),
        ((), "x is a tuple of 0, expected two arrays"),
        (([1], [1.0], [2]), "x is a tuple of 3"),
        ({1: [1.0, 2.0]}, "expected as many of each"),
        ({1: 1j}, "of type complex128, expected numbers"),
        ("text", "expected numbers"),
    ],
)
def test_a_row_that_is_none_is_refused_in_words(x, message):
    clf = RecallTreeClassifier(random_state=0).fit(np.eye(4), [0, 1, 2, 3])
    with pytest.raises(ValueError, match=message):
        clf.predict_one(x)
