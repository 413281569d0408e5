"""LdSM on label sets: precision, propensity-scored precision, time and memory.

Run ``python -m bench.ldsm --data DIR [--only NAME ...] [--threads N] [--holdout]``. Each data set
has one setting, chosen on a hold-out of its training file (``--holdout`` shows that: 80 percent to
train, 20 percent to test). Each runs in a process of its own, whose largest resident memory is
that at the end of training. Prediction is timed on one thread, best of five.
"""

import argparse
import multiprocessing
import pathlib
import resource
import time

from bench.data import read, split
from labeltree import LdSMClassifier
from labeltree.metrics import precision_at_k, propensities, psp_at_k

SETTINGS = {
    "bibtex": {
        "n_trees": 30,
        "max_nodes": 1000,
        "epochs": 10,
        "lambda1": 2.0,
        "lambda2": 6.0,
        "step": 4.0,
        "idf": 1.0,
        "min_feature_rows": 3,
    },
    "delicious": {
        "n_trees": 50,
        "max_nodes": 2000,
        "epochs": 4,
        "lambda1": 1.5,
        "lambda2": 3.5,
        "step": 1.0,
        "idf": 1.5,
        "min_feature_rows": 3,
        "top_labels": 25,
    },
    "debtags": {
        "n_trees": 30,
        "max_nodes": 1500,
        "epochs": 10,
        "lambda1": 2.0,
        "lambda2": 4.0,
        "step": 4.0,
        "min_feature_rows": 3,
        "top_labels": 50,
    },
}


def run(name, folder, threads, holdout):
    X, y = read(folder, name, "train")
    X, y, X_test, y_test = split(X, y) if holdout else (X, y, *read(folder, name, "test"))
    clf = LdSMClassifier(**SETTINGS[name], random_state=0, n_jobs=threads)
    start = time.perf_counter()
    clf.fit(X, y)
    training = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    clf.set_params(n_jobs=1)
    seconds = []
    for _ in range(5):
        start = time.process_time()  # that of one thread, however busy the machine
        best, _ = clf.predict_topk(X_test, k=5)
        seconds.append(time.process_time() - start)
    p = propensities(y)
    precision = " ".join(f"{100 * precision_at_k(y_test, best, k):.2f}" for k in (1, 3, 5))
    psp = " ".join(f"{100 * psp_at_k(y_test, best, k, p):.2f}" for k in (1, 3, 5))
    print(
        f"{name:<10} P@1,3,5 {precision}   PSP@1,3,5 {psp}   training {training:.1f} s   "
        f"prediction {1e3 * min(seconds) / len(y_test):.3f} ms a row   "
        f"memory {memory:.0f} MB   depth {clf.tree_.depth}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--holdout", action="store_true")
    arguments = parser.parse_args()
    processes = multiprocessing.get_context("spawn")
    for name in arguments.only:
        job = (name, arguments.data, arguments.threads, arguments.holdout)
        process = processes.Process(target=run, args=job)
        process.start()
        process.join()


if __name__ == "__main__":
    main()
