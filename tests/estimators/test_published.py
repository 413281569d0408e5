"""Estimators as their papers print them."""

import numpy as np
import pytest

from labeltree import (
    LdSMClassifier,
    LOMTreeClassifier,
    PECOCClassifier,
    ProbabilityTreeClassifier,
    RecallTreeClassifier,
    load,
    modelfile,
)
from labeltree.datasets import make_multiclass

EACH = pytest.mark.parametrize(
    "estimator",
    [
        LdSMClassifier,
        LOMTreeClassifier,
        PECOCClassifier,
        ProbabilityTreeClassifier,
        RecallTreeClassifier,
    ],
)


@pytest.fixture(scope="module")
def problem():
    X, y = make_multiclass(600, 20, n_features=64, noise=0.2, random_state=0)
    return X[:500], y[:500], X[500:], y[500:]


def published(estimator, **others):
    small = {"n_trees": 5, "epochs": 5} if estimator is LdSMClassifier else {}
    return estimator.published(random_state=0, **small, **others)


@EACH
def test_learns(estimator, problem):
    X, y, X_test, y_test = problem
    assert published(estimator).fit(X, y).score(X_test, y_test) > 0.5


@EACH
def test_differs_from_the_defaults_in_what_it_says(estimator):
    default, printed = estimator().get_params(), estimator.published().get_params()
    changed = {name: value for name, value in printed.items() if value != default[name]}
    assert changed == {n: v for n, v in estimator._as_published.items() if v != default[n]}
    assert changed


@EACH
def test_takes_what_the_paper_leaves_open(estimator):
    clf = estimator.published(random_state=5)
    assert clf.random_state == 5
    name, value = next(iter(estimator._as_published.items()))
    default = estimator().get_params()[name]
    assert getattr(clf, name) == value
    assert getattr(estimator.published(**{name: default}), name) == default


@EACH
def test_is_saved(estimator, problem, tmp_path):
    X, y, X_test, _ = problem
    clf = published(estimator).fit(X, y)
    clf.save(tmp_path / "m")
    resumed = load(tmp_path / "m")
    assert resumed.get_params() == clf.get_params()
    for one, two in zip(clf.predict_topk(X_test), resumed.predict_topk(X_test), strict=True):
        np.testing.assert_array_equal(one, two)


@EACH
def test_files_from_before_are_read(estimator, problem, tmp_path):
    X, y, X_test, _ = problem
    small = {"n_trees": 3} if estimator is LdSMClassifier else {}
    clf = estimator(random_state=0, **small, **estimator._absent_before).fit(X, y)
    clf.save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    for part in ("params", "fixed"):
        for name in estimator._absent_before:
            del header[part][name]
    modelfile.write(tmp_path / "old", header, arrays)
    for one, two in zip(
        clf.predict_topk(X_test), load(tmp_path / "old").predict_topk(X_test), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_ldsm_learns_no_stream(problem):
    X, y, _, _ = problem
    clf = published(LdSMClassifier).fit(X, y)
    before = clf._learner.state()
    for learn in (clf.partial_fit, published(LdSMClassifier).partial_fit):
        with pytest.raises(ValueError, match="update is 'nag', expected 'plain' to learn a stream"):
            learn(X, y)
    with pytest.raises(ValueError, match="update is 'nag', expected 'plain' to learn a stream"):
        clf.learn_one(X[0], y[0])
    for name, array in clf._learner.state().items():
        np.testing.assert_array_equal(array, before[name], name)
