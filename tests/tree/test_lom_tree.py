import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labeltree import _core
from labeltree.datasets import make_multiclass
from labeltree.validation import as_matrix
from tests.reference.lom_tree import J, LomTree, balance, purity

NONE = 2**32 - 1  # no node, and no label
FEATURES = 24
ADAPTIVE = {"update": "adaptive", "scale": "max", "step": 0.5}


def make_core(
    *,
    max_nodes,
    swap_resistance,
    labels,
    loss="logistic",
    update="adaptive",
    scale="max",
    step=0.5,
    power=0.0,
    layout="dense",
    features=FEATURES,
    bits=22,
):
    params = _core.BankParams(
        scale=_core.Scale[scale], layout=_core.Layout[layout], bits=bits, features=features
    )
    rule = _core.Rule(
        loss=_core.Loss[loss],
        update=_core.Update[update],
        step=step,
        power=power,
        min_gradient=1e-3,
    )
    core = _core.LomTree(params, rule, max_nodes=max_nodes, swap_resistance=swap_resistance)
    core.resize(labels)
    return core


def learn(core, X, y, weight=None):
    """Learn the rows in order; return the labels predicted just before."""
    sets = _core.LabelSets(np.arange(len(y) + 1), np.asarray(y, np.uint32))
    predicted = np.empty(len(y), np.uint32)
    core.learn(as_matrix(X), sets, weight, np.arange(len(y)), 1, predicted)
    return predicted


def make_stream(n, k, seed=2):
    """Rows whose labels drift: each tenth of them has three of the k labels."""
    X, y = make_multiclass(4 * n, k, n_features=FEATURES, nnz=5, noise=0.4, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(np.isin(y, rng.choice(k, 3))), n // 10) for _ in range(10)]
    )
    return X[rows].toarray().astype(np.float32), y[rows]


def as_dicts(X):
    return [{i: float(v) for i, v in enumerate(x) if v} for x in X]


def as_ids(labels):
    return [NONE if label is None else label for label in labels]


def assert_same_tree(core, reference):
    state = core.state()
    assert state["root"][0] == reference.r
    assert state["inner"][0] == reference.t
    for name in ("parent", "left", "right"):
        expected = as_ids(getattr(node, name) for node in reference.nodes)
        np.testing.assert_array_equal(state[name], expected, name)
    np.testing.assert_array_equal(state["recycled"], reference.recycled)
    np.testing.assert_allclose(state["smallest"], [node.C for node in reference.nodes])


class TestDecidesAsTheReference:
    def check(self, options, *, n=500, k=8, dense=True, weight=None, layout="dense", noise=False):
        X, y = make_stream(n, k)
        if noise:
            y = np.random.default_rng(0).integers(k, size=n)
        core = make_core(**options, labels=k, layout=layout)
        reference = LomTree(**options, min_gradient=1e-3)
        rows = X if dense else sp.csr_matrix(X)
        weights = np.ones(n) if weight is None else weight.astype(float)
        for begin in range(0, n, 100):  # so that a difference shows where it begins
            part = slice(begin, begin + 100)
            expected = [
                reference.learn(*example)
                for example in zip(as_dicts(X[part]), y[part].tolist(), weights[part], strict=True)
            ]
            predicted = learn(core, rows[part], y[part], None if weight is None else weight[part])
            np.testing.assert_array_equal(predicted, as_ids(expected))
            assert_same_tree(core, reference)
        test, _ = make_stream(200, k, seed=1)
        labels, shares = core.predict_topk(as_matrix(test if dense else sp.csr_matrix(test)), 3, 1)
        for i, x in enumerate(as_dicts(test)):
            ranking = reference.ranking(x)[:3]
            np.testing.assert_array_equal(labels[i], ranking + [NONE] * (3 - len(ranking)))
        assert (shares[:, 1:] <= shares[:, :-1]).all()
        assert (shares[:, 0] > 0).all()
        # If not, rounding could have changed what the core decides.
        assert reference.closest > 2e-5
        return reference

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    @pytest.mark.parametrize("dense", [False, True])
    @pytest.mark.parametrize(
        ("max_nodes", "swap_resistance"), [(1, 1.0), (2, 1.0), (4, 1.0), (6, 4.0)]
    )
    def test_with_few_nodes(self, loss, layout, dense, max_nodes, swap_resistance):
        options = {"loss": loss, "max_nodes": max_nodes, "swap_resistance": swap_resistance}
        reference = self.check({**options, **ADAPTIVE}, layout=layout, dense=dense)
        assert sum(reference.recycled) >= 2
        if max_nodes == 1 or (max_nodes == 2 and loss == "squared"):
            assert reference.root_swaps >= 4

    @pytest.mark.parametrize(
        "rule",
        [
            {"update": "adaptive", "scale": "none", "step": 0.5},
            {"update": "sgd", "scale": "none", "step": 0.3, "power": 0.25},
        ],
    )
    def test_by_other_rules(self, rule):
        options = {"loss": "logistic", "max_nodes": 5, "swap_resistance": 2.0, **rule}
        assert max(self.check(options).recycled) >= 2

    def test_with_weights(self):
        weight = np.random.default_rng(0).choice([0.5, 1.0, 1.75], 500).astype(np.float32)
        options = {"loss": "logistic", "max_nodes": 4, "swap_resistance": 1.0, **ADAPTIVE}
        assert max(self.check(options, weight=weight).recycled) >= 2

    def test_with_nodes_to_spare(self):
        options = {"loss": "logistic", "max_nodes": 100, "swap_resistance": 4.0, **ADAPTIVE}
        reference = self.check(options)
        assert len(reference.nodes) > 20
        assert max(reference.recycled) == 0

    def test_with_as_many_nodes_as_the_labels_allow(self):
        options = {"loss": "squared", "max_nodes": 0, "swap_resistance": 1.0, **ADAPTIVE}
        reference = self.check(options, n=800, k=3, noise=True)
        assert reference.t == 16 * 3
        assert max(reference.recycled) >= 1


def test_a_fresh_leaf_predicts_what_its_parent_would():
    core = make_core(max_nodes=1, swap_resistance=4.0, labels=3)
    X = np.eye(3, FEATURES, dtype=np.float32)
    learn(core, X[[0, 0, 1]], [2, 2, 1])
    state = core.state()
    fresh = np.flatnonzero((state["total"] == 0) & (state["left"] == NONE))
    assert len(fresh) == 1
    assert state["top_label"].tolist() == [2, 1, 2, 1, 1]  # the root, the fresh leaf, the other
    labels, shares = core.predict_topk(as_matrix(-X), 2, 1)
    assert labels[1].tolist() == [2, 1]
    np.testing.assert_allclose(shares[1], [2 / 3, 1 / 3], rtol=1e-6)


def test_recycled_nodes_start_from_zero_weights():
    core = make_core(max_nodes=1, swap_resistance=1.0, labels=8)
    X, y = make_stream(500, 8)
    swaps = 0
    for i in range(len(y)):
        before = core.state()
        learn(core, X[i : i + 1], y[i : i + 1])
        state = core.state()
        if state["recycled"].sum() == before["recycled"].sum():
            continue
        swaps += 1
        # In the dense layout a row of the table is a model; rows of zeros are left out.
        assert before["weights_row"].tolist() == before["regressor"][before["root"]].tolist()
        assert state["weights_row"].tolist() == state["regressor"][state["root"]].tolist()
        assert state["root"] != before["root"]
    assert swaps >= 2


def test_three_levels_of_a_path_share_their_lines():
    core = make_core(max_nodes=0, swap_resistance=4.0, labels=40, layout="hashed")
    learn(core, *make_stream(3000, 40))
    state = core.state()
    assert state["inner"] > 20
    assert not state["recycled"].any()
    for v in np.flatnonzero(state["left"] != NONE):
        model = state["regressor"][v]
        for side, child in enumerate((state["left"][v], state["right"][v])):
            below = state["regressor"][child]
            if below != NONE:
                place = model % 8
                assert below == model + place + side if place < 4 else below % 8 == 1


# Streams made to hurt: bursts of a few labels, whose rows tell them apart, or do not, or mislead.
bursts = st.lists(
    st.tuples(
        st.lists(st.integers(0, 7), min_size=1, max_size=4),
        st.sampled_from(["own", "alike", "random", "none"]),
        st.integers(1, 120),
        st.integers(0, 2**16),
    ),
    min_size=1,
    max_size=8,
)


def burst_rows(labels, kind, n, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(labels, n)
    X = np.zeros((n, FEATURES), np.float32)
    if kind == "own":
        X[np.arange(n), y] = 1.0
    elif kind == "alike":
        X[:, seed % FEATURES] = 1.0
    elif kind == "random":
        X = rng.normal(size=X.shape).astype(np.float32)
    return X, y


def assert_sound(state, max_nodes):
    parent, left, right = (state[name].tolist() for name in ("parent", "left", "right"))
    smallest, total = state["smallest"], state["total"]
    root = state["root"][0]
    assert parent[root] == NONE
    reached, open_nodes = [], [root]
    while open_nodes:
        v = open_nodes.pop()
        reached.append(v)
        assert len(reached) <= len(parent)
        assert (left[v] == NONE) == (right[v] == NONE)
        if left[v] == NONE:
            continue
        children = [left[v], right[v]]
        assert [parent[child] for child in children] == [v, v]
        assert smallest[v] == smallest[children].min()
        assert total[children].sum() <= total[v]
        open_nodes += children
    assert sorted(reached) == list(range(len(parent)))
    inner = sum(child != NONE for child in left)
    assert inner == state["inner"][0] <= max_nodes
    regressors = [model for model in state["regressor"].tolist() if model != NONE]
    assert len(set(regressors)) == len(regressors) == inner


@settings(max_examples=200)
@example(  # a regressor passes to a node whose place below it is another's
    [
        ([1], "own", 7, 0),
        ([1, 0, 2, 3], "alike", 42, 261),
        ([0], "own", 1, 0),
        ([0, 0, 0, 1], "alike", 18, 264),
        ([0, 1, 0, 0], "alike", 42, 0),
    ],
    4,
    4.0,
    "hashed",
)
@given(
    bursts,
    st.integers(1, 5),
    st.sampled_from([4.0, 5.5, 16.0]),
    st.sampled_from(["dense", "hashed"]),
)
def test_the_tree_stays_sound_and_recycling_rare(stream, max_nodes, swap_resistance, layout):
    core = make_core(
        max_nodes=max_nodes, swap_resistance=swap_resistance, labels=8, layout=layout, bits=10
    )
    for burst in stream:
        learn(core, *burst_rows(*burst))
        assert_sound(core.state(), max_nodes)
        assert core.most_recycled <= math.log2(core.examples)  # Lemma 3


@settings(max_examples=100)
@given(bursts, st.integers(1, 5), st.floats(1.0, 4.0))
def test_the_tree_stays_sound_with_little_swap_resistance(stream, max_nodes, swap_resistance):
    core = make_core(max_nodes=max_nodes, swap_resistance=swap_resistance, labels=8)
    for labels, kind, n, seed in stream:
        X, y = burst_rows(labels, kind, n, seed)
        weight = np.random.default_rng(seed).choice([0.0, 0.25, 1.0, 3.0], n).astype(np.float32)
        learn(core, X, y, weight)
        assert_sound(core.state(), max_nodes)


def test_a_leaf_is_never_recycled_for_itself():
    with pytest.raises(ValueError, match="swap_resistance must be at least 1"):
        make_core(max_nodes=1, swap_resistance=0.9, labels=8)


@pytest.mark.parametrize("max_nodes", [1, 2, 3])
def test_recycling_stays_rare_for_an_opponent_who_sees_the_tree(max_nodes):
    options = {"max_nodes": max_nodes, "swap_resistance": 4.0, "labels": 64, "features": 4}
    core = make_core(**options)
    rng = np.random.default_rng(0)
    rows = [*np.eye(4, dtype=np.float32), *-np.eye(4, dtype=np.float32)]
    for n in range(1, 701):
        # A row that feeds the largest leaf, with a label that keeps it impure: it soon wants to
        # split, while all other leaves starve.
        before = core.state()
        leaves = np.where(before["left"] == NONE, before["smallest"], -1.0)
        fed = leaves.argmax()
        for _ in range(20):
            core = make_core(**options)
            core.restore(before)
            learn(core, rows[rng.integers(8)][None], [rng.integers(64)])
            if core.state()["smallest"][fed] != leaves[fed]:
                break
        assert core.most_recycled <= math.log2(n)
        assert_sound(core.state(), max_nodes)
    assert core.most_recycled >= 2


class TestSplits:
    splits = st.lists(
        st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=12
    ).filter(lambda pairs: sum(share for share, _ in pairs) > 1e-3)

    def normalised(self, pairs):
        total = sum(share for share, _ in pairs)
        return [share / total for share, _ in pairs], [p for _, p in pairs]

    @given(splits)
    def test_objective_is_from_zero_to_one(self, pairs):  # Lemma 2
        assert 0 <= J(*self.normalised(pairs)) <= 1 + 1e-12

    @given(splits)
    def test_purity_is_bounded_by_objective_and_balance(self, pairs):
        # Lemma 1. Its proof takes the lighter side for the right one; otherwise a split that
        # sends all to the right, with J = 0 and purity 0, would have the bound -1/2.
        share, right = self.normalised(pairs)
        beta = min(balance(share, right), 1 - balance(share, right))
        alpha = purity(share, right)
        assert alpha <= 0.5 + 1e-12
        if beta > 1e-9:
            assert alpha <= (2 - J(share, right)) / (4 * beta) - beta + 1e-12

    def test_pure_and_balanced_is_best(self):
        share, right = [0.2, 0.3, 0.4, 0.1], [1.0, 1.0, 0.0, 0.0]
        assert (balance(share, right), purity(share, right)) == (0.5, 0.0)
        assert J(share, right) == pytest.approx(1.0)


class TestState:
    options = {"max_nodes": 4, "swap_resistance": 1.0, "labels": 8}  # noqa: RUF012

    @pytest.fixture
    def state(self):
        core = make_core(**self.options)
        learn(core, *make_stream(300, 8))
        assert core.most_recycled >= 1
        return core.state()

    def test_leaves_with_regressors_are_read(self, state):
        """As they were written when recycled nodes kept theirs; they may be split again."""
        leaf = np.flatnonzero(state["left"] == NONE)[0]
        state["regressor"][leaf] = len(state["steps"])
        state["steps"] = np.append(state["steps"], state["steps"][:1])
        core = make_core(**self.options)
        core.restore(state)
        for seed in range(4):
            learn(core, *make_stream(300, 8, seed))
        found = core.state()
        regressors = found["regressor"][found["regressor"] != NONE]
        assert len(set(regressors.tolist())) == len(regressors) == 5
        assert (found["regressor"][found["left"] != NONE] != NONE).all()
        assert found["recycled"].sum() > state["recycled"].sum()

    @settings(max_examples=25)
    @given(
        st.integers(0, 400),
        st.sampled_from(["dense", "hashed"]),
        st.sampled_from([0, 1, 4]),
        st.integers(0, 9),
    )
    def test_a_restored_learner_goes_on_bit_for_bit(self, cut, layout, max_nodes, seed):
        options = {**self.options, "max_nodes": max_nodes, "layout": layout, "bits": 12}
        X, y = make_stream(400, 8, seed)
        one = make_core(**options)
        whole = learn(one, X, y)
        first, second = make_core(**options), make_core(**options)
        begin = learn(first, X[:cut], y[:cut])
        second.restore(first.state())
        end = learn(second, X[cut:], y[cut:])
        np.testing.assert_array_equal(np.concatenate([begin, end]), whole)
        restored = second.state()
        assert restored.keys() == one.state().keys()
        for name, array in one.state().items():
            np.testing.assert_array_equal(restored[name], array, name)

    def refuse(self, state, **changed):
        with pytest.raises(ValueError, match=r"saved|lacks"):
            make_core(**self.options).restore({**state, **changed})

    @pytest.mark.parametrize(
        "name",
        [
            *("root", "inner", "serials", "parent", "left", "right", "serial", "recycled"),
            *("smallest", "total", "score_sum", "score_weight", "top_size", "top_label"),
            *("top_count", "node_label", "reached", "label_score_sum", "label_score_weight"),
            *("examples", "regressor"),
        ],
    )
    def test_an_array_of_another_length_or_type(self, state, name):
        array = state[name]
        self.refuse(state, **{name: array[:-1]})
        self.refuse(state, **{name: np.append(array, array[-1:])})
        self.refuse(state, **{name: array[:0]})
        self.refuse(state, **{name: array.astype(np.int16)})
        self.refuse(state, **{name: array[None]})
        del state[name]
        self.refuse(state)

    def test_a_regressor_that_is_missing_or_serves_two_nodes(self, state):
        self.refuse(state, steps=state["steps"][:-1])
        inner = np.flatnonzero(state["left"] != NONE)
        for other in (NONE, state["regressor"][inner[1]]):
            array = state["regressor"].copy()
            array[inner[0]] = other
            self.refuse(state, regressor=array)

    @pytest.mark.parametrize("name", ["left", "right"])
    @pytest.mark.parametrize("child", [9, 2**31, NONE - 1])
    def test_a_child_that_does_not_exist(self, state, name, child):
        array = state[name].copy()
        array[state["root"][0]] = child
        self.refuse(state, **{name: array})

    def test_a_root_that_does_not_exist(self, state):
        for root in (9, NONE):
            self.refuse(state, root=np.array([root], np.uint32))

    def test_a_root_that_is_not_on_top(self, state):
        for root in set(range(9)) - set(state["root"].tolist()):
            self.refuse(state, root=np.array([root], np.uint32))

    def test_a_label_that_does_not_exist(self, state):
        for label in (8, NONE):
            array = state["top_label"].copy()
            array[-1] = label
            self.refuse(state, top_label=array)

    def test_a_cycle(self, state):
        left, right = state["left"], state["right"]
        inner = np.flatnonzero(left != NONE)
        for v in inner:
            for child in set(inner) - {left[v], right[v]}:
                changed, parent = left.copy(), state["parent"].copy()
                changed[v] = child  # which may be v itself, or above it
                self.refuse(state, left=changed)
                parent[child] = v
                self.refuse(state, left=changed, parent=parent)

    @settings(max_examples=150)
    @given(
        st.sampled_from(["parent", "left", "right"]),
        st.integers(0, 8),
        st.integers(0, 8) | st.just(NONE),
    )
    def test_any_other_relation(self, name, v, other):
        core = make_core(**self.options)
        learn(core, *make_stream(300, 8))
        state = core.state()
        harmless = name == "right" and state["left"][v] == NONE  # a leaf has no right child
        twice = name != "parent" and other in (state["left"][v], state["right"][v])
        if state[name][v] == other or harmless or twice:
            return
        array = state[name].copy()
        array[v] = other
        self.refuse(state, **{name: array})

    def test_the_same_child_on_both_sides(self, state):
        left = state["left"].copy()
        left[state["root"][0]] = state["right"][state["root"][0]]
        self.refuse(state, left=left)

    def test_a_cycle_apart_from_the_root(self, state):
        # 1 and 2 are each other's parents, the other nodes hang below them, the root is alone.
        self.refuse(
            state,
            root=np.array([0], np.uint32),
            parent=np.array([NONE, 2, 1, 1, 2, 3, 3, 4, 4], np.uint32),
            left=np.array([NONE, 2, 1, 5, 7, NONE, NONE, NONE, NONE], np.uint32),
            right=np.array([NONE, 3, 4, 6, 8, NONE, NONE, NONE, NONE], np.uint32),
        )

    def test_another_number_of_inner_nodes(self, state):
        self.refuse(state, inner=state["inner"] + np.uint32(1))

    def test_a_smallest_leaf_that_does_not_exist(self, state):
        smallest = state["smallest"].copy()
        smallest[state["root"][0]] -= 1000
        self.refuse(state, smallest=smallest)

    def test_top_labels_of_no_node(self, state):
        label, count = state["top_label"], state["top_count"]
        self.refuse(state, top_label=np.append(label, label[-1:]), top_count=np.append(count, 1.0))

    def test_a_counted_label_that_does_not_exist(self, state):
        keys = state["node_label"].copy()
        keys[-1] |= np.uint64(0xFFFF)
        self.refuse(state, node_label=keys)
