"""The Recall Tree as an estimator: its settings reach the core, are saved, and are checked."""

import math

import numpy as np
import pytest

from labeltree import RecallTreeClassifier, load
from labeltree.datasets import make_multiclass
from tests.tree import RULE, learn
from tests.tree.test_recall_tree import make_core

K, D = 40, 32
BASE = {"scale": "none", "layout": "dense", "random_state": 0}

# A setting, and what else it takes for the setting to matter.
CHANGED = pytest.mark.parametrize(
    ("params", "with_params"),
    [
        ({"candidates": 3}, {}),
        ({"n_trees": 1}, {}),
        ({"max_depth": 1}, {"candidates": 4}),
        ({"max_nodes": 2}, {"candidates": 2}),
        ({"stop": "bernstein"}, {"candidates": 4}),
        ({"bound": 20.0}, {"candidates": 4, "stop": "bernstein"}),
        ({"importance": "average"}, {"candidates": 4}),
        ({"importance": "equal"}, {"candidates": 4}),
        ({"path_features": "path"}, {"candidates": 4}),
        ({"path_features": "node"}, {"candidates": 4}),
        ({"fill": False}, {"candidates": 4}),
        ({"always_train": False}, {"candidates": 4}),
        ({"randomized": True}, {"candidates": 4}),
        ({"step": 3.0}, {"candidates": 4}),
        ({"scorer_step": 0.1}, {}),
        ({"min_gradient": 0.3}, {}),
    ],
    ids=str,
)


@pytest.fixture(scope="module")
def problem():
    X, y = make_multiclass(300, K, n_features=D, nnz=6, noise=0.5, skew=0.5, random_state=0)
    return X.toarray(), y


def learned(problem, **params):
    return RecallTreeClassifier(**BASE, **params).partial_fit(*problem, classes=range(K))


def core_of(clf):
    """The core learner that the estimator's parameters stand for, before it has learned."""
    p = clf.get_params()
    rule = {**RULE, "min_gradient": p["min_gradient"]}
    return make_core(
        K,
        D,
        {**rule, "step": p["step"] or 0.25},
        {**rule, "step": p["scorer_step"]},
        candidates=p["candidates"] or 0,
        max_depth=p["max_depth"] or 0,
        max_nodes=p["max_nodes"] or 0,
        trees=p["n_trees"],
        seed=clf.seed_,
        **{name: p[name] for name in ("bound", "stop", "fill", "always_train", "randomized")},
        **{name: p[name] for name in ("path_features", "importance", "recount")},
    )


class TestSettings:
    @CHANGED
    def test_reach_the_core(self, problem, params, with_params):
        clf = learned(problem, **with_params, **params)
        core = core_of(clf)
        learn(core, *problem)
        for name, array in core.state().items():
            np.testing.assert_array_equal(clf._learner.state()[name], array, name)
        default = learned(problem, **with_params)
        scores = [model.predict_topk(problem[0], 3)[1] for model in (clf, default)]
        assert not np.allclose(*scores)

    @CHANGED
    def test_are_saved_with_the_model(self, problem, params, with_params, tmp_path):
        params = with_params | params
        X, y = problem
        clf = RecallTreeClassifier(**BASE, **params).partial_fit(X[:200], y[:200])
        clf.save(tmp_path / "m")
        resumed = load(tmp_path / "m")
        assert {name: resumed.get_params()[name] for name in params} == params
        for model in (clf, resumed):
            model.partial_fit(X[200:], y[200:])
        for name, array in clf._learner.state().items():
            np.testing.assert_array_equal(resumed._learner.state()[name], array, name)
        for one, two in zip(clf.predict_topk(X, 5), resumed.predict_topk(X, 5), strict=True):
            np.testing.assert_array_equal(one, two)

    def test_recount_reaches_the_core_and_is_saved(self, problem, tmp_path):
        settings = {**BASE, "candidates": 4, "stop": "bernstein"}
        clf = RecallTreeClassifier(**settings, recount=True).fit(*problem)
        again = RecallTreeClassifier(**settings).fit(*problem)
        assert clf.tree_.n_nodes > again.tree_.n_nodes
        clf.save(tmp_path / "m")
        resumed = load(tmp_path / "m")
        for one, two in zip(*(m.predict_topk(problem[0], 5) for m in (clf, resumed)), strict=True):
            np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"candidates": 0}, "'candidates' parameter .* Got 0 instead"),
            ({"candidates": 2.5}, "'candidates' parameter .* Got 2.5 instead"),
            ({"candidates": 2**80}, "'candidates' parameter .* Got 12089.* instead"),
            ({"n_trees": 0}, "'n_trees' parameter .* Got 0 instead"),
            ({"n_trees": 10**9}, "'n_trees' parameter .* Got 1000000000 instead"),
            ({"max_depth": 0}, "'max_depth' parameter .* Got 0 instead"),
            ({"max_depth": 2**80}, "'max_depth' parameter .* Got 12089.* instead"),
            ({"max_nodes": 0}, "'max_nodes' parameter .* Got 0 instead"),
            ({"stop": "never"}, "'stop' parameter .* Got 'never' instead"),
            ({"bound": -0.1}, "'bound' parameter .* Got -0.1 instead"),
            ({"bound": float("nan")}, "'bound' parameter .* Got nan instead"),
            ({"path_features": "all"}, "'path_features' parameter .* Got 'all' instead"),
            ({"fill": "no"}, "'fill' parameter .* Got 'no' instead"),
            ({"always_train": None}, "'always_train' parameter .* Got None instead"),
            ({"randomized": "a bit"}, "'randomized' parameter .* Got 'a bit' instead"),
            ({"step": 0.0}, "'step' parameter .* Got 0.0 instead"),
            ({"scorer_step": -1}, "'scorer_step' parameter .* Got -1 instead"),
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
    @pytest.mark.parametrize("n_trees", [1, 2, 3])
    def test_no_more_labels_than_candidates_are_found(self, problem, n_trees):
        clf = learned(problem, candidates=3, n_trees=n_trees)
        labels, scores = clf.predict_topk(problem[0], K)
        found = labels != None  # noqa: E711 - element by element
        assert found.sum(axis=1).max() == 3 * n_trees
        assert found[:, 0].all()
        assert not scores[~found].any()
        assert ((scores > 0) & (scores < 1))[found].all()
        assert len(clf.tree_.roots) == n_trees

    def test_candidates_grow_with_the_labels(self, problem):
        X, y = problem
        clf = RecallTreeClassifier(**BASE)
        for begin in range(0, 300, 20):
            clf.partial_fit(X[begin : begin + 20], y[begin : begin + 20])
            shared = 4 * math.ceil(math.log2(clf.n_labels_))
            assert clf._learner.candidate_count == max(4, math.ceil(shared / 3))

    @pytest.mark.parametrize("max_depth", [1, 2, 3])
    def test_depth_is_limited(self, problem, max_depth):
        assert learned(problem, candidates=2).tree_.depth > 3
        assert learned(problem, candidates=2, max_depth=max_depth).tree_.depth == max_depth

    @pytest.mark.parametrize("n_trees", [1, 3])
    def test_noise_ends_to_grow_trees(self, n_trees):
        """Where labels cannot be told apart, every leaf gets more of them than candidates."""
        random = np.random.default_rng(0)
        clf = RecallTreeClassifier(**BASE, n_trees=n_trees, candidates=2)
        for _ in range(4):
            clf.partial_fit(random.normal(size=(1000, 4)), random.integers(0, 20, 1000))
            tree = clf.tree_
            assert tree.depth <= 2 * math.ceil(math.log2(20))
            assert len(tree.parent) <= n_trees * (1 + 2 * 4 * 20)
        assert len(tree.parent) == n_trees * (1 + 2 * 4 * 20)

    def test_the_published_rule_stops_earlier(self, problem):
        lengths = {}
        for stop in ("fit", "bernstein"):
            tree = learned(problem, candidates=4, n_trees=1, stop=stop).tree_
            lengths[stop] = np.mean([len(tree.path(x)) for x in problem[0][:, None]])
        assert lengths["bernstein"] < lengths["fit"]

    def test_a_larger_bound_trusts_small_nodes_less(self, problem):
        settings = {"candidates": 4, "n_trees": 1, "stop": "bernstein"}
        lengths = []
        for bound in (0.0, 1.0, 20.0):
            tree = learned(problem, bound=bound, **settings).tree_
            lengths.append(np.mean([len(tree.path(x)) for x in problem[0][:, None]]))
        assert lengths[0] > lengths[1] > lengths[2]

    def test_random_routes_follow_the_seed(self, problem):
        trees = [
            RecallTreeClassifier(
                **BASE | {"random_state": seed}, candidates=4, randomized=randomized
            )
            .partial_fit(*problem)
            .tree_.weight.tolist()
            for seed, randomized in [(0, True), (0, True), (1, True), (0, False), (1, False)]
        ]
        assert trees[0] == trees[1]
        assert trees[0] != trees[2]
        assert trees[3] == trees[4]  # without chance the seed does not matter

    def test_prediction_is_not_random(self, problem):
        clf = learned(problem, candidates=4, randomized=True)
        state = clf._learner.state()["random"]
        assert (clf.predict(problem[0]) == clf.predict(problem[0])).all()
        assert (clf._learner.state()["random"] == state).all()

    def test_the_true_label_learns_even_if_no_candidate(self, problem):
        scorers = {}
        for always in (False, True):
            settings = {"candidates": 1, "n_trees": 1, "max_depth": 1, "fill": False}
            clf = learned(problem, always_train=always, **settings)
            scorers[always] = np.sum(clf._learner.state()["scorer"] != 2**32 - 1)
        assert scorers[False] < scorers[True] == len(set(problem[1]))
