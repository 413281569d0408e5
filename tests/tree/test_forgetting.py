"""Labels that are forgotten: against the reference, and what must hold of what is left."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.label_tree import LabelTree as Reference
from tests.tree import NONE, RULE, as_dicts, as_rows, assert_same_state, learn
from tests.tree import test_label_tree as label_tree
from tests.tree.test_label_tree import DUAL, D, assert_sound, make_core, problem, trees_of


def forget(core, labels, *, keep_ids=False):
    core.forget(np.array(sorted(labels), np.uint32), keep_ids, lambda: None)


def restored(core, make):
    copy = make()
    copy.restore(core.state())
    return copy


class TestReference:
    """Streams with labels forgotten now and then, some of which come again."""

    def compare(
        self,
        tree=RULE,
        scorer=RULE,
        *,
        dense=True,
        layout="dense",
        scale="none",
        labels=30,
        sets=False,
        n=240,
        passes=1,
        keep_ids=False,
        some=7,
        **params,
    ):
        X, y = problem(n, labels, sets=sets)
        y = [np.atleast_1d(one) for one in y]
        params["exclusive"] = not sets
        reference = Reference(tree, scorer, scale, dense_size=D if dense else 0, **params)
        # So large a table that models, whose numbers grow, do not meet.
        core = make_core(0, D, tree, scorer, layout=layout, scale=scale, bits=27, **params)
        rng = np.random.default_rng(0)
        ids, room = {}, 0  # the ids of labels that are known, and how many there are
        for number in range(passes):
            reference.again = number
            reference.more = more = number + 1 < passes
            core.begin_pass(again=number > 0, more=more)
            for row, (x, one) in enumerate(zip(as_dicts(X), y, strict=True)):
                for label in one.tolist():
                    if label not in ids:
                        ids[label] = min(set(range(labels)) - set(ids.values()))
                room = max(room, 1 + max(ids.values()))
                core.resize(room)
                own = [ids[label] for label in one.tolist()]
                expected = reference.learn(x, own, 1.0, row)
                predicted = learn(core, X[row : row + 1], [own], dense=dense)
                assert predicted.tolist() == [NONE if expected is None else expected]
                if row % 40 == 39 and ids:
                    gone = rng.choice(sorted(ids), min(some, len(ids)), replace=False).tolist()
                    numbers = [ids.pop(label) for label in gone]
                    exact = layout != "hashed"
                    reference.forget(numbers, exact=exact, labels=None if keep_ids else room)
                    forget(core, numbers, keep_ids=keep_ids)
                    if not keep_ids:
                        order = sorted(ids.values())
                        ids = {label: order.index(old) for label, old in ids.items()}
                        room = len(ids)
                    assert core.labels == room
                    assert core.learned_labels == len(ids)
        compare = label_tree.TestReference()
        compare.compare_state(core, reference, room)
        X, _ = problem(40, labels, random_state=1)
        for k in (3, 100):
            compare.compare_predictions(core, reference, X[:10], k, dense, rtol=2e-2)
        return core, reference

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("layout", ["dense", "lines", "hashed"])
    @pytest.mark.parametrize("index_length", [0, 4, 40])
    @pytest.mark.parametrize("keep_ids", [False, True])
    def test_decides_alike(self, sets, layout, index_length, keep_ids):
        core, _ = self.compare(
            sets=sets, layout=layout, index_length=index_length, keep_ids=keep_ids, dense=False
        )
        worn = any(name.endswith("worn") for name in core.state())
        assert worn == (layout == "hashed")

    @pytest.mark.parametrize(
        "how",
        [
            {"trees": 3},
            {"scorers": False, "sets": True},
            {"scale": "max", "labels": 60, "some": 25},
            {"some": 100, "n": 230},  # all of them
            {"replay": 10**6},
            {"replay": 35_000, "sets": True},
            {"replay": 10**6, "index_length": 20, "dense": False},
            {"index_length": 20, "dense": False, "passes": 3},
            {"calibrated": True},
        ],
        ids=str,
    )
    def test_variants(self, how):
        self.compare(**how)

    @pytest.mark.parametrize("layout", ["lines", "hashed"])
    @pytest.mark.parametrize(
        "how",
        [
            {"sets": True},
            {"sets": True, "passes": 4, "n": 110},
            {"replay": 10**6, "n": 120},
            {"replay": 35_000, "sets": True, "n": 100, "index_length": 20},
        ],
        ids=str,
    )
    def test_dual_update(self, layout, how):
        self.compare(
            DUAL, DUAL, layout=layout, dense=False, slope=3.0, shift=0.5, tree_weight=0.1, **how
        )


@st.composite
def histories(draw):
    """Labels of rows, and after some of them labels to be forgotten."""
    labels = draw(st.integers(2, 40))
    rows = draw(st.lists(st.integers(0, labels - 1), min_size=1, max_size=60))
    return [(label, draw(st.sets(st.integers(0, labels - 1), max_size=8))) for label in rows]


@given(history=histories(), layout=st.sampled_from(["dense", "hashed"]))
@settings(max_examples=60, deadline=None)
def test_trees_stay_sound_and_states_can_be_restored(history, layout):
    def make():
        return make_core(40, 8, layout=layout, bits=12, trees=2, index_length=4, replay=10**5)

    rng = np.random.default_rng(0)
    core, learned = make(), set()
    for label, gone in history:
        learn(core, rng.random((1, 8)), [label])
        learned.add(label)
        if gone:
            forget(core, gone, keep_ids=True)
            learned -= gone
            core = restored(core, make)
    assert core.learned_labels == len(learned)
    assert_sound(core, learned)
    state = core.state()
    assert set(state["index_label"].tolist()) <= learned
    assert set(state["replay_label"].tolist()) <= learned
    if learned:
        best, _ = core.predict_topk(as_rows(rng.random((20, 8))), 40, 1)
        assert set(best.ravel().tolist()) - {NONE} == learned


@pytest.mark.parametrize("layout", ["dense", "lines"])
def test_a_label_learned_anew_starts_from_zero_weights(layout):
    """All that was learned of rows of their own is gone: the model is one that never saw them."""
    X, y = problem(120, 20)
    zeros = np.zeros_like(X)
    rows, others = np.hstack([X, zeros]), np.hstack([zeros, X])  # which share no feature

    def make():
        return make_core(40, 2 * D, layout=layout, trees=2)

    core = make()
    learn(core, rows, y)
    forget(core, np.unique(y), keep_ids=True)
    assert len(core.state()["tree0_label"]) == core.learned_labels == 0
    weights = core.state()["weights"]
    assert not weights.any()
    models = core.state()["n_models"][0]
    learn(core, others, y)
    assert core.state()["n_models"][0] <= models  # those of before are used again


def test_models_of_forgotten_labels_are_used_again_where_they_take_memory():
    rng = np.random.default_rng(0)
    core = make_core(400, 16, layout="dense", index_length=8, replay=20_000)
    sizes = []
    for turn in range(12):
        labels = np.arange(100) + 100 * (turn % 4)
        learn(core, rng.random((100, 16)), labels)
        if turn:
            forget(core, (labels - 100) % 400, keep_ids=True)
        sizes.append(core.state()["n_models"][0])
    assert max(sizes[2:]) <= sizes[1] * 1.2


@pytest.mark.parametrize("layout", ["dense", "hashed"])
def test_a_stream_that_grows_trees_anew_forgets_at_any_stage(layout):
    """Saved and restored before and after, it goes on as if it had not been."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1400, 96)).astype(np.float32)
    y = rng.permutation(1400) % 1100

    def make():
        return make_core(1100, 96, layout=layout, trees=2, replay=10**7, regrow=True, bits=18)

    whole, parts = make(), make()
    seen, learned = set(), set()
    for row in range(1400):
        for core in (whole, parts):
            learn(core, X[row : row + 1], y[row : row + 1])
        learned.add(int(y[row]))
        if row % 28 == 0 or 256 <= row < 275:
            if len(learned) < 3:
                continue
            gone = rng.choice(sorted(learned), 3, replace=False).tolist()
            parts = restored(parts, make)
            forget(whole, gone, keep_ids=True)
            forget(parts, gone, keep_ids=True)
            parts = restored(parts, make)
            learned -= set(gone)
            seen.add(int(parts.state()["regrowth_stage"][0]))
    assert seen >= {0, 1, 2, 3}
    assert_same_state(whole, parts)
    assert_sound(whole, learned)


def test_which_labels_were_longest_unseen():
    core = make_core(6, 4, stamps=True)
    X = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    learn(core, X, [3, 1, 0, 3, 2, 1])  # 4 and 5 never
    nobody = np.empty(0, np.uint32)

    def unseen(n, without=nobody):
        return core.longest_unseen(n, without).tolist()

    assert unseen(0) == []
    assert unseen(2) == [4, 5]
    assert unseen(3) == [0, 4, 5]
    assert unseen(4) == [0, 3, 4, 5]
    assert unseen(2, np.array([4, 0], np.uint32)) == [3, 5]
    assert unseen(100) == list(range(6))
    forget(core, [0, 4])
    assert core.state()["last_seen"].tolist() == [6, 5, 4, 0]


def test_what_is_wrong_is_refused_and_changes_nothing():
    core = make_core(6, 4)
    learn(core, np.eye(4), [3, 1, 0, 3])
    before = core.state()
    for labels, message in (([6], "not below"), ([1, 1], "twice")):
        with pytest.raises(ValueError, match=message):
            core.forget(np.array(labels, np.uint32), False, lambda: None)
    after = core.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_worn_slot_takes_no_other_child():
    rng = np.random.default_rng(0)
    core = make_core(20, 4, layout="hashed", bits=12)
    learn(core, rng.random((8, 4)), np.arange(8))
    forget(core, [2, 3], keep_ids=True)
    learn(core, rng.random((4, 4)), [10, 11, 12, 13])
    ((parent, slot, _, _),) = trees_of(core)
    below_root = [s for p, s in zip(parent, slot, strict=True) if p == 0]
    assert sorted(below_root) == [0, 1, 4, 5, 6, 7]


def test_states_of_before_are_restored():
    """They have the steps of every model, and nothing of what came with forgetting."""
    X, y = problem(60, 10)
    core, other, third = (make_core(10, D) for _ in range(3))
    learn(core, X, y)
    state = core.state()
    models = int(state.pop("n_models")[0])
    assert not {"spare", "scorer_spare", "last_seen", "tree0_worn"} & state.keys()
    other.restore({**state, "steps": np.zeros(models)})
    third.restore(core.state())
    for one in (core, other, third):
        learn(one, X, y)
    assert_same_state(core, other)
    assert_same_state(core, third)
