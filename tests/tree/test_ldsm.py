"""LdSM: against the reference, and what must hold of every forest it grows."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from labeltree import _core
from labeltree.datasets import make_multiclass
from tests.reference.ldsm import Forest, objective
from tests.tree import NONE, as_dicts, as_rows, assert_same_state, core_bank

PARAMS = {
    "arity": 4,
    "lambda1": 2.0,
    "lambda2": 4.0,
    "trees": 2,
    "max_nodes": 60,
    "epochs": 3,
    "min_leaf": 2,
    "min_feature_rows": 2,
    "max_share": 0.9,
    "step": 2.0,
    "idf": 0.0,
    "split_rows": 30,
    "recent_rows": 1000,
    "seed": 3,
}


PUBLISHED = {
    "update": "nag",
    "step": 0.3,
    "reorder": False,
    "priority": "labels",
    "max_share": 1.0,
    "empty_children": False,
    "min_feature_rows": 1,
    "leaf_shares": "labels",
}
CHOICES = {
    "update": _core.LdsmUpdate,
    "priority": _core.LdsmPriority,
    "leaf_shares": _core.LeafShares,
}


def make_core(labels, features, *, top_labels=0, scale="none", **params):
    params = {**PARAMS, **params}
    params.update({name: CHOICES[name][params[name]] for name in CHOICES if name in params})
    core = _core.LdsmForest(core_bank(features, scale=scale), top_labels=top_labels, **params)
    core.resize(labels)
    return core


def problem(n=160, labels=12, random_state=0):
    X, y = make_multiclass(
        n, labels, n_features=24, nnz=5, noise=0.3, skew=0.4, random_state=random_state
    )
    sets = [sorted({int(k), labels + int(k) % 3}) if i % 9 else [] for i, k in enumerate(y)]
    return X.toarray(), sets, labels + 3


def as_sets(sets):
    offset = np.cumsum([0, *map(len, sets)])
    return _core.LabelSets(offset, np.array([k for y in sets for k in y], np.uint32))


def fit(core, X, sets, weight=None, threads=1, *, dense=True):
    weight = None if weight is None else np.asarray(weight, np.float32)
    core.fit(as_rows(X, dense=dense), as_sets(sets), weight, threads)
    return core


def learn(core, X, sets, weight=None, *, dense=True):
    predicted = np.zeros(len(sets), np.uint32)
    weight = None if weight is None else np.asarray(weight, np.float32)
    rows = as_rows(X, dense=dense)
    core.learn(rows, as_sets(sets), weight, np.arange(len(sets)), 1, predicted)
    return predicted


class Nodes:
    """The nodes of a core forest, tree by tree."""

    def __init__(self, core, arity):
        self.arity, self.state = arity, core.state()
        ends = np.cumsum(self.state["histogram_size"])[:-1]
        labels = np.split(self.state["histogram_label"], ends)
        counts = np.split(self.state["histogram_count"], ends)
        self.histograms = [
            dict(zip(k.tolist(), c.tolist(), strict=True))
            for k, c in zip(labels, counts, strict=True)
        ]
        self.begin = np.concatenate([[0], np.cumsum(self.state["nodes"])]).astype(int)

    def children(self, node, begin):
        first = int(self.state["children"][node])
        return [begin + first + m for m in range(self.arity)] if first else []


def assert_same_trees(core, reference, arity):
    nodes = Nodes(core, arity)
    for tree, (begin, end) in zip(reference.trees, pairwise(nodes.begin), strict=True):
        assert end - begin == len(tree.nodes)
        for i, node in enumerate(tree.nodes):
            children = [begin + tree.nodes.index(c) for c in node.children]
            assert nodes.children(begin + i, begin) == children
            assert nodes.state["weight"][begin + i] == pytest.approx(node.weight)
            assert nodes.state["mass"][begin + i] == pytest.approx(node.mass)
            expected = {k: c for k, c in node.histogram.items() if c}
            assert nodes.histograms[begin + i] == pytest.approx(expected)


def assert_same_probabilities(core, reference, X, labels):
    ids, scores = core.predict_topk(as_rows(X), labels, 1)
    for x, row, score in zip(as_dicts(X), ids, scores, strict=True):
        found = {k: s for k, s in zip(row.tolist(), score.tolist(), strict=True) if k != NONE}
        assert found == pytest.approx(reference.probabilities(x), abs=1e-5)


WEIGHTS = np.resize([1.0, 0.5, 2.0, 0.0, 1.5], 100)


@pytest.mark.parametrize(
    ("arity", "weight"), [(2, None), (2, WEIGHTS), (3, None), (4, None), (4, WEIGHTS), (6, None)]
)
class TestReference:
    def test_fit_decides_as_the_reference(self, arity, weight):
        X, sets, labels = problem(100)
        reference = Forest(**{**PARAMS, "arity": arity})
        reference.fit(as_dicts(X), sets, np.ones(len(X)) if weight is None else weight.tolist())
        core = fit(make_core(labels, 24, arity=arity), X, sets, weight, dense=False)
        assert len(reference.trees[0].nodes) > 2 * arity
        assert_same_trees(core, reference, arity)
        assert_same_probabilities(core, reference, X, labels)

    def test_learning_online_decides_as_the_reference(self, arity, weight):
        X, sets, labels = problem(100)
        params = {"arity": arity, "split_rows": 20, "recent_rows": 60}
        reference = Forest(**{**PARAMS, **params})
        core = make_core(labels, 24, **params)
        weights = np.ones(len(X)) if weight is None else weight
        best = []
        for x, y, h in zip(as_dicts(X), sets, weights, strict=True):
            best.append(reference.probabilities(x) if reference.end else {})
            if h > 0:
                reference.learn(x, y, float(h))
        predicted = learn(core, X, sets, weight)
        for k, p in zip(predicted.tolist(), best, strict=True):
            assert (k == NONE) if not p else p[k] == pytest.approx(max(p.values()))
        assert sum(len(tree.nodes) > 1 for tree in reference.trees) > 0
        assert_same_trees(core, reference, arity)
        assert_same_probabilities(core, reference, X, labels)


@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize("arity", [2, 3, 4])
def test_fit_as_published_decides_as_the_reference(arity, weight):
    X, sets, labels = problem(100)
    params = {**PUBLISHED, "arity": arity, "lambda1": 1.0, "lambda2": 2.0}
    reference = Forest(**{**PARAMS, **params})
    reference.fit(as_dicts(X), sets, np.ones(len(X)) if weight is None else weight.tolist())
    core = fit(make_core(labels, 24, **params), X, sets, weight, dense=False)
    assert len(reference.trees[0].nodes) > 2 * arity
    assert_same_trees(core, reference, arity)
    assert_same_probabilities(core, reference, X, labels)


@pytest.mark.parametrize("name", [*PUBLISHED])
def test_each_published_setting_decides_as_the_reference(name):
    X, sets, labels = problem(100)
    params = {name: PUBLISHED[name], "lambda2": 2.0}
    reference = Forest(**{**PARAMS, **params})
    reference.fit(as_dicts(X), sets, [1.0] * len(X))
    core = fit(make_core(labels, 24, **params), X, sets, dense=False)
    assert_same_trees(core, reference, 4)
    assert_same_probabilities(core, reference, X, labels)


def test_features_scaled_by_inverse_frequency_decide_as_the_reference():
    """Also for what is learned from unscaled rows afterwards."""
    X, sets, labels = problem(100)
    X[:, :4] *= np.arange(len(X))[:, None] % 3 == 0  # features of unlike frequency
    reference = Forest(**{**PARAMS, "idf": 0.7})
    reference.fit(as_dicts(X), sets, WEIGHTS.tolist())
    core = fit(make_core(labels, 24, idf=0.7), X, sets, WEIGHTS, dense=False)
    assert len(reference.trees[0].nodes) > 8
    assert_same_trees(core, reference, 4)
    assert_same_probabilities(core, reference, X, labels)


class TestObjective:
    """Lemma 2."""

    @staticmethod
    def splits(M):
        """P_m^k of each label: every example goes somewhere, so they sum to one or more."""
        share = st.lists(st.floats(0, 1), min_size=M, max_size=M)
        return st.lists(st.tuples(st.floats(0.01, 1), share), min_size=1, max_size=6)

    @staticmethod
    def normalised(raw):
        total = sum(pi for pi, _ in raw)
        shares = []
        for pi, P in raw:
            lift = max(1.0, 1e-12) / sum(P) if 0 < sum(P) < 1 else 1.0
            assume(sum(P) > 0)
            shares.append((pi / total, [min(1.0, p * lift) for p in P]))
        assume(all(sum(P) >= 1 - 1e-9 for _, P in shares))
        P = [sum(pi * Pk[m] for pi, Pk in shares) for m in range(len(raw[0][1]))]
        return P, shares

    @settings(max_examples=300)
    @given(st.data(), st.integers(2, 8), st.floats(0.1, 4), st.floats(0.05, 4))
    def test_range(self, data, M, lambda1, extra):
        lambda2 = lambda1 * max(M - 3, 0) + extra  # M - 3 < lambda2 / lambda1
        assume(lambda1 >= 1)  # balance never exceeds integrity, so J <= lambda2 (M - 1)
        P, shares = self.normalised(data.draw(self.splits(M)))
        J = objective(P, shares, lambda1, lambda2)
        assert -lambda1 * (M - 1) - 1e-9 <= J <= lambda2 * (M - 1) + 1e-9

    @settings(max_examples=300)
    @given(st.data(), st.integers(2, 6), st.floats(1, 4), st.floats(0.05, 4))
    def test_minimum_is_at_pure_and_balanced_splits_only(self, data, M, lambda1, extra):
        lambda2 = lambda1 * max(M - 3, 0) + extra
        # Labels of equal weight, each sent to a set of children.
        sets = st.integers(1, 2**M - 1)
        sent = data.draw(
            st.lists(sets, min_size=M, max_size=3 * M).filter(lambda s: len(s) % M == 0)
        )
        shares = [(1 / len(sent), [s >> m & 1 for m in range(M)]) for s in sent]
        P = [sum(pi * Pk[m] for pi, Pk in shares) for m in range(M)]
        J = objective(P, shares, lambda1, lambda2)
        pure = all(s & (s - 1) == 0 for s in sent)
        balanced = max(P) - min(P) < 1e-12
        assert (-lambda1 * (M - 1) + 1e-9 > J) == (pure and balanced)


@pytest.fixture(scope="module")
def grown():
    X, sets, labels = problem(600, 30)
    return fit(make_core(labels, 24, max_nodes=200, trees=3), X, sets), X, sets, labels


class TestForest:
    def test_threads_do_not_change_the_model(self, grown):
        core, X, sets, labels = grown
        other = fit(make_core(labels, 24, max_nodes=200, trees=3), X, sets, threads=3)
        assert_same_state(core, other)
        for threads in (2, 5):
            for a, b in zip(
                core.predict_topk(as_rows(X), 4, 1),
                core.predict_topk(as_rows(X), 4, threads),
                strict=True,
            ):
                np.testing.assert_array_equal(a, b)

    def test_rows_may_be_dense_or_sparse(self, grown):
        core, X, sets, labels = grown
        assert_same_state(
            core, fit(make_core(labels, 24, max_nodes=200, trees=3), X, sets, dense=False)
        )

    def test_every_example_reaches_a_leaf_and_adds_its_labels_there(self, grown):
        core, X, sets, labels = grown
        nodes = Nodes(core, 4)
        for begin, end in pairwise(nodes.begin):
            assert nodes.state["weight"][begin] == len(X)
            total = np.bincount([k for y in sets for k in y], minlength=labels)
            assert nodes.histograms[begin] == {k: c for k, c in enumerate(total.tolist()) if c}
            for node in range(begin, end):
                histogram = nodes.histograms[node]
                assert sum(histogram.values()) == pytest.approx(nodes.state["mass"][node])
                children = nodes.children(node, begin)
                if not children:
                    continue
                weights = nodes.state["weight"][children]
                assert nodes.state["weight"][node] <= weights.sum()
                assert weights.max() <= 0.9 * nodes.state["weight"][node]
                for k, count in histogram.items():
                    reached = [nodes.histograms[c].get(k, 0) for c in children]
                    assert max(reached) <= count <= sum(reached)

    def test_the_heaviest_leaf_is_split_first(self, grown):
        core, X, sets, labels = grown
        small = Nodes(fit(make_core(labels, 24, max_nodes=41, trees=3), X, sets), 4)
        large = Nodes(core, 4)
        for tree in range(3):
            begin = small.begin[tree]
            n = small.begin[tree + 1] - begin
            assert n <= 41
            first = large.state["weight"][large.begin[tree] :][:n]
            np.testing.assert_array_equal(small.state["weight"][begin : begin + n], first)

    def test_rows_that_are_all_alike_are_not_split(self):
        core = fit(make_core(3, 2), np.ones((50, 2)), [[i % 3] for i in range(50)])
        assert core.state()["nodes"].tolist() == [1, 1]

    def test_histograms_keep_the_most_frequent_labels(self):
        X, sets, labels = problem(400, 30)
        core = Nodes(fit(make_core(labels, 24, top_labels=5), X, sets), 4)
        full = Nodes(fit(make_core(labels, 24), X, sets), 4)
        assert core.state["nodes"].tolist() == full.state["nodes"].tolist()
        for kept, everything in zip(core.histograms, full.histograms, strict=True):
            assert len(kept) == min(5, len(everything))
            assert kept.items() <= everything.items()
            assert sorted(kept.values()) == sorted(everything.values())[-len(kept) :]

    def test_capped_histograms_stay_small_in_a_stream(self):
        X, sets, labels = problem(600, 200)
        core = make_core(labels, 24, top_labels=5)
        learn(core, X, sets)
        assert max(len(h) for h in Nodes(core, 4).histograms) <= 10
        assert core.predict_topk(as_rows(X), 1, 1)[0].max() < labels

    def test_rows_without_labels_are_legal(self):
        X, sets, labels = problem()
        core = fit(make_core(labels, 24), X, [[] for _ in sets])
        assert core.learned_labels == 0
        assert (core.predict_topk(as_rows(X), 2, 1)[0] == NONE).all()
        learn(core, X, sets)
        assert core.learned_labels == labels

    def test_a_weight_of_two_counts_as_two(self):
        X, sets, labels = problem()
        nodes = Nodes(fit(make_core(labels, 24), X, sets, np.full(len(X), 2.0)), 4)
        assert nodes.state["weight"][0] == 2 * len(X)


class TestOnline:
    def test_trees_differ(self):
        X, sets, labels = problem(300)
        core = make_core(labels, 24)
        learn(core, X, sets)
        state = core.state()
        first = state["nodes"][0]
        weights = state["weight"]
        assert not np.array_equal(weights[1:5], weights[first + 1 : first + 5])

    def test_leaves_split_when_they_have_gathered_enough(self):
        X, sets, labels = problem(300)
        core = make_core(labels, 24, split_rows=50, trees=1)
        learn(core, X[:49], sets[:49])
        assert core.state()["nodes"].tolist() == [1]
        learn(core, X[49:50], sets[49:50])
        assert core.state()["nodes"].tolist() == [5]
        learn(core, X[50:], sets[50:])
        assert core.state()["nodes"][0] > 5

    def test_no_more_nodes_than_allowed(self):
        X, sets, labels = problem(600)
        core = make_core(labels, 24, split_rows=10, max_nodes=22)
        learn(core, X, sets)
        assert core.state()["nodes"].tolist() == [21, 21]

    def test_a_leaf_needs_recent_rows_to_be_split(self):
        """Rows that are kept no longer do not count."""
        X, sets, labels = problem(300)
        core = make_core(labels, 24, split_rows=50, recent_rows=49)
        learn(core, X, sets)
        assert core.state()["nodes"].tolist() == [1, 1]

    def test_a_split_keeps_what_a_leaf_knew_of_older_rows(self):
        X, sets, labels = problem(400)
        core = fit(make_core(labels, 24, max_nodes=5, trees=1), X[:200], sets[:200])
        state = core.state()
        grown = make_core(labels, 24, max_nodes=60, split_rows=20, trees=1)
        grown.restore(state)
        learn(grown, X[200:], sets[200:])
        nodes = Nodes(grown, 4)
        assert len(nodes.histograms) > 5
        assert nodes.state["weight"][0] == 400
        for node in range(len(nodes.histograms)):
            for k, count in nodes.histograms[node].items():
                children = nodes.children(node, 0)
                if children:
                    assert sum(nodes.histograms[c].get(k, 0) for c in children) >= count - 1e-6

    def test_regressors_learn_on_after_a_fit(self):
        X, sets, labels = problem(400)
        core = fit(make_core(labels, 24, max_nodes=5, trees=1), X[:200], sets[:200])
        before = core.state()
        learn(core, X[200:], sets[200:])
        after = core.state()
        assert before["nodes"].tolist() == after["nodes"].tolist() == [5]
        assert not np.array_equal(before["regressor"], after["regressor"])

    def test_resumes_exactly(self):
        X, sets, labels = problem(400)
        straight = make_core(labels, 24, split_rows=20, recent_rows=60)
        learn(straight, X[:200], sets[:200])
        resumed = make_core(labels, 24, split_rows=20, recent_rows=60)
        resumed.restore(straight.state())
        assert_same_state(straight, resumed)
        for core in (straight, resumed):
            learn(core, X[200:], sets[200:])
        assert_same_state(straight, resumed)

    def test_features_that_a_node_has_never_seen(self):
        """They are added to its weights, also beside a bitmap, and found again."""
        X, sets, labels = problem(300)
        known = np.zeros((300, 5000), np.float32)
        known[:, 1000:1024] = X
        core = fit(make_core(labels, 5000, max_nodes=5, trees=1), known, sets, dense=False)
        new = np.zeros((300, 5000), np.float32)
        new[:, 3000:3024] = X
        learn(core, new, sets, dense=False)
        state = core.state()
        size = state["feature_size"][0]
        assert set(state["feature"][:size]) == {*range(1000, 1024), *range(3000, 3024), 5000}
        again = make_core(labels, 5000, max_nodes=5, trees=1)
        again.restore(state)
        for a, b in zip(
            core.predict_topk(as_rows(new), 3, 1),
            again.predict_topk(as_rows(new), 3, 1),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


class TestRefused:
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"arity": 9}, "arity must be from 2 to 8"),
            ({"arity": 1}, "arity must be from 2 to 8"),
            ({"lambda1": -1.0}, "must not be negative"),
            ({"trees": 0}, "at least one tree"),
            ({"epochs": 0}, "epochs must be at least 1"),
            ({"max_share": 0.0}, "max_share must be above 0"),
            ({"step": 0.0}, "step must be positive"),
            ({"idf": -1.0}, "idf must not be negative"),
            ({"split_rows": 1}, "split_rows must be at least 2"),
            ({"recent_rows": 0}, "recent_rows must be below"),
            ({"max_nodes": 0}, "max_nodes must be below"),
        ],
    )
    def test_settings(self, bad, message):
        with pytest.raises(ValueError, match=message):
            make_core(3, 2, **bad)

    def test_a_second_fit(self, grown):
        core, X, sets, _ = grown
        with pytest.raises(ValueError, match="has learned nothing"):
            fit(core, X, sets)

    def test_labels_beyond_the_end(self):
        with pytest.raises(ValueError, match="label id 3 is not below"):
            fit(make_core(3, 2), np.ones((2, 2)), [[0], [3]])

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("nodes", [1], "another number of trees"),
            ("children", [0], "differ in length"),
            ("histogram_label", [99], "label that does not exist"),
            ("children", [200], "child that does not exist"),
            ("feature", [], "too short"),
            ("regressor", [0.0], "too short"),
            ("recent", [10**9], "example that does not exist"),
            ("kept_label", [99], "label that does not exist"),
            ("kept_weight", [], "kept examples differ in length"),
        ],
    )
    def test_damaged_states(self, name, value, message):
        X, sets, labels = problem()
        core = make_core(labels, 24)
        learn(core, X, sets)
        state = core.state()
        array = state[name].copy()
        if message in ("too short", "another number of trees") or "differ" in message:
            array = np.array(value, array.dtype)
        else:
            array[:1] = value
        with pytest.raises(ValueError, match=message):
            make_core(labels, 24).restore({**state, name: array})


def test_sparse_input_of_the_core_may_be_empty():
    X, sets, labels = problem()
    core = fit(make_core(labels, 24), X, sets)
    empty = as_rows(sp.csr_matrix((3, 24)).toarray(), dense=False)
    ids, scores = core.predict_topk(empty, 2, 2)
    assert (ids[:, 0] < labels).all()
    assert (scores >= 0).all()
