"""The Recall Tree: against the reference, and what must hold of every tree it grows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree import _core
from labeltree.datasets import make_multiclass
from tests.reference.recall_tree import RecallTree as Reference
from tests.tree import NONE, RULE, as_dicts, as_rows, assert_same_state, core_bank, core_rule, learn

PUBLISHED = {
    "importance": "average",
    "stop": "bernstein",
    "recount": True,
    "fill": False,
    "always_train": False,
    "path_features": "path",
}


def make_core(
    labels,
    features,
    router=RULE,
    scorer=RULE,
    *,
    candidates=0,
    max_depth=0,
    max_nodes=0,
    trees=1,
    bound=1.0,
    stop="fit",
    fill=True,
    always_train=True,
    randomized=False,
    seed=0,
    path_features="none",
    importance="total",
    recount=False,
    **bank,
):
    core = _core.RecallTree(
        core_bank(features, **bank),
        core_rule(router),
        core_rule(scorer),
        candidates=candidates,
        max_depth=max_depth,
        max_nodes=max_nodes,
        trees=trees,
        bound=bound,
        stop=_core.StopRule[stop],
        fill=fill,
        always_train=always_train,
        randomized=randomized,
        seed=seed,
        path_features=_core.PathFeatures[path_features],
        importance=_core.Importance[importance],
        recount=recount,
    )
    core.resize(labels)
    return core


def problem(n=250, labels=30, random_state=0):
    X, y = make_multiclass(
        n, labels, n_features=32, nnz=6, noise=0.3, skew=0.5, random_state=random_state
    )
    return X.toarray(), y


def top_labels(state):
    """The top labels of each node and their counts."""
    ends = np.cumsum(state["top_size"])[:-1]
    return [
        list(zip(labels.tolist(), counts.tolist(), strict=True))
        for labels, counts in zip(
            np.split(state["top_label"], ends), np.split(state["top_count"], ends), strict=True
        )
    ]


def histograms(state):
    """The label counts of each node."""
    counts = [{} for _ in state["left"]]
    for key, count in zip(state["node_label"], state["node_label_count"], strict=True):
        node, label = divmod(int(key), 2**32)
        assert label not in counts[node]
        counts[node][label] = count
    return counts


def entropy(counts):
    total = sum(counts.values())
    return -sum(c / total * math.log2(c / total) for c in counts.values())


class TestReference:
    def compare(
        self,
        router=RULE,
        scorer=RULE,
        *,
        dense=True,
        layout="dense",
        scale="none",
        weight=None,
        labels=30,
        passes=1,
        **params,
    ):
        X, y = problem(labels=labels)
        reference = Reference(router, scorer, scale, **params)
        core = make_core(labels, 32, router, scorer, layout=layout, scale=scale, **params)
        weights = np.ones(len(y)) if weight is None else weight
        for number in range(1, passes + 1):
            reference.passes = number
            if number > 1:
                core.begin_pass(again=True)
            expected = [
                reference.learn(x, int(label), float(h))
                for x, label, h in zip(as_dicts(X), y, weights, strict=True)
            ]
            predicted = learn(core, X, y, weight, dense=dense)
            assert predicted.tolist() == [NONE if label is None else label for label in expected]

        state, nodes = core.state(), reference.nodes
        assert core.nodes == len(nodes)
        assert core.candidate_count == reference.F
        for side in ("left", "right"):
            children = [getattr(node, side) for node in nodes]
            assert state[side].tolist() == [c.number if c else NONE for c in children]
        assert state["depth"].tolist() == [node.depth for node in nodes]
        assert state["distinct"].tolist() == [len(node.counts) for node in nodes]
        np.testing.assert_allclose(state["total"], [node.total for node in nodes])
        for node, top in zip(nodes, top_labels(state), strict=True):
            assert [label for label, _ in top] == node.top_labels()[: reference.kept]
        assert histograms(state) == [node.counts for node in nodes]

        X, _ = problem(40, labels, random_state=1)
        best, scores = core.predict_topk(as_rows(X, dense=dense), 100, 1)
        for row, x in enumerate(as_dicts(X)):
            topk = reference.topk(x, 100)
            found = len(topk)
            assert best[row, 0] == (topk[0][0] if topk else NONE)
            assert set(best[row, :found].tolist()) == {label for label, _ in topk}
            assert (best[row, found:] == NONE).all()
            expected = [score for _, score in topk]
            np.testing.assert_allclose(scores[row, :found], expected, rtol=1e-3, atol=1e-4)
        return core

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    @pytest.mark.parametrize("dense", [False, True])
    @pytest.mark.parametrize("stop", ["fit", "bernstein"])
    def test_decides_alike(self, loss, layout, dense, stop):
        rule = {**RULE, "loss": loss}
        core = self.compare(rule, rule, layout=layout, dense=dense, stop=stop, candidates=4)
        assert core.nodes > 5

    @pytest.mark.parametrize("stop", ["fit", "bernstein"])
    @pytest.mark.parametrize("fill", [False, True])
    @pytest.mark.parametrize("always_train", [False, True])
    def test_variants(self, stop, fill, always_train):
        self.compare(stop=stop, fill=fill, always_train=always_train, candidates=3)

    @pytest.mark.parametrize("trees", [2, 3])
    @pytest.mark.parametrize("stop", ["fit", "bernstein"])
    def test_several_trees(self, trees, stop):
        self.compare(trees=trees, stop=stop, candidates=4)

    @pytest.mark.parametrize("labels", [3, 9, 40])
    @pytest.mark.parametrize("trees", [1, 2])
    def test_candidates_grow_with_the_labels(self, labels, trees):
        core = self.compare(labels=labels, trees=trees)
        shared = 4 * math.ceil(math.log2(core.learned_labels))
        assert core.candidate_count == max(4, math.ceil(shared / trees))

    @pytest.mark.parametrize("max_depth", [1, 2])
    def test_depth_limit(self, max_depth):
        core = self.compare(max_depth=max_depth, candidates=2)
        assert core.state()["depth"].max() == max_depth

    @pytest.mark.parametrize("max_nodes", [1, 5])
    @pytest.mark.parametrize("trees", [1, 3])
    def test_limit_of_nodes(self, max_nodes, trees):
        core = self.compare(max_nodes=max_nodes, candidates=2, trees=trees)
        assert core.nodes == trees * (1 + 2 * max_nodes)

    def test_labels_that_cannot_be_told_apart_do_not_grow_the_tree_for_ever(self):
        random = np.random.default_rng(0)
        X, y = random.normal(size=(600, 3)).astype(np.float32), random.integers(0, 6, 600)
        core, reference = make_core(6, 3, candidates=1), Reference(RULE, RULE, "none", candidates=1)
        learn(core, X, y)
        for x, label in zip(as_dicts(X), y, strict=True):
            reference.learn(x, int(label))
        assert core.nodes == len(reference.nodes) == 1 + 2 * 4 * 6
        assert core.state()["depth"].tolist() == [node.depth for node in reference.nodes]
        unbounded = make_core(6, 3, candidates=1, max_depth=10**6, max_nodes=10**6)
        learn(unbounded, X, y)
        assert unbounded.nodes > 3 * core.nodes
        assert unbounded.state()["depth"].max() > core.state()["depth"].max()

    @pytest.mark.parametrize("bound", [0.2, 5.0])
    def test_later_passes_do_not_tighten_the_bound(self, bound):
        self.compare(stop="bernstein", bound=bound, candidates=3, passes=3)

    @pytest.mark.parametrize("weight", [None, 2.5])
    def test_as_published(self, weight):
        weight = None if weight is None else np.full(250, weight, np.float32)
        core = self.compare(**PUBLISHED, candidates=4, passes=3, weight=weight)
        assert core.nodes > 5

    @pytest.mark.parametrize("stop", ["fit", "bernstein"])
    @pytest.mark.parametrize("importance", ["average", "equal"])
    def test_importance(self, stop, importance):
        self.compare(stop=stop, importance=importance, candidates=4)

    @pytest.mark.parametrize("bound", [0.0, 0.2, 5.0])
    def test_bound(self, bound):
        self.compare(stop="bernstein", bound=bound, candidates=3)

    def test_rules_of_their_own(self):
        plain = {**RULE, "update": "sgd", "step": 0.3, "power": 0.25}
        self.compare(RULE, plain, candidates=4)
        self.compare(plain, {**RULE, "loss": "hinge"}, candidates=4)

    @pytest.mark.parametrize("trees", [1, 2])
    def test_randomized_descent(self, trees):
        self.compare(randomized=True, seed=7, candidates=4, trees=trees)

    @pytest.mark.parametrize("path_features", ["path", "node"])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    @pytest.mark.parametrize("trees", [1, 2])
    def test_path_features(self, path_features, layout, trees):
        self.compare(path_features=path_features, layout=layout, trees=trees, candidates=4)

    def test_scaled_features(self):
        self.compare(scale="max", candidates=4)

    def test_weights(self):
        weight = np.random.default_rng(0).uniform(0.2, 3.0, 250).astype(np.float32)
        self.compare(weight=weight, candidates=4)


@st.composite
def trees(draw, max_labels=60):
    """A core that has learned a stream, and the stream."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = draw(st.integers(1, max_labels))
    n = draw(st.integers(1, 250))
    y = (labels * rng.random(n) ** draw(st.sampled_from([1, 3]))).astype(np.int64)
    if draw(st.booleans()):
        y.sort()
    X = rng.normal(size=(n, 5)) + (y[:, None] >> np.arange(5) & 1) * 3
    core = make_core(
        labels + 3,
        5,
        candidates=draw(st.sampled_from([0, 1, 3])),
        max_depth=draw(st.sampled_from([0, 3])),
        max_nodes=draw(st.sampled_from([0, 2])),
        trees=draw(st.sampled_from([1, 3])),
        stop=draw(st.sampled_from(["fit", "bernstein"])),
        fill=draw(st.booleans()),
        always_train=draw(st.booleans()),
        randomized=draw(st.booleans()),
    )
    weight = rng.uniform(0.1, 2.0, n) if draw(st.booleans()) else None
    learn(core, X, y, weight)
    return core, X, y


class TestTree:
    @given(trees())
    @settings(max_examples=60)
    def test_sums_are_those_of_the_counts(self, tree):
        core, _, _ = tree
        state = core.state()
        for node, counts in enumerate(histograms(state)):
            assert state["distinct"][node] == len(counts)
            assert state["total"][node] == pytest.approx(sum(counts.values()))
            terms = sum(c * math.log2(c) for c in counts.values())
            assert state["c_log_c"][node] == pytest.approx(terms, abs=1e-9)

    @given(trees())
    @settings(max_examples=60)
    def test_top_labels_are_the_most_frequent(self, tree):
        core, _, _ = tree
        state = core.state()
        F = core.candidate_count
        for counts, top in zip(histograms(state), top_labels(state), strict=True):
            assert len(dict(top)) == len(top) <= 128
            assert all(counts[label] == count for label, count in top)
            assert [c for _, c in top[:F]] == sorted(counts.values(), reverse=True)[:F]

    @given(trees())
    @settings(max_examples=60)
    def test_children_see_no_more_than_their_parent(self, tree):
        core, _, y = tree
        state = core.state()
        counts = histograms(state)
        seen = set()
        for node, (left, right) in enumerate(zip(state["left"], state["right"], strict=True)):
            assert (left == NONE) == (right == NONE) == (state["router"][node] == NONE)
            if left == NONE:
                continue
            assert not {left, right} & seen
            seen |= {left, right}
            assert state["depth"][left] == state["depth"][right] == state["depth"][node] + 1
            below = state["total"][left] + state["total"][right]
            assert below <= state["total"][node] * (1 + 1e-9)
            for label in counts[left].keys() | counts[right].keys():
                passed = counts[left].get(label, 0) + counts[right].get(label, 0)
                assert passed <= counts[node][label] * (1 + 1e-9)
        roots = set(range(core.nodes)) - seen
        assert len(roots) in (1, 3)
        for root in roots:
            assert counts[root].keys() == set(y.tolist())

    @given(trees())
    @settings(max_examples=60)
    def test_only_learned_labels_are_predicted(self, tree):
        core, X, y = tree
        labels, scores = core.predict_topk(as_rows(X[:20]), 100, 1)
        for row, row_scores in zip(labels.tolist(), scores, strict=True):
            found = [label for label in row if label != NONE]
            assert len(set(found)) == len(found) <= 3 * core.candidate_count
            assert set(found) <= set(y.tolist())
            assert row[: len(found)] == found
            assert (np.diff(row_scores[: len(found)]) <= 0).all()


class TestRouting:
    def test_router_is_taught_the_purer_side(self):
        """Entropy with y on the side taught is not above entropy with y on the other."""
        taught = []

        class Spy(Reference):
            def update_router(self, x, y, h, node, root):
                def average(left_h, right_h):
                    sides = []
                    for side, extra in ((node.left, left_h), (node.right, right_h)):
                        counts = {**side.counts, y: side.counts.get(y, 0) + extra}
                        sides.append({label: c for label, c in counts.items() if c})
                    total = sum(sum(c.values()) for c in sides)
                    return sum(sum(c.values()) * entropy(c) for c in sides if c) / total

                if_left, if_right = average(h, 0), average(0, h)
                before = node.router.predict(x)
                super().update_router(x, y, h, node, root)
                after = node.router.predict(x)
                if after != before and abs(if_left - if_right) > 1e-9:
                    assert (after > before) == (if_left < if_right)
                    taught.append(after > before)

        X, y = problem()
        reference = Spy(RULE, RULE, "none", candidates=4)
        for x, label in zip(as_dicts(X), y, strict=True):
            reference.learn(x, int(label))
        assert 50 < sum(taught) < len(taught) - 50

    def test_routers_save_bits(self):
        X, y = problem(1500)
        core = make_core(30, 32, candidates=4)
        learn(core, X, y)
        state = core.state()
        counts = histograms(state)
        a, b = counts[state["left"][0]], counts[state["right"][0]]
        m, n = sum(a.values()), sum(b.values())
        assert (m * entropy(a) + n * entropy(b)) / (m + n) < entropy(counts[0]) - 0.4

    @pytest.mark.parametrize("stop", ["fit", "bernstein"])
    def test_the_tree_learns(self, stop):
        X, y = problem(3000)
        core = make_core(30, 32, candidates=6, stop=stop)
        learn(core, X[:2500], y[:2500])
        predicted = core.predict_topk(as_rows(X[2500:]), 1, 1)[0][:, 0]
        assert np.mean(predicted == y[2500:]) > 0.7


class TestState:
    @pytest.mark.parametrize(
        "params",
        [
            {"candidates": 4},
            {"layout": "hashed", "scale": "max", "stop": "bernstein", "candidates": 3},
            {"trees": 3, "fill": False},
            {"randomized": True, "seed": 9, "always_train": False, "candidates": 4},
        ],
    )
    def test_restored_tree_continues_bit_for_bit(self, params):
        X, y = problem()
        first, second = make_core(30, 32, **params), make_core(30, 32, **params)
        learn(first, X[:90], y[:90])
        second.restore(first.state())
        assert_same_state(first, second)
        a, b = learn(first, X[90:], y[90:]), learn(second, X[90:], y[90:])
        np.testing.assert_array_equal(a, b)
        assert_same_state(first, second)

    @pytest.fixture
    def state(self):
        X, y = problem()
        core = make_core(30, 32, candidates=4)
        learn(core, X, y)
        return core.state()

    def restore(self, state, **params):
        make_core(30, 32, candidates=4, **params).restore(state)

    @pytest.mark.parametrize(
        "name",
        [
            "left",
            "right",
            "depth",
            "router",
            "scorer",
            "total",
            "c_log_c",
            "distinct",
            "top_size",
            "top_label",
            "top_count",
            "node_label",
            "node_label_count",
        ],
    )
    def test_wrong_length(self, state, name):
        for array in (state[name][:-1], np.append(state[name], state[name][-1:]), state[name][:0]):
            with pytest.raises(ValueError, match="differ in length"):
                self.restore({**state, name: array})
        with pytest.raises(ValueError, match=f"{name} has the wrong type or shape"):
            self.restore({**state, name: state[name].astype(np.int64)})
        del state[name]
        with pytest.raises(ValueError, match=f"lacks the array {name}"):
            self.restore(state)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("left", 0, "child that does not exist"),
            ("left", 10**6, "child that does not exist"),
            ("right", 0, "child that does not exist"),
            ("right", NONE, "child that does not exist"),
            ("router", 10**6, "child that does not exist"),
            ("router", NONE, "child that does not exist"),
            ("scorer", 10**6, "scorer that is missing"),
            ("top_label", 30, "label that does not exist"),
            ("top_label", NONE, "label that does not exist"),
            ("top_size", 10**6, "differ in length"),
        ],
    )
    def test_entry_out_of_range(self, state, name, value, message):
        state[name][0] = value
        with pytest.raises(ValueError, match=message):
            self.restore(state)

    def test_fewer_roots_than_trees(self):
        state = make_core(30, 32, candidates=4).state()
        with pytest.raises(ValueError, match="differ in length"):
            self.restore(state, trees=2)


def test_counts_beyond_all_bounds_are_refused():
    with pytest.raises(ValueError, match="candidates must be below"):
        make_core(30, 32, candidates=2**63)


@pytest.mark.parametrize("settings", [{"stop": "bernstein", "bound": 5.0}, {"stop": "fit"}])
def test_every_row_gets_a_label_without_fill(settings):
    X, y = problem(2000)
    core = make_core(30, 32, candidates=4, fill=False, **settings)
    assert (learn(core, X, y)[1:] != NONE).all()


def test_top_labels_stay_exact_however_the_number_of_candidates_grows():
    core = make_core(6000, 1)
    y = [*range(63), *range(63), *range(63, 6000)]
    learn(core, np.zeros((len(y), 1)), y)
    F, state = core.candidate_count, core.state()
    counts = sorted(histograms(state)[0].values(), reverse=True)
    assert [count for _, count in top_labels(state)[0][:F]] == counts[:F]


def test_routers_do_not_learn_from_rounding():
    X, y = problem(2000)
    core = make_core(30, 32, candidates=1)
    learn(core, X, y)
    state = core.state()
    used = state["weights_row"].tolist()
    rows = dict(zip(used, state["weights"].reshape(len(used), -1), strict=True))
    largest = [np.abs(rows[r][:33]).max() for r in state["router"].tolist() if r in rows]
    assert min(largest) > 1e-6
