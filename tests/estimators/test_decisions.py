"""`predict_log_proba` and `decision_function`: what is made of probabilities, or of margins."""

import threading

import numpy as np
import pytest
from scipy.special import logit

from labeltree import (
    LabelTreeClassifier,
    LdSMClassifier,
    OneAgainstAllClassifier,
    PECOCClassifier,
    ProbabilityTreeClassifier,
    RecallTreeClassifier,
    TextClassifier,
)
from labeltree.datasets import make_multiclass
from labeltree.estimators.decisions import Decisions

K = 150
MAKERS = {
    "label tree": LabelTreeClassifier,
    "probability tree": ProbabilityTreeClassifier,
    "logistic": OneAgainstAllClassifier,
    "squared": lambda **more: OneAgainstAllClassifier(loss="squared", **more),
}
MARGINS = {
    "hinge": lambda **more: OneAgainstAllClassifier(loss="hinge", **more),
    "dual": lambda **more: OneAgainstAllClassifier(update="dual", **more),
}


@pytest.fixture(scope="module")
def problem():
    X, _ = make_multiclass(4 * K, K, random_state=0)
    return X, np.arange(4 * K) % K


@pytest.fixture(params=[*MAKERS, *MARGINS])
def make(request):
    return lambda: {**MAKERS, **MARGINS}[request.param](random_state=0)


@pytest.fixture(params=MAKERS)
def make_probable(request):
    return lambda: MAKERS[request.param](random_state=0)


@pytest.fixture(params=MARGINS)
def make_margins(request):
    return lambda: MARGINS[request.param](random_state=0)


def test_logarithms_are_those_of_the_probabilities(make_probable, problem):
    X, y = problem
    clf = make_probable().partial_fit(X, y, classes=[*range(K), 5 * K])
    p, logarithms = clf.predict_proba(X[:20]), clf.predict_log_proba(X[:20])
    assert logarithms.dtype == np.float32
    np.testing.assert_allclose(np.exp(logarithms), p, rtol=1e-5)
    assert (logarithms[:, clf.classes_ == 5 * K] == -np.inf).all()


def test_decisions_are_the_log_odds_of_the_probabilities(make_probable, problem):
    X, y = problem
    clf = make_probable().fit(X, y)
    p, scores = clf.predict_proba(X[:20]).astype(float), clf.decision_function(X[:20])
    between = (p > 0) & (p < 1)
    np.testing.assert_allclose(scores[between], logit(p[between]), rtol=1e-12)


def test_order_is_that_of_the_probabilities(make_probable, problem):
    X, y = problem
    clf = make_probable().fit(X, y)
    p, scores = clf.predict_proba(X[:20]), clf.decision_function(X[:20])
    np.testing.assert_array_equal(
        np.argsort(p, axis=1, kind="stable"), np.argsort(scores, axis=1, kind="stable")
    )


def test_best_decision_is_what_is_predicted(make, problem):
    X, y = problem
    clf = make().fit(X, y)
    scores = clf.decision_function(X)
    assert scores.shape == (len(y), K)
    np.testing.assert_array_equal(clf.classes_[scores.argmax(axis=1)], clf.predict(X))


def test_of_two_classes_the_second_is_predicted_if_its_decision_is_positive(make, problem):
    X, y = problem
    clf = make().fit(X, np.where(y % 2 == 1, "odd", "even"))
    scores = clf.decision_function(X)
    assert scores.shape == (len(y),)
    np.testing.assert_array_equal(clf.classes_[(scores > 0).astype(int)], clf.predict(X))


def test_sets_are_the_labels_whose_decision_is_not_negative(make, problem):
    X, y = problem
    clf = make().fit(
        X, [["odd" if label % 2 else "even", "all"][: 1 + i % 2] for i, label in enumerate(y)]
    )
    scores = clf.decision_function(X[:50])
    assert scores.shape == (50, 3)
    assert [[*clf.classes_[row >= 0]] for row in scores] == clf.predict(X[:50])


def test_two_labels_of_sets_have_two_columns(make, problem):
    X, y = problem
    clf = make().fit(X, [["odd"] if label % 2 else ["even"] for label in y])
    assert clf.decision_function(X[:50]).shape == (50, 2)


def test_labels_never_learned_have_the_lowest_finite_decision(make, problem):
    X, y = problem
    clf = make().partial_fit(X, y, classes=[*range(K), 5 * K])
    scores = clf.decision_function(X[:20])
    assert np.isfinite(scores).all()
    assert (scores[:, clf.classes_ == 5 * K] == scores.min(axis=1, keepdims=True)).all()
    two = make().partial_fit(X[:5], ["a"] * 5, classes=["a", "b"])
    assert np.isfinite(two.decision_function(X[:5])).all()
    assert (two.decision_function(X[:5]) < 0).all()


def test_certain_and_impossible_labels_have_finite_decisions_beyond_all_others():
    one, zero = np.float32(1), np.float32(0)
    p = np.array([0, np.nextafter(zero, one), 0.5, np.nextafter(one, zero), 1], dtype=np.float32)

    class Fixed(Decisions):
        multilabel_ = False

        def predict_proba(self, X):  # noqa: ARG002
            return p[None]

    (scores,) = Fixed().decision_function(None)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) > 0).all()
    assert scores[2] == 0
    assert scores[[0, -1]] == pytest.approx([-104, 17], abs=0.5)


def test_margins_are_scores_of_each_label(make_margins, problem):
    X, y = problem
    clf = make_margins().fit(X, y)
    assert not hasattr(clf, "predict_log_proba")
    scores = -np.sort(-clf.decision_function(X[:20]), axis=1)[:, :5]
    np.testing.assert_allclose(scores, clf.predict_topk(X[:20], 5)[1], rtol=1e-5)


def test_what_has_no_probabilities_has_no_decisions():
    for kind in (RecallTreeClassifier, LdSMClassifier, PECOCClassifier):
        assert not hasattr(kind(), "decision_function")
        assert not hasattr(kind(), "predict_log_proba")
        assert not hasattr(TextClassifier(kind()), "decision_function")


def test_texts_have_what_their_classifier_has():
    X, y = ["it purrs", "it barks", "it sings"] * 20, ["cat", "dog", "bird"] * 20
    clf = TextClassifier(LabelTreeClassifier(random_state=0)).fit(X, y)
    scores = clf.decision_function(X[:3])
    assert [*clf.classes_[scores.argmax(axis=1)]] == y[:3]
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X), rtol=1e-5)
    margins = TextClassifier(OneAgainstAllClassifier(loss="hinge", random_state=0)).fit(X, y)
    assert not hasattr(margins, "predict_log_proba")
    assert margins.decision_function(X).shape == (60, 3)


def test_decisions_are_of_one_model_while_fit_makes_another(problem):
    X, y = problem
    clf = OneAgainstAllClassifier(random_state=0, passes=1).fit(X[:50], y[:50] % 2)
    done, failures = threading.Event(), []

    def ask():
        while not done.is_set():
            shape = clf.decision_function(X[:5]).shape
            if shape not in ((5,), (5, 3)):
                failures.append(shape)

    thread = threading.Thread(target=ask)
    thread.start()
    for i in range(60):
        clf.fit(X[:50], y[:50] % (2 + i % 2))
    done.set()
    thread.join()
    assert failures == []
