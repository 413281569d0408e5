"""The label tree: against the reference, and what must hold of its trees and its index."""

import numpy as np
import pytest

from labeltree import _core
from labeltree.datasets import make_multiclass
from tests.reference.label_tree import LabelTree as Reference
from tests.tree import (
    NONE,
    RULE,
    as_dicts,
    as_rows,
    as_sets,
    core_bank,
    core_rule,
    learn,
)

K, D = 30, 32


def make_core(
    labels,
    features,
    tree=RULE,
    scorer=RULE,
    *,
    trees=1,
    tree_candidates=10,
    search_budget=4,
    alpha=0.8,
    tree_weight=0.5,
    index_length=0,
    index_candidates=15,
    index_weight=10.0,
    scorers=True,
    exclusive=True,
    seed=0,
    **bank,
):
    core = _core.LabelTree(
        core_bank(features, **bank),
        core_rule(tree),
        core_rule(scorer),
        trees=trees,
        tree_candidates=tree_candidates,
        search_budget=search_budget,
        alpha=alpha,
        tree_weight=tree_weight,
        index_length=index_length,
        index_candidates=index_candidates,
        index_weight=index_weight,
        scorers=scorers,
        exclusive=exclusive,
        seed=seed,
    )
    core.resize(labels)
    return core


def problem(n=200, labels=K, random_state=0, *, sets=False):
    X, y = make_multiclass(
        n, labels, n_features=D, nnz=6, noise=0.3, skew=0.5, random_state=random_state
    )
    if sets:  # a label, sometimes its neighbour, sometimes one of three that many rows have
        rng = np.random.default_rng(random_state)
        y = [
            sorted({int(label), int(label) ^ int(a), int(b) if b < 3 else int(label)})
            for label, a, b in zip(y, rng.integers(0, 2, n), rng.integers(0, 8, n), strict=True)
        ]
        y = [[label for label in labels_ if label < labels] for labels_ in y]
    return X.toarray(), y


def postings(state):
    """The labels of each feature, with their sums."""
    ends = np.cumsum(state["index_size"])[:-1]
    return [
        dict(zip(labels.tolist(), sums.tolist(), strict=True))
        for labels, sums in zip(
            np.split(state["index_label"], ends), np.split(state["index_sum"], ends), strict=True
        )
    ]


def adopt(reference, state):
    """Give a reference the trees of a core that was organized."""
    for number, tree in enumerate(reference.trees):
        arrays = [state[f"tree{number}_{name}"].tolist() for name in ("parent", "slot", "label")]
        for parent, slot, label in zip(*arrays, strict=True):
            above = None if parent == NONE else tree.nodes[parent]
            tree.add_node(above, slot, None if label == NONE else label)


class TestReference:
    def compare(
        self,
        tree=RULE,
        scorer=RULE,
        *,
        dense=True,
        layout="dense",
        scale="none",
        weight=None,
        labels=K,
        passes=1,
        sets=False,
        organize=False,
        negate=False,
        **params,
    ):
        X, y = problem(labels=labels, sets=sets)
        if negate:
            X = X * np.random.default_rng(0).choice([-1, 1], X.shape, p=[0.2, 0.8])
        params["exclusive"] = not sets
        reference = Reference(tree, scorer, scale, **params)
        core = make_core(labels, D, tree, scorer, layout=layout, scale=scale, **params)
        if organize:
            core.organize(as_rows(X, dense=dense), as_sets(y))
            adopt(reference, core.state())
        weights = np.ones(len(y)) if weight is None else weight
        for number in range(passes):
            reference.again = number > 0
            core.begin_pass(again=number > 0)
            expected = [
                reference.learn(x, np.atleast_1d(one).tolist(), float(h))
                for x, one, h in zip(as_dicts(X), y, weights, strict=True)
            ]
            predicted = learn(core, X, y, weight, dense=dense)
            assert predicted.tolist() == [NONE if label is None else label for label in expected]

        self.compare_state(core, reference, labels)
        X, _ = problem(40, labels, random_state=1)
        for k in (3, 100):
            self.compare_predictions(core, reference, X, k, dense)
        return core, reference

    def compare_state(self, core, reference, labels):
        state = core.state()
        for i, tree in enumerate(reference.trees):

            def of(name, i=i):
                return state[f"tree{i}_{name}"].tolist()

            nodes = tree.nodes
            assert of("parent") == [n.parent.number if n.parent else NONE for n in nodes]
            assert of("slot") == [n.slot for n in nodes]
            assert of("label") == [NONE if n.label is None else n.label for n in nodes]
            assert of("leaves") == [n.leaves for n in nodes]
            leaf = [tree.leaf.get(label) for label in range(labels)]
            assert of("leaf") == [n.number if n else NONE for n in leaf]
        assert core.recall == pytest.approx(reference.recall)
        counts = [reference.counts.get(label, 0.0) for label in range(labels)]
        np.testing.assert_allclose(state["counts"], counts, rtol=1e-5)
        if reference.index:
            lists = postings(state)
            kept = reference.index.postings
            assert {i for i, one in enumerate(lists) if one} == kept.keys()
            for i, one in kept.items():
                assert list(lists[i]) == list(one)
                np.testing.assert_allclose(list(lists[i].values()), list(one.values()), rtol=1e-4)
            norms = [reference.index.squared_norm.get(label, 0.0) for label in range(labels)]
            np.testing.assert_allclose(state["index_squared_norm"], norms, rtol=1e-4)

    def compare_predictions(self, core, reference, X, k, dense):
        best, p = core.predict_topk(as_rows(X, dense=dense), k, 1)
        for row, x in enumerate(as_dicts(X)):
            topk = reference.topk(x, k)
            found = len(topk)
            assert (best[row, found:] == NONE).all()
            assert (np.diff(p[row, :found]) <= 0).all()
            # Rounding may swap labels of nearly the same score.
            expected = [q for _, q in topk]
            np.testing.assert_allclose(p[row, :found], expected, rtol=2e-2, atol=1e-3)
            for label, q in zip(best[row].tolist(), p[row].tolist(), strict=True):
                if label != NONE and label in dict(topk):
                    assert q == pytest.approx(dict(topk)[label], rel=2e-2, abs=1e-3)
            if found == len(reference.counts):
                assert set(best[row, :found].tolist()) == {label for label, _ in topk}
            if found == 1 or expected[0] > expected[1] + 2e-3:
                assert best[row, 0] == topk[0][0]

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    @pytest.mark.parametrize("dense", [False, True])
    @pytest.mark.parametrize("index_length", [0, 4])
    def test_decides_alike(self, sets, layout, dense, index_length):
        core, _ = self.compare(
            sets=sets, layout=layout, dense=dense, index_length=index_length, tree_candidates=4
        )
        assert len(core.view()[0]) > K

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("scorers", [False, True])
    @pytest.mark.parametrize(
        ("trees", "index_length"), [(1, 0), (3, 0), (1, 3), (2, 50), (0, 3)], ids=str
    )
    def test_variants(self, sets, scorers, trees, index_length):
        self.compare(
            sets=sets,
            scorers=scorers,
            trees=trees,
            index_length=index_length,
            tree_candidates=3,
            index_candidates=6,
        )

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("search_budget", [0, 1, 2])
    def test_budgets(self, sets, search_budget):
        self.compare(sets=sets, search_budget=search_budget, tree_candidates=2, labels=60)

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("organize", [False, True])
    def test_later_passes_leave_the_example_out_of_the_index(self, sets, organize):
        core, reference = self.compare(
            sets=sets, organize=organize, index_length=40, passes=3, tree_candidates=3
        )
        assert reference.sought < 1000  # counted once

    @pytest.mark.parametrize("sets", [False, True])
    def test_weights(self, sets):
        weight = np.random.default_rng(0).uniform(0.2, 3.0, 200).astype(np.float32)
        weight[::7] = 0
        self.compare(sets=sets, weight=weight, index_length=6, passes=2, tree_candidates=3)

    @pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
    def test_alpha_and_seed(self, alpha):
        self.compare(alpha=alpha, trees=2, seed=7, labels=60)

    def test_scaled_features(self):
        self.compare(scale="max", index_length=5, dense=False)

    def test_values_that_are_not_positive_are_no_words(self):
        self.compare(negate=True, index_length=5, dense=False, passes=2)

    def test_rules_of_their_own(self):
        plain = {**RULE, "update": "sgd", "step": 0.3}
        self.compare(RULE, plain, sets=True, index_length=5)
        self.compare(plain, RULE)

    def test_weights_of_evidence(self):
        self.compare(tree_weight=0.0, index_weight=3.0, index_length=5)
        self.compare(tree_weight=1.0, index_weight=0.0, index_length=5, sets=True)
