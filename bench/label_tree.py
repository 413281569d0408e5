"""Precision and time of LabelTreeClassifier, default settings, beside what it is meant to reach.

    python bench/label_tree.py --data DIR [--only NAME ...] [--peers [--cache build/peers]]

One thread, one seed; 3 shuffled passes, and 1. `stdlib_tokens` is learned in one pass, in order.
With --peers libpecos learns the same files in the same run, with its own defaults and one thread,
in a virtual environment of its own that this script makes in the cache folder.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time
import venv

import numpy as np
import scipy.sparse as sp

from labeltree import LabelTreeClassifier
from labeltree.data import load
from labeltree.datasets import stdlib_tokens
from labeltree.metrics import precision_at_k

DATA = {  # precision at 1, 3 and 5 to reach, percent
    "bibtex": (63.2, 39.0, 28.5),
    "debtags": (84.6, 60.9, 46.7),
    "delicious": (67.0, 60.3, 55.9),
    "maintainer": (81.1,),
    "glyph1000": (87.7,),
    "hypernym": (38.5,),
}
DENSE = {"glyph1000"}
TOKENS = "stdlib_tokens"
TOKENS_ERROR = 0.58

PECOS = """
import json, sys, time
import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
folder = sys.argv[1]
X, Y, X_test = (sp.load_npz(f"{folder}/{name}.npz") for name in ("X", "Y", "X_test"))
start = time.perf_counter()
embedding = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=1)
model = XLinearModel.train(X, Y, Indexer.gen(embedding, threads=1), threads=1)
trained = time.perf_counter()
scores = model.predict(X_test, only_topk=5, threads=1)
seconds = time.perf_counter() - trained
sp.save_npz(f"{folder}/scores.npz", scores.tocsr())
print(json.dumps({"training": trained - start, "prediction": seconds}))
"""


def read(folder, name, part):
    data = load(folder / f"{name}_{part}.txt.gz")
    return (data.X.toarray() if name in DENSE else data.X), data.y


def run_labeltree(X, y, X_test, y_test, **parameters):
    """Return precision at 1, 3, 5, the seconds of training and of prediction, and the model."""
    start = time.perf_counter()
    clf = LabelTreeClassifier(random_state=0, **parameters).fit(X, y)
    trained = time.perf_counter()
    labels, _ = clf.predict_topk(X_test, k=5)
    seconds = time.perf_counter() - trained
    precision = [precision_at_k(y_test, labels, k) for k in (1, 3, 5)]
    return precision, trained - start, seconds, clf


def peer_python(folder):
    python = folder / "libpecos" / "bin" / "python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "libpecos"], check=True)
    return python


def sorted_csr(X):
    X = sp.csr_matrix(X, dtype=np.float32)
    X.sort_indices()
    return X


def indicator(y):
    sets = [np.atleast_1d(labels) for labels in y]
    rows = np.repeat(np.arange(len(sets)), [len(labels) for labels in sets])
    columns = np.concatenate(sets).astype(np.int64)
    return sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)))


def run_libpecos(python, X, y, X_test, y_test):
    with tempfile.TemporaryDirectory() as folder:
        files = {"X": sorted_csr(X), "Y": indicator(y), "X_test": sorted_csr(X_test)}
        for name, matrix in files.items():
            sp.save_npz(f"{folder}/{name}.npz", matrix, compressed=False)
        command = [python, "-c", PECOS, folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        times = json.loads(output.splitlines()[-1])
        scores = sp.load_npz(f"{folder}/scores.npz")
    precision = [precision_at_k(y_test, scores, k) for k in (1, 3, 5)]
    return precision, times["training"], times["prediction"]


def report(data, system, precision, training, prediction, rows):
    at = " | ".join(f"{100 * p:.1f}" for p in precision)
    print(f"| {data} | {system} | {at} | {training:.1f} | {rows / prediction:,.0f} |", flush=True)


def run_tokens():
    clf = LabelTreeClassifier(random_state=0)
    seconds = 0.0
    for X, y in stdlib_tokens(limit=1_000_000, batch_size=50_000):
        start = time.perf_counter()
        clf.partial_fit(X, y)
        seconds += time.perf_counter() - start
    print(
        f"\n{TOKENS}, first 1,000,000, one pass in order: progressive error "
        f"{clf.progress_.error:.3f} (to reach: {TOKENS_ERROR}), {seconds:.0f} s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    names = [*DATA, TOKENS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("build/peers"))
    arguments = parser.parse_args()
    python = peer_python(arguments.cache.absolute()) if arguments.peers else None
    print("| data | | P@1 | P@3 | P@5 | training, s | prediction, rows a second |")
    print("|---|---|---|---|---|---|---|")
    for data in arguments.only:
        if data == TOKENS:
            continue
        parts = (*read(arguments.data, data, "train"), *read(arguments.data, data, "test"))
        rows = len(parts[3])
        wanted = [f"{p:.1f}" for p in DATA[data]] + [""] * (3 - len(DATA[data]))
        print(f"| {data} | to reach | {' | '.join(wanted)} | | |")
        for system, parameters in {"labeltree": {}, "labeltree, one pass": {"passes": 1}}.items():
            report(data, system, *run_labeltree(*parts, **parameters)[:3], rows)
        if python:
            report(data, "libpecos", *run_libpecos(python, *parts), rows)
    if TOKENS in arguments.only:
        run_tokens()


if __name__ == "__main__":
    main()
