"""Labels that are forgotten, and bounds of how many there may be."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import labeltree
from labeltree import LabelTreeClassifier, TextClassifier
from labeltree.datasets import make_multiclass


def problem(n=600, labels=60, seed=0):
    X, y = make_multiclass(n, labels, n_features=256, nnz=8, random_state=seed)
    return X, np.array([f"label {i}" for i in y], dtype=object)


def sets_problem(n, labels, features=64):
    """Rows of up to four labels, each of which has features of its own."""
    rng = np.random.default_rng(0)
    y = [sorted(set(rng.integers(0, labels, rng.integers(1, 5)).tolist())) for _ in range(n)]
    own = rng.random((labels, features)) < 0.1
    return sp.csr_matrix(np.array([own[one].sum(axis=0) for one in y], dtype=np.float32)), y


def clf_of(**params):
    return LabelTreeClassifier(random_state=0, bits=16, **params)


def assert_same(a, b):
    assert a.classes_.tolist() == b.classes_.tolist()
    one, other = a._learner.state(), b._learner.state()
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    assert a.progress_ == b.progress_


KINDS = [
    {},
    {"layout": "dense"},
    {"index_length": 32},
    {"replay": 0},
    {"n_trees": 3, "organize": False},
    {"scorers": False},
]


@pytest.mark.parametrize("params", KINDS, ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_forgotten_labels_are_never_predicted(params, method):
    X, y = problem()
    clf = getattr(clf_of(**params), method)(X, y)
    before = clf.classes_.tolist()
    gone = before[::3]
    assert clf.forget(gone) is clf
    assert clf.classes_.tolist() == [label for label in before if label not in gone]
    assert clf.n_labels_ == len(clf.classes_) == len(before) - len(gone)
    labels, _ = clf.predict_topk(X[:100], k=1000)
    assert not set(labels.ravel().tolist()) & set(gone)
    assert labels.shape == (100, clf.n_labels_)
    table = clf.predict_proba(X[:50])
    assert table.shape == (50, clf.n_labels_)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-4)
    np.testing.assert_array_equal(clf.classes_[table.argmax(axis=1)], clf.predict(X[:50]))
    assert clf.label_ids([gone[0], clf.classes_[3]]).tolist() == [-1, 3]
    leaves = {label for label in clf.tree_.label if label is not None}
    assert leaves == set(clf.classes_)


@pytest.mark.parametrize("params", KINDS, ids=str)
def test_labels_that_stay_are_predicted_as_before(params):
    X, y = problem(2000, 40)
    clf = clf_of(**params).partial_fit(X, y)
    gone = clf.classes_[:4].tolist()
    stay = ~np.isin(y, gone)
    before = clf.score(X[stay], y[stay])
    clf.forget(gone)
    assert clf.score(X[stay], y[stay]) >= before - 0.02
    clf.partial_fit(X, y)  # which brings them again
    assert clf.score(X, y) >= before - 0.02
    assert set(clf.classes_[-4:]) == set(gone)  # as new labels, behind the others


@pytest.mark.parametrize("layout", ["hashed", "dense"])
def test_learning_on_after_loading_is_as_without(layout, tmp_path):
    X, y = problem(900, 80)
    clf = clf_of(layout=layout).partial_fit(X[:300], y[:300])
    clf.forget(clf.classes_[10:30])
    clf.save(tmp_path / "model")
    other = labeltree.load(tmp_path / "model")
    for one in (clf, other):
        one.partial_fit(X[300:600], y[300:600]).forget(one.classes_[5:9])
        one.partial_fit(X[600:], y[600:])
    assert_same(clf, other)


def test_a_model_without_an_index_is_saved_and_loaded_after_forgetting(tmp_path):
    X = np.eye(8, dtype=np.float32) + 1  # no rows of length one, so no index is chosen
    clf = LabelTreeClassifier(random_state=0).partial_fit(X, list("abcdefgh"))
    assert clf.index_length_ == 0
    clf.forget(["a", "e"])
    clf.save(tmp_path / "model")
    other = labeltree.load(tmp_path / "model")
    for one in (clf, other):
        one.partial_fit(X, list("abcdxyzh"))
    assert_same(clf, other)


def test_unknown_labels_are_refused_and_change_nothing():
    X, y = problem()
    clf = clf_of().partial_fit(X, y)
    expected = clf_of().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"'emu' is not among the 60 labels .* nothing was forg"):
        clf.forget([y[0], "emu"])
    with pytest.raises(ValueError, match=r"labels has \['label 1'\], expected labels one by one"):
        clf.forget([["label 1"]])
    with pytest.raises(ValueError, match="and 1 others are not among"):
        clf.forget(["emu", "yak", y[0]])
    with pytest.raises(ValueError, match="expected a list of labels"):
        clf.forget(y[0])
    with pytest.raises(ValueError, match="expected a list of labels"):
        clf.forget(3)
    clf.forget([])
    assert_same(clf, expected)


def test_who_cannot_forget():
    X, y = problem()
    with pytest.raises(NotFittedError):
        clf_of().forget(["a"])
    compiled = clf_of().fit(X, y).compile()
    with pytest.raises(ValueError, match="compiled for prediction"):
        compiled.forget([y[0]])


def test_all_labels_may_be_forgotten():
    X, y = problem()
    clf = clf_of().partial_fit(X, y).forget(np.unique(y))
    assert clf.n_labels_ == len(clf.classes_) == 0
    with pytest.raises(NotFittedError, match="all labels were forgotten"):
        clf.predict(X)
    clf.partial_fit(X, y)
    assert clf.score(X, y) > 0.5


def test_columns_of_an_indicator_stay():
    X, sets = sets_problem(400, 12)
    Y = np.zeros((400, 12), int)
    for row, labels in enumerate(sets):
        Y[row, list(labels)] = 1
    clf = clf_of(max_labels=12).partial_fit(X, Y)
    learned = clf.n_labels_
    clf.forget([3, 5])
    assert clf.n_labels_ == learned - 2
    assert clf.classes_.tolist() == list(range(12))
    assert not clf.predict(X)[:, [3, 5]].any()
    assert not clf.predict_proba(X)[:, [3, 5]].any()
    clf.partial_fit(X, Y)
    assert clf.n_labels_ == learned
    with pytest.raises(ValueError, match="12 columns, expected at most max_labels = 11"):
        clf_of(max_labels=11).partial_fit(X, Y)


def test_text():
    texts = ["it purrs", "it barks", "it sings", "it swims"]
    clf = TextClassifier().partial_fit(texts, ["cat", "dog", "bird", "fish"])
    assert clf.forget(["dog", "fish"]).classes_.tolist() == ["cat", "bird"]
    assert clf.predict(["it barks"])[0] in ("cat", "bird")
    bounded = TextClassifier(LabelTreeClassifier(max_labels=2)).partial_fit(texts, list("abcd"))
    assert bounded.classes_.tolist() == ["c", "d"]
    assert not hasattr(TextClassifier(labeltree.RecallTreeClassifier()), "forget")


class TestMaxLabels:
    @given(
        y=st.lists(st.integers(0, 25), min_size=1, max_size=80),
        cuts=st.lists(st.integers(1, 20), min_size=1, max_size=20),
        most=st.integers(1, 12),
    )
    @settings(max_examples=40, deadline=None)
    def test_any_batches_make_the_same_model(self, y, cuts, most):
        """And it holds the labels that were seen last."""
        rng = np.random.default_rng(0)
        X = sp.csr_matrix(rng.random((len(y), 6)))
        whole = clf_of(max_labels=most).partial_fit(X, y)
        parts, begin = clf_of(max_labels=most, scale=whole.scale_), 0
        for size in cuts * len(y):
            if begin < len(y):
                parts.partial_fit(X[begin : begin + size], y[begin : begin + size])
                assert len(parts.classes_) <= most
            begin += size
        assert_same(whole, parts)
        last = list(dict.fromkeys(reversed(y)))
        held = set(whole.classes_.tolist())
        assert held == set(last[: len(held)])
        assert len(held) >= min(len(last), most - max(1, most // 8) + 1, most)

    def test_sets(self):
        X, y = sets_problem(500, 60)
        whole = clf_of(max_labels=20, scale="none").partial_fit(X, y)
        parts = clf_of(max_labels=20, scale="none")
        for row in range(0, 500, 7):
            parts.partial_fit(X[row : row + 7], y[row : row + 7])
        ones = clf_of(max_labels=20, scale="none").partial_fit(X[:1], y[:1])
        for row in range(1, 500):
            ones.learn_one(X[row], y[row])
        assert_same(whole, parts)
        assert_same(whole, ones)

    def test_saved_and_loaded(self, tmp_path):
        X, y = problem(900, 300)
        clf = clf_of(max_labels=50).partial_fit(X[:500], y[:500])
        clf.save(tmp_path / "model")
        other = labeltree.load(tmp_path / "model")
        assert other.max_labels == 50
        for one in (clf, other):
            one.partial_fit(X[500:], y[500:])
        assert_same(clf, other)
        compiled = clf.compile()
        compiled.save(tmp_path / "compiled")
        again = labeltree.load(tmp_path / "compiled", mmap=True)
        assert again.predict(X).tolist() == compiled.predict(X).tolist()

    @pytest.mark.parametrize("layout", ["hashed", "dense"])
    def test_memory_stays_where_it_is(self, layout):
        """After three times the labels, too, though each row brings a new one."""
        clf = clf_of(max_labels=200, layout=layout, replay=1)
        rng = np.random.default_rng(0)
        sizes = []
        for turn in range(12):
            X = sp.random(400, 300, 0.03, "csr", random_state=rng)
            clf.partial_fit(X, [f"{turn} {i}" for i in range(400)])
            state = clf._learner.state()
            state.pop("weights"), state.pop("weights_row")  # of a table that is as large as it is
            sizes.append(sum(a.nbytes for a in state.values()) + clf._vocabulary.nbytes)
        assert max(sizes[4:]) < 1.2 * sizes[3]
        if layout == "dense":
            models = clf._learner.state()["n_models"][0]
            assert models < 200 * (1 + 3 * 8) * 2

    def test_one_sentence_for_what_cannot_be(self):
        X, y = problem(200, 100)
        with pytest.raises(ValueError, match=r"y has .* labels, expected at most max_labels = 10"):
            clf_of(max_labels=10).fit(X, y)
        clf = clf_of(max_labels=3).partial_fit(X[:2], [["a"], ["b"]])
        before = clf._learner.state()
        with pytest.raises(ValueError, match="row 1 of y has 4 labels, expected at most max_lab"):
            clf.partial_fit(X[:2], [["c"], ["a", "d", "e", "f"]])
        with pytest.raises(ValueError, match="row 0 of y has 4 labels"):
            clf.learn_one(X[0], list("defg"))
        with pytest.raises(ValueError, match="classes has 4 labels, expected at most"):
            clf.partial_fit(X[:1], [["c"]], classes=list("cdef"))
        assert clf.classes_.tolist() == ["a", "b"]
        assert all(np.array_equal(before[n], a) for n, a in clf._learner.state().items())
        for wrong in (0, -1, 2.5, "many"):
            with pytest.raises(ValueError, match="'max_labels' parameter"):
                clf_of(max_labels=wrong).partial_fit(X, y)

    def test_declared_labels_count(self):
        X, _ = problem(50, 20)
        clf = clf_of(max_labels=10).partial_fit(X[:1], ["x"], classes=list("abcdefghi"))
        assert len(clf.classes_) == 10
        clf.partial_fit(X[:1], ["y"])
        assert "x" in clf.classes_
        assert "y" in clf.classes_
        assert "a" not in clf.classes_

    def test_fit_within_the_bound(self):
        X, y = problem(600, 60)
        clf = clf_of(max_labels=60).fit(X, y)
        assert clf.predict(X).tolist() == clf_of().fit(X, y).predict(X).tolist()
        clf.partial_fit(X[:1], ["new"])
        assert len(clf.classes_) == 60 - 7 + 1


class TestMaxMemory:
    def stream(self, clf, turns, rows=256):
        rng = np.random.default_rng(0)
        for turn in range(turns):
            X = sp.random(rows, 300, 0.03, "csr", random_state=rng)
            yield clf.partial_fit(X, [f"{turn} {i}" for i in range(rows)])

    @pytest.mark.parametrize("layout", ["hashed", "dense"])
    def test_what_grows_stays_below(self, layout):
        clf = clf_of(max_memory=0.5, replay=0, layout=layout)
        grown = [one._grown() for one in self.stream(clf, 20)]
        assert max(grown) <= 0.5 * 2**20
        assert grown[-1] > 0.3 * 2**20
        assert 1 < clf.n_labels_ < 20 * 256
        assert clf.classes_[-1] == "19 255"

    @pytest.mark.parametrize("params", [{}, {"layout": "dense"}, {"index_length": 16}], ids=str)
    def test_the_estimate_is_about_what_is_there(self, params):
        """Beside the state: what is derived from it, and lists that have some room."""
        clf = clf_of(max_memory=1000, replay=1, **params)
        for _ in self.stream(clf, 4):
            pass
        state = clf._learner.state()
        fixed = ("weights", "weights_row", "largest", "largest_row")
        held = sum(array.nbytes for name, array in state.items() if name not in fixed)
        if clf.layout_ != "hashed":
            held += int(state["n_models"][0]) * 4 * 2 * (clf.n_features_in_ + 1)
        held += sum(array.nbytes for array in clf._vocabulary.packed().arrays.values())
        assert held < clf._grown() < 2 * held

    @pytest.mark.parametrize(("megabytes", "replay"), [(0.2, 0), (1.02, 1)])
    def test_any_batches_make_the_same_model_and_files_go_on(self, megabytes, replay, tmp_path):
        rng = np.random.default_rng(0)
        X = sp.random(2500, 300, 0.05, "csr", random_state=rng)
        y = [f"label {i}" for i in rng.integers(0, 1500, 2500)]

        def new():
            return clf_of(max_memory=megabytes, replay=replay, scale="none")

        whole, parts, saved = new().partial_fit(X, y), new(), new()
        for begin in range(0, 2500, 300):
            parts.partial_fit(X[begin : begin + 300], y[begin : begin + 300])
        saved.partial_fit(X[:1111], y[:1111]).save(tmp_path / "model")
        saved = labeltree.load(tmp_path / "model").partial_fit(X[1111:], y[1111:])
        assert whole.n_labels_ < len(set(y))
        assert_same(whole, parts)
        assert_same(whole, saved)

    def test_nonsense_is_refused(self):
        X, y = problem(50, 5)
        with pytest.raises(ValueError, match=r"max_memory is 50, expected more than replay = 64"):
            clf_of(max_memory=50).partial_fit(X, y)
        for wrong in (0, -3, "much"):
            with pytest.raises(ValueError, match="'max_memory' parameter"):
                clf_of(max_memory=wrong, replay=0).partial_fit(X, y)


def test_threads_predict_while_another_forgets():
    """Ids are told by the vocabulary that they are of, though they change all the time."""
    X = sp.csr_matrix(np.eye(8))
    y = [f"label {i}" for i in range(8)]
    clf = clf_of(replay=0).partial_fit(X, y)
    right, failed, done = [], [], threading.Event()

    def ask():
        try:
            while not done.is_set():
                right.extend(clf.predict(X) == y)
                right.extend(clf.predict_topk(X, k=2)[0][:, 0] == y)
                right.append(clf.predict_one(X[3]) == y[3])
                right.append(clf.score(X, y) == 1.0)
                assert clf.predict_proba(X).shape == (8, 8)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(300):
            with clf._lock.changing:  # so that nobody sees the model without the label
                clf.forget([y[turn % 7]])
                for _ in range(3):
                    clf.partial_fit(X, y)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failed
    assert len(right) > 100
    assert np.mean(right) > 0.99
