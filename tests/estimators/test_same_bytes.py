"""Equal models have equal files, byte for byte."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

from labeltree import load
from tests.attack.model_files import trained

TRAIN = """
import hashlib, os, sys
from pathlib import Path
from tests.attack.model_files import trained
os.fsync = lambda _: None
for clf in trained():
    clf.save(sys.argv[1])
    print(hashlib.sha256(Path(sys.argv[1]).read_bytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def estimators():
    return list(trained())


def test_training_twice_gives_the_same_file(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    one, two = (process.communicate()[0].split() for process in processes)
    assert len(one) > 40
    assert one == two


def test_what_was_loaded_copied_or_pickled_is_saved_alike(estimators, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for clf in estimators:
        clf.save(tmp_path / "m", notes={"b": 1, "a": [0.1]})
        first = (tmp_path / "m").read_bytes()
        others = [load(tmp_path / "m"), pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)]
        if clf.compiled_:
            others.append(load(tmp_path / "m", mmap=True))
        for other in others:
            other.save(tmp_path / "other", notes={"b": 1, "a": [0.1]})
            assert (tmp_path / "other").read_bytes() == first, type(clf).__name__
