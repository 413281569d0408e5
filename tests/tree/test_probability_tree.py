"""The conditional probability tree: against the reference, and against the paper's theory."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree import _core
from labeltree.datasets import make_multiclass
from tests.reference.probability_tree import ProbabilityTree as Reference
from tests.reference.probability_tree import hadamard, pecoc
from tests.tree import NONE, RULE, as_dicts, as_rows, assert_same_state, core_bank, core_rule, learn


def make_core(
    labels,
    features,
    rule=RULE,
    *,
    shape="online",
    alpha=0.6,
    arity=2,
    search_budget=0,
    copy_leaves=False,
    seed=0,
    estimates="shares",
    **bank,
):
    core = _core.ProbabilityTree(
        core_bank(features, **bank),
        core_rule(rule),
        shape=_core.TreeShape[shape],
        alpha=alpha,
        arity=arity,
        search_budget=search_budget,
        copy_leaves=copy_leaves,
        seed=seed,
        estimates=_core.Estimates[estimates],
    )
    core.resize(labels)
    return core


def problem(n=250, labels=17, random_state=0):
    X, y = make_multiclass(
        n, labels, n_features=32, nnz=6, noise=0.3, skew=0.5, random_state=random_state
    )
    return X.toarray(), y


def all_probabilities(core, X):
    """P(label | x), a row for each x and a column for each label."""
    columns = [
        core.label_probability(as_rows(X), np.full(len(X), label, np.uint32))
        for label in range(core.labels)
    ]
    return np.stack(columns, axis=1)


class TestReference:
    def compare(self, rule, *, dense=True, layout="dense", scale="none", weight=None, **params):
        X, y = problem()
        reference = Reference(rule, scale, **params)
        weights = np.ones(len(y)) if weight is None else weight
        expected = [
            reference.learn(x, int(label), float(h))
            for x, label, h in zip(as_dicts(X), y, weights, strict=True)
        ]
        core = make_core(17, 32, rule, layout=layout, scale=scale, **params)
        predicted = learn(core, X, y, weight, dense=dense)
        assert predicted.tolist() == [NONE if label is None else label for label in expected]

        state, nodes, arity = core.state(), reference.nodes, reference.arity
        assert state["parent"].tolist() == [n.parent.number if n.parent else NONE for n in nodes]
        assert state["slot"].tolist() == [n.slot for n in nodes]
        assert state["label"].tolist() == [NONE if n.label is None else n.label for n in nodes]
        assert state["leaves"].tolist() == [n.leaves for n in nodes]
        assert state["child"].reshape(-1, arity).tolist() == [
            [n.children[c].number if c in n.children else NONE for c in range(arity)] for n in nodes
        ]
        assert {label: leaf for label, leaf in enumerate(state["leaf"]) if leaf != NONE} == {
            label: leaf.number for label, leaf in reference.leaf.items()
        }

        X, _ = problem(30, random_state=1)
        labels, scores = core.predict_topk(as_rows(X, dense=dense), 5, 1)
        p = all_probabilities(core, X)
        for row, x in enumerate(as_dicts(X)):
            topk = reference.topk(x, 5)
            # Of labels equal but for rounding, the core and the reference may take different ones.
            assert labels[row, 0] == topk[0][0]
            own = [reference.label_probability(x, label) for label in labels[row].tolist()]
            np.testing.assert_allclose(own, [q for _, q in topk], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(scores[row], [q for _, q in topk], rtol=1e-3, atol=1e-6)
            expected = [reference.label_probability(x, label) for label in range(17)]
            np.testing.assert_allclose(p[row], expected, rtol=1e-3, atol=1e-6)

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    @pytest.mark.parametrize("dense", [False, True])
    @pytest.mark.parametrize("arity", [2, 4])
    def test_decides_alike(self, loss, layout, dense, arity):
        self.compare({**RULE, "loss": loss}, layout=layout, dense=dense, arity=arity)

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("arity", [2, 4, 8])
    @pytest.mark.parametrize("shape", ["balanced", "random"])
    def test_shapes(self, loss, arity, shape):
        self.compare({**RULE, "loss": loss}, arity=arity, shape=shape, seed=3)

    @pytest.mark.parametrize("alpha", [0.0, 0.1, 0.3, 0.9, 1.0])
    def test_alpha(self, alpha):
        self.compare(RULE, alpha=alpha)

    @pytest.mark.parametrize("arity", [2, 4])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    def test_copied_leaves(self, arity, layout):
        self.compare(RULE, arity=arity, layout=layout, alpha=0.2, copy_leaves=True)

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("arity", [2, 4, 8])
    @pytest.mark.parametrize("estimates", ["clipped", "formula"])
    def test_estimates(self, loss, arity, estimates):
        self.compare({**RULE, "loss": loss}, arity=arity, estimates=estimates)

    def test_as_published(self):
        published = {**RULE, "loss": "squared", "min_gradient": 0.0}
        self.compare(published, copy_leaves=True, estimates="formula")

    def test_plain_steps(self):
        self.compare({**RULE, "update": "sgd", "step": 0.3, "power": 0.25})

    def test_scaled_features(self):
        self.compare(RULE, scale="max")

    def test_weights(self):
        self.compare(RULE, weight=np.random.default_rng(0).uniform(0.2, 3.0, 250).astype("f4"))


def streams(max_labels=60):
    """Labels and features in an order that an adversary might choose."""

    def stream(seed, n, labels, order):
        rng = np.random.default_rng(seed)
        y = rng.integers(labels, size=n)
        if order == "new labels first":
            y = np.concatenate([np.arange(labels), y])
        elif order == "sorted":
            y = np.sort(y)
        elif order == "label after label":
            y = np.repeat(np.arange(labels), 1 + n // labels)
        X = rng.normal(size=(len(y), 4)) * rng.choice([0.0, 0.1, 1.0, 30.0])
        return X, y

    return st.builds(
        stream,
        st.integers(0, 2**32),
        st.integers(1, 120),
        st.integers(1, max_labels),
        st.sampled_from(["as drawn", "new labels first", "sorted", "label after label"]),
    )


losses = st.sampled_from([RULE, {**RULE, "loss": "squared"}])
shapes = st.sampled_from(["online", "balanced", "random"])
arities = st.sampled_from([2, 4, 8])


def learned(X, y, rule=RULE, **params):
    core = make_core(int(y.max()) + 1, X.shape[1], rule, **params)
    learn(core, X, y)
    return core


class TestTree:
    @given(streams(), losses, shapes, arities, st.floats(0, 1), st.booleans())
    @settings(max_examples=60)
    def test_every_label_has_one_leaf(self, stream, rule, shape, arity, alpha, copy_leaves):
        X, y = stream
        core = learned(X, y, rule, shape=shape, arity=arity, alpha=alpha, copy_leaves=copy_leaves)
        state = core.state()
        parent, slot, label, leaves = (state[s] for s in ("parent", "slot", "label", "leaves"))
        child = state["child"].reshape(-1, arity)
        assert sorted(label[label != NONE]) == sorted(set(y.tolist()))
        for y_, node in enumerate(state["leaf"]):
            assert node == NONE if y_ not in y else label[node] == y_
        assert parent[0] == NONE
        for node in range(1, len(parent)):
            assert child[parent[node], slot[node]] == node
        assert np.sum(child != NONE) == len(parent) - 1
        for node in range(len(parent)):
            below = child[node][child[node] != NONE]
            assert (len(below) == 0) == (label[node] != NONE)
            assert len(below) != 1
            assert leaves[node] == (leaves[below].sum() if len(below) else 1)

    @given(streams(150), losses, st.floats(0, 1, exclude_min=True, width=32))
    @settings(max_examples=80)
    def test_depth_is_bounded(self, stream, rule, alpha):
        """Theorem 7 and Claim 6, of which only the strictness is lost where both sides tie."""
        X, y = stream
        core = learned(X, y, rule, alpha=alpha)
        state = core.state()
        parent, leaves = state["parent"], state["leaves"]
        kappa = 1 / (1 + 2 ** (1 - 1 / alpha))
        depth = [0]
        for node in range(1, len(parent)):
            depth.append(depth[parent[node]] + 1)
            assert leaves[node] <= kappa * leaves[parent[node]] + (1 - kappa) + 1e-4
        if kappa < 1:
            assert max(depth) <= math.log(leaves[0]) / math.log(1 / kappa) + 2

    @pytest.mark.parametrize("arity", [2, 4, 8])
    @pytest.mark.parametrize("labels", [1, 2, 5, 16, 17, 64])
    def test_balanced_tree_is_as_low_as_can_be(self, arity, labels):
        X = np.random.default_rng(0).normal(size=(labels, 4))
        parent = learned(X, np.arange(labels), shape="balanced", arity=arity).state()["parent"]
        depth = [0]
        for node in range(1, len(parent)):
            depth.append(depth[parent[node]] + 1)
        lowest = next(d for d in range(10) if arity**d >= labels)
        # A split leaf has two children at first, and a level is not full before the next begins.
        assert lowest <= max(depth) <= lowest + (arity > 2)

    def test_random_tree_follows_its_seed(self):
        X, y = problem()
        parents = [
            learned(X, y, shape="random", seed=seed).state()["parent"].tolist()
            for seed in (0, 0, 1)
        ]
        assert parents[0] == parents[1]
        assert parents[0] != parents[2]

    @pytest.mark.parametrize("arity", [2, 4])
    def test_the_first_example_is_learned(self, arity):
        """As every other: after one example of each of two labels, both are preferred alike."""
        core = learned(np.eye(2), np.arange(2), arity=arity)
        p = all_probabilities(core, np.eye(2))
        np.testing.assert_allclose(p[0, 0], p[1, 1], rtol=0.1)
        assert p[0, 0] > 0.55

    @pytest.mark.parametrize("arity", [2, 4, 32])
    def test_regressors_grow_with_the_labels(self, arity):
        """In one wide node as many as labels, not their square."""
        core = learned(np.eye(24), np.arange(24), arity=arity)
        parent = core.state()["parent"]
        inner = len(set(parent.tolist()) - {NONE})
        expected = len(parent) if arity == 2 else inner * arity
        assert len(core.state()["steps"]) == expected
        assert expected <= 3 * 24

    def test_a_label_never_learned_is_impossible(self):
        X, y = problem()
        core = make_core(20, 32)
        learn(core, X, y)
        assert not all_probabilities(core, X[:5])[:, 17:].any()
        assert core.predict_topk(as_rows(X[:5]), 20, 1)[0].max(axis=1).tolist() == [NONE] * 5


class TestProbabilities:
    @given(streams(30), losses, shapes, arities, st.integers(1, 12))
    @settings(max_examples=60)
    def test_sum_to_one_and_come_best_first(self, stream, rule, shape, arity, k):
        X, y = stream
        core = learned(X, y, rule, shape=shape, arity=arity, seed=5)
        rows = X[:8]
        p = all_probabilities(core, rows)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)
        labels, scores = core.predict_topk(as_rows(rows), k, 1)
        found = min(k, core.learned_labels)
        best = -np.sort(-p, axis=1)[:, :found]
        np.testing.assert_allclose(scores[:, :found], best, rtol=1e-4)
        own = np.take_along_axis(p, labels[:, :found].astype(np.int64), axis=1)
        np.testing.assert_allclose(own, best, rtol=1e-4)
        assert (labels[:, found:] == NONE).all()
        assert np.isneginf(scores[:, found:]).all()
        assert all(len(set(row)) == found for row in labels[:, :found].tolist())

    @given(streams(30), shapes, arities, st.integers(1, 12), st.integers(1, 3))
    @settings(max_examples=60)
    def test_a_small_budget_still_finds_distinct_labels(self, stream, shape, arity, k, budget):
        X, y = stream
        core = learned(X, y, shape=shape, arity=arity, search_budget=budget)
        rows = X[:8]
        labels, scores = core.predict_topk(as_rows(rows), k, 1)
        p = all_probabilities(core, rows)
        found = min(k, core.learned_labels)
        for row in range(len(rows)):
            assert len(set(labels[row, :found].tolist()) - {NONE}) == found
            own = p[row, labels[row, :found].astype(np.int64)]
            np.testing.assert_allclose(scores[row, :found], own, rtol=1e-4)

    def test_threads_do_not_change_the_answer(self):
        X, y = problem(600)
        core = learned(X, y)
        for one, two in zip(
            core.predict_topk(as_rows(X), 3, 1), core.predict_topk(as_rows(X), 3, 2), strict=True
        ):
            np.testing.assert_array_equal(one, two)


def with_regressors(r, rule):
    """A core of one node whose regressors answer r[1:] whatever x is, and its child of a label."""
    k = len(r)
    core = make_core(k, 1, rule, arity=k, shape="balanced")
    learn(core, np.zeros((k, 1)), np.arange(k))
    state = core.state()
    row = 32  # sixteen weights, the second of the constant feature, and as many gradient sums
    models = len(state["steps"])
    table = np.zeros((models, row), np.float32)
    logistic = rule["loss"] == "logistic"
    first = 0 if k == 2 else 1  # of a wider node the first model is never used
    table[first : first + k - 1, 1] = np.log(r[1:] / (1 - r[1:])) if logistic else r[1:]
    state["weights"] = table.ravel()
    state["weights_row"] = np.arange(models, dtype=np.uint64)
    restored = make_core(k, 1, rule, arity=k, shape="balanced")
    restored.restore(state)
    assert (state["parent"][1:] == 0).all()
    return restored, state["slot"][state["leaf"]]


class TestTheory:
    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
    def test_errors_of_a_path_add_up(self, steps):
        """Lemma 2."""
        q, p = np.array(steps).T
        larger = np.maximum(p, q)
        tight = sum(abs(q[i] - p[i]) * np.prod(np.delete(larger, i)) for i in range(len(p)))
        assert abs(q.prod() - p.prod()) <= tight + 1e-12
        assert tight <= np.abs(q - p).sum() + 1e-12

    @given(streams(20), losses, arities, st.integers(0, 2**32))
    @settings(max_examples=30)
    def test_errors_of_a_core_path_add_up(self, stream, rule, arity, seed):
        """Lemma 2 between two trees of one shape: one has learned more than the other."""
        X, y = stream
        core = learned(X, y, rule, shape="balanced", arity=arity)
        more = learned(X, y, rule, shape="balanced", arity=arity)
        rng = np.random.default_rng(seed)
        learn(more, X, rng.permutation(y))
        state = core.state()
        leaf_of, parent = state["leaf"], state["parent"]
        below = [[] for _ in parent]
        for label in set(y.tolist()):
            node = leaf_of[label]
            while node != NONE:
                below[node].append(label)
                node = parent[node]
        Q, P = all_probabilities(core, X[:3]), all_probabilities(more, X[:3])
        for label in set(y.tolist()):
            total, node = np.zeros(len(Q)), leaf_of[label]
            while parent[node] != NONE:
                up = parent[node]
                q, p = (R[:, below[node]].sum(1) / R[:, below[up]].sum(1) for R in (Q, P))
                total += np.abs(q - p)
                node = up
            assert (np.abs(Q[:, label] - P[:, label]) <= total + 1e-5).all()

    def test_code_halves_the_labels(self):
        for k in (2, 4, 8, 16):
            C = np.array(hadamard(k))
            assert C[0].all()
            assert (C[1:].sum(axis=1) == k // 2).all()
            signs = 2 * C - 1
            np.testing.assert_array_equal(signs @ signs.T, k * np.eye(k))

    distributions = st.sampled_from([2, 4, 8, 16]).flatmap(
        lambda k: st.lists(st.floats(0.01, 1.0), min_size=k, max_size=k)
    )

    @given(distributions)
    def test_perfect_regressors_give_back_the_distribution(self, P):
        P = np.array(P) / sum(P)
        r = np.array(hadamard(len(P))) @ P
        np.testing.assert_allclose([pecoc(r, y) for y in range(len(P))], P, atol=1e-12)

    @given(distributions, st.integers(0, 2**32))
    def test_pecoc_error_is_bounded(self, P, seed):
        """Lemma 4, the mean being over the rows that are not trivial."""
        P = np.array(P) / sum(P)
        k = len(P)
        r = np.array(hadamard(k)) @ P
        error = np.random.default_rng(seed).uniform(-r, 1 - r)
        error[0] = 0.0
        bound = 4 * ((k - 1) / k) ** 2 * np.mean(error[1:] ** 2)
        for y in range(k):
            assert (pecoc(r + error, y) - P[y]) ** 2 <= bound + 1e-12

    @given(distributions, losses, st.floats(0, 1), st.integers(0, 2**32))
    @settings(max_examples=60)
    def test_core_answers_by_formula_4(self, P, rule, noise, seed):
        P = np.array(P) / sum(P)
        k = len(P)
        r = np.array(hadamard(k)) @ P
        r = (1 - noise) * r + noise * np.random.default_rng(seed).uniform(0.01, 0.99, k)
        r[0] = 1.0
        core, child = with_regressors(r, rule)
        expected = np.array([max(pecoc(r, c), 1e-6) for c in range(k)])
        expected /= expected.sum()
        p = all_probabilities(core, np.zeros((1, 1)))[0]
        np.testing.assert_allclose(p, expected[child], rtol=1e-3, atol=1e-5)
        if noise == 0:
            np.testing.assert_allclose(p, P[child], rtol=1e-3, atol=1e-5)


class TestState:
    PARAMS = pytest.mark.parametrize(
        "params",
        [
            {},
            {"arity": 4, "layout": "hashed"},
            {"shape": "random", "seed": 9},
            {"copy_leaves": True, "alpha": 0.1, "scale": "max"},
        ],
    )

    @PARAMS
    def test_restored_tree_continues_bit_for_bit(self, params):
        X, y = problem()
        first, second = make_core(17, 32, **params), make_core(17, 32, **params)
        learn(first, X[:60], y[:60])
        second.restore(first.state())
        assert_same_state(first, second)
        a, b = learn(first, X[60:], y[60:]), learn(second, X[60:], y[60:])
        np.testing.assert_array_equal(a, b)
        assert_same_state(first, second)

    @pytest.mark.parametrize(
        "name", ["parent", "slot", "child", "label", "leaves", "leaf", "regressor"]
    )
    def test_wrong_length(self, name):
        X, y = problem()
        state = learned(X, y).state()
        for array in (state[name][:-1], np.append(state[name], state[name][-1:]), state[name][:0]):
            with pytest.raises(ValueError, match="differ in length"):
                make_core(17, 32).restore({**state, name: array})
        with pytest.raises(ValueError, match=f"{name} has the wrong type or shape"):
            make_core(17, 32).restore({**state, name: state[name].astype(np.int64)})
        del state[name]
        with pytest.raises(ValueError, match=f"lacks the array {name}"):
            make_core(17, 32).restore(state)

    @pytest.mark.parametrize(
        ("name", "index", "value", "message"),
        [
            ("parent", 5, 5, "parent comes after it"),
            ("parent", 5, 10**6, "parent comes after it"),
            ("parent", 5, NONE, "parent comes after it"),
            ("parent", 0, 1, "parent comes after it"),
            ("slot", 5, 2, "child out of place"),
            ("label", 0, 17, "label that does not exist"),
            ("child", 0, 0, "child that does not exist"),
            ("child", 1, 10**6, "child that does not exist"),
            ("leaf", 3, 10**6, "a leaf without its label"),
            ("regressor", 0, 10**6, "regressor that is missing"),
            ("regressor", 0, NONE, "regressor that is missing"),
        ],
    )
    def test_entry_out_of_range(self, name, index, value, message):
        X, y = problem()
        state = learned(X, y).state()
        state[name][index] = value
        with pytest.raises(ValueError, match=message):
            make_core(17, 32).restore(state)

    def test_state_of_another_arity(self):
        X, y = problem()
        with pytest.raises(ValueError, match="differ in length"):
            make_core(17, 32, arity=4).restore(learned(X, y).state())


def test_a_tree_that_learned_nothing_predicts_nothing():
    labels, _ = make_core(3, 2).predict_topk(as_rows(np.zeros((2, 2))), 2, 1)
    assert (labels == NONE).all()


def test_a_label_with_a_count_but_no_leaf_is_refused():
    X, y = problem()
    state = learned(X, y).state()
    state["leaf"][3] = NONE
    with pytest.raises(ValueError, match="a label without a leaf"):
        make_core(17, 32).restore(state)
    state = make_core(17, 32).state()
    state["counts"][:] = 1
    with pytest.raises(ValueError, match="a label without a leaf"):
        make_core(17, 32).restore(state)


def test_counts_beyond_all_bounds_are_refused():
    with pytest.raises(ValueError, match="search_budget must be below"):
        make_core(17, 32, search_budget=2**63)
