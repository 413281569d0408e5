import time

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import OneAgainstAllClassifier, _core
from labeltree.datasets import make_multiclass
from labeltree.validation import as_matrix
from tests.interrupts import interrupted_after
from tests.reference.one_against_all import OneAgainstAll


def as_dicts(X):
    return [{i: float(v) for i, v in enumerate(x) if v} for x in X]


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("layout", ["dense", "hashed"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    "rule",
    [
        {"update": "adaptive", "scale": "max", "step": 0.5},
        {"update": "adaptive", "scale": "none", "step": 0.5},
        {"update": "sgd", "scale": "none", "step": 0.3, "power": 0.25},
    ],
)
def test_decides_as_the_reference(loss, layout, dense, rule):
    X, y = make_multiclass(300, 11, n_features=64, nnz=6, noise=0.3)
    X = X.toarray()
    settings = {"loss": loss, **rule}
    reference = OneAgainstAll(**settings, min_gradient=1e-3)
    predicted = [reference.learn(x, {label}) for x, label in zip(as_dicts(X), y, strict=True)]
    clf = OneAgainstAllClassifier(layout=layout, bits=24, **settings)
    clf.partial_fit(X if dense else sp.csr_matrix(X), y, classes=range(11))
    assert clf.progress_.errors == np.sum(np.array(predicted) != y)
    test, _ = make_multiclass(100, 11, n_features=64, nnz=6, noise=0.3, random_state=1)
    expected = [reference.predict(x) for x in as_dicts(test.toarray())]
    np.testing.assert_array_equal(clf.predict(test), expected)
    margins = clf._learner.predict_margins(as_matrix(test.astype(np.float32)), 1)
    for row, x in enumerate(as_dicts(test.toarray()[:20])):
        expected = [reference.models[label].predict(x) for label in range(11)]
        np.testing.assert_allclose(margins[row], expected, rtol=1e-3, atol=1e-4)


def test_of_equal_labels_the_first_wins():
    clf = OneAgainstAllClassifier(layout="hashed").partial_fit(
        np.zeros((20, 3)), [[3, 1], [2, 5]] * 10, classes=[9, 1, 2, 3, 5]
    )
    labels, scores = clf.predict_topk(np.zeros((1, 3)), k=4)
    tied = dict(zip(labels[0].tolist(), scores[0].tolist(), strict=True))
    assert tied[1] == tied[3]
    assert tied[2] == tied[5]
    assert labels[0].tolist() in ([1, 3, 2, 5], [2, 5, 1, 3])


def test_label_sets_decide_as_the_reference():
    X, first = make_multiclass(200, 9, n_features=64, nnz=6)
    sets = [sorted({int(label), int(label * 7 % 5)}) if label else [] for label in first]
    settings = {"loss": "logistic", "update": "adaptive", "scale": "none", "step": 0.5}
    reference = OneAgainstAll(**settings, min_gradient=0.03)
    rows = as_dicts(X.toarray())
    predicted = [reference.learn(x, set(labels)) for x, labels in zip(rows, sets, strict=True)]
    clf = OneAgainstAllClassifier(**settings).partial_fit(X, sets)
    labelled = [i for i, labels in enumerate(sets) if labels]
    assert clf.progress_.examples == len(labelled)
    assert clf.progress_.errors == sum(predicted[i] not in sets[i] for i in labelled)
    expected = [
        [label for label in clf.classes_.tolist() if reference.models[label].predict(x) > 0]
        for x in rows
    ]
    assert clf.predict(X) == expected


def test_learns_a_problem_with_many_labels():
    X, y = make_multiclass(3500, 150, noise=0.5)
    for layout in ("dense", "hashed"):
        clf = OneAgainstAllClassifier(layout=layout, random_state=0).fit(X[:2500], y[:2500])
        assert clf.score(X[2500:], y[2500:]) > 0.97


def test_threads_do_not_change_the_model():
    X, y = make_multiclass(2000, 100)
    for layout in ("dense", "hashed"):
        one = OneAgainstAllClassifier(layout=layout, random_state=0).fit(X, y)
        two = OneAgainstAllClassifier(layout=layout, random_state=0, n_jobs=2).fit(X, y)
        assert one.progress_ == two.progress_
        for name, array in one._learner.state().items():
            np.testing.assert_array_equal(two._learner.state()[name], array)
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


class TestAnswers:
    @pytest.fixture
    def problem(self):
        return make_multiclass(1500, 40, noise=0.6)

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    def test_probabilities_of_single_labels_sum_to_one(self, problem, loss):
        clf = OneAgainstAllClassifier(loss=loss, random_state=0).fit(*problem)
        p = clf.predict_proba(problem[0])
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-4)
        assert (p >= 0).all()

    def test_labels_never_seen_have_no_probability(self):
        rng = np.random.default_rng(0)
        clf = OneAgainstAllClassifier(loss="squared").partial_fit(
            rng.normal(size=(30, 4)), rng.integers(2, size=30), classes=range(5)
        )
        p = clf.predict_proba(rng.normal(size=(500, 4)) * 5)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-4)
        assert not p[:, 2:].any()

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    def test_topk_are_the_largest_probabilities(self, problem, loss):
        X, y = problem
        clf = OneAgainstAllClassifier(loss=loss, random_state=0).fit(X, y)
        labels, scores = clf.predict_topk(X, k=7)
        p = clf.predict_proba(X)
        np.testing.assert_allclose(scores, -np.sort(-p, axis=1)[:, :7], rtol=1e-4, atol=1e-7)
        np.testing.assert_array_equal(labels[:, 0], clf.predict(X))
        assert (np.diff(scores, axis=1) <= 1e-7).all()
        assert all(len(set(row)) == 7 for row in labels)

    def test_more_labels_asked_for_than_learned(self):
        clf = OneAgainstAllClassifier().fit([[0.0], [1.0]], ["a", "b"])
        labels, _ = clf.predict_topk([[1.0]], k=10)
        assert labels.tolist() == [["b", "a"]]

    def test_hinge_loss_has_margins_but_no_probabilities(self, problem):
        X, y = problem
        clf = OneAgainstAllClassifier(loss="hinge", random_state=0).fit(X, y)
        assert not hasattr(clf, "predict_proba")
        assert clf.score(X, y) > 0.9
        assert clf.predict_topk(X, 2)[1].max() > 1.0

    def test_label_sets_come_back_in_the_form_they_were_given(self, problem):
        X, y = problem
        lists = [[int(label)] if label % 5 else [] for label in y]
        labelled = np.flatnonzero(y % 5)
        entries = (np.ones(len(labelled)), (labelled, y[labelled]))
        indicator = sp.csr_matrix(entries, shape=(len(y), 40))
        by_list = OneAgainstAllClassifier(random_state=0).fit(X, lists).predict(X)
        by_matrix = OneAgainstAllClassifier(random_state=0).fit(X, indicator).predict(X)
        by_array = OneAgainstAllClassifier(random_state=0).fit(X, indicator.toarray()).predict(X)
        assert sp.issparse(by_matrix)
        np.testing.assert_array_equal(by_matrix.toarray(), by_array)
        assert [np.flatnonzero(row).tolist() for row in by_array] == by_list
        assert np.mean([a == b for a, b in zip(by_list, lists, strict=True)]) > 0.8

    def test_score_of_label_sets_is_precision_at_one(self, problem):
        X, y = problem
        sets = [[int(label), 100 + int(label) % 3] for label in y]
        clf = OneAgainstAllClassifier(random_state=0).fit(X, sets)
        best = clf.predict_topk(X, 1)[0][:, 0]
        assert clf.score(X, sets) == np.mean([b in s for b, s in zip(best, sets, strict=True)])


class TestForms:
    def test_indicators_and_sets_do_not_mix(self):
        clf = OneAgainstAllClassifier().partial_fit(np.eye(3), np.eye(3, dtype=int))
        with pytest.raises(ValueError, match="labels as a set a row, expected an indicator"):
            clf.partial_fit(np.eye(3), [[5], [1], [2]])
        clf.partial_fit(np.eye(3), sp.csr_matrix(np.eye(3, 6, 2)))
        assert clf.predict(np.eye(3)).shape == (3, 6)

    def test_indicators_need_no_classes(self):
        with pytest.raises(ValueError, match="y is an indicator: its columns are the labels"):
            OneAgainstAllClassifier().partial_fit(np.eye(3), np.eye(3, dtype=int), classes=[7, 3])

    def test_score_weighs_rows(self):
        clf = OneAgainstAllClassifier(random_state=0).fit(np.eye(2), [["a"], ["b"]])
        assert clf.score(np.eye(2), [["a"], ["a"]], sample_weight=[1.0, 3.0]) == 0.25
        with pytest.raises(ValueError, match="nothing to score"):
            clf.score(np.eye(2), [["a"], ["a"]], sample_weight=[0.0, 0.0])
        assert clf.score(np.eye(2), [["a"], ["new"]]) == 0.5


class TestCtrlC:
    def test_stops_soon_and_leaves_the_model_usable(self):
        X, y = make_multiclass(4000, 500)
        clf = OneAgainstAllClassifier(passes=10_000, random_state=0)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.5):
            clf.fit(X, y)
        assert time.monotonic() - start < 5
        assert clf._learner.examples > 0
        assert clf.progress_.examples == min(clf._learner.examples, len(y))
        assert clf.predict(X).shape == (len(y),)
        clf.partial_fit(X[:10], y[:10])

    def test_stops_a_prediction(self):
        X, y = make_multiclass(20_000, 2000)
        clf = OneAgainstAllClassifier().partial_fit(X[:2000], y[:2000])
        X = sp.vstack([X] * 20).tocsr()
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
            clf.predict(X)
        assert clf.predict(X[:5]).shape == (5,)


class TestSettledFromTheData:
    def test_unit_rows_are_not_scaled(self):
        X, y = make_multiclass(100, 5)
        assert OneAgainstAllClassifier().fit(X, y).scale_ == "none"
        assert OneAgainstAllClassifier().fit(X * 3, y).scale_ == "max"
        assert OneAgainstAllClassifier(scale="max").fit(X, y).scale_ == "max"

    def test_layout_follows_the_data(self):
        X, y = make_multiclass(100, 5, n_features=256)
        assert OneAgainstAllClassifier().fit(X, y).layout_ == "lines"
        assert OneAgainstAllClassifier().fit(X.toarray(), y).layout_ == "dense"
        assert OneAgainstAllClassifier().partial_fit(X, y).layout_ == "hashed"
        assert OneAgainstAllClassifier().partial_fit(X.toarray(), y).layout_ == "dense"
        assert OneAgainstAllClassifier(layout="hashed").fit(X, y).layout_ == "hashed"

    def test_bits_follow_the_data(self):
        X, y = make_multiclass(100, 5)
        assert OneAgainstAllClassifier().fit(X, y).bits_ == 16
        assert OneAgainstAllClassifier().partial_fit(X, y).bits_ == 24
        assert OneAgainstAllClassifier(bits=20).fit(X, y).bits_ == 20


class TestCoreRefuses:
    """What the estimator never passes on, the core refuses all the same: memory stays its own."""

    @pytest.fixture
    def core(self):
        params = _core.BankParams(
            scale=_core.Scale.none, layout=_core.Layout.dense, bits=10, features=2
        )
        rule = _core.Rule(
            loss=_core.Loss.logistic,
            update=_core.Update.adaptive,
            step=0.5,
            power=0.0,
            min_gradient=0.0,
        )
        learner = _core.OneAgainstAll(params, rule)
        learner.resize(3)
        return learner

    def learn(self, core, *, labels=(0, 1), weight=None, order=(0, 1), predicted=2):
        X = _core.Matrix.dense(np.ones((2, 2), np.float32))
        y = _core.LabelSets(np.arange(len(labels) + 1), np.array(labels, np.uint32))
        core.learn(X, y, weight, np.array(order), 1, np.zeros(predicted, np.uint32))

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"labels": (0, 3)}, "label id 3 is not below the number of labels, 3"),
            ({"labels": (0, 2**32 - 2)}, "label id 4294967294 is not below"),
            ({"labels": (0, 1, 2)}, "X has 2 rows, but y has 3"),
            ({"weight": np.array([1.0, -1.0], np.float32)}, "weight 1 is -1"),
            ({"weight": np.array([np.nan, 1.0], np.float32)}, "weight 0 is nan"),
            ({"weight": np.ones(3, np.float32)}, "X and weight differ in length"),
            ({"order": (0, 2)}, "order names row 2 of 2"),
            ({"order": (0, -1)}, "order names row -1 of 2"),
            ({"predicted": 1}, "order and predicted differ in length"),
        ],
    )
    def test_bad_arguments(self, core, bad, message):
        before = core.state()
        with pytest.raises(ValueError, match=message):
            self.learn(core, **bad)
        for name, array in core.state().items():
            np.testing.assert_array_equal(array, before[name])

    def test_state_of_another_shape(self, core):
        state = core.state()
        state["total_norm"] = np.zeros(3)
        with pytest.raises(ValueError, match="total_norm should have one entry"):
            core.restore(state)
        del state["total_norm"]
        with pytest.raises(ValueError, match="lacks the array total_norm"):
            core.restore(state)
        state = core.state()
        state["weights_row"] = np.array([10**9], np.uint64)
        state["weights"] = np.zeros(32, np.float32)
        with pytest.raises(ValueError, match="row beyond the end of the table"):
            core.restore(state)
        state["weights"] = np.zeros(31, np.float32)
        with pytest.raises(ValueError, match="do not fit together"):
            core.restore(state)
        state["counts"] = np.zeros(3, np.float32)
        with pytest.raises(ValueError, match="counts has the wrong type or shape"):
            core.restore(state)
        state["counts"] = np.zeros(4)
        with pytest.raises(ValueError, match="counts and steps differ in length"):
            core.restore({**core.state(), "counts": np.zeros(4)})
