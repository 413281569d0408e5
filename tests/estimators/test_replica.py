"""What holds of models in two parts, weights and all else, from which several workers go on."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LabelTreeClassifier, OneAgainstAllClassifier, _core, merge
from labeltree.datasets import make_multiclass
from labeltree.estimators.replica import Replica
from labeltree.estimators.sharding import Block
from labeltree.merging.tablewriter import TableWriter
from tests.estimators.test_merging import same

X, y = make_multiclass(900, 40)
SETS = [[int(label), 100 + int(label) % 3] for label in y]
SHARDS = slice(0, 300), slice(300, 700), slice(700, 900)


def learn(replica, X, y, known=None, left=None, *, number, **at):
    numbers = number if isinstance(number, range) else range(number, number + 1)
    block = Block(X, y, None)
    return replica.learn(lambda _: [block], len(y), known=known, left=left, numbers=numbers, **at)


ROW = np.array([1, 2, 3, 4], np.float32)  # two weights and their gradient sums


@pytest.mark.parametrize("leaves", ["nobody", "some", "all"])
@pytest.mark.parametrize("layout", ["dense", "hashed"])
@pytest.mark.parametrize("labels", ["single", "sets"])
def test_replicas_learn_what_whole_models_learn_to_the_last_bit(labels, layout, leaves):
    given = y if labels == "single" else SETS
    left = [None] * 3
    clf = LabelTreeClassifier(random_state=0, layout=layout)
    model = clf.begin([clf.survey(X[part], given[part]) for part in SHARDS])
    replica = Replica.of(model)
    whole_known, known = [None] * 3, [None] * 3
    for number in range(3):
        at = {"number": number, "passes": 3, "shards": 3}
        whole = [
            model.learn_shard(X[part], given[part], shard=i, known=whole_known[i], **at)
            for i, part in enumerate(SHARDS)
        ]
        whole_known = [each.known_rows() for each in whole]
        model = merge(whole, base=model)

        learned = [
            learn(replica, X[part], given[part], shard=i, known=known[i], left=left[i], **at)
            for i, part in enumerate(SHARDS)
        ]
        assert all(each is None or each.take() is None for each in left)
        if leaves != "nobody":
            left = [each.left for each in learned]
            assert all(each.__sizeof__() > 1000 for each in left if each)
        if leaves == "some" and number == 0:
            assert left[1].take() is not None
            left[2] = None
        known = [each.known for each in learned]
        ranges = [each.moves.ranges(replica.ends(2)) for each in learned]
        moves = [replica.merged(i, 2, [own[i] for own in ranges]) for i in range(2)]
        assert number or all(len(own.number) for own in moves)  # both ranges have some to merge
        rest = merge([each.model for each in learned], base=replica.model)
        replica = replica.moved(rest, moves)
    same(replica.ended(), model.ended())
    assert replica.ended().score(X, given) > (0.9 if labels == "single" else 0.7)


@pytest.mark.parametrize("update", ["adaptive", "dual"])
def test_passes_that_are_not_merged_are_those_of_one_model(update):
    given = y if update == "adaptive" else SETS
    clf = LabelTreeClassifier(random_state=0, update=update)
    model = clf.begin([clf.survey(X, given)])
    replica = Replica.of(model)
    at = {"shard": 1, "shards": 2, "passes": 3}
    known = None
    for number in range(3):
        model = model.learn_shard(X, given, number=number, known=known, **at)
        known = model.known_rows()
    first = learn(replica, X, given, number=range(1), **at)
    replica = replica.moved(first.model, [first.moves])
    later = learn(replica, X, given, first.known, first.left, number=range(1, 3), **at)
    same(replica.moved(later.model, [later.moves]).whole(), merge([model], base=model))
    assert later.left is None  # nothing comes after it


def test_what_workers_send_is_what_has_changed():
    clf = LabelTreeClassifier(random_state=0, layout="dense")
    model = clf.begin([clf.survey(X, y)])
    model = model.learn_shard(X, y, shard=0, shards=1, number=0, passes=2)
    replica = Replica.of(model)
    few, others = X[:5], (y[:5] + 1) % 40
    learned = learn(replica, few, others, shard=0, shards=1, number=1, passes=2)
    assert 0 < learned.moves.nbytes < replica.weights.nbytes / 4
    moved = replica.moved(learned.model, [learned.moves])
    again = learn(replica, few, others, shard=0, shards=1, number=1, passes=2)
    assert again.moves.value.tobytes() == learned.moves.value.tobytes()  # it stays what it is
    assert moved.weights.changed_since(replica.weights).value.tobytes() == (
        learned.moves.value.tobytes()
    )


@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (LabelTreeClassifier, {"layout": "dense"}),
        (LabelTreeClassifier, {"layout": "hashed", "bits": 10}),
        (OneAgainstAllClassifier, {"layout": "dense"}),
    ],
)
def test_changes_of_a_learner_are_those_of_its_table(cls, params):
    clf = cls(random_state=0, **params).fit(X[:100], y[:100])
    layout_of = clf._arrangement()
    base = layout_of.table(clf._learner.state())
    nothing = base.ranges([0])[0]
    for _ in range(2):
        table = layout_of.table(clf._learner.state())
        for before in (base, nothing):
            expected = table.changed_since(before)
            writer = TableWriter(base.lane, base.has_sums, None)
            learner = clf._learner
            learner.changed_weights(before.rows, base.lane, base.has_sums, writer.write)
            found = writer.table()
            np.testing.assert_array_equal(found.number, expected.number)
            np.testing.assert_array_equal(found.value, expected.value)
        clf.partial_fit(X[:20], (y[:20] + 1) % 40)
    assert len(expected.number)


def test_rows_that_are_not_there_any_more_have_changed_to_zeros():
    clf = LabelTreeClassifier(random_state=0, layout="hashed", bits=10).fit(X[:100], y[:100])
    table = clf._arrangement().table(clf._learner.state())
    first, second = table.ranges([int(table.number[4]), 2**62])
    changed = second.changed_since(table)
    np.testing.assert_array_equal(changed.number, first.number)
    assert not changed.value.any()
    assert second.updated([first]).changed_since(table).number.size == 0
    with_more = clf._arrangement().table({**table.state, "weights_row": table.number + 1})
    writer = TableWriter(table.lane, table.has_sums, None)
    clf._learner.changed_weights(with_more.rows, table.lane, table.has_sums, writer.write)
    found, expected = writer.table(), table.changed_since(with_more)
    np.testing.assert_array_equal(found.number, expected.number)
    np.testing.assert_array_equal(found.value, expected.value)


@pytest.mark.parametrize("layout", ["dense", "hashed"])
def test_learners_exchange_their_weights(layout):
    clf = LabelTreeClassifier(random_state=0, layout=layout).fit(X, y)
    expected = clf._learner.state()
    other = clf._make_learner()
    other.exchange_weights(clf._learner)
    rest = clf._learner.state()
    assert not rest["weights"].size
    clf._learner.exchange_weights(other)
    for name, array in clf._learner.state().items():
        np.testing.assert_array_equal(array, expected[name])
    strange = OneAgainstAllClassifier(layout="dense").fit(X[:, :5], y)._learner
    with pytest.raises(ValueError, match="other parameters"):
        strange.exchange_weights(other)


def test_changes_of_a_learner_that_does_not_fit_are_refused():
    clf = LabelTreeClassifier(random_state=0, layout="dense").fit(X[:100], y[:100])
    nothing = np.zeros(0, np.uint64), np.zeros(0, np.float32)
    with pytest.raises(ValueError, match="another length"):
        clf._learner.changed_weights(nothing, 3, True, print)

    def stop(*_):
        raise InterruptedError

    lane = clf._arrangement().lane
    with pytest.raises(InterruptedError):
        clf._learner.changed_weights(nothing, lane, True, stop)
    assert clf.score(X[:100], y[:100]) > 0.9  # its lock was given back
    assert len(clf._learner.state(weights=False)["weights"]) == 0
    with pytest.raises(ValueError, match="compiled"):
        clf.compile()._learner.changed_weights(nothing, lane, True, print)


@pytest.mark.parametrize(
    ("numbers", "values", "lane", "what"),
    [
        ([3, 3], [ROW, ROW], 2, "do not rise"),
        ([4, 3], [ROW, ROW], 2, "do not rise"),
        ([3], [ROW, ROW], 2, "not as many weights"),
        ([2**64 - 1], [ROW], 2, "too large a number"),
        ([3], [ROW], 0, "must be weights"),
        ([3], [ROW], 2**62, "must be weights"),
    ],
)
def test_tables_that_do_not_fit_are_refused(numbers, values, lane, what):
    table = np.array(numbers, np.uint64), np.concatenate(values)
    fits = np.array([1], np.uint64), ROW
    with pytest.raises(ValueError, match=what):
        _core.changed_rows(table, fits, lane, True)
    with pytest.raises(ValueError, match=what):
        _core.merged_moves([fits, table], fits, lane, True)


def test_shards_of_the_dual_update_come_to_the_optimum_of_all_rows():
    X, y = make_multiclass(60, 4, n_features=50)
    sets, shards = [[int(label), 4] for label in y], [slice(0, 20), slice(20, 40), slice(40, 60)]
    clf = LabelTreeClassifier(random_state=0, update="dual", C=1.0, scale="none", layout="dense")
    replica = Replica.of(clf.begin([clf.survey(X[part], sets[part]) for part in shards]))
    known = [None] * 3
    for number in range(150):
        at = {"shards": 3, "number": number, "passes": 151}
        learned = [
            learn(replica, X[part], sets[part], shard=i, known=known[i], **at)
            for i, part in enumerate(shards)
        ]
        known = [each.known for each in learned]
        moves = replica.weights.merged([each.moves for each in learned])
        rest = merge([each.model for each in learned], base=replica.model)
        replica = replica.moved(rest, [moves])
    rows = sp.hstack([X, np.ones((60, 1))], format="csr")  # with the constant
    weights = replica.model._arrangement().read(replica.weights.state)
    models = weights.model.max() + 1
    w = np.zeros((models, 51))
    w[weights.model, weights.slot] = weights.weight
    alpha = np.zeros((60, models))  # with the signs of targets
    for each, part in zip(known, shards, strict=True):
        ends = each["pairs_end"].astype(np.int64)
        of_row = np.repeat(np.arange(part.start, part.stop), np.diff(ends, prepend=0))
        alpha[of_row, each["pairs_model"]] = each["pairs_alpha"]
    np.testing.assert_allclose(w, alpha.T @ rows, atol=1e-4)
    row, model = alpha.nonzero()
    size, sign = np.abs(alpha[row, model]), np.sign(alpha[row, model])
    slope = (rows @ w.T)[row, model] * sign - 1 + size / 2  # of the dual; C is 1
    assert len(size) > 200
    assert np.abs(slope).max() < 0.02


def test_rows_that_are_longer_than_memory_are_refused():
    number, value = np.arange(1 << 23, dtype=np.uint64), np.zeros(0, np.float32)
    with pytest.raises(ValueError, match="not as many weights"):
        _core.with_rows((number, value), [], 1 << 40, True)  # 2^23 * 2^41 is 0 in 64 bits
    with pytest.raises(ValueError, match="not as many weights"):
        _core.with_rows((number[:2], np.zeros(7, np.float32)), [], 2, True)
