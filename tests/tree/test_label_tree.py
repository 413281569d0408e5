"""The label tree: against the reference, and what must hold of its trees and its index."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree import _core
from labeltree.datasets import make_multiclass
from labeltree.validation import as_matrix
from tests.reference.label_tree import LabelTree as Reference
from tests.tree import (
    NONE,
    RULE,
    as_dicts,
    as_rows,
    as_sets,
    assert_same_state,
    core_bank,
    core_rule,
    learn,
)

K, D = 30, 32
DUAL = {**RULE, "update": "dual", "C": 0.5}


def make_core(
    labels,
    features,
    tree=RULE,
    scorer=RULE,
    *,
    trees=1,
    tree_candidates=10,
    beam=10,
    improbable=0.0,
    alpha=0.8,
    tree_weight=0.5,
    index_length=0,
    index_candidates=15,
    index_weight=10.0,
    hopeless=np.inf,
    scorers=True,
    exclusive=True,
    slope=1.0,
    shift=0.0,
    calibrated=False,
    replay=0,
    regrow=False,
    stamps=False,
    seed=0,
    **bank,
):
    core = _core.LabelTree(
        core_bank(features, **bank),
        core_rule(tree),
        core_rule(scorer),
        trees=trees,
        tree_candidates=tree_candidates,
        beam=beam,
        improbable=improbable,
        alpha=alpha,
        tree_weight=tree_weight,
        index_length=index_length,
        index_candidates=index_candidates,
        index_weight=index_weight,
        hopeless=hopeless,
        scorers=scorers,
        exclusive=exclusive,
        slope=slope,
        shift=shift,
        calibrated=calibrated,
        replay=replay,
        regrow=regrow,
        stamps=stamps,
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
    """The labels of each feature that has some, with their sums."""
    labels, sums = state["index_label"].tolist(), state["index_sum"].tolist()
    ends = np.cumsum(state["index_size"]).tolist()
    return {
        slot: dict(zip(labels[begin:end], sums[begin:end], strict=True))
        for slot, begin, end in zip(state["index_slot"].tolist(), [0, *ends], ends, strict=False)
    }


def trees_of(core):
    """Return the parent, slot, label, and number of leaves of every node, tree by tree."""
    state = core.state()
    parents, labels, _, leaves = core.view()
    found, first = [], 0
    while f"tree{len(found)}_label" in state:
        of = {name: state[f"tree{len(found)}_{name}"] for name in ("label", "place", "child")}
        part = slice(first, first + len(of["label"]))
        np.testing.assert_array_equal(labels[part], of["label"])
        slots = np.zeros(len(of["label"]), dtype=int)
        for place in of["place"][of["place"] != NONE]:
            for slot, child in enumerate(of["child"][8 * place : 8 * place + 8]):
                if child != NONE:
                    slots[child] = slot
        parent = [NONE if p == NONE else p - first for p in parents[part].tolist()]
        found.append((parent, slots.tolist(), of["label"].tolist(), leaves[part].tolist()))
        first = part.stop
    return found


def adopt(reference, core):
    """Give a reference the trees of a core that was organized."""
    for tree, arrays in zip(reference.trees, trees_of(core), strict=True):
        for parent, slot, label, _ in zip(*arrays, strict=True):
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
        keep=False,
        spread=1,
        n=200,
        **params,
    ):
        X, y = problem(n, labels, sets=sets)
        y = [np.atleast_1d(one) * spread for one in y]
        labels *= spread
        if negate:
            X = X * np.random.default_rng(0).choice([-1, 1], X.shape, p=[0.2, 0.8])
        params["exclusive"] = not sets
        reference = Reference(tree, scorer, scale, dense_size=D if dense else 0, **params)
        core = make_core(labels, D, tree, scorer, layout=layout, scale=scale, **params)
        if organize:
            core.organize(as_rows(X, dense=dense), as_sets(y))
            adopt(reference, core)
        weights = np.ones(len(y)) if weight is None else weight
        for number in range(passes):
            reference.again = number
            reference.more = more = number + 1 < passes
            core.begin_pass(again=number > 0, rows=len(y) if keep else 0, more=more)
            expected = [
                reference.learn(x, np.atleast_1d(one).tolist(), float(h), row)
                for row, (x, one, h) in enumerate(zip(as_dicts(X), y, weights, strict=True))
            ]
            predicted = learn(core, X, y, weight, dense=dense)
            assert predicted.tolist() == [NONE if label is None else label for label in expected]

        self.compare_state(core, reference, labels)
        X, _ = problem(40, labels // spread, random_state=1)
        for k in (3, 100):
            self.compare_predictions(core, reference, X[:10], k, dense)
        return core, reference

    @pytest.mark.parametrize("passes", [1, 2, 4])
    @pytest.mark.parametrize(
        "how",
        [
            {"sets": True, "dense": False, "layout": "lines"},
            {"sets": True, "dense": False, "layout": "lines", "keep": True, "index_length": 20},
            {"sets": True, "dense": False, "layout": "hashed", "organize": True},
            {"sets": False, "trees": 2, "scale": "max"},
            {"sets": True, "scale": "unit", "weight": np.linspace(0, 2, 120)},
        ],
    )
    def test_dual_update(self, passes, how):
        self.compare(DUAL, DUAL, passes=passes, slope=3.0, shift=0.5, tree_weight=0.1, n=120, **how)

    @pytest.mark.parametrize(
        "how",
        [
            {},
            {"sets": True, "scorer": {**RULE, "update": "sgd"}},
            {"index_length": 20, "hopeless": 2.0, "passes": 2, "labels": 60},
            {
                "sets": True,
                "tree": DUAL,
                "scorer": DUAL,
                "slope": 3.0,
                "shift": 0.5,
                "passes": 4,
                "n": 450,
            },
            {"sets": True, "tree": DUAL, "scorer": DUAL, "passes": 2, "keep": True, "n": 450},
            {"weight": np.linspace(0, 2, 300), "n": 300, "labels": 8},
        ],
        ids=str,
    )
    def test_probabilities_are_learned(self, how):
        core, reference = self.compare(calibrated=True, **how)
        state = core.state()
        for name in ("best", "others") if reference.exclusive else ("others",):
            expected = getattr(reference.confidence, name)
            assert state[f"{name}_examples"] == expected.examples > 5
            assert abs(expected.curve - [1, 1, 0]).max() > 0.05
            np.testing.assert_allclose(state[f"{name}_curve"], expected.curve, rtol=0.03, atol=0.03)

    @pytest.mark.parametrize("replay", [10**6, 35_000])
    @pytest.mark.parametrize(
        "how",
        [
            {"trees": 2},
            {"index_length": 20, "dense": False},
            {"sets": True, "dense": False, "scale": "max"},
            {"sets": True, "tree": DUAL, "scorer": DUAL, "slope": 3.0, "layout": "lines"},
            {"weight": np.linspace(0, 2, 120), "calibrated": True},
            {"scorers": False, "sets": True},
        ],
        ids=str,
    )
    def test_rows_of_the_past_are_learned_again(self, replay, how):
        core, reference = self.compare(n=120, replay=replay, **how)
        state = core.state()
        rows = reference.reservoir.rows
        assert state["replay_number"].tolist() == [row[0] for row in rows]
        assert len(rows) == (120 if replay == 10**6 and "weight" not in how else len(rows)) > 5
        pairs = sum(len(row[4]) for row in rows)
        assert len(state["replay_alpha"]) == pairs
        assert (pairs > 0) == ("tree" in how)

    def test_without_replay_nothing_is_kept(self):
        core, _ = self.compare(n=50)
        assert not [name for name in core.state() if name.startswith("replay")]

    def compare_state(self, core, reference, labels):
        state = core.state()
        for tree, (parent, slot, label, leaves) in zip(
            reference.trees, trees_of(core), strict=True
        ):
            nodes = tree.nodes
            assert parent == [n.parent.number if n.parent else NONE for n in nodes]
            assert slot == [n.slot for n in nodes]
            assert label == [NONE if n.label is None else n.label for n in nodes]
            assert leaves == [n.leaves for n in nodes]
        assert core.recall == pytest.approx(reference.recall)
        counts = [reference.counts.get(label, 0.0) for label in range(labels)]
        np.testing.assert_allclose(state["counts"], counts, rtol=1e-5)
        if reference.index:
            lists = postings(state)
            kept = reference.index.postings
            assert lists.keys() == kept.keys()
            for i, one in kept.items():
                assert list(lists[i]) == list(one)
                np.testing.assert_allclose(list(lists[i].values()), list(one.values()), rtol=1e-4)
            norms = [reference.index.squared_norm.get(label, 0.0) for label in range(labels)]
            np.testing.assert_allclose(state["index_squared_norm"], norms, rtol=1e-4)

    def compare_predictions(self, core, reference, X, k, dense, rtol=5e-3):
        best, p = core.predict_topk(as_rows(X, dense=dense), k, 1)
        for row, x in enumerate(as_dicts(X)):
            topk = reference.topk(x, k)
            found = len(topk)
            assert (best[row, found:] == NONE).all()
            assert (np.diff(p[row, :found]) <= 0).all()
            # The core rounds to 32 bits at each of some hundred updates, and so may swap labels
            # of nearly the same score.
            expected = [q for _, q in topk]
            np.testing.assert_allclose(p[row, :found], expected, rtol=rtol, atol=2e-4)
            for label, q in zip(best[row].tolist(), p[row].tolist(), strict=True):
                if label != NONE and label in dict(topk):
                    assert q == pytest.approx(dict(topk)[label], rel=rtol, abs=2e-4)
            if found == len(reference.counts):
                assert set(best[row, :found].tolist()) == {label for label, _ in topk}
            if found == 1 or expected[0] > expected[1] + 5e-4:
                assert best[row, 0] == topk[0][0]

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("layout", ["dense", "lines", "hashed"])
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
    @pytest.mark.parametrize("beam", [1, 2, 4, 100])
    def test_beams(self, sets, beam):
        self.compare(sets=sets, beam=beam, tree_candidates=2, labels=60)

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("improbable", [0.03, 0.3, 1.0])
    @pytest.mark.parametrize("beam", [2, 10])
    def test_improbable_nodes(self, sets, improbable, beam):
        self.compare(sets=sets, improbable=improbable, beam=beam, labels=100, trees=2)

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("hopeless", [0.0, 0.5, 2.0])
    @pytest.mark.parametrize("index_length", [0, 8])
    def test_hopeless_candidates(self, sets, hopeless, index_length):
        self.compare(sets=sets, hopeless=hopeless, index_length=index_length, passes=2)

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize(
        ("labels", "index_length"), [(300, 1), (300, 2), (300, 4), (100, 4)], ids=str
    )
    def test_indexes_of_few_and_of_many_labels(self, sets, labels, index_length):
        """Short lists beside many labels, long lists beside few, and rows between them."""
        self.compare(
            sets=sets,
            labels=labels,
            index_length=index_length,
            index_candidates=3,
            tree_candidates=2,
            passes=2,
        )

    @pytest.mark.parametrize("sets", [False, True])
    def test_an_index_of_thousands_of_labels(self, sets):
        self.compare(sets=sets, labels=60, spread=150, index_length=256, index_candidates=3)

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("organize", [False, True])
    @pytest.mark.parametrize("keep", [False, True])
    def test_later_passes_leave_the_example_out_of_the_index(self, sets, organize, keep):
        _, reference = self.compare(
            sets=sets, organize=organize, index_length=40, passes=3, tree_candidates=3, keep=keep
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

    @pytest.mark.parametrize("n", [130, 200])  # a row of the 130 has no positive value at all
    def test_values_that_are_not_positive_are_no_words(self, n):
        self.compare(n=n, negate=True, index_length=5, dense=False, passes=2)

    def test_rules_of_their_own(self):
        plain = {**RULE, "update": "sgd", "step": 0.3}
        self.compare(RULE, plain, sets=True, index_length=5)
        self.compare(plain, RULE)

    def test_weights_of_evidence(self):
        self.compare(tree_weight=0.0, index_weight=3.0, index_length=5)
        self.compare(tree_weight=1.0, index_weight=0.0, index_length=5, sets=True)


def depth(parent, node):
    return 0 if parent[node] == NONE else 1 + depth(parent, parent[node])


def assert_sound(core, learned):
    """Every label learned has one leaf in each tree, and leaves add up."""
    for parent, _, label, leaves in trees_of(core):
        found = [one for one in label if one != NONE]
        assert len(set(found)) == len(found)
        assert set(learned) <= set(found)
        below = [int(one != NONE) for one in label]
        for node in range(len(parent) - 1, 0, -1):
            below[parent[node]] += below[node]
        assert below == leaves
    state = core.state()
    lists = postings(state)
    assert sum(len(one) for one in lists.values()) == len(state["index_label"])


@st.composite
def streams(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = draw(st.integers(1, 150))
    n = draw(st.integers(1, 200))
    exclusive = draw(st.booleans())
    y = [sorted(set(rng.integers(0, labels, 1 if exclusive else 3).tolist())) for _ in range(n)]
    return np.abs(rng.normal(size=(n, 6))), y, labels, exclusive


class TestProperties:
    @given(streams(), st.booleans())
    @settings(max_examples=20)
    def test_trees_are_sound(self, stream, organize):
        X, y, labels, exclusive = stream
        half = (len(y) + 1) // 2
        core = make_core(labels, 6, trees=2, index_length=3, exclusive=exclusive)
        if organize:
            core.organize(as_rows(X[:half]), as_sets(y[:half]))
            known = [label for one in y[:half] for label in one]
            assert_sound(core, known)
            parent = trees_of(core)[0][0]
            deepest = max(depth(parent, node) for node in range(len(parent)))
            assert deepest <= np.ceil(np.log(len(set(known))) / np.log(8) - 1e-9) + 1
        learn(core, X, y)
        learned = {label for one in y for label in one}
        assert_sound(core, learned)
        assert core.state()["index_size"].max(initial=0) <= 3
        found, p = core.predict_topk(as_rows(X[:5]), labels, 1)
        assert set(found.ravel().tolist()) <= learned | {NONE}
        p = np.where(found == NONE, 0, p)
        assert ((p >= 0) & (p <= 1)).all()
        if exclusive and len(learned) == (found[0] != NONE).sum():
            np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-4)
            assert (core.predict_topk(as_rows(X[:5]), 1, 1)[1] <= 1 + 1e-6).all()

    @given(streams(), st.booleans(), st.integers(1, 12))
    @settings(max_examples=20)
    def test_a_wide_beam_finds_the_most_probable_labels_in_order(self, stream, organize, n):
        X, y, labels, exclusive = stream
        core = make_core(
            labels,
            6,
            scorers=False,
            tree_weight=1.0,
            beam=100,
            tree_candidates=n,
            exclusive=exclusive,
        )
        if organize:
            core.organize(as_rows(X), as_sets(y))
        learn(core, X, y)
        learned = sorted({label for one in y for label in one})
        rows = np.repeat(X[:1], len(learned), axis=0)
        of_tree = core.label_probability(as_rows(rows), np.array(learned, np.uint32))
        if exclusive:
            assert of_tree.sum() == pytest.approx(1.0, rel=1e-4)
        found, p = core.predict_topk(as_rows(X[:1]), n, 1)
        best = np.sort(of_tree)[::-1][: min(n, len(learned))]
        assert (found[0] != NONE).sum() == len(best)
        places = [learned.index(label) for label in found[0, : len(best)].tolist()]
        # Log-odds beyond 16 count as 16, so beyond it the order is that of the labels.
        np.testing.assert_allclose(of_tree[places], best, rtol=1e-4, atol=2e-7)
        if not exclusive:
            np.testing.assert_allclose(p[0, : len(best)], best, rtol=1e-3, atol=2e-7)

    def test_labels_organized_but_not_learned_are_not_predicted(self):
        X, y = problem()
        core = make_core(K, D)
        core.organize(as_rows(X), as_sets(y))
        learn(core, X[:5], y[:5])
        found, _ = core.predict_topk(as_rows(X), K, 1)
        assert set(found.ravel().tolist()) - {NONE} <= set(y[:5].tolist())


PARAMS = {"trees": 2, "index_length": 4, "tree_candidates": 3}


class TestState:
    @pytest.fixture
    def core(self):
        core = make_core(K, D, **PARAMS)
        learn(core, *problem())
        return core

    def test_restored_continues_bit_for_bit(self, core):
        other = make_core(K, D, **PARAMS)
        other.restore(core.state())
        X, y = problem(random_state=3)
        np.testing.assert_array_equal(learn(core, X, y), learn(other, X, y))
        assert_same_state(core, other)

    @pytest.mark.parametrize(
        "name",
        [
            *(f"tree1_{one}" for one in ("label", "place", "child", "block")),
            *("scorer", "index_slot", "index_label", "index_sum", "index_squared_norm"),
        ],
    )
    def test_wrong_length(self, core, name):
        state = core.state()
        with pytest.raises(ValueError, match="differ in length"):
            make_core(K, D, **PARAMS).restore({**state, name: state[name][:-1]})

    @pytest.mark.parametrize(
        ("name", "place", "value", "message"),
        [
            ("tree0_child", 0, 10**6, "out of place"),
            ("tree0_child", -8, 0, "out of place"),
            ("tree0_child", 0, 2**32 - 1, "without a parent"),
            ("tree0_label", 0, 0, "two leaves|without a parent"),
            ("tree0_label", -1, K, "label that does not exist"),
            ("tree0_block", 0, 10**6, "model that does not exist"),
            ("tree0_place", 0, 10**6, "in one place"),
            ("tree0_place", 0, 1, "in one place|out of place"),
            ("scorer", 0, 10**6, "scorer that is missing"),
            ("index_label", 0, K, "label that does not exist"),
            ("index_size", 0, 10**6, "too short"),
            ("index_slot", 0, D, "feature that does not exist"),
            ("index_slot", 0, 1, "has it twice"),
            ("found", 0, 1e9, "more labels than it sought"),
        ],
    )
    def test_entry_out_of_range(self, core, name, place, value, message):
        state = core.state()
        state[name][place] = value
        with pytest.raises(ValueError, match=message):
            make_core(K, D, **PARAMS).restore(state)

    def test_lists_longer_than_the_index_keeps(self, core):
        with pytest.raises(ValueError, match="list that is too long"):
            make_core(K, D, **{**PARAMS, "index_length": 3}).restore(core.state())


def test_no_labels_may_be_asked_for():
    X, y = problem()
    core = make_core(K, D)
    learn(core, X, y)
    assert core.predict_topk(as_rows(X), 0, 1)[0].shape == (200, 0)


def test_a_row_is_predicted_alike_as_an_array_and_as_csr():
    X, y = problem()
    core = make_core(K, D, index_length=4)
    learn(core, X, y, dense=False)
    a, b = (core.predict_topk(as_rows(X, dense=dense), 3, 1)[1] for dense in (False, True))
    np.testing.assert_allclose(a, b, rtol=1e-3)


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("index_length", [0, 40])
def test_kept_candidates_are_those_that_would_be_found_again(sets, index_length):
    X, y = problem(sets=sets)
    states = []
    for rows in (0, len(y), len(y) // 2):
        core = make_core(K, D, index_length=index_length, tree_candidates=3, exclusive=not sets)
        for number in range(4):
            core.begin_pass(again=number > 0, rows=rows, more=number < 3)
            learn(core, X, y)
        core.begin_pass(again=False)
        states.append(core.state())
    for state in states[1:]:
        for name, array in states[0].items():
            np.testing.assert_array_equal(state[name], array, name)


@pytest.mark.parametrize("labels", [1, 2, 8, 9, 100, 513, 1193])
def test_room_is_made_for_the_nodes_of_an_organized_tree(labels):
    core = make_core(labels, labels)
    X, y = np.eye(labels, dtype=np.float32), np.arange(labels)
    core.organize(as_rows(X), as_sets(y))
    inner = np.sum(core.state()["tree0_label"] == NONE)
    assert _core.LabelTree.inner_nodes(labels) == inner


@pytest.mark.parametrize(("labels", "inner"), [(9, 3), (64, 9), (159, 25), (1000, 147)])
def test_nodes_far_from_the_root_are_nearly_full(labels, inner):
    assert _core.LabelTree.inner_nodes(labels) == inner
    core = make_core(labels, labels)
    core.organize(as_rows(np.eye(labels, dtype=np.float32)), as_sets(np.arange(labels)))
    child, label = core.state()["tree0_child"].reshape(-1, 8), core.state()["tree0_label"]
    lowest = (label[np.where(child == NONE, 0, child)] != NONE).any(axis=1)
    assert (child[lowest] != NONE).sum(axis=1).min() >= 4


def test_a_learned_label_is_predicted_where_the_search_finds_none():
    """An organized tree has leaves that were not learned; a narrow beam may see no others."""
    X, y = np.eye(100, dtype=np.float32), np.arange(100)
    core = make_core(100, 100, beam=1, tree_candidates=1)
    core.organize(as_rows(X), as_sets(y))
    learn(core, X[:1], y[:1])
    labels, p = core.predict_topk(as_rows(X), 1, 1)
    assert (labels == 0).all()
    assert ((p > 0) & (p <= 1)).all()


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("k", [1, 9, 40])
def test_as_many_labels_as_are_asked_for(exclusive, k):
    """However little is left of a search, and however far behind the candidates are."""
    X, y = problem(labels=60)
    core = make_core(60, D, improbable=1.0, hopeless=0.0, tree_candidates=1, exclusive=exclusive)
    learn(core, X, y)
    found, _ = core.predict_topk(as_rows(X[:20]), k, 1)
    assert (found != NONE).all()


def test_an_index_of_many_slots_is_that_of_few():
    """Slots with a list are hashed until they are an eighth of 2^17, and then in a table."""
    few, width = 20_000, 2**17
    rng = np.random.default_rng(0)
    order = np.sort(rng.choice(width, few, replace=False))
    cores = {
        features: make_core(K, features, layout="hashed", bits=20, index_length=5)
        for features in (few, width)
    }
    for n, lists in ((600, (7000, 2**14)), (1500, (2**14, few))):
        columns = (rng.integers(0, few // 20, (n, 20)) + np.arange(0, few, few // 20)).ravel()
        y = as_sets(rng.integers(0, K, n))
        for (features, core), indices in zip(cores.items(), (columns, order[columns]), strict=True):
            X = sp.csr_matrix(
                (np.ones(20 * n, np.float32), indices, np.arange(0, 20 * n + 1, 20)), (n, features)
            )
            core.learn(as_matrix(X), y, None, np.arange(n), 1, np.zeros(n, np.uint32))
        narrow, wide = (postings(core.state()) for core in cores.values())
        assert lists[0] < len(narrow) < lists[1]
        assert wide == {int(order[slot]): labels for slot, labels in narrow.items()}
        restored = make_core(K, width, layout="hashed", bits=20, index_length=5)
        restored.restore(cores[width].state())
        assert_same_state(restored, cores[width])
        for core in cores.values():
            core.forget(np.array([3, 7], np.uint32), True, lambda: None)  # ids stay as they are
        narrow, wide = (postings(core.state()) for core in cores.values())
        assert wide == {int(order[slot]): labels for slot, labels in narrow.items()}
