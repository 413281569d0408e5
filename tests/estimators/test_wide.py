"""What a model costs follows what is in the rows, not how far their features are numbered."""

import re
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LabelTreeClassifier
from labeltree.estimators import ESTIMATORS

WIDTH = 2**32  # the largest index is one less
ROOM = 2**30  # bytes of addresses; a table that `partial_fit` does not yet use takes some


@pytest.fixture
def little_memory():
    """Let allocations fail that are as large as the width of the rows."""
    if not sys.platform.startswith("linux"):
        pytest.skip("addresses are not limited on this system")
    used = int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def wide_rows(value):
    random = np.random.default_rng(0)
    indices = np.sort(random.integers(0, WIDTH, (4, 5)), axis=1)
    indices[0, [0, -1]] = 0, WIDTH - 1
    data = np.full(20, value, np.float32)
    return sp.csr_matrix((data, indices.ravel(), np.arange(0, 21, 5)), (4, WIDTH))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("value", [1, 5**-0.5], ids=["counts", "unit"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_of_two_to_the_32_features(name, value, call):
    X = wide_rows(value)
    clf = getattr(ESTIMATORS[name](random_state=0), call)(X, [*"abca"])
    labels, _ = clf.predict_topk(X, 1)
    assert set(labels.ravel()) <= {*"abc"}
    assert len(clf.predict(X)) == 4


def test_wide_rows_are_organized_as_narrow_ones():
    random = np.random.default_rng(0)
    y = random.integers(0, 60, 400)
    narrow = sp.csr_matrix((random.random((60, 300)) < 0.05)[y].astype(np.float32))
    order = np.sort(random.choice(WIDTH, 300, replace=False))
    wide = sp.csr_matrix((narrow.data, order[narrow.indices], narrow.indptr), (400, WIDTH))
    trees = [LabelTreeClassifier(random_state=0, passes=1).fit(X, y).tree_ for X in (narrow, wide)]
    np.testing.assert_array_equal(trees[0].parent, trees[1].parent)
    np.testing.assert_array_equal(trees[0].label, trees[1].label)
