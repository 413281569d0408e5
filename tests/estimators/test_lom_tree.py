"""The LOMtree as an estimator: its settings reach the core, are saved, and are checked."""

import numpy as np
import pytest

from labeltree import LOMTreeClassifier, _core, load
from labeltree.datasets import make_multiclass
from tests.tree import RULE, core_bank, core_rule, learn

K, D = 30, 32
BASE = {"scale": "none", "layout": "dense", "random_state": 0}

# A setting, and what else it takes for the setting to matter.
CHANGED = pytest.mark.parametrize(
    ("params", "with_params"),
    [
        ({"max_nodes": 10}, {}),
        ({"swap_resistance": 1.0}, {"max_nodes": 10}),
        ({"loss": "squared"}, {}),
        ({"loss": "hinge"}, {}),
        ({"step": 0.05}, {}),
        ({"min_gradient": 0.3}, {}),
    ],
    ids=str,
)


@pytest.fixture(scope="module")
def problem():
    X, y = make_multiclass(900, K, n_features=D, nnz=6, noise=0.4, skew=0.5, random_state=0)
    return X.toarray(), y


def learned(problem, **params):
    return LOMTreeClassifier(**BASE, **params).partial_fit(*problem, classes=range(K))


def core_of(clf):
    """The core learner that the estimator's parameters stand for, before it has learned."""
    p = clf.get_params()
    rule = {"loss": p["loss"], "step": p["step"] or 0.5, "min_gradient": p["min_gradient"]}
    core = _core.LomTree(
        core_bank(D),
        core_rule({**RULE, **rule}),
        max_nodes=p["max_nodes"] or 0,
        swap_resistance=p["swap_resistance"],
    )
    core.resize(K)
    return core


class TestSettings:
    @CHANGED
    def test_reach_the_core(self, problem, params, with_params):
        clf = learned(problem, **with_params, **params)
        core = core_of(clf)
        learn(core, *problem)
        for name, array in core.state().items():
            np.testing.assert_array_equal(clf._learner.state()[name], array, name)
        default = learned(problem, **with_params)
        assert clf.tree_.weight.tolist() != default.tree_.weight.tolist()

    @CHANGED
    def test_are_saved_with_the_model(self, problem, params, with_params, tmp_path):
        params = with_params | params
        X, y = problem
        clf = LOMTreeClassifier(**BASE, **params).partial_fit(X[:400], y[:400])
        clf.save(tmp_path / "m")
        resumed = load(tmp_path / "m")
        assert {name: resumed.get_params()[name] for name in params} == params
        for model in (clf, resumed):
            model.partial_fit(X[400:], y[400:])
        for name, array in clf._learner.state().items():
            np.testing.assert_array_equal(resumed._learner.state()[name], array, name)
        for one, two in zip(clf.predict_topk(X, 5), resumed.predict_topk(X, 5), strict=True):
            np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"max_nodes": 0}, "'max_nodes' parameter .* Got 0 instead"),
            ({"max_nodes": 10.0}, "'max_nodes' parameter .* Got 10.0 instead"),
            ({"max_nodes": 2**80}, "'max_nodes' parameter .* Got 12089.* instead"),
            ({"swap_resistance": 0.5}, "'swap_resistance' parameter .* Got 0.5 instead"),
            ({"swap_resistance": float("nan")}, "'swap_resistance' parameter .* Got nan instead"),
            ({"swap_resistance": "high"}, "'swap_resistance' parameter .* Got 'high' instead"),
            ({"loss": "absolute"}, "'loss' parameter .* Got 'absolute' instead"),
            ({"step": 0}, "'step' parameter .* Got 0 instead"),
        ],
    )
    def test_bad_values_are_refused(self, problem, params, message):
        clf = learned(problem)
        before = clf._learner.state()
        clf.set_params(**params)
        for method in (clf.fit, clf.partial_fit):
            with pytest.raises(ValueError, match=message) as error:
                method(*problem)
            assert "\n" not in str(error.value)
        for name, array in clf._learner.state().items():
            np.testing.assert_array_equal(array, before[name], name)


class TestEffects:
    @pytest.mark.parametrize("max_nodes", [1, 7, 20])
    def test_inner_nodes_are_limited(self, problem, max_nodes):
        tree = learned(problem, max_nodes=max_nodes).tree_
        assert tree.n_nodes - tree.n_leaves == max_nodes
        assert tree.n_leaves == max_nodes + 1

    def test_nodes_default_to_sixteen_a_label(self):
        """Two labels that cannot be told apart split every leaf that sees both."""
        X, y = np.random.default_rng(0).normal(size=(3000, 3)), np.tile([0, 1], 1500)
        tree = LOMTreeClassifier(random_state=0).partial_fit(X, y).tree_
        assert tree.n_nodes - tree.n_leaves == 32

    def test_resistance_keeps_nodes_where_they_are(self, problem):
        swaps = [
            learned(problem, max_nodes=40, swap_resistance=resistance)
            ._learner.state()["recycled"]
            .sum()
            for resistance in (1.0, 4.0, 1e9)
        ]
        assert swaps[0] > swaps[1] > swaps[2] == 0

    def test_scores_are_shares_of_the_leaf(self, problem):
        X, y = problem
        clf = learned(problem, max_nodes=7)
        labels, scores = clf.predict_topk(X, K)
        found = labels != None  # noqa: E711 - element by element
        assert found.sum(axis=1).max() == 16  # as many as a leaf remembers
        assert (scores.sum(axis=1) <= 1 + 1e-6).all()
        assert not scores[~found].any()
        assert (scores[found] > 0).all()
        assert (np.diff(scores, axis=1) <= 0).all()
        assert set(labels[found]) <= set(y)
