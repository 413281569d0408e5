"""Small estimators, what they learn from, and what tells two of them apart."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from labeltree import modelfile
from labeltree.datasets import make_multiclass
from labeltree.estimators import ESTIMATORS

SMALL = {"bits": 12, "max_labels": 64, "max_nodes": 200, "n_trees": 2, "epochs": 2}


def make_estimator(random: random.Random) -> Any:
    """Return an unfitted estimator that takes little memory."""
    kind = ESTIMATORS[random.choice(list(ESTIMATORS))]
    known = kind().get_params()
    params = {name: value for name, value in SMALL.items() if name in known}
    if "layout" in known:
        params["layout"] = random.choice(("auto", "dense", "hashed"))
    if "learn_jobs" in known and random.random() < 0.3:
        params["learn_jobs"] = 2
    return kind(random_state=random.randrange(100), n_jobs=random.choice((1, 2)), **params)


def problem(rows: int, labels: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows of 64 features, and a label for each."""
    return make_multiclass(rows, labels, n_features=64, nnz=6, random_state=seed)


def fingerprint(clf: Any) -> Any:
    """Return a value that is another whenever anything was learned, or changed."""
    if not hasattr(clf, "_learner"):
        return sorted(clf._state())
    arrays = {**clf._vocabulary.packed().arrays, **clf._learner.state()}
    content = {n: zlib.crc32(np.ascontiguousarray(a).tobytes()) for n, a in sorted(arrays.items())}
    return sorted(clf._state()), repr(clf.get_params()), repr(vars(clf.progress_)), content


def assert_same_file(one: Path, other: Path) -> None:
    """Check that two model files hold the same model."""
    (header, arrays), (header2, arrays2) = modelfile.read(one), modelfile.read(other)
    for name in header.keys() | header2.keys():
        assert header.get(name) == header2.get(name), f"{name} of {one} and {other} differ"
    assert arrays.keys() == arrays2.keys(), f"{one} and {other} have other arrays"
    for name, array in arrays.items():
        assert array.tobytes() == arrays2[name].tobytes(), f"{name} of {one} and {other} differ"
