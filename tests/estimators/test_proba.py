"""`predict_proba` where labels are many, and its sparse form."""

import numpy as np
import pytest

from labeltree import LabelTreeClassifier, OneAgainstAllClassifier, ProbabilityTreeClassifier
from labeltree.datasets import make_multiclass

K = 300
BEST = 100
ESTIMATORS = [LabelTreeClassifier, ProbabilityTreeClassifier, OneAgainstAllClassifier]


@pytest.fixture(scope="module")
def problem():
    X, _ = make_multiclass(2 * K, K, random_state=0)
    return X, np.arange(2 * K) % K


@pytest.fixture(scope="module")
def sets(problem):
    X, y = problem
    return X, [[int(label), K + int(label) % 5] for label in y]


@pytest.fixture(params=ESTIMATORS, scope="module")
def clf(request, problem):
    return request.param(random_state=0, passes=1).fit(*problem)


@pytest.fixture(params=ESTIMATORS, scope="module")
def clf_of_sets(request, sets):
    return request.param(random_state=0, passes=1).fit(*sets)


def best(clf, X):
    labels, scores = clf.predict_topk(X, k=BEST)
    return np.searchsorted(clf.classes_, labels.astype(int)), scores


def test_rows_of_single_labels_sum_to_one(clf, problem):
    p = clf.predict_proba(problem[0][:20])
    assert p.shape == (20, K)
    assert p.dtype == np.float32
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-4)


@pytest.mark.parametrize("form", ["single", "sets"])
def test_best_labels_have_the_scores_of_topk(clf, clf_of_sets, problem, form):
    clf, X = (clf if form == "single" else clf_of_sets), problem[0][:20]
    columns, scores = best(clf, X)
    for p in (clf.predict_proba(X), clf.predict_proba(X, sparse=True).toarray()):
        np.testing.assert_allclose(np.take_along_axis(p, columns, axis=1), scores, rtol=1e-4)


def test_sparse_form_has_the_best_labels_only(clf, problem):
    p = clf.predict_proba(problem[0][:20], sparse=True)
    assert p.shape == (20, K)
    assert p.dtype == np.float32
    assert p.has_sorted_indices
    assert (np.diff(p.indptr) == BEST).all()


def test_label_tree_shares_what_is_left_among_the_others(problem):
    X, y = problem
    clf = LabelTreeClassifier(random_state=0, passes=1).partial_fit(X, y)  # some were not found
    assert clf.recall_ < 1
    p, columns = clf.predict_proba(X[:20]), best(clf, X[:20])[0]
    others = np.delete(p[0], columns[0])
    assert len(others) == K - BEST
    assert others[0] > 0
    assert (others == others[0]).all()


def test_label_tree_gives_labels_never_learned_no_share(problem):
    X, y = problem
    clf = LabelTreeClassifier(random_state=0).partial_fit(X, y, classes=[*range(K), 5 * K])
    p = clf.predict_proba(X[:5])
    assert p.shape == (5, K + 1)
    assert not p[:, clf.classes_ == 5 * K].any()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-4)


@pytest.mark.parametrize("form", ["single", "sets"])
def test_probability_tree_is_exact_for_every_label(problem, sets, form):
    X, y = problem if form == "single" else sets
    clf = ProbabilityTreeClassifier(random_state=0, passes=1).fit(X, y)
    p = clf.predict_proba(X[:40])
    for column in (0, 7, K - 1):
        label = [clf.classes_[column]] * 40
        np.testing.assert_allclose(p[:, column], clf.label_proba(X[:40], label), rtol=1e-3)


@pytest.mark.parametrize("arity", [2, 4, 16])
def test_probability_trees_of_any_arity(problem, arity):
    X, y = problem
    clf = ProbabilityTreeClassifier(arity=arity, random_state=0, passes=1).fit(X, y)
    p = clf.predict_proba(X[:40])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-4)
    np.testing.assert_allclose(p[:, 3], clf.label_proba(X[:40], [clf.classes_[3]] * 40), rtol=1e-3)


def test_threads_give_the_same_table(problem):
    X, y = problem
    clf = ProbabilityTreeClassifier(random_state=0, passes=1).fit(X, y)
    expected = clf.predict_proba(X[:40])
    clf.set_params(n_jobs=2)
    np.testing.assert_array_equal(clf.predict_proba(X[:40]), expected)
