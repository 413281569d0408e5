"""Models to draw."""

import pytest

from labeltree import LOMTreeClassifier, ProbabilityTreeClassifier
from labeltree.datasets import make_multiclass


@pytest.fixture(scope="package")
def runs():
    X, y = make_multiclass(600, 20, n_features=128)
    return [
        estimator(random_state=0).fit(X, y)
        for estimator in (LOMTreeClassifier, ProbabilityTreeClassifier)
    ]
