"""One thread learns batches of ten rows while others predict: rates, and how long each waits.

python -m bench.threads
"""

import argparse
import threading
import time

import numpy as np

from labeltree import LabelTreeClassifier
from labeltree.datasets import make_multiclass

BATCH = 10  # rows learned in one call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=4, help="that predict")
    arguments = parser.parse_args()
    X, y = make_multiclass(60_000, 5_000, random_state=0)
    print("rows a call | learned/s | longest learn, ms | predicted/s | longest predict, ms")
    for rows in (0, 1, 10, 100, 1000):
        clf = LabelTreeClassifier(random_state=0).partial_fit(X[:2000], y[:2000])
        learned, learn, predicted, predict = measure(clf, X, y, rows, arguments)
        print(
            f"{rows:11} | {learned:9,.0f} | {1e3 * learn:17.1f} | {predicted:11,.0f} | "
            f"{1e3 * predict:19.1f}"
        )


def measure(clf, X, y, rows, arguments):
    """Return the rates of learning and predicting, and the longest call of each, in seconds."""
    learns, predicts = [], []
    stop = threading.Event()

    def predicting(seed):
        random = np.random.default_rng(seed)
        while not stop.is_set():
            first = int(random.integers(0, X.shape[0] - rows))
            part = X[first : first + rows]
            begin = time.perf_counter()
            clf.predict(part)
            predicts.append(time.perf_counter() - begin)

    number = arguments.threads if rows else 0
    threads = [threading.Thread(target=predicting, args=[i]) for i in range(number)]
    for thread in threads:
        thread.start()
    start = time.perf_counter()
    first = 2000
    while time.perf_counter() - start < arguments.seconds:
        begin = time.perf_counter()
        clf.partial_fit(X[first : first + BATCH], y[first : first + BATCH])
        learns.append(time.perf_counter() - begin)
        first = (first + BATCH) % (X.shape[0] - BATCH)
    seconds = time.perf_counter() - start
    stop.set()
    for thread in threads:
        thread.join()
    return (
        BATCH * len(learns) / seconds,
        max(learns),
        rows * len(predicts) / seconds,
        max(predicts, default=0.0),
    )


if __name__ == "__main__":
    main()
