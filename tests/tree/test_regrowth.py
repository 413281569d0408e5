"""Trees of a stream that are grown anew: against the reference, and across saves and batches."""

import numpy as np
import pytest

from tests.reference.label_tree import LabelTree as Reference
from tests.tree import NONE, RULE, as_dicts, as_rows, as_sets, assert_same_state, learn
from tests.tree import test_label_tree as label_tree
from tests.tree.test_label_tree import D, K, make_core, problem, trees_of

NOTHING, SHAPING, PLANTING, LEARNING, PLACING = range(5)


def stage(core):
    return int(core.state()["regrowth_stage"][0])


def restored(core, make):
    copy = make()
    copy.restore(core.state())
    return copy


@pytest.mark.parametrize(
    "how",
    [
        {"trees": 2},
        {"sets": True, "layout": "lines", "dense": False},
        {"sets": True, "dense": False, "scale": "max"},
        {"scale": "unit", "weight": np.tile([0.0, 1.0, 2.0], 400)},
        {"replay": 250_000},
        {"scorers": False},
    ],
    ids=str,
)
def test_reference(how):
    n, labels = 1200, 70
    params = {"trees": 1, "scale": "none", "replay": 10**7, "scorers": True, **how}
    dense, sets = params.pop("dense", True), params.pop("sets", False)
    layout, weight = params.pop("layout", "dense"), params.pop("weight", np.ones(n))
    params["exclusive"] = not sets
    X, y = problem(n, labels, sets=sets)
    X = X.astype(np.float32)

    def shapes(rows):
        core = make_core(labels, D, trees=params["trees"], scale=params["scale"], layout=layout)
        some = np.zeros((len(rows), D), np.float32)
        for i, (x, _) in enumerate(rows):
            some[i, list(x)] = list(x.values())
        core.look_ahead(as_rows(some, dense=dense), None)
        core.organize(as_rows(some, dense=dense), as_sets([ids for _, ids in rows]))
        return [
            [
                (None if parent == NONE else parent, slot, None if label == NONE else label)
                for parent, slot, label in zip(*arrays[:3], strict=True)
            ]
            for arrays in trees_of(core)
        ]

    reference = Reference(RULE, RULE, dense_size=D if dense else 0, regrow=shapes, **params)
    core = make_core(labels, D, layout=layout, regrow=True, **params)
    expected = [
        reference.learn(x, np.atleast_1d(one).tolist(), float(h), row)
        for row, (x, one, h) in enumerate(zip(as_dicts(X), y, weight, strict=True))
    ]
    predicted = learn(core, X, y, weight, dense=dense)
    assert reference.regrown > (0 if "weight" in how else 1)
    assert predicted.tolist() == [NONE if label is None else label for label in expected]
    compare = label_tree.TestReference()
    compare.compare_state(core, reference, labels)
    # With thousands of updates, rows learned again included, 32 bits are a little less exact.
    compare.compare_predictions(core, reference, X[:10], 5, dense, rtol=2e-2)


@pytest.fixture(scope="module")
def wide():
    """Rows of so many labels that trees are shaped in several steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1700, 96)).astype(np.float32)
    return X, rng.permutation(1700) % 1300


@pytest.mark.parametrize("layout", ["dense", "hashed"])
def test_a_stream_that_is_resumed_at_any_stage_goes_on_as_if_it_had_not(wide, layout):
    X, y = wide

    def make():
        return make_core(1300, 96, layout=layout, trees=2, replay=10**7, regrow=True, bits=18)

    whole, parts = make(), make()
    learn(whole, X, y)
    seen, now = [], 0
    for row in range(1700):
        learn(parts, X[row : row + 1], y[row : row + 1])
        if row < 256:
            continue
        before, now = now, int(parts.state()["regrowth_stage"][0]) if row % 2 == 0 else now
        if now != before or row % 60 == 0:
            seen.append(stage(parts))
            parts = restored(parts, make)
    assert {NOTHING, SHAPING, PLANTING, LEARNING} <= set(seen)
    assert_same_state(whole, parts)


def test_saving_alone_changes_nothing(wide):
    X, y = wide
    cores = [make_core(1300, 96, replay=10**7, regrow=True) for _ in range(2)]
    stages = set()
    for row in range(1700):
        for core in cores:
            learn(core, X[row : row + 1], y[row : row + 1])
        if row % 7 == 0:
            stages.add(stage(cores[0]))
    assert stages >= {NOTHING, SHAPING, PLANTING, LEARNING}
    assert_same_state(*cores)


def test_trees_that_know_more_rows_than_are_kept_stay():
    X, y = problem(600, K)
    core = make_core(K, D, replay=10**7, regrow=True)
    core.begin_pass(again=False, rows=300)  # rows that are learned as a whole are not kept
    core.organize(as_rows(X[:300]), as_sets(y[:300]))
    learn(core, X[:300], y[:300])
    core.begin_pass(again=False, rows=0)
    learn(core, X[300:590], y[300:590])
    assert core.state()["regrowth_rows"][0] == 0
    learn(core, X[290:], y[290:])
    assert core.state()["regrowth_rows"][0] > 590


def test_models_of_old_trees_are_used_again(wide):
    X, y = wide
    core = make_core(1300, 96, replay=10**8, regrow=True, scorers=False)
    rounds = 12
    for _ in range(rounds):
        learn(core, X, y)
    state = core.state()
    assert state["regrowth_rows"][0] > 1700  # at least twice
    young = [block for block in state.get("regrown0_block", ()) if block != NONE]
    blocks = [*state["tree0_block"], *young, *state["regrowth_spare"]]
    assert len(set(blocks)) == len(blocks) == state["n_models"][0] // 8 < 1300


@pytest.mark.parametrize("index", [0, 1, 2, 3, 4, 5])
def test_files_that_lie_are_refused(wide, index):
    X, y = wide
    core = make_core(1300, 96, replay=10**7, regrow=True)
    row = 0
    wanted = SHAPING if index == 1 else PLANTING
    while row < 300 or stage(core) != wanted:
        learn(core, X[row : row + 1], y[row : row + 1])
        row += 1
    state = core.state()
    name, value = [
        ("regrowth_stage", np.array([7], np.uint32)),
        ("regrowth_wait", np.array([0], np.uint64)),
        ("regrowth_spare", np.array([10**6], np.uint32)),
        ("regrowth_next", state["regrowth_next"] + np.uint64(1)),
        ("regrown0_block", np.full_like(state["regrown0_block"], 10**6)),
        ("regrown0_label", state["regrown0_label"] + np.uint32(1)),
    ][index]
    with pytest.raises(ValueError, match="saved"):
        make_core(1300, 96, replay=10**7, regrow=True).restore({**state, name: value})


def test_threads_that_learn_together_leave_sound_trees(wide):
    X, y = wide
    core = make_core(1300, 96, trees=2, replay=10**6, regrow=True)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    core.learn(as_rows(X), as_sets(y), None, np.arange(len(y)), 2, None)
    copy = restored(core, lambda: make_core(1300, 96, trees=2, replay=10**6, regrow=True))
    labels, _ = copy.predict_topk(as_rows(X[:50]), 5, 1)
    assert (labels < 1300).all()
    for _, _, label, _ in trees_of(core):
        assert sorted(one for one in label if one != NONE) == list(range(1300))


def test_threads_may_exchange_trees_while_another_makes_a_place():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 8)).astype(np.float32)
    for seed in range(40):
        core = make_core(1200, 8, replay=10**7, regrow=True, seed=seed)
        core.learn(as_rows(X), as_sets(np.arange(1200)), None, np.arange(1200), 4, None)
        (_, _, label, _), *_ = trees_of(core)
        assert sorted(one for one in label if one != NONE) == list(range(1200))


def test_frozen_learners_have_nothing_of_it(wide):
    X, y = wide
    core = make_core(1300, 96, replay=10**7, regrow=True)
    learn(core, X[:900], y[:900])
    assert not [name for name in core.state(keep=0.999) if name.startswith(("regro", "replay"))]
