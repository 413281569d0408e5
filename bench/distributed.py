"""Training on workers beside training alone: precision, time, and bytes sent.

    python -m bench.distributed --data DIR [--only NAME ...] [--workers 1 2 4] [--test]

Rows of the training files, four fifths to learn and one to measure; with --test the test files.
Each worker is a process with one thread on this machine, and has the rows before the clock
starts. Seconds are of the clock, and of the processor for the worker that took most: the latter
tell more where others use the machine, too. "sent" is all that went through the loopback device
meanwhile; "plan" the most that docs/distributed.md says: 2 (W - 1) S for each pass, if all lines
change, and S for the model, which the client gets from a worker. Nothing else should use the
network.
"""

import argparse
import pathlib
import time
from itertools import pairwise

import dask
import dask.array as da
import distributed
import numpy as np
import psutil
import scipy.sparse as sp

from bench.data import read, split
from labeltree import LabelTreeClassifier
from labeltree.dask import DaskLabelTreeClassifier
from labeltree.dask.cluster import version_of
from labeltree.metrics import precision_at_k

NAMES = ("maintainer", "hypernym", "debtags")


def lazy(X, parts):
    ends = np.linspace(0, X.shape[0], parts + 1).astype(int)
    blocks = [
        da.from_delayed(
            dask.delayed(X[begin:end]),
            shape=(end - begin, X.shape[1]),
            dtype=X.dtype,
            meta=sp.csr_matrix((0, X.shape[1]), dtype=X.dtype),
        )
        for begin, end in pairwise(ends)
    ]
    return da.concatenate(blocks)


def sent_here():
    """Return how many bytes processes of this machine have sent to each other."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def precision(clf, X, y):
    labels, _ = clf.predict_topk(X, k=5)
    return " / ".join(f"{100 * precision_at_k(y, labels, k):.1f}" for k in (1, 3, 5))


def learn_with(workers, X, y, parts):
    """Return a model, seconds of the clock and of the processor, and bytes that were sent."""
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        rows = lazy(X, parts).persist()
        distributed.wait(rows)
        client.run(version_of)  # imports take a second
        before, used = sent_here(), client.run(time.process_time)
        start = time.perf_counter()
        clf = DaskLabelTreeClassifier(random_state=0, client=client).fit(rows, y).to_local()
        seconds = time.perf_counter() - start
        sent = sent_here() - before
        after = client.run(time.process_time)
        return clf, seconds, max(after[worker] - used[worker] for worker in used), sent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=NAMES)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--test", action="store_true", help="the test files, not a hold-out")
    options = parser.parse_args()
    for name in options.only:
        X, y = read(options.data, name, "train")
        if options.test:
            X_test, y_test = read(options.data, name, "test")
        else:
            X, y, X_test, y_test = split(X, y)
        start, used = time.perf_counter(), time.process_time()
        clf = LabelTreeClassifier(random_state=0).fit(X, y)
        seconds, busy = time.perf_counter() - start, time.process_time() - used
        print(
            f"| {name} | local | {precision(clf, X_test, y_test)} "
            f"| {seconds:.1f} | {busy:.1f} | | |",
            flush=True,
        )
        for workers in options.workers:
            clf, seconds, busy, sent = learn_with(workers, X, y, max(workers, 4))
            passes = round(clf.examples_ / X.shape[0])
            size = clf.contents().arrays["weights"].nbytes * 9 / 8
            plan = 2 * (workers - 1) * size * passes + size
            print(
                f"| {name} | {workers} | {precision(clf, X_test, y_test)} | {seconds:.1f} "
                f"| {busy:.1f} | {sent / 1e6:,.0f} | {plan / 1e6:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
