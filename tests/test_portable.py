"""Models are the same on any processor, but for the rounding of floats.

The inner loops are compiled for AVX2 and for every x86-64. qemu (Debian's qemu-user) pretends to be
a processor that has none; `.ci/portable` runs more tests there, and on AArch64.
"""

import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

EMULATOR = shutil.which("qemu-x86_64")

# Prints nothing; saves what models of each layout, and their forms for prediction, say of rows.
LEARN = """
import sys
import numpy as np
from labeltree import LabelTreeClassifier, OneAgainstAllClassifier, ProbabilityTreeClassifier
from labeltree.datasets import make_multiclass

X, y = make_multiclass(300, 21, n_features=45, random_state=0)
models = {
    layout: OneAgainstAllClassifier(layout=layout, random_state=0)
    for layout in ("dense", "hashed")
}
models["probability tree"] = ProbabilityTreeClassifier(random_state=0)
models["label tree"] = LabelTreeClassifier(random_state=0)
found = {}
for name, model in models.items():
    model.fit(X, y)
    found[name] = model.predict_proba(X)
    found[name + ", compiled"] = model.compile().predict_proba(X)
np.savez(sys.argv[1], **found)
"""


def learn(path, *emulator):
    # OpenBLAS, numpy's and scipy's, does not always ask the emulator which processor it has.
    env = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"} if emulator else None
    subprocess.run([*emulator, sys.executable, "-c", LEARN, str(path)], check=True, env=env)
    return np.load(path)


@pytest.mark.skipif(
    EMULATOR is None or platform.machine() != "x86_64", reason="needs qemu-x86_64, on x86-64"
)
def test_a_processor_without_avx2_learns_the_same(tmp_path):
    here = learn(tmp_path / "here.npz")
    there = learn(tmp_path / "there.npz", EMULATOR, "-cpu", "Nehalem")
    assert set(here) == set(there)
    for name in here:
        np.testing.assert_allclose(there[name], here[name], rtol=1e-3, atol=1e-5, err_msg=name)
