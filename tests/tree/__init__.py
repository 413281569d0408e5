"""The core's trees, used directly; here is what their tests share."""

import numpy as np
import scipy.sparse as sp

from labeltree import _core
from labeltree.validation import as_matrix

NONE = 2**32 - 1  # the core's mark for no node, no label

RULE = {"loss": "logistic", "update": "adaptive", "step": 0.5, "power": 0.0, "min_gradient": 1e-3}


def core_rule(rule):
    kinds = {"loss": _core.Loss[rule["loss"]], "update": _core.Update[rule["update"]]}
    return _core.Rule(**{**rule, **kinds})


def core_bank(features, *, scale="none", layout="dense", bits=22):
    return _core.BankParams(
        scale=_core.Scale[scale], layout=_core.Layout[layout], bits=bits, features=features
    )


def as_rows(X, *, dense=True):
    X = np.ascontiguousarray(X, np.float32)
    return as_matrix(X if dense else sp.csr_matrix(X))


def as_dicts(X):
    return [{i: float(v) for i, v in enumerate(x) if v} for x in np.asarray(X, np.float32)]


def as_sets(y):
    """Label ids, one or a list for each row."""
    y = [np.atleast_1d(np.asarray(labels, np.uint32)) for labels in y]
    offset = np.cumsum([0, *map(len, y)])
    return _core.LabelSets(offset, np.concatenate(y))


def learn(core, X, y, weight=None, *, dense=True):
    """Learn rows in order, with a label or a list each; return what was predicted before."""
    predicted = np.zeros(len(y), np.uint32)
    sets = as_sets(y)
    if weight is not None:
        weight = np.asarray(weight, np.float32)
    core.learn(as_rows(X, dense=dense), sets, weight, np.arange(len(y)), 1, predicted)
    return predicted


def assert_same_state(a, b):
    a, b = a.state(), b.state()
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
