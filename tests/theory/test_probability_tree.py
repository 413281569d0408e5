"""What the paper of the conditional probability tree claims, of the core with set regressors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.probability_tree import hadamard
from tests.tree import NONE, RULE, as_rows, learn
from tests.tree.test_probability_tree import make_core

SQUARED = {**RULE, "loss": "squared"}
NOTHING = np.zeros((1, 1))  # the features of a row: regressors answer by the constant one


def grown(labels, arity, *, shape="balanced", estimates="formula", seed=0):
    core = make_core(labels, 1, SQUARED, arity=arity, shape=shape, seed=seed, estimates=estimates)
    learn(core, np.zeros((labels, 1)), np.arange(labels))
    return core


class Fixed:
    """A core tree whose regressors answer what they are told, whatever x is."""

    def __init__(self, core, answers, **params):
        """`answers` returns, of an inner node, what its regressors for all rows of the code say."""
        state = core.state()
        self.state, self.arity = state, len(state["child"]) // len(state["parent"])
        self.inner = np.flatnonzero(state["label"] == NONE)
        self.answers = {int(v): np.asarray(answers(int(v)), np.float32) for v in self.inner}
        table = np.zeros(
            (len(state["steps"]), 32), np.float32
        )  # the second weight is the constant's
        for v, r in self.answers.items():
            first = state["regressor"][v]
            rows = range(1, self.arity)
            for row in rows:
                table[first + (0 if self.arity == 2 else row), 1] = r[row]
        state["weights"] = table.ravel()
        state["weights_row"] = np.arange(len(table), dtype=np.uint64)
        labels = len(state["leaf"])
        self.core = make_core(labels, 1, SQUARED, arity=self.arity, shape="balanced", **params)
        self.core.restore(state)

    def path(self, label):
        """Yield the steps to a label: node, and the child taken."""
        node = int(self.state["leaf"][label])
        while self.state["parent"][node] != NONE:
            yield int(self.state["parent"][node]), int(self.state["slot"][node])
            node = int(self.state["parent"][node])

    def below(self, P):
        """Return, of each inner node, the conditional probabilities of its children under P."""
        reach = {v: np.zeros(self.arity) for v in self.answers}
        for label, p in enumerate(P):
            for node, child in self.path(label):
                reach[node][child] += p
        return {v: total / total.sum() for v, total in reach.items()}

    def probabilities(self):
        labels = np.arange(len(self.state["leaf"]), dtype=np.uint32)
        rows = as_rows(np.zeros((len(labels), 1)))
        return self.core.label_probability(rows, labels)


distributions = st.lists(st.floats(0.01, 1.0), min_size=16, max_size=16).map(
    lambda P: np.array(P) / sum(P)
)


def with_errors(core, P, rng, size, estimates):
    """Return the core with regressors that are wrong at random, and by how much, squared."""
    C = np.array(hadamard(len(core.state()["child"]) // len(core.state()["parent"])))
    true = {v: C @ p for v, p in Fixed(core, lambda _: [0] * len(C)).below(P).items()}
    answers = {v: np.clip(r + size * rng.uniform(-1, 1, len(r)), 0, 1) for v, r in true.items()}
    tree = Fixed(core, answers.get, estimates=estimates)
    return tree, {v: (tree.answers[v] - r)[1:] ** 2 for v, r in true.items()}


def squared_bound(tree, errors, label, k):
    """Theorem 3; d steps in place of log_k n, and Theorem 1 for k = 2."""
    steps = [node for node, _ in tree.path(label)]
    mean = np.mean([errors[node] for node in steps])
    return 4 * len(steps) ** 2 * ((k - 1) / k) ** 2 * mean


class TestSquaredLoss:
    @given(distributions, st.integers(0, 2**32), st.sampled_from([0.01, 0.1, 1.0]))
    @settings(max_examples=40)
    @pytest.mark.parametrize("estimates", ["formula", "clipped", "shares"])
    def test_of_a_binary_tree_is_bounded_by_that_of_its_nodes(self, estimates, P, seed, size):
        """Theorem 1, of a tree of any shape; a node of two children has nothing to clip."""
        core = grown(16, 2, shape="random", seed=seed)
        tree, errors = with_errors(core, P, np.random.default_rng(seed), size, estimates)
        loss = (tree.probabilities() - P) ** 2
        for label in range(16):
            assert loss[label] <= squared_bound(tree, errors, label, 2) + 1e-5
        bound = sum(p * squared_bound(tree, errors, y, 2) for y, p in enumerate(P))
        assert P @ loss <= bound + 1e-5  # the regret, the mean over labels

    def test_bound_of_a_binary_tree_is_tight(self):
        """One label is certain, and every node a little less sure of it than it should be."""
        core = grown(16, 2)
        label, eps = 5, 1e-3
        steps = dict(Fixed(core, lambda _: [0, 0]).path(label))
        # The regressor answers for child 0.
        tree = Fixed(core, lambda v: [1, 1 - eps if steps.get(v, 0) == 0 else eps])
        d = len(steps)
        lost = 1 - tree.probabilities()[label]
        assert 0.99 * (d * eps) ** 2 <= lost**2 <= (d * eps) ** 2 + 1e-7

    @given(distributions, st.integers(0, 2**32), st.sampled_from([0.01, 0.1, 1.0]))
    @settings(max_examples=40)
    @pytest.mark.parametrize("k", [4, 16])
    @pytest.mark.parametrize("estimates", ["formula", "clipped"])
    def test_of_a_wide_tree_is_bounded_by_that_of_its_regressors(self, estimates, k, P, seed, size):
        """Theorem 3, and Lemma 4, of a tree that is a single node."""
        tree, errors = with_errors(grown(16, k), P, np.random.default_rng(seed), size, estimates)
        assert {len(list(tree.path(y))) for y in range(16)} == {round(math.log(16, k))}
        loss = (tree.probabilities() - P) ** 2
        for label in range(16):
            assert loss[label] <= squared_bound(tree, errors, label, k) + 1e-5

    @pytest.mark.parametrize("k", [4, 8, 16])
    def test_bound_of_pecoc_is_tight(self, k):
        """Lemma 4: all regressors are wrong by as much, and to the same side of a label."""
        P = np.full(k, 1 / k)
        C, eps = np.array(hadamard(k)), 0.01
        tree = Fixed(grown(k, k), lambda _: C @ P + eps * (2 * C[:, 3] - 1))
        label = next(y for y in range(k) if next(tree.path(y))[1] == 3)
        lost = tree.probabilities()[label] - P[label]
        assert lost == pytest.approx(2 * (k - 1) / k * eps, rel=1e-3)

    @pytest.mark.parametrize("k", [4, 8, 16])
    def test_to_make_estimates_sum_to_one_breaks_the_bound(self, k):
        """One label is certain, and one regressor a little less: half of the others gain.

        The squared loss is k^2 / (4 (k - 1)) times the bound, the smaller the error the nearer.
        """
        P, eps = np.eye(k)[0], 0.01
        answers = np.ones(k)
        answers[1] -= eps
        bound = 4 * ((k - 1) / k) ** 2 * eps**2 / (k - 1)
        ratio = {}
        for estimates in ("formula", "clipped", "shares"):
            tree = Fixed(grown(k, k), lambda _: answers, estimates=estimates)
            label = next(y for y in range(k) if next(tree.path(y))[1] == 0)
            ratio[estimates] = (tree.probabilities()[label] - P[0]) ** 2 / bound
        assert ratio["formula"] <= 1
        assert ratio["clipped"] <= 1
        assert ratio["shares"] == pytest.approx(k**2 / (4 * (k - 1)), rel=0.05)


def worst_total_depth(n, kappa):
    """Return the largest total of the depths of n leaves that Claim 6 allows."""
    total = [0.0, 0.0]
    for N in range(2, n + 1):
        most = max(L for L in range(1, N) if max(L, N - L) < kappa * N + (1 - kappa) + 1e-9)
        total.append(N + max(total[L] + total[N - L] for L in range(N - most, most + 1)))
    return total[n]


class TestTotalDepth:
    """Theorem 9."""

    @pytest.mark.parametrize("alpha", [1.0, 0.6, 0.3])
    @pytest.mark.parametrize("order", ["random", "one side"])
    def test_of_the_core_is_no_more_than_its_rule_allows(self, alpha, order):
        """Also where all regressors favour one side; with alpha = 0 it would be a chain."""
        n, kappa = 60, 1 / (1 + 2 ** (1 - 1 / alpha))
        core = make_core(n, 3, alpha=alpha)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 3)) if order == "random" else np.ones((n, 3))
        learn(core, np.repeat(X, 3, axis=0), np.repeat(np.arange(n), 3))
        state, total = core.state(), 0
        for leaf in state["leaf"]:
            while state["parent"][leaf] != NONE:
                leaf, total = state["parent"][leaf], total + 1
        assert n * math.log2(n) - 1e-9 <= total <= worst_total_depth(n, kappa)
        if order == "one side" and alpha < 1:
            assert total > 0.7 * worst_total_depth(n, kappa)

    @given(st.integers(0, 2**32), st.floats(0.5, 0.95))
    def test_is_bounded_where_shares_are(self, seed, kappa):
        """Of trees in which no child has more than kappa of its parent's leaves."""
        rng = np.random.default_rng(seed)

        def total(n):
            low, high = math.ceil((1 - kappa) * n), math.floor(kappa * n)
            if n == 1:
                return 0.0
            if low > high or low == 0:
                return None  # there is no such split
            left = int(rng.integers(low, high + 1))
            parts = [total(left), total(n - left)]
            return None if None in parts else n + sum(parts)

        entropy = -kappa * math.log(kappa) - (1 - kappa) * math.log(1 - kappa)
        for n in (2, 3, 7, 20, 64):
            found = total(n)
            assert found is None or found <= n * math.log(n) / entropy + 1e-9
