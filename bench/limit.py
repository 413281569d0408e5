"""How far learning and prediction are from what memory allows.

    python -m bench.limit --data DIR [--only NAME ...] [--algorithms NAME ...]

For each algorithm and data set: a model learns one pass, then `ROWS` further rows, and predicts as
many. A second build of the package, made here in an environment of its own, notes the cache lines
of weights that this touches; a bare loop that touches the same number of lines, in the same order,
of a table of the same size, is the floor. What is reported is the time of the algorithm, from
Python and with all it does besides, over that of the loop.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
import venv

import numpy as np

from bench.data import SETS, SINGLE, read
from bench.environments import ROOT, default_cache, install
from labeltree import _core
from labeltree.estimators import ESTIMATORS

ALGORITHMS = (
    "LabelTreeClassifier",
    "RecallTreeClassifier",
    "LOMTreeClassifier",
    "ProbabilityTreeClassifier",
    "OneAgainstAllClassifier",
)
ROWS = 1000
REPEATS = 5


def taught(folder, data, name):
    """Return a model after one pass, and the rows for measuring."""
    X, y = read(folder, data, "train")
    clf = ESTIMATORS[name](random_state=0, passes=1).fit(X, y)
    return clf, X[:ROWS], y[:ROWS]


def times(folder, data, name):
    """Return the seconds to learn and to predict the rows, each the least of several times."""
    clf, X, y = taught(folder, data, name)
    spent = np.full((2, REPEATS), np.inf)
    for repeat in range(REPEATS):
        start = time.perf_counter()
        clf.predict_topk(X, 1)
        spent[1, repeat] = time.perf_counter() - start
    for repeat in range(REPEATS):
        start = time.perf_counter()
        clf.partial_fit(X, y)
        spent[0, repeat] = time.perf_counter() - start
    return spent.min(axis=1).tolist()


def floors(folder, data, name):
    """Return the lines a row to learn and to predict, and the least seconds to touch them."""
    clf, X, y = taught(folder, data, name)
    found = {}
    for kind, work in (
        ("prediction", lambda: clf.predict_topk(X, 1)),
        ("learning", lambda: clf.partial_fit(X, y)),
    ):
        _core.start_trace()
        work()
        lines = _core.stop_trace()
        table = int(max(lines.max() + 1, 2**clf.bits_ // 8 if clf.layout_ == "hashed" else 0))
        seconds = min(_core.gather(lines, table, kind == "learning") for _ in range(REPEATS))
        found[kind] = (len(lines) / len(y), seconds)
    return [found[kind] for kind in ("learning", "prediction")]


def tracing_python():
    """Return the interpreter of an environment whose labeltree notes what it touches."""
    folder = default_cache() / "labeltree-trace"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install(python, (str(ROOT), "--config-settings=cmake.define.LABELTREE_TRACE=ON"))
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=[*SINGLE, *SETS])
    parser.add_argument("--algorithms", nargs="+", choices=list(ESTIMATORS), default=ALGORITHMS)
    parser.add_argument("--traced", nargs=2, help=argparse.SUPPRESS)  # how it calls itself
    arguments = parser.parse_args()
    if arguments.traced:
        print(json.dumps(floors(arguments.data, *arguments.traced)))
        return
    python = tracing_python()
    print("| data | algorithm | lines a row, learning | over the floor | prediction | over |")
    print("|---|---|---|---|---|---|")
    for data in arguments.only:
        for name in arguments.algorithms:
            if data in SETS and not ESTIMATORS[name]._takes_sets:
                continue
            command = [python, "-m", "bench.limit", "--data", arguments.data.absolute()]
            out = subprocess.run(
                [*command, "--traced", data, name], cwd=ROOT, check=True, stdout=subprocess.PIPE
            ).stdout
            cells = []
            for (lines, floor), seconds in zip(
                json.loads(out), times(arguments.data, data, name), strict=True
            ):
                cells.append(f"{lines:,.0f} | {seconds / floor:.1f}")
            print(f"| {data} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
