"""A million labels: memory along the stream that teaches them, and a mapped model in use.

    python -m bench.million [--only NAME ...] [--labels 1000000] [--bits 26] [--repeats 5]

Rows come in chunks, made as they are needed: one of each label, in random order, then one of each
again. Resident memory is that of the learning process, interpreter, labels and a chunk included.
The model is then compiled and saved, and fresh processes, one for each repeat, map the file and
predict rows that were not learned. The aims: a file mapped in 100 ms, and 2 GB of memory.
"""

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import labeltree
from bench.compiled import spread
from bench.synthetic import rows
from bench.worker import peak_memory, resident_memory
from labeltree.estimators import ESTIMATORS

NAMES = (
    "ProbabilityTreeClassifier",
    "LabelTreeClassifier",
    "RecallTreeClassifier",
    "LOMTreeClassifier",
)
N_FEATURES = 1 << 20
CHUNK = 20_000
STOPS = (0.1, 0.2, 0.5, 1.0, 1.25, 1.5, 2.0)  # examples by labels, where memory is told


def learn(name, labels, bits, path):
    """Teach a model one label after the other, twice, and write it as it is when compiled."""
    clf = ESTIMATORS[name](layout="hashed", bits=bits, random_state=0)
    order = np.random.default_rng(0).permutation(labels)
    done, spent = 0, 0.0
    for stop in (round(share * labels) for share in STOPS):
        for begin in range(done, stop, CHUNK):
            y = order[np.arange(begin, min(begin + CHUNK, stop)) % labels]
            X = rows(y, n_features=N_FEATURES, seed=(0, begin))
            start = time.perf_counter()
            clf.partial_fit(X, y)
            spent += time.perf_counter() - start
        done = stop
        print(
            f"{name:<26} {done:>9,} examples {clf.n_labels_:>9,} labels   "
            f"{spent:6.1f} s   {resident_memory() / 1e6:7.0f} MB resident",
            flush=True,
        )
    start = time.perf_counter()
    compiled = clf.compile()
    middle = time.perf_counter()
    compiled.save(path)
    print(
        f"{name:<26} compiled in {middle - start:.1f} s, saved in "
        f"{time.perf_counter() - middle:.1f} s: {path.stat().st_size / 1e6:.0f} MB",
        flush=True,
    )


def serve(path, labels, count):
    """Map the model and predict; return milliseconds to load, bytes held, and the share right."""
    y = np.random.default_rng(1).integers(0, labels, count)
    X = rows(y, n_features=N_FEATURES, seed=1)
    start = time.perf_counter()
    clf = labeltree.load(path, mmap=True)
    loaded = time.perf_counter()
    right = np.mean(clf.predict(X) == y)
    return 1e3 * (loaded - start), peak_memory(), right


def in_fresh_process(function, *arguments):
    """Return what a function returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES[:1])
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=26, help="2^bits weights of 8 bytes")
    parser.add_argument("--rows", type=int, default=5000, help="predicted from the mapped file")
    parser.add_argument("--repeats", type=int, default=5, help="processes that map the file")
    options = parser.parse_args(arguments)
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            in_fresh_process(learn, name, options.labels, options.bits, path)
            found = [
                in_fresh_process(serve, path, options.labels, options.rows)
                for _ in range(options.repeats)
            ]
        load, held, right = zip(*found, strict=True)
        print(
            f"{name:<26} mapped in {spread(load)} ms; {spread(np.array(held) / 1e6)} MB held at "
            f"most with {options.rows:,} rows predicted, {100 * right[0]:.1f} % right",
            flush=True,
        )


if __name__ == "__main__":
    main()
