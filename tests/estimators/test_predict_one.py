"""One row at a time gives what a batch gives, for every estimator and form of a row."""

import numpy as np
import pytest

from labeltree.datasets import make_multiclass
from labeltree.estimators import ESTIMATORS

FEATURES = 40


@pytest.fixture(scope="module")
def problem():
    return make_multiclass(400, 12, n_features=FEATURES, nnz=6, noise=0.5, random_state=0)


@pytest.fixture(scope="module", params=list(ESTIMATORS))
def clf(request, problem):
    X, y = problem
    if request.param == "LdSMClassifier":
        y = [[label] for label in y.tolist()]
    return ESTIMATORS[request.param](random_state=0).fit(X, y)


def sparse_row(X, i):
    entries = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[entries], X.data[entries]


def test_every_form_of_a_row_gives_what_predict_gives(clf, problem):
    X, _ = problem
    expected = list(clf.predict(X[:20]))
    for i in range(20):
        indices, values = sparse_row(X, i)
        as_dict = dict(zip(indices.tolist(), values.tolist(), strict=True))
        for x in (as_dict, (indices, values), (indices.astype(np.uint32), values)):
            assert clf.predict_one(x) == expected[i]
        assert clf.predict_one(X[i].toarray()[0]) == clf.predict(X[i].toarray())[0]


def test_the_k_best_are_those_of_predict_topk(clf, problem):
    X, _ = problem
    labels, scores = clf.predict_topk(X[:20], 3)
    for i in range(20):
        found = clf.predict_one(sparse_row(X, i), k=3)
        known = [label for label in labels[i].tolist() if label is not None]
        assert [label for label, _ in found] == known
        np.testing.assert_allclose([score for _, score in found], scores[i, : len(known)])


def test_labels_are_plain_python_values(problem):
    X, y = problem
    for labels, kind in ((y, int), (y.astype(str), str)):
        clf = ESTIMATORS["ProbabilityTreeClassifier"](random_state=0).fit(X, labels)
        assert type(clf.predict_one({0: 1.0})) is kind
        ((label, score),) = clf.predict_one({}, k=1)
        assert type(label) is kind
        assert type(score) is float


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({FEATURES: 1.0}, f"x has features numbered 40 to 40, expected numbers from 0 to {39}"),
        ({-1: 1.0}, "x has features numbered -1 to -1"),
        (([0, 1], [1.0]), "expected as many of each"),
        ((np.array([99], np.uint32), [1.0]), "feature index 99 is not below the number of"),
        (
            (np.array([-1], np.int32), np.ones(1, np.float32)),
            "feature index 4294967295 is not below the number of",
        ),
        ((np.ones(2, np.int32), np.ones(1, np.float32)), "expected as many of each"),
        ((np.ones((1, 1), np.int32), np.ones((1, 1), np.float32)), "expected as many of each"),
        ({0: np.nan}, "value 0 is not finite"),
        ({0: 1e300}, "value 0 is not finite"),
        ({"word": 1.0}, "the features of x are numbers"),
        ((np.array([0.5]), [1.0]), "the features of x are numbers"),
        (np.ones(3), r"x has shape \(3,\), expected \(40,\)"),
        (np.ones((1, FEATURES)), r"x has shape \(1, 40\)"),
    ],
    ids=str,
)
def test_bad_rows(clf, x, message):
    with pytest.raises(ValueError, match=message):
        clf.predict_one(x)


def test_bad_k(clf):
    with pytest.raises(ValueError, match="k is 0, expected an integer from 1"):
        clf.predict_one({}, k=0)


def test_an_estimator_that_was_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        ESTIMATORS["LabelTreeClassifier"]().predict_one({0: 1.0})


@pytest.mark.parametrize(
    "name", ["LabelTreeClassifier", "ProbabilityTreeClassifier", "LdSMClassifier"]
)
def test_sets_are_those_of_predict_whatever_the_threshold_and_the_other_rows(name):
    """Also at a threshold that is a score, and where many labels are above it."""
    X, y = make_multiclass(600, 60, n_features=200, nnz=8, noise=0.4, random_state=0)
    sets = [[int(label), 100 + int(label) % 7, 200 + int(label) % 3] for label in y]
    small = {"n_trees": 3} if name == "LdSMClassifier" else {}
    clf = ESTIMATORS[name](random_state=0, **small).fit(X, sets)
    scores = clf.predict_topk(X[:20], 3)[1]
    for threshold in (0.01, 0.02, 0.5, float(scores[0, 0]), float(str(scores[3, 1]))):
        clf.threshold = min(threshold, 1.0)
        together = clf.predict(X[:60])
        assert together == [clf.predict(X[i : i + 1])[0] for i in range(60)]
        for i, expected in enumerate(together):
            row = slice(X.indptr[i], X.indptr[i + 1])
            assert clf.predict_one((X.indices[row], X.data[row])) == expected


def test_ties_with_the_threshold_of_a_forest():
    clf = ESTIMATORS["LdSMClassifier"](n_trees=1, random_state=0)
    clf.fit([[1.0], [1.0]], [["a", "b"], ["a", "c"]])
    assert [clf.predict_one([1.0])] == clf.predict([[1.0]]) == [["a"]]
