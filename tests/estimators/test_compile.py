"""Models compiled for prediction answer as those they were made from, and only predict."""

import pickle
import struct
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labeltree import LabelTreeClassifier, OneAgainstAllClassifier, load
from labeltree.datasets import make_multiclass
from labeltree.estimators import ESTIMATORS
from labeltree.modelfile import CorruptModelFileError, ModelFileError

K = 40
SIZES = {
    "PECOCClassifier": {"max_labels": 64},
    "LOMTreeClassifier": {"max_nodes": 60},
    "LdSMClassifier": {"n_trees": 8},
}
COMPILABLE = list(ESTIMATORS)
ROUNDING = 2.0**-8  # of a weight, relative to itself


def problem(rows="sparse", n=2000, random_state=0):
    X, y = make_multiclass(n, K, n_features=256, nnz=10, noise=0.4, random_state=random_state)
    return (X if rows == "sparse" else X.toarray()), y


def make(name, **params):
    if name == "LdSMClassifier":
        params.pop("layout", None)  # it has one only
    return ESTIMATORS[name](random_state=0, **SIZES.get(name, {}), **params)


@pytest.mark.parametrize("rows", ["sparse", "dense"])
@pytest.mark.parametrize("layout", ["dense", "hashed"])
@pytest.mark.parametrize("name", COMPILABLE)
def test_answers_are_those_of_the_model_it_was_made_from(name, layout, rows, tmp_path):
    X, y = problem(rows)
    clf = make(name, layout=layout).fit(X, y)
    state = {key: array.copy() for key, array in clf._learner.state().items()}
    compiled = clf.compile(keep=1)
    assert compiled.compiled_
    assert type(compiled) is type(clf)
    test, truth = problem(rows, random_state=1)

    labels, scores = clf.predict_topk(test, 5)
    found, their_scores = compiled.predict_topk(test, 5)
    assert np.mean(labels[:, 0] == found[:, 0]) >= 0.995
    same = labels[:, 0] == found[:, 0]
    if name == "LdSMClassifier":  # whose nodes say yes or no: of eight trees one may say another
        assert np.mean(np.abs(their_scores[same, 0] - scores[same, 0]) < 0.025) >= 0.985
    else:
        # A probability p moves by at most p (1 - p) times the change of its log-odds, below 0.1.
        np.testing.assert_allclose(their_scores[same, 0], scores[same, 0], atol=0.025)
    assert compiled.score(test, truth) == pytest.approx(clf.score(test, truth), abs=0.005)
    if hasattr(clf, "predict_proba"):
        np.testing.assert_allclose(
            compiled.predict_proba(test), clf.predict_proba(test), atol=0.025
        )
    if hasattr(clf, "tree_"):
        assert compiled.tree_.to_dict() == clf.tree_.to_dict()
    assert compiled.progress_ == clf.progress_
    assert compiled.progress_ is not clf.progress_

    compiled.save(tmp_path / "m")
    for again in (
        load(tmp_path / "m"),
        load(tmp_path / "m", mmap=True),
        pickle.loads(pickle.dumps(compiled)),
    ):
        assert again.compiled_
        for expected, received in zip(
            compiled.predict_topk(test, 5), again.predict_topk(test, 5), strict=True
        ):
            np.testing.assert_array_equal(received, expected)
        np.testing.assert_array_equal(again.predict(test), compiled.predict(test))
        np.testing.assert_array_equal(again.classes_, clf.classes_)
    for key, array in clf._learner.state().items():
        np.testing.assert_array_equal(array, state[key], err_msg=key)


@pytest.mark.parametrize("layout", ["dense", "hashed"])
def test_margins_are_right_to_the_rounding_of_weights(layout):
    """|sum of w x - sum of w' x| <= 2^-8 sum of |w x|."""
    X, y = problem("dense")
    clf = OneAgainstAllClassifier(random_state=0, layout=layout, loss="hinge", scale="none")
    clf.fit(X, y)
    labels, margins = clf.predict_topk(X, K)
    found, theirs = clf.compile(keep=1).predict_topk(X, K)
    rows = np.arange(len(X))[:, None]
    by_label, by_label_compiled = np.zeros((len(X), K)), np.zeros((len(X), K))
    by_label[rows, labels], by_label_compiled[rows, found] = margins, theirs
    if layout == "hashed":  # weights are known in the dense layout only
        np.testing.assert_allclose(by_label_compiled, by_label, atol=0.05)
        assert np.abs(by_label_compiled - by_label).max() > 0
        return
    state = clf._learner.state()
    used = state["weights_row"].astype(int)
    W = np.zeros((48, 2 * 272))
    W[used] = state["weights"].reshape(len(used), -1)
    order = np.argsort(clf.classes_)
    W = W[:K, :257][order]
    size = np.abs(np.hstack([X, np.ones((len(X), 1))])) @ np.abs(W).T
    assert (np.abs(by_label_compiled - by_label) <= ROUNDING * size + 1e-5).all()
    assert np.abs(by_label_compiled - by_label).max() > 0


@pytest.mark.parametrize("rows", ["sparse", "dense"])
@pytest.mark.parametrize("layout", ["dense", "hashed"])
@pytest.mark.parametrize("name", COMPILABLE)
def test_a_byte_for_each_weight_that_matters_is_enough(name, layout, rows, tmp_path):
    """Answers are those of the learned model but for a few, and no worse; files are smaller."""
    X, y = problem(rows)
    clf = make(name, layout=layout).fit(X, y)
    test, truth = problem(rows, random_state=1)
    small, exact = clf.compile(), clf.compile(keep=1)
    assert np.mean(small.predict(test) == clf.predict(test)) >= 0.95
    assert small.score(test, truth) >= clf.score(test, truth) - 0.01
    for model, path in ((small, tmp_path / "small"), (exact, tmp_path / "exact")):
        model.save(path)
        mapped = load(path, mmap=True)
        np.testing.assert_array_equal(
            mapped.predict_topk(test, 5)[1], model.predict_topk(test, 5)[1]
        )
    sizes = [(tmp_path / path).stat().st_size for path in ("small", "exact")]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("keep", [0.999, 1])
@pytest.mark.parametrize("rows", ["sparse", "dense"])
@pytest.mark.parametrize("layout", ["auto", "dense", "hashed"])
def test_rows_that_are_predicted_together_are_answered_as_alone(layout, rows, keep, tmp_path):
    """Also those that many others share blocks of weights with, which are unpacked then."""
    X, y = problem(rows)
    clf = LabelTreeClassifier(random_state=0, layout=layout).fit(X, y).compile(keep=keep)
    clf.save(tmp_path / "m")
    many = sp.vstack([X] * 3, format="csr") if sp.issparse(X) else np.vstack([X] * 3)
    alone = [clf.predict_topk(many[i : i + 1], 5) for i in range(20)]
    for model in (clf, load(tmp_path / "m"), load(tmp_path / "m", mmap=True)):
        labels, scores = model.predict_topk(many, 5)
        for first in (0, len(y), 2 * len(y)):
            for i, (own_labels, own_scores) in enumerate(alone):
                np.testing.assert_array_equal(labels[first + i], own_labels[0])
                np.testing.assert_array_equal(scores[first + i], own_scores[0])


@pytest.mark.parametrize("rows", [1, 2, 100, 2000])
def test_a_model_without_weights_predicts(rows, tmp_path):
    """Blocks of it that are unpacked have no line in memory."""
    X = sp.csr_matrix((20, 5), dtype=np.float32)
    clf = LabelTreeClassifier(random_state=0).fit(X, ["a"] * 20).compile()
    clf.save(tmp_path / "m")
    test = sp.csr_matrix(np.ones((rows, 5), dtype=np.float32))
    for model in (clf, load(tmp_path / "m"), load(tmp_path / "m", mmap=True)):
        assert model.predict(test).tolist() == ["a"] * rows


def test_a_model_that_was_loaded_is_saved_as_it_was(tmp_path):
    clf = LabelTreeClassifier(random_state=0, layout="hashed").fit(*problem()).compile()
    clf.save(tmp_path / "m")
    load(tmp_path / "m").save(tmp_path / "again")
    load(tmp_path / "m", mmap=True).save(tmp_path / "mapped")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert (tmp_path / "mapped").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("name", [n for n in COMPILABLE if ESTIMATORS[n]._takes_sets])
def test_label_sets(name, tmp_path):
    X, y = problem()
    sets = [[int(label), 100 + int(label) % 3] for label in y]
    clf = make(name).fit(X, sets)
    compiled = clf.compile(keep=1)
    same = [a == b for a, b in zip(compiled.predict(X), clf.predict(X), strict=True)]
    assert np.mean(same) >= 0.99
    compiled.save(tmp_path / "m")
    assert load(tmp_path / "m", mmap=True).predict(X) == compiled.predict(X)


def test_features_never_seen_are_ignored():
    X, y = problem()
    clf = OneAgainstAllClassifier(random_state=0, layout="hashed").fit(X[:, :], y)
    seen = np.zeros(256, dtype=bool)
    few = X[:5].tolil()
    few[:, 200:] = 0
    clf = OneAgainstAllClassifier(random_state=0, layout="hashed").fit(few.tocsr(), y[:5])
    seen[few.tocsr().indices] = True
    other = X[5:].copy()
    without = other.copy()
    without.data[~seen[without.indices]] = 0
    compiled = clf.compile()
    np.testing.assert_array_equal(
        compiled.predict_topk(other, 3)[1], compiled.predict_topk(without, 3)[1]
    )


@pytest.mark.parametrize("name", COMPILABLE)
def test_it_does_not_learn(name):
    X, y = problem(n=300)
    clf = make(name).partial_fit(X, y)
    compiled = clf.compile()
    expected = compiled.predict_topk(X, 3)[1]
    with pytest.raises(ValueError, match=r"compiled for prediction; go on learning with the one"):
        compiled.partial_fit(X, y)
    with pytest.raises(ValueError, match="compiled for prediction"):
        compiled._learner.resize(100)
    with pytest.raises(ValueError, match="compiled already"):
        compiled.compile()
    np.testing.assert_array_equal(compiled.predict_topk(X, 3)[1], expected)
    clf.partial_fit(X, [f"new {label}" for label in y])
    np.testing.assert_array_equal(compiled.predict_topk(X, 3)[1], expected)
    assert len(compiled.classes_) == len(set(y))
    assert not hasattr(clone(compiled), "compiled_")
    compiled.fit(X, y)
    assert not compiled.compiled_
    compiled.partial_fit(X, y)


def test_what_cannot_be_compiled_is_said(tmp_path):
    X, y = problem(n=100)
    clf = OneAgainstAllClassifier().fit(X, y)
    for keep in (0, -1, 1.01, True, np.nan, np.inf, "a", None):
        with pytest.raises(ValueError, match="keep is"):
            clf.compile(keep=keep)
    clf.save(tmp_path / "m")
    with pytest.raises(ValueError, match="only a compiled model can be mapped"):
        load(tmp_path / "m", mmap=True)


def test_less_is_kept_where_less_is_asked_for(tmp_path):
    X, y = problem()
    clf = OneAgainstAllClassifier(random_state=0, layout="hashed", bits=16).fit(X, y)
    sizes = []
    for keep in (1 - 1e-7, 0.999, 0.9, 0.1, 1e-7, 1e-30):
        compiled = clf.compile(keep=keep)
        sizes.append(compiled._learner.state()["weights_codes"].astype(int).sum())
        compiled.save(tmp_path / "m")
        assert load(tmp_path / "m", mmap=True).predict(X[:1])[0] in y
    weights = clf._learner.state()["weights"].reshape(-1, 16)[:, :8]
    assert sizes[0] >= 0.99 * np.count_nonzero(weights)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 2


@pytest.mark.parametrize("keep", [1, 0.999])
def test_values_that_overflow_are_predicted_alike_in_a_batch(keep):
    """A batch unpacks weights, and infinity times a weight that is not there would be no number."""
    X, y = problem(n=600)
    clf = LabelTreeClassifier(random_state=0, scale="max", layout="dense").fit(X * 1e-20, y)
    compiled = clf.compile(keep=keep)
    large = X[:300].copy()
    large.data[::7] = 3e38
    together = compiled.predict_topk(large, 5)
    alone = [compiled.predict_topk(large[i : i + 1], 5) for i in range(300)]
    for i, found in enumerate(together):
        np.testing.assert_array_equal(found, np.vstack([one[i] for one in alone]))


def test_threads_may_predict_with_one_mapped_model(tmp_path):
    X, y = problem()
    LabelTreeClassifier(random_state=0).fit(X, y).compile().save(tmp_path / "m")
    clf = load(tmp_path / "m", mmap=True)
    expected = clf.predict_topk(X, 3)
    wrong = []

    def run():
        for _ in range(5):
            for e, r in zip(expected, clf.predict_topk(X, 3), strict=True):
                if not np.array_equal(e, r):
                    wrong.append(r)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    clf.n_jobs = 2
    np.testing.assert_array_equal(clf.predict_topk(X, 3)[1], expected[1])


def test_more_labels_than_16_bits_can_number(tmp_path):
    """The index of words then needs two more bytes for each of its labels."""
    n = 2**16 + 500
    rows = np.arange(n)
    features = np.stack([rows // 300, 1000 + rows % 300], axis=1)
    X = sp.csr_matrix(
        (np.full(2 * n, np.sqrt(0.5), np.float32), features.ravel(), 2 * np.arange(n + 1)),
        shape=(n, 1300),
    )
    clf = LabelTreeClassifier(random_state=0, replay=0, layout="hashed", bits=20)
    clf.partial_fit(X, rows)
    clf.compile().save(tmp_path / "m")
    compiled = load(tmp_path / "m", mmap=True)
    last = X[-1000:]  # with labels on both sides of 2^16
    found, expected = compiled.predict_topk(last, 3)[0], clf.predict_topk(last, 3)[0]
    assert np.mean(found[:, 0] == expected[:, 0]) > 0.95
    assert np.mean(found[:, 0] == rows[-1000:]) > 0.9


def test_mapping_outlives_the_name_of_the_file(tmp_path):
    X, y = problem()
    compiled = OneAgainstAllClassifier(random_state=0, layout="hashed").fit(X, y).compile()
    compiled.save(tmp_path / "m")
    clf = load(tmp_path / "m", mmap=True)
    (tmp_path / "m").unlink()
    np.testing.assert_array_equal(clf.predict_proba(X), compiled.predict_proba(X))


@pytest.mark.parametrize("labels", ["int", "str", "mixed"])
def test_labels_of_a_mapped_model(labels, tmp_path):
    X, y = problem()
    names = {
        "int": lambda label: int(label) - 2**62,
        "str": lambda label: f"{'é' * (int(label) % 3)}{label}\ud800" if label else "",
        "mixed": lambda label: int(label) if label % 2 else str(label),
    }[labels]
    given = np.array([names(label) for label in y], dtype=object)
    compiled = LabelTreeClassifier(random_state=0).fit(X, given).compile()
    compiled.save(tmp_path / "m")
    expected = compiled.predict_topk(X, 3)[0].tolist()
    clf = load(tmp_path / "m", mmap=True)
    assert clf.predict_topk(X[:1], 3)[0].tolist() == expected[:1]  # read one by one
    assert clf.predict_topk(X, 3)[0].tolist() == expected
    assert clf.classes_.tolist() == compiled.classes_.tolist()
    assert clf.score(X, given) == compiled.score(X, given)
    assert load(tmp_path / "m", mmap=True).score(X, given) == compiled.score(X, given)


def header_size(path):
    return 8 + struct.unpack("<Q", path.read_bytes()[:8])[0]


@pytest.mark.parametrize(
    "name", ["LabelTreeClassifier", "RecallTreeClassifier", "LOMTreeClassifier"]
)
@pytest.mark.parametrize("layout", ["dense", "hashed"])
def test_damaged_files_are_refused_or_harmless(name, layout, tmp_path):
    """Without the checksum, any byte may be wrong: the model is refused, or answers something."""
    X, y = make_multiclass(300, 70, n_features=64, nnz=6)
    clf = make(name, layout=layout, bits=12).fit(X, y).compile()
    path = tmp_path / "m"
    clf.save(path)
    good, start = path.read_bytes(), header_size(path)
    random = np.random.default_rng(0)
    refused = 0
    for trial in range(150):
        bad = np.frombuffer(good, np.uint8).copy()
        at = random.integers(start if trial % 3 else 0, len(bad), size=1 + trial % 4)
        bad[at] = random.integers(0, 256, size=len(at)) if trial % 2 else 0xFF
        path.write_bytes(bad.tobytes())
        try:
            damaged = load(path, mmap=True)
            labels, _ = damaged.predict_topk(X, 3)
        except ValueError:
            refused += 1
            continue
        assert len(labels) == len(y)
    assert refused > 5
    path.write_bytes(good[: len(good) * 2 // 3])
    with pytest.raises(CorruptModelFileError):
        load(path, mmap=True)
    path.write_bytes(b"no model")
    with pytest.raises(ModelFileError):
        load(path, mmap=True)
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(CorruptModelFileError, match="checksum"):
        load(path)


@pytest.mark.parametrize("layout", [{"layout": "hashed", "bits": 20}, {"layout": "dense"}])
@pytest.mark.parametrize("key", ["weights", "weights_used", "models", "counts", "index_label"])
def test_state_that_does_not_fit_is_refused(key, layout):
    X, y = problem(n=300)
    clf = LabelTreeClassifier(random_state=0, index_length=16, **layout).fit(X, y)
    compiled = clf.compile()
    state = compiled._learner.state()
    for wrong in (state[key][:-1], np.append(state[key], state[key][:1])):
        learner = compiled._make_learner()
        with pytest.raises(ValueError, match="saved"):
            learner.restore({**state, key: wrong})
    with pytest.raises(ValueError, match="lacks the array"):
        compiled._make_learner().restore(clf._learner.state())


@pytest.mark.parametrize("name", ["RecallTreeClassifier", "LOMTreeClassifier"])
def test_counts_of_labels_at_every_node_are_left_out(name):
    X, y = problem(n=300)
    clf = make(name).fit(X, y)
    compiled = clf.compile()
    assert "node_label" in clf._learner.state()
    assert "node_label" not in compiled._learner.state()
    again = pickle.loads(pickle.dumps(compiled))
    assert again.tree_.to_dict() == clf.tree_.to_dict()
