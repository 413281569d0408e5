"""Propensity-scored precision on label sets, beside plain precision and other libraries.

    python -m bench.propensity DIR [--only NAME ...] [--peers NAME ...] [--environments DIR]
    python -m bench.propensity DIR --holdout [--only NAME ...] [--depth N]

Propensities are those of the training labels (A = 0.55, B = 1.5), precision that of the test
files. "Rare labels found" is how many of the test rows' labels that are among the rarer half of
the training labels are one of the five best. All systems get bibtex by tf-idf, the peers all rows
of unit length, and each has its own defaults and one thread. A peer that cannot be installed is
named and left out.

`--holdout` measures labeltree alone, on a fifth of the training file, and the label tree also with
its N best labels ordered by probability / propensity (one-against-all gives margins, which cannot
be ordered so).
"""

import argparse
import collections
import gzip
import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from bench.data import SETS, prepare, read, split
from bench.environments import CannotInstallError, default_cache, environment, last_error
from bench.prepared import PARTS
from bench.runs import run_process
from labeltree import LabelTreeClassifier, OneAgainstAllClassifier
from labeltree.metrics import precision_at_k, propensities, psp_at_k

COUNTS = ("bibtex",)  # data sets whose rows are counts, to be weighed
PEERS = {"libpecos": ("xr_linear",), "omikuji": ("parabel", "bonsai")}
AT = (1, 3, 5)
LIMIT = 1200.0  # seconds for a peer's training, and for its prediction


def estimators():
    return {
        "`LabelTreeClassifier`": LabelTreeClassifier(random_state=0),
        '`OneAgainstAllClassifier(update="dual")`': OneAgainstAllClassifier(
            update="dual", random_state=0
        ),
    }


def weighed(name, X, X_test):
    """Return the rows as all systems get them."""
    if name not in COUNTS:
        return X, X_test
    idf = TfidfTransformer().fit(X)
    return tuple(idf.transform(rows).astype(np.float32) for rows in (X, X_test))


def write(path, X, y, n_labels):
    """Write rows in the Extreme Classification format."""
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {n_labels}\n")
        for labels, begin, end in zip(y, X.indptr[:-1], X.indptr[1:], strict=True):
            pairs = zip(X.indices[begin:end], X.data[begin:end], strict=True)
            row = " ".join(f"{column}:{value:.7g}" for column, value in pairs)
            file.write(f"{','.join(map(str, labels))} {row}\n")


def ask_peer(peer, algorithm, python, folder):
    """Return the five best labels of each test row."""
    task = json.dumps({"algorithm": algorithm, "threads": 1, "passes": 1, "bits": 24})
    with tempfile.TemporaryDirectory(prefix="labeltree-bench-") as work:
        for phase in ("train", "predict"):
            command = [python, "-m", "bench.worker", peer, phase, folder, work, task]
            run_process(command, 1, LIMIT)
        return np.load(pathlib.Path(work) / "labels.npy")


def answers_of_peers(name, train, test, found):
    """Yield each algorithm of the peers and its labels, or why there are none."""
    n_labels = 1 + max(max(labels, default=0) for y in (train[1], test[1]) for labels in y)
    with tempfile.TemporaryDirectory(prefix="labeltree-bench-") as folder:
        source = pathlib.Path(folder)
        for part, (X, y) in zip(PARTS, (train, test), strict=True):
            write(source / f"{name}_{part}.txt.gz", X, y, n_labels)
        prepare(source, name, source / "prepared")
        for peer, python in found.items():
            for algorithm in PEERS[peer]:
                try:
                    yield (
                        f"{peer} {algorithm}",
                        ask_peer(peer, algorithm, python, source / "prepared"),
                    )
                except subprocess.CalledProcessError as error:
                    print(f"{name}: {peer} {algorithm} failed: {last_error(error.stderr)}")
                except subprocess.TimeoutExpired:
                    print(f"{name}: {peer} {algorithm} did not end in {LIMIT:g} s")


def reordered(labels, scores, p):
    """Return the labels of each row by probability / propensity, best first."""
    known = np.array([[label is not None for label in row] for row in labels.tolist()])
    inverse = np.array([[1 / p[label] for label in row] for row in labels.tolist()])
    order = np.argsort(-np.where(known, scores * inverse, -np.inf), axis=1, kind="stable")
    return np.take_along_axis(labels, order, axis=1)


def rare_found(y, y_test, best):
    """Return the share of the test rows' rare labels that are among the best."""
    counts = collections.Counter(int(label) for labels in y for label in labels)
    limit = statistics.median(counts.values())
    return statistics.fmean(
        label in top
        for labels, top in zip(y_test, best[:, : max(AT)].tolist(), strict=True)
        for label in labels
        if counts[int(label)] <= limit
    )


def report(name, system, y, y_test, best):
    p = propensities(y)
    figures = [precision_at_k(y_test, best, k) for k in AT]
    figures += [psp_at_k(y_test, best, k, p) for k in AT]
    figures += [rare_found(y, y_test, best)]
    print(f"| {name} | {system} | {' | '.join(f'{100 * f:.1f}' for f in figures)} |", flush=True)


def find_peers(names, cache):
    """Return the interpreters of the peers that can be had; name the others."""
    found = {}
    for name in names:
        try:
            made = environment(name, cache)
            found[name] = made.python
            print(f"{name} {made.version}")
        except CannotInstallError as error:
            print(f"{name} is left out: {error}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", default=list(SETS))
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--environments", type=pathlib.Path, default=default_cache())
    parser.add_argument("--holdout", action="store_true")
    parser.add_argument("--depth", type=int, default=20)
    arguments = parser.parse_args()
    found = {} if arguments.holdout else find_peers(arguments.peers, arguments.environments)
    heads = ["data", "system", *(f"P@{k}" for k in AT), *(f"PSP@{k}" for k in AT)]
    print(f"\n| {' | '.join(heads)} | rare labels found |")
    print("|---" * (len(heads) + 1) + "|", flush=True)
    for name in arguments.only:
        X, y = read(arguments.data, name, "train")
        X, y, X_test, y_test = (
            split(X, y) if arguments.holdout else (X, y, *read(arguments.data, name, "test"))
        )
        X, X_test = weighed(name, X, X_test)
        for system, model in estimators().items():
            # Not cut from a longer list: whoever asks for more labels gets a wider search.
            labels, _ = model.fit(X, y).predict_topk(X_test, k=max(AT))
            report(name, system, y, y_test, labels)
            if arguments.holdout and isinstance(model, LabelTreeClassifier):
                best = reordered(*model.predict_topk(X_test, k=arguments.depth), propensities(y))
                report(name, f"{system}, reordered", y, y_test, best)
        for system, labels in answers_of_peers(name, (X, y), (X_test, y_test), found):
            report(name, system, y, y_test, labels)


if __name__ == "__main__":
    main()
