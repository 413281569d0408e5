"""Parameters are taken and refused as scikit-learn takes and refuses them."""

import re
from numbers import Integral, Real

import numpy as np
import pytest
from sklearn.utils import _param_validation as theirs

from labeltree import LabelTreeClassifier, parameters
from labeltree.estimators import ESTIMATORS, TextFeatures

VALUES = [
    *(None, True, False, np.True_, 0, 1, -1, 2**32, 2**80, np.int8(3), 0.0, 0.5, 1.0, -0.5),
    *(np.float32(0.5), float("nan"), float("inf"), -float("inf"), "auto", "max", b"max", 1j),
    *((1, 2), [1, 2], {}, np.zeros(2), np.random.RandomState(0), np.random.default_rng(0)),
]


def as_theirs(constraint):
    if isinstance(constraint, parameters.Interval):
        low, high, closed = constraint.low, constraint.high, constraint.closed
        return theirs.Interval(constraint.type, low, high, closed=closed)
    if isinstance(constraint, parameters.StrOptions):
        return theirs.StrOptions(constraint.options)
    return constraint


def said(check, *arguments):
    """Return the words of an error in any order, which is that of a set in scikit-learn."""
    try:
        check(*arguments)
    except ValueError as error:
        return sorted(re.findall(r"[^\s,{}]+", str(error)))
    return []


CONSTRAINTS = {
    parameters.described(constraints): constraints
    for estimator in (*ESTIMATORS.values(), TextFeatures)
    for constraints in estimator._parameter_constraints.values()
} | {
    closed: [parameters.Interval(kind, -1, 1, closed)]
    for kind in (Integral, Real)
    for closed in ("left", "right", "both", "neither")
}


@pytest.mark.parametrize("constraints", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_what_is_taken_and_what_is_said(constraints):
    expected = {"p": [as_theirs(constraint) for constraint in constraints]}
    for value in VALUES:
        theirs_says = said(theirs.validate_parameter_constraints, expected, {"p": value}, "Tree")
        assert said(parameters.check, {"p": constraints}, {"p": value}, "Tree") == theirs_says


def test_a_parameter_that_is_wrong_is_named():
    with pytest.raises(ValueError, match="'update' parameter of LabelTreeClassifier") as error:
        LabelTreeClassifier(update="fast").check_params()
    assert str(error.value).endswith(
        "must be a str among {'adaptive', 'auto', 'dual'}. Got 'fast' instead."
    )
    assert isinstance(error.value, TypeError)
