"""Floors under what is learned, so that quality cannot be lost unnoticed between releases."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from labeltree.datasets import make_multiclass, stdlib_tokens
from labeltree.estimators import ESTIMATORS

# Accuracy with default settings; measured values are a point or two above.
DIGITS = {
    "OneAgainstAllClassifier": 0.935,
    "LabelTreeClassifier": 0.935,
    "ProbabilityTreeClassifier": 0.80,
    "RecallTreeClassifier": 0.935,
    "LOMTreeClassifier": 0.86,
    "LdSMClassifier": 0.975,
    "RandomTreeClassifier": 0.83,
    "FilterTreeClassifier": 0.83,
    "PECOCClassifier": 0.91,
}
SYNTHETIC = {
    "OneAgainstAllClassifier": 0.98,
    "LabelTreeClassifier": 0.98,
    "ProbabilityTreeClassifier": 0.975,
    "RecallTreeClassifier": 0.965,
    "LOMTreeClassifier": 0.9,
    "LdSMClassifier": 0.9,
    "RandomTreeClassifier": 0.915,
    "FilterTreeClassifier": 0.915,
    "PECOCClassifier": 0.985,
}
TOKENS = {
    "OneAgainstAllClassifier": 0.325,
    "LabelTreeClassifier": 0.415,
    "ProbabilityTreeClassifier": 0.32,
    "RecallTreeClassifier": 0.33,
    "LOMTreeClassifier": 0.345,
    "LdSMClassifier": 0.355,
    "RandomTreeClassifier": 0.365,
    "FilterTreeClassifier": 0.365,
    "PECOCClassifier": 0.41,
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_digits(name):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1300], order[1300:]
    clf = ESTIMATORS[name](random_state=0).fit(X[train], y[train])
    assert clf.score(X[test], y[test]) >= DIGITS[name]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_many_labels_few_examples_each(name):
    X, y = make_multiclass(5000, 500, noise=0.7)
    clf = ESTIMATORS[name](random_state=0).fit(X[:4000], y[:4000])
    assert clf.score(X[4000:], y[4000:]) >= SYNTHETIC[name]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_next_token_of_a_stream(name):
    """One pass, in order: labels appear all the time."""
    X, y = stdlib_tokens(limit=10_000)
    clf = ESTIMATORS[name]()
    for begin in range(0, len(y), 500):
        clf.partial_fit(X[begin : begin + 500], y[begin : begin + 500])
    assert 1 - clf.progress_.error >= TOKENS[name]


def test_sets_of_labels():
    """Each row has a label of its own and one that many rows share; both are found."""
    X, y = make_multiclass(3000, 100, noise=0.5)
    sets = [[int(label), 100 + int(label) % 7] for label in y]
    clf = ESTIMATORS["LabelTreeClassifier"](random_state=0).fit(X[:2500], sets[:2500])
    predicted = clf.predict(X[2500:])
    right = [set(a) == set(b) for a, b in zip(predicted, sets[2500:], strict=True)]
    assert np.mean(right) >= 0.98
