"""What a label costs: a stream whose every example has a label of its own.

    python -m bench.newlabels [--labels 2000000] [--kind int text] [--replay 0 64] [--bits 22]

Rows of 20 features out of 2^20, in a hashed table, by `partial_fit`. Told are resident memory for
each label, without what the process, the table and one number a feature take before the first
row, and the parts that it is made of, as far as the model's arrays tell, and the estimate that
`max_memory` goes by. The aim: below 300 bytes.
With `--max-labels` memory should stay where it is once there are so many.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from bench.synthetic import rows
from bench.worker import resident_memory
from labeltree import LabelTreeClassifier

N_FEATURES = 1 << 20
CHUNK = 20_000
PARTS = {
    "trees": ("tree0_",),
    "index": ("index_",),
    "models": ("steps", "n_models", "scorer"),
    "counts": ("counts", "last_seen"),
    "rows kept": ("replay_",),
    "weights": ("weights", "largest"),
}


def named(numbers, kind):
    """Return labels for numbers."""
    return numbers if kind == "int" else [f"label-{number}" for number in numbers.tolist()]


def parts(clf):
    """Return the bytes of the model's arrays, by part."""
    found = dict.fromkeys([*PARTS, "other"], 0)
    for name, array in clf._learner.state().items():
        part = next((p for p, begins in PARTS.items() if name.startswith(begins)), "other")
        found[part] += array.nbytes
    found["vocabulary"] = clf._vocabulary.nbytes
    found["estimate"] = clf._grown()  # what max_memory bounds, in all
    return found


def learn(labels, kind, told=4, chunk=CHUNK, **params):
    """Learn a row of each label; return the bytes for each label at some times, and the parts."""
    clf = LabelTreeClassifier(layout="hashed", random_state=0, **params)
    warm = rows(np.arange(chunk), n_features=N_FEATURES)
    clf.partial_fit(warm[:1], named(np.arange(1), kind))
    before = resident_memory()
    # The table, and a number each for every feature, are as large with few labels.
    fixed = 8 * 2**clf.bits_ + 8 * N_FEATURES
    begun, costs = time.perf_counter(), []
    for begin in range(1, labels, chunk):
        numbers = np.arange(begin, min(begin + chunk, labels))
        X = rows(numbers, n_features=N_FEATURES, seed=(0, begin))
        clf.partial_fit(X, named(numbers, kind))
        done = int(numbers[-1]) + 1
        if done * told // labels > begin * told // labels:
            costs.append((done, (resident_memory() - before - fixed) / done))
    return costs, parts(clf), clf.n_labels_, time.perf_counter() - begun


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=2_000_000)
    parser.add_argument("--kind", nargs="+", choices=("int", "text"), default=["int"])
    parser.add_argument("--replay", type=int, nargs="+", default=[0, 64])
    parser.add_argument("--bits", type=int, default=22, help="2^bits weights of 8 bytes")
    parser.add_argument("--max-labels", type=int)
    options = parser.parse_args(arguments)
    bound = {} if options.max_labels is None else {"max_labels": options.max_labels}
    for kind in options.kind:
        for replay in options.replay:
            params = {"bits": options.bits, "replay": replay, **bound}
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                job = pool.submit(learn, options.labels, kind, **params)
                costs, found, left, seconds = job.result()
            print(f"{kind} labels, replay {replay}: {seconds:.0f} s, {left:,} labels at the end")
            for done, cost in costs:
                print(f"  {done:>9,} rows  {cost:7.1f} bytes each  {done * cost / 1e6:7.1f} MB")
            print("  state, bytes for each of the labels at the end:")
            for part, size in found.items():
                print(f"    {part:<10} {size / left:7.1f}", flush=True)


if __name__ == "__main__":
    main()
