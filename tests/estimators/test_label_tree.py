"""The label tree as an estimator: its settings reach the core, are saved, and are checked."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LabelTreeClassifier, load
from labeltree.datasets import make_multiclass

K = 40
CHANGED = pytest.mark.parametrize(
    "params",
    [
        {"n_trees": 2},
        {"candidates": 2},
        {"search_budget": 1, "candidates": 2},
        {"alpha": 0.0},
        {"index_length": 128},
        {"index_length": 2},
        {"index_length": 128, "index_candidates": 1},
        {"scorers": False},
        {"step": 3.0},
        {"scorer_step": 0.05},
        {"min_gradient": 0.3},
    ],
    ids=str,
)


@pytest.fixture(scope="module")
def problem():
    return make_multiclass(300, K, n_features=32, nnz=6, noise=0.5, skew=0.5, random_state=0)


def learned(problem, **params):
    return LabelTreeClassifier(scale="max", random_state=0, **params).partial_fit(*problem)


@CHANGED
def test_settings_matter_and_are_saved(problem, params, tmp_path):
    X, y = problem
    clf = learned(problem, **params)
    less = {name: params[name] for name in list(params)[:-1]}
    default = learned(problem, **less)
    assert not np.allclose(clf.predict_topk(X, 2)[1], default.predict_topk(X, 2)[1])
    clf.save(tmp_path / "m")
    resumed = load(tmp_path / "m")
    assert resumed.get_params() == clf.get_params()
    for model in (clf, resumed):
        model.partial_fit(X[::-1], y[::-1])
    for name, array in clf._learner.state().items():
        np.testing.assert_array_equal(resumed._learner.state()[name], array, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_trees", 0),
        ("candidates", 0),
        ("search_budget", -1),
        ("alpha", 1.5),
        ("index_length", -1),
        ("index_candidates", 2.5),
        ("scorers", "no"),
        ("organize", None),
        ("step", 0.0),
        ("scorer_step", -1),
        ("threshold", 2.0),
    ],
)
def test_bad_values_are_refused(problem, name, value):
    for method in ("fit", "partial_fit"):
        clf = LabelTreeClassifier(**{name: value})
        with pytest.raises(ValueError, match=f"'{name}' parameter .* Got {value!r} inst") as error:
            getattr(clf, method)(*problem)
        assert "\n" not in str(error.value)


def test_probabilities_sum_to_one_also_for_labels_that_came_after_fit(problem):
    X, y = problem
    old = y < K // 2
    clf = LabelTreeClassifier(random_state=0).fit(X[old], y[old]).partial_fit(X[~old], y[~old])
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-4)
    assert len(clf.tree_.roots) == clf.n_trees_
    assert 0 < clf.recall_ < 1


def test_sets_in_every_form(problem):
    X, y = problem
    sets = [[int(label), K + int(label) % 3] if label else [] for label in y]
    dense = np.zeros((300, K + 3), np.int64)
    for row, labels in enumerate(sets):
        dense[row, labels] = 1
    probabilities = []
    for target in (sets, dense, sp.csr_matrix(dense)):
        clf = LabelTreeClassifier(random_state=0).fit(X, target)
        p = clf.predict_proba(X)
        assert ((p >= 0) & (p <= 1)).all()
        probabilities.append(np.sort(p, axis=1)[:, -2:])
        assert type(clf.predict(X)) is type(target)
        clf.set_params(threshold=1.0)
        few = clf.predict(X)
        assert (sum(map(len, few)) if target is sets else few.sum()) < sum(map(len, sets)) / 2
    np.testing.assert_array_equal(probabilities[1], probabilities[2])


def test_rows_of_weight_zero_do_not_shape_the_trees(problem):
    X, y = problem
    weight = (y >= 5).astype(float)
    clf = LabelTreeClassifier(random_state=0).fit(X, y, sample_weight=weight)
    assert set(clf.tree_.label) - {None} == set(y[y >= 5])
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-4)
