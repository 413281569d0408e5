import time

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LdSMClassifier, load
from labeltree.datasets import make_multiclass
from tests.interrupts import interrupted_after


@pytest.fixture(scope="module")
def problem():
    X, y = make_multiclass(1500, 40, noise=0.4)
    return X, [[int(k), 40 + int(k) % 3] if k % 7 else [] for k in y]


def make(**params):
    return LdSMClassifier(**{"n_trees": 5, "random_state": 0, **params})


def test_n_jobs_does_not_change_the_model(problem):
    states = [make(n_jobs=n).fit(*problem)._learner.state() for n in (1, 2, -1)]
    for other in states[1:]:
        for name, array in states[0].items():
            np.testing.assert_array_equal(other[name], array, err_msg=name)


def test_label_sets_come_back_in_the_form_they_were_given(problem):
    X, sets = problem
    rows = np.repeat(np.arange(len(sets)), [len(y) for y in sets])
    columns = [k for y in sets for k in y]
    indicator = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(sets), 43))
    by_list = make().fit(X, sets).predict(X)
    by_matrix = make().fit(X, indicator).predict(X)
    by_array = make().fit(X, indicator.toarray()).predict(X)
    assert sp.issparse(by_matrix)
    np.testing.assert_array_equal(by_matrix.toarray(), by_array)
    assert [np.flatnonzero(row).tolist() for row in by_array] == by_list
    right = [k in y for labels, y in zip(by_list, sets, strict=True) for k in labels]
    assert len(right) > 500
    assert np.mean(right) > 0.9


def test_predicted_sets_are_the_labels_above_the_threshold(problem):
    X, sets = problem
    clf = make().fit(X, sets)
    labels, scores = clf.predict_topk(X, k=43)
    assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()
    for threshold in (0.5, 0.1):
        clf.set_params(threshold=threshold)
        for row, p, predicted in zip(labels, scores, clf.predict(X), strict=True):
            assert sorted(row[p > threshold]) == predicted


def test_both_labels_of_a_row_are_learned(problem):
    X, sets = problem
    clf = make(n_trees=10).fit(X[:1200], sets[:1200])
    labels, _ = clf.predict_topk(X[1200:], k=2)
    held_out = [(row, y) for row, y in zip(labels.tolist(), sets[1200:], strict=True) if y]
    assert np.mean([len({*row} & {*y}) / 2 for row, y in held_out]) > 0.85


def test_a_stream_is_learned_as_it_comes(problem):
    X, sets = problem
    clf = make(n_trees=10)
    for begin in range(0, 1500, 100):
        clf.partial_fit(X[begin : begin + 100], sets[begin : begin + 100])
    assert clf.progress_.examples == sum(map(bool, sets))
    assert clf.score(X, sets) > 0.75
    assert clf.tree_.n_nodes > 10 * 5


def test_learning_on_after_a_fit(problem):
    X, sets = problem
    clf = make().fit(X[:700], sets[:700])
    nodes = clf.tree_.n_nodes
    clf.partial_fit(X[700:], [[k + 1000 for k in y] for y in sets[700:]])
    assert set(clf.classes_) >= {k + 1000 for y in sets[700:] for k in y}
    assert clf.tree_.n_nodes >= nodes
    assert (clf.predict_topk(X[700:], 2)[0] >= 1000).mean() > 0.4


def test_tree_shows_the_forest(problem):
    X, sets = problem
    clf = make(max_nodes=41).fit(X, sets)
    tree = clf.tree_
    assert len(tree.roots) == 5
    assert tree.n_nodes <= 5 * 41
    path = tree.path(X[:1])
    assert [node for node in path if tree.parent[node] < 0] == tree.roots
    assert not tree.children[path[-1]]
    assert tree.weight[tree.roots].tolist() == [1500.0] * 5


def test_top_labels_caps_what_nodes_remember(problem):
    clf = make(top_labels=3).fit(*problem)
    assert clf.tree_.labels_below.max() == 3


@pytest.mark.parametrize(
    "params",
    [
        {"update": "nag", "step": 0.1},
        {"reorder": False},
        {"priority": "labels"},
        {"empty_children": False},
        {"leaf_shares": "labels"},
    ],
    ids=str,
)
def test_published_settings_matter_and_are_saved(problem, params, tmp_path):
    X, sets = problem
    base = {"n_trees": 2, "max_nodes": 41, "arity": 8}
    clf = make(**base, **params).fit(X, sets)
    _, scores = clf.predict_topk(X, 3)
    assert not np.allclose(scores, make(**base).fit(X, sets).predict_topk(X, 3)[1])
    clf.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_topk(X, 3)[1], scores)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"update": "sgd"}, "'update' parameter .* Got 'sgd' instead"),
        ({"reorder": "no"}, "'reorder' parameter .* Got 'no' instead"),
        ({"priority": "size"}, "'priority' parameter .* Got 'size' instead"),
        ({"empty_children": None}, "'empty_children' parameter .* Got None instead"),
        ({"leaf_shares": "all"}, "'leaf_shares' parameter .* Got 'all' instead"),
    ],
)
def test_bad_values_are_refused(problem, params, message):
    with pytest.raises(ValueError, match=message):
        make(**params).fit(*problem)


class TestCtrlC:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_stops_a_fit_soon_and_leaves_the_model_usable(self, problem, n_jobs):
        X, sets = problem
        clf = make(n_trees=200, epochs=1000, n_jobs=n_jobs)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.5):
            clf.fit(X, sets)
        assert time.monotonic() - start < 10
        assert len(clf.predict(X)) == len(sets)
        assert len(clf.tree_.roots) == 200
        clf.partial_fit(X[:10], sets[:10])
