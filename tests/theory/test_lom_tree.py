"""What the paper of the LOMtree claims of a whole tree, of the core; of one split: tests/tree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.validation import as_matrix
from tests.reference.lom_tree import J, balance, purity
from tests.theory.entropy import Split, entropy, heaviest_first, tree_of
from tests.tree.test_lom_tree import NONE, learn, make_core, make_stream


def coded(n, bits=3, noise=0.3, seed=0):
    """Labels whose features are their bits: a linear regressor can halve any set of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2**bits, size=n)
    X = 2.0 * (y[:, None] >> np.arange(bits) & 1) - 1 + noise * rng.normal(size=(n, bits))
    return X.astype(np.float32), y


def children_of(state):
    left, right = state["left"].tolist(), state["right"].tolist()
    return lambda node: [] if left[node] == NONE else [left[node], right[node]]


def histograms(state):
    node_of = {serial: node for node, serial in enumerate(state["serial"].tolist())}
    counts = [{} for _ in node_of]
    for key, count in zip(state["node_label"].tolist(), state["reached"], strict=True):
        serial, label = divmod(key, 2**32)
        if serial in node_of:
            counts[node_of[serial]][label] = count
    return counts


def passed(core, X, y):
    """Learn rows one by one; count for each child how many of each label went there."""
    counts = {}
    for i in range(len(y)):
        before = core.state()["total"]
        learn(core, X[i : i + 1], y[i : i + 1])
        total = core.state()["total"].copy()
        total[: len(before)] -= before
        for node in np.flatnonzero(total):
            own = counts.setdefault(int(node), {})
            own[int(y[i])] = own.get(int(y[i]), 0) + 1
    return counts


class TestObjective:
    """J, purity and balance of the core, by their definitions."""

    def test_is_that_of_the_examples_that_went_either_way(self):
        core = make_core(max_nodes=30, swap_resistance=4.0, labels=8)
        X, y = make_stream(400, 8)
        counts = passed(core, X, y)
        state, splits = core.state(), core.splits()
        compared = 0
        for node in np.flatnonzero(state["left"] != NONE):
            left, right = (counts.get(c, {}) for c in children_of(state)(node))
            labels = sorted({*left, *right})
            both = np.array([left.get(k, 0) + right.get(k, 0) for k in labels])
            if len(labels) < 2:
                continue
            share = (both / both.sum()).tolist()
            to_right = [right.get(k, 0) / n for k, n in zip(labels, both.tolist(), strict=True)]
            expected = [f(share, to_right) for f in (J, purity, balance)]
            assert [measure[node] for measure in splits] == pytest.approx(expected)
            compared += 0 < expected[0] < 1
        assert compared > 5

    def test_regressors_come_to_split_well(self):
        """Halves that are nearly pure and balanced, where linear regressors can make them."""
        core = make_core(max_nodes=7, swap_resistance=4.0, labels=8, features=3, scale="none")
        learn(core, *coded(3000))
        objective, purity, balance = (measure[core.state()["root"][0]] for measure in core.splits())
        assert objective > 0.75
        assert purity < 0.1
        assert 0.3 < balance < 0.7


def fall(share, right):
    """Return by how much a split lowers the entropy, and J^2 / (beta (1 - beta)) of it."""
    beta = balance(share, right)
    sides = [
        [pi * p for pi, p in zip(share, right, strict=True)],
        [pi * (1 - p) for pi, p in zip(share, right, strict=True)],
    ]
    after = beta * entropy(sides[0]) + (1 - beta) * entropy(sides[1])
    return entropy(share) - after, J(share, right) ** 2 / (beta * (1 - beta))


splits = st.lists(
    st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 1.0)), min_size=2, max_size=12
).filter(lambda pairs: 0.01 < sum(s * p for s, p in pairs) / sum(s for s, _ in pairs) < 0.99)


class TestLemma4:
    """As printed it promises twice too much: strong concavity has a factor of one half."""

    @given(splits)
    def test_a_split_lowers_the_entropy(self, pairs):
        total = sum(share for share, _ in pairs)
        gained, bound = fall([share / total for share, _ in pairs], [p for _, p in pairs])
        assert gained >= bound / 8 - 1e-12

    @pytest.mark.parametrize("eps", [0.01, 0.1, 0.2])
    def test_counter_example_to_what_is_printed(self, eps):
        """Two leaves that each have both labels, one of which is split a little.

        With t = 1, G_t = ln k and a weight of one half the printed bound is
        J^2 G_t / (8 beta (1 - beta) t ln k).
        """
        gained, bound = fall([0.5, 0.5], [0.5 + eps, 0.5 - eps])
        assert bound / 16 <= gained / 2 < bound / 8

    def test_of_the_splits_of_the_core(self):
        core = make_core(max_nodes=40, swap_resistance=4.0, labels=8)
        learn(core, *make_stream(2000, 8))
        state = core.state()
        objective, _, beta = core.splits()
        counts = histograms(state)
        compared = 0
        for node in np.flatnonzero(objective > 0):
            children = [Split(counts[child]) for child in children_of(state)(node)]
            both = Split(
                {k: sum(c.counts.get(k, 0) for c in children) for c in children for k in c.counts},
                [c for c in children if c.weight],
            )
            bound = objective[node] ** 2 / (8 * beta[node] * (1 - beta[node]))
            assert both.gain >= bound - 1e-9
            compared += both.gain < 3 * bound
        assert compared > 5


class TestTheorem1:
    """(ln k / alpha) in place of (1 / alpha): with t = 1 any entropy would be at most one."""

    @staticmethod
    def exponent(gamma, k):
        return 4 * (1 - gamma) ** 2 * math.log(k) / gamma**2

    def test_entropy_of_the_core_falls_with_its_splits(self):
        """Its heaviest leaf split first, and gamma that of the worst of these splits."""
        core = make_core(max_nodes=31, swap_resistance=4.0, labels=8, features=3, scale="none")
        learn(core, *coded(4000))
        state = core.state()
        root = tree_of(histograms(state), children_of(state), int(state["root"][0]))
        compared, gamma = 0, 0.5
        for leaves, inner in heaviest_first(root):
            G = sum(leaf.weight * leaf.entropy for leaf in leaves) / root.weight
            if not inner:
                continue
            if len(inner) > 7:
                break
            gamma = min(gamma, weak_learning(inner[-1]))
            assert gamma > 0.15  # the weak hypothesis, by construction
            alpha = math.log(8) * len(inner) ** (-1 / self.exponent(gamma, 8))
            assert alpha >= G
            compared += 1
        assert compared == 7

    def test_entropy_falls_no_slower_where_every_split_is_as_weak_as_may_be(self):
        """Each leaf is split into parts that differ just so much that the hypothesis holds."""
        k, gamma = 16, 0.3
        leaves, root_entropy = [(1.0, (1 / k,) * k)], math.log(k)
        for t in range(1, 100):
            leaves.sort(key=lambda leaf: -leaf[0])
            weight, share = leaves.pop(0)
            right = weak_split(share, gamma)
            if J(share, right) / 2 < gamma - 1e-9:  # of a leaf that is nearly pure
                break
            assert balance(share, right) == pytest.approx(0.5)
            for side in (right, [1 - p for p in right]):
                part = [pi * p for pi, p in zip(share, side, strict=True)]
                leaves.append((weight * sum(part), tuple(p / sum(part) for p in part)))
            G = sum(w * entropy(share) for w, share in leaves)
            assert root_entropy * t ** (-1 / self.exponent(gamma, k)) >= G
        assert t > 30
        assert 0.8 * root_entropy > G

    def test_counter_example_to_what_is_printed(self):
        """For alpha = 1 one split would do; one that is pure and balanced does not."""
        alpha, k, gamma = 1.0, 8, 0.5
        t = (1 / alpha) ** self.exponent(gamma, k)
        assert (t, J([1 / k] * k, [0, 1] * 4) / 2) == (1, gamma)
        assert entropy([1] * 4) > alpha  # of either leaf


def weak_learning(split):
    """Return the largest gamma of the weak hypothesis assumption that a split fulfils."""
    if len(split.children) < 2:
        return 0.0
    labels = sorted(split.counts)
    right = [split.children[1].counts.get(k, 0) / split.counts[k] for k in labels]
    share = [split.counts[k] / split.weight for k in labels]
    beta = balance(share, right)
    return min(beta, 1 - beta, J(share, right) / 2)


def weak_split(share, gamma):
    """Return a balanced split with J / 2 = gamma: two groups of labels, told apart a little."""
    order = sorted(range(len(share)), key=lambda i: -share[i])
    first, of_first = set(), 0.0
    for i in order:
        if of_first + share[i] <= 0.5 + 1e-9 or not first:
            first.add(i)
            of_first += share[i]
    lean = [1 / of_first if i in first else 1 / (of_first - 1) for i in range(len(share))]
    return [min(1.0, max(0.0, 0.5 + gamma / 2 * one)) for one in lean]


def test_regressors_are_as_many_as_inner_nodes_however_the_labels_drift():
    T = 15
    core = make_core(max_nodes=T, swap_resistance=1.0, labels=8)
    for seed in range(3):
        learn(core, *make_stream(600, 8, seed))
    state = core.state()
    assert state["recycled"].sum() > 20
    assert state["inner"][0] == T
    regressors = state["regressor"][state["regressor"] != NONE]
    assert len(regressors) == len(set(regressors.tolist())) == T
    assert len(state["steps"]) <= 16  # models of the bank, in blocks of eight
    assert core.predict_topk(as_matrix(np.zeros((1, 24), np.float32)), 1, 1)[0][0, 0] != NONE
