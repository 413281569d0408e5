"""What the paper of the Recall Tree claims, of the core."""

import math

import numpy as np
import pytest

from tests.theory.entropy import heaviest_first, tree_of
from tests.tree import NONE, RULE, as_rows, learn
from tests.tree.test_recall_tree import histograms, make_core, problem

RUNS = 120


def constant(delta, sets=1):
    """Return lambda for a confidence of 1 - delta, by Maurer & Pontil (2009), Theorem 4.

    The bound holds for so many sets of candidates at once.
    """
    return 7 / 3 * math.log(2 * sets / delta)


def bounds(shares, candidates, examples, bound, passes=1, **params):
    """Yield the bound of a node that fresh draws have reached, and its true recall."""
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        y = rng.choice(len(shares), size=examples, p=shares)
        core = make_core(
            len(shares), 1, candidates=candidates, bound=bound, max_nodes=1, max_depth=0, **params
        )
        core.begin_pass(again=False)
        for number in range(passes):
            core.begin_pass(again=number > 0)
            learn(core, np.zeros((examples, 1)), y)
        state = core.state()
        top = state["top_label"][: min(candidates, state["top_size"][0])]
        yield core.recall_bounds()[0], shares[top].sum()


class TestBernsteinBound:
    """Proposition 1."""

    @staticmethod
    def spread(most, labels=200):
        """Two labels with `most` of the examples: there is no doubt about the candidates."""
        return np.array([most / 2, most / 2, *[(1 - most) / labels] * labels])

    @pytest.mark.parametrize(("most", "examples"), [(0.6, 500), (0.95, 20)])
    @pytest.mark.parametrize("delta", [0.3, 0.05])
    def test_is_below_the_true_recall_at_its_confidence(self, most, examples, delta):
        shares = self.spread(most)
        found = np.array(list(bounds(shares, 2, examples, constant(delta))))
        assert np.mean(found[:, 0] <= most) >= 1 - delta

    def test_is_needed(self):
        """The recall that was counted is as often above the true one as below."""
        found = np.array(list(bounds(self.spread(0.6), 2, 500, 0.0)))
        assert 0.4 < np.mean(found[:, 0] > 0.6) < 0.6

    def test_comes_near_the_true_recall(self):
        """By no more than it must: its own width, and as much by which the count may be below."""
        gap = constant(0.05)
        width = math.sqrt(gap * 0.6 * 0.4 / 500) + gap / 2000
        found = np.array(list(bounds(self.spread(0.6), 2, 500, gap)))
        assert np.mean(found[:, 0] >= 0.6 - 2 * width) >= 0.95
        assert np.mean(found[:, 0] <= 0.6 - 0.5 * width) >= 0.9

    def test_examples_that_come_again_are_no_more_examples(self):
        delta, shares = 0.05, self.spread(0.6)
        once, again = (
            np.array(list(bounds(shares, 2, 60, constant(delta), passes=12, recount=recount)))
            for recount in (False, True)
        )
        assert np.mean(once[:, 0] <= 0.6) >= 1 - delta
        assert np.mean(again[:, 0] <= 0.6) < 1 - delta

    def test_candidates_that_the_same_examples_chose_need_a_larger_constant(self):
        """Of labels that are all alike, those seen most seem better than they are."""
        labels, F, delta = 1000, 4, 0.3
        shares = np.full(labels, 1 / labels)
        found = np.array(list(bounds(shares, F, 20, constant(delta))))
        chosen = np.array(list(bounds(shares, F, 20, constant(delta, math.comb(labels, F)))))
        small = np.array(list(bounds(shares, F, 20, 0.1)))
        assert np.mean(small[:, 0] <= F / labels) < 0.5  # lambda of a tenth
        assert np.mean(chosen[:, 0] <= F / labels) >= 1 - delta
        assert found[:, 0].mean() > chosen[:, 0].mean()


def coded(n, bits=4, noise=0.3, seed=0):
    """Labels whose features are their bits: a linear router can halve any set of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2**bits, size=n)
    return 2.0 * (y[:, None] >> np.arange(bits) & 1) - 1 + noise * rng.normal(size=(n, bits)), y


def children_of(state):
    left, right = state["left"].tolist(), state["right"].tolist()
    return lambda node: [] if left[node] == NONE else [left[node], right[node]]


def test_error_falls_with_the_splits_where_routers_are_weak_learners():
    """Theorem 2, of the tree that the core grew, its heaviest leaf split first."""
    X, y = coded(3000)
    core = make_core(16, 4, candidates=1)
    learn(core, X, y)
    state = core.state()
    root = tree_of(histograms(state), children_of(state), 0)
    bit = math.log(2)
    compared = 0
    for leaves, inner in heaviest_first(root):
        t = len(inner)
        if not 2 < t <= 10:
            continue
        gamma = min(split.gain for split in inner) / bit
        assert gamma > 0.7  # weak learning, by construction
        left = sum(leaf.weight * leaf.entropy for leaf in leaves) / root.weight / bit
        wrong = sum(leaf.wrong for leaf in leaves) / root.weight
        assert wrong <= left <= root.entropy / bit - gamma * math.log(t + 1)
        compared += 1
    assert compared == 8


def test_path_features_let_scorers_do_what_the_tree_does():
    """The proposition of section 3.2: of features that say next to nothing, scorers know the path.

    A tree learns from features, and its routers then need a ten-thousandth of them; that is
    all that its scorers get.
    """
    X, y = problem(2000)
    still = {**RULE, "min_gradient": 1e9}
    plain = {**RULE, "update": "sgd", "step": 0.05, "min_gradient": 0.0}
    errors = {}
    for path_features in ("path", "node", "none"):
        params = {"candidates": 4, "max_nodes": 12, "path_features": path_features}
        taught = make_core(30, 32, **params)
        for _ in range(3):
            learn(taught, X, y)
        state = taught.state()
        table = state["weights"].reshape(len(state["weights_row"]), -1)
        routers = np.isin(state["weights_row"], state["router"])
        table[routers, :32] *= 1e4  # the constant feature comes after them
        table[~routers] = 0
        core = make_core(30, 32, still, plain, **params)
        core.restore(state)
        for _ in range(5):
            learn(core, 1e-4 * X, y)
        rows, state = as_rows(1e-4 * X), core.state()
        first = np.cumsum([0, *state["top_size"][:-1]])
        leaves = [core.path(rows, row)[-1] for row in range(len(y))]
        by_tree = np.mean(state["top_label"][first[leaves]] != y)
        by_scorers = np.mean(core.predict_topk(rows, 1, 1)[0][:, 0] != y)
        errors[path_features] = by_scorers, by_tree
    for path_features in ("path", "node"):
        by_scorers, by_tree = errors[path_features]
        assert by_tree < 0.6
        assert by_scorers <= by_tree + 0.01
    by_scorers, by_tree = errors["none"]
    assert by_scorers > by_tree + 0.03
