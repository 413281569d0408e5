"""What the paper of LdSM claims: of its objective, of the core, and where it is not true."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reference.ldsm import objective
from tests.theory.entropy import entropy
from tests.tree import as_rows
from tests.tree.test_ldsm import Nodes, fit, make_core

# A split is what its children receive: shares lists (pi_k, [P_1^k, ..., P_M^k]) for labels k.


def marginal(shares):
    return [sum(pi * P[m] for pi, P in shares) for m in range(len(shares[0][1]))]


def J(shares, lambda1, lambda2):  # noqa: N802
    return objective(marginal(shares), shares, lambda1, lambda2)


def impurity(shares):
    """alpha: how much of the labels the children share."""
    M = len(shares[0][1])
    return sum(pi * min(p, sum(P) - p) for pi, P in shares for p in P) / M


def imbalance(shares):
    """beta."""
    P = marginal(shares)
    return max(abs(p - sum(P) / len(P)) for p in P)


def balancing(shares):
    P = marginal(shares)
    return objective(P, [], 0.0, 0.0)


def purity_bound(above, M, lambda1, lambda2):
    """What Lemmas 7 and 4 should say of J, less its balancing term, above its least value."""
    return 2 * above / (M * min(2 * lambda1, lambda2 - lambda1 * (M - 3)))


@st.composite
def splits(draw, M=None, *, pure=False, balanced=False):
    """Splits in which every example goes somewhere."""
    M = M or draw(st.integers(2, 6))
    some = st.lists(st.integers(1, 2**M - 1), min_size=1, max_size=4)  # ways that examples take
    if pure:
        some = st.integers(0, M - 1).map(lambda m: [1 << m])
    shares = []
    for ways in draw(st.lists(some, min_size=1, max_size=5)):
        P = [sum(way >> m & 1 for way in ways) / len(ways) for m in range(M)]
        shares.append((draw(st.floats(0.05, 1.0)), P))
    if balanced:  # each label has others that take the same ways in turn
        shares = [(pi, P[m:] + P[:m]) for pi, P in shares for m in range(M)]
    total = sum(pi for pi, _ in shares)
    return [(pi / total, P) for pi, P in shares]


lambdas = st.tuples(st.floats(0.1, 4.0), st.floats(0.05, 4.0))


class TestObjective:
    @given(st.data(), st.integers(2, 6), st.floats(0.1, 4.0), st.floats(0.05, 4.0))
    @settings(max_examples=60)
    def test_range(self, data, M, lambda1, extra):
        """Lemmas 1 and 2; the largest J asks for a little more than they do."""
        lambda2 = max(lambda1 * (M - 3), (1 - lambda1) * (M - 1), 0.0) + extra
        found = J(data.draw(splits(M)), lambda1, lambda2)
        assert -lambda1 * (M - 1) - 1e-9 <= found <= lambda2 * (M - 1) + 1e-9

    def test_counter_example_to_the_largest_j_as_printed(self):
        """All go to one child, which matters more than that they stay together."""
        shares = [(0.5, [1.0, 0.0]), (0.5, [1.0, 0.0])]
        assert J(shares, 0.25, 0.5) == 0.75 > 0.5 * (2 - 1)

    @given(splits(pure=True), lambdas)
    def test_lower_is_more_balanced_where_splits_are_pure(self, shares, by):
        """Lemma 6."""
        M = len(shares[0][1])
        lambda1, lambda2 = by
        assert impurity(shares) == 0
        least = -lambda1 * (M - 1)
        assert imbalance(shares) <= J(shares, lambda1, lambda2) - least + 1e-9

    @given(splits(), lambdas)
    def test_lower_is_more_balanced_where_purity_stays(self, shares, by):
        """Lemma 3: the other two terms are those of the purity."""
        M, (lambda1, lambda2) = len(shares[0][1]), by
        of_purity = objective([1 / M] * M, shares, lambda1, 0.0)
        of_purity += lambda2 * abs(sum(marginal(shares)) - 1)
        assert imbalance(shares) <= J(shares, lambda1, lambda2) - of_purity + 1e-9

    @settings(max_examples=60)
    @given(st.data(), st.integers(2, 6), st.floats(0.1, 4.0), st.floats(0.05, 4.0))
    def test_lower_is_purer_where_balance_stays(self, data, M, lambda1, extra):
        """Lemmas 7 and 4 with a bound that is true, under the condition of Lemma 2."""
        lambda2 = max(0.0, lambda1 * (M - 3)) + extra
        shares = data.draw(splits(M, balanced=data.draw(st.booleans())))
        above = J(shares, lambda1, lambda2) - balancing(shares) + lambda1 * (M - 1)
        assert impurity(shares) <= purity_bound(above, M, lambda1, lambda2) + 1e-9

    @pytest.mark.parametrize("M", [2, 3, 4])
    def test_that_bound_is_tight(self, M):
        """Each label goes to two children, and all children get as much."""
        lambda1, lambda2 = 1.0, M - 3 + 0.5 if M > 2 else 0.5
        P = [1.0, 1.0, *[0.0] * (M - 2)]
        shares = [(1 / M, P[m:] + P[:m]) for m in range(M)]
        above = J(shares, lambda1, lambda2) + lambda1 * (M - 1)
        assert impurity(shares) == pytest.approx(purity_bound(above, M, lambda1, lambda2))
        assert above > 0

    @pytest.mark.parametrize("M", [2, 3, 4, 6])
    def test_counter_example_to_lemmas_7_and_4_as_printed(self, M):
        """A perfect split has a purity of 0; by lambdas that they allow the bound is negative."""
        lambda1, lambda2 = 1.0, 0.75 * (M - 1)
        assert lambda1 * (M - 1) >= lambda2 >= lambda1 * (M - 1) / 2
        shares = [(1 / M, [float(m == k) for m in range(M)]) for k in range(M)]
        found = J(shares, lambda1, lambda2) - balancing(shares)
        assert (impurity(shares), imbalance(shares)) == (0, pytest.approx(0))
        printed = (found + lambda2) * 2 / (M * (2 * lambda2 - lambda1 * (M - 1)))
        assert printed == pytest.approx(-1 / M)

    def test_the_step_of_their_proofs_that_fails(self):
        """Pairs differ by no more than M - 1 times the sum, not by half of it."""
        for M in (2, 3, 5):
            P = [1.0, *[0.0] * (M - 1)]
            pairs = objective(P, [], 0.0, 0.0)
            assert pairs == (M - 1) * sum(P) > (M - 1) / 2 * sum(P)


def wrong(histogram, r):
    """Return the share of the labels of examples with r labels that their r best leave out."""
    rest = sorted(histogram)[:-r]
    return sum(rest) / r


shares_of_leaf = st.integers(1, 4).flatmap(
    lambda r: st.tuples(
        st.just(r), st.lists(st.floats(0, 1), min_size=r + 1, max_size=10).map(lambda p: [*p])
    )
)


class TestError:
    @given(shares_of_leaf)
    def test_is_no_more_than_the_entropy(self, leaf):
        """Theorems 2 and 3, (67): for r = 1, too, where their proof asks for r >= 1 / ln 2.

        rho are shares of examples, of which each has r labels; they sum to r.
        """
        r, rho = leaf
        for _ in range(100):  # to a sum of r, none above one
            assume(sum(rho) > 1e-3)
            rho = [min(1.0, p * r / sum(rho)) for p in rho]
        assume(abs(sum(rho) - r) < 1e-6)
        G = sum(-p * math.log(p) for p in rho if p > 0)
        assert r * wrong(rho, r) - 1e-6 <= G

    def test_shares_outside_the_best_may_be_above_one_half(self):
        """Against a step of that proof; what follows from it is true all the same."""
        rho, r = [0.75] * 4, 3
        assert sum(rho) == r
        assert sorted(rho)[0] > 0.5

    @pytest.mark.parametrize("r", [1, 2, 5])
    def test_a_split_lowers_the_entropy(self, r):
        """(55) holds with r in place of r^2: of r labels that go together, one in two examples."""
        for lean in (0.01, 0.1, 0.3):
            sides = [[0.5 + s * lean] * r + [0.5 - s * lean] * r for s in (1, -1)]
            rho = [0.5] * (2 * r)
            G = [sum(-p * math.log(p) for p in one) for one in (rho, *sides)]
            gained = G[0] - (G[1] + G[2]) / 2
            pi = [p / r for p in rho]
            gamma = sum(abs(a - b) for a, b in zip(*sides, strict=True)) / r  # |pi_R - pi_L|
            assert sum(pi) == pytest.approx(1)
            assert gained >= r / 8 * gamma**2
            assert (gained >= r**2 / 8 * gamma**2) == (r == 1)

    @given(
        st.lists(
            st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=2, max_size=4
        ).filter(lambda split: all(map(sum, split))),
        st.integers(1, 3),
    )
    def test_strictly_falls_if_other_labels_are_best_in_a_child(self, split, r):
        """Lemmas 5 and 8, where every example goes to one child."""
        counts = np.array(split)
        parent, best = counts.sum(0), np.sort(counts, axis=1)[:, -r:].sum()
        before = np.sort(parent)[-r:].sum()
        kept = np.argsort(-parent, kind="stable")[:r]
        others_are_better = counts[:, kept].sum(1) < np.sort(counts, axis=1)[:, -r:].sum(1)
        assert best >= before
        assert (best > before) == others_are_better.any()

    def test_may_rise_where_examples_go_to_several_children(self):
        """Against Lemmas 5 and 8, whose weak hypothesis holds.

        Of two labels, 2 and 4 rows go to one child, 3 of the second to the other, and the first's
        other 4 to both: by each child's histogram and by their average, the first label is best.
        """
        left, right, both = np.array([[2, 4], [0, 3], [4, 0]])
        reached = [left + both, right + both]
        total = left + right + both
        shares = np.array(reached) / total
        assert total.sum() * 0.2 < (total * np.abs(shares[0] - shares[1])).sum()  # gamma > 0.2
        histograms = [counts / counts.sum() for counts in reached]
        ways = ((left, histograms[0]), (right, histograms[1]), (both, sum(histograms) / 2))
        after = sum(rows[histogram.argmax()] for rows, histogram in ways)
        assert (total.max(), after) == (7, 6)


def sets_apart(groups, r, rows, seed=0):
    """Rows of groups with r labels each, which share none, and features of their own."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), rows)
    rng.shuffle(group)
    X = np.zeros((len(group), groups * 4), np.float32)
    own = group[:, None] * 4 + rng.integers(4, size=(len(group), 2))
    X[np.arange(len(group))[:, None], own] = 1
    return X, [list(range(g * r, g * r + r)) for g in group.tolist()]


@pytest.fixture(scope="module")
def apart():
    X, sets = sets_apart(16, 2, 100)
    core = make_core(32, 64, arity=4, trees=4, max_nodes=21, epochs=5, lambda2=6.0)
    return fit(core, X, sets), X, sets


class TestCore:
    LAMBDA1, LAMBDA2 = 2.0, 6.0

    def splits(self, core):
        """Yield what the children of each node received."""
        nodes = Nodes(core, 4)
        for tree in range(4):
            begin, end = nodes.begin[tree], nodes.begin[tree + 1]
            for node in range(begin, end):
                children = nodes.children(node, begin)
                if children:
                    of = nodes.histograms[node]
                    mass = sum(of.values())
                    yield [
                        (c / mass, [nodes.histograms[m].get(k, 0) / c for m in children])
                        for k, c in of.items()
                    ]

    def test_objective_of_its_splits_is_near_its_minimum(self, apart):
        """And thereby its balance and its purity, as Lemmas 3 and 7 have it."""
        core, _, _ = apart
        found = list(self.splits(core))
        assert len(found) == 4 * 5
        above = [J(shares, self.LAMBDA1, self.LAMBDA2) + 3 * self.LAMBDA1 for shares in found]
        assert np.median(above) < 0.5
        for shares, over in zip(found, above, strict=True):
            assert imbalance(shares) <= over + 1e-9
            assert impurity(shares) <= purity_bound(over, 4, self.LAMBDA1, self.LAMBDA2) + 1e-9

    def test_no_error_is_left_where_splits_are_pure_and_balanced(self, apart):
        """Theorem 1: after log_M(K / r) levels, here two."""
        core, X, sets = apart
        best, _ = core.predict_topk(as_rows(X), 2, 1)
        missed = [len({*y} - {*labels}) for y, labels in zip(sets, best.tolist(), strict=True)]
        assert sum(missed) == 0

    def test_error_falls_with_the_nodes(self):
        """Lemma 5, of the core's trees on their training rows, by a tenth each time."""
        X, sets = sets_apart(16, 2, 100)
        errors = []
        for max_nodes in (1, 5, 13, 21):
            core = make_core(32, 64, arity=4, trees=1, max_nodes=max_nodes, lambda2=6.0)
            fit(core, X, sets)
            best, _ = core.predict_topk(as_rows(X), 2, 1)
            errors.append(
                np.mean([len({*y} - {*b}) / 2 for y, b in zip(sets, best.tolist(), strict=True)])
            )
        assert errors[0] > 0.9
        assert (np.diff(errors) < -0.1).all()

    def test_entropy_bounds_the_error_of_its_leaves(self, apart):
        """(67), of leaves that examples reach alone."""
        core, _, _ = apart
        nodes = Nodes(core, 4)
        leaves = np.flatnonzero(nodes.state["children"] == 0)
        checked = 0
        for leaf in leaves:
            weight = nodes.state["weight"][leaf]
            if weight == 0:
                continue
            rho = [c / weight for c in nodes.histograms[leaf].values()]
            assert sum(rho) == pytest.approx(2)  # r
            assert 2 * (entropy(rho) + math.log(1 / 2)) >= 2 * wrong(rho, 2) - 1e-9
            checked += 1
        assert checked > 40
