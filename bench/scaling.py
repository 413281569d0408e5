"""How the cost of an example grows with the number of labels.

Run ``python bench/scaling.py [--largest 1000000] [--only NAME ...]``. Each model first learns one
example of each of K labels, then the next examples are timed; the features stay the same.
"""

import argparse
import time

from labeltree.datasets import make_multiclass
from labeltree.estimators import ESTIMATORS

TREES = [
    "ProbabilityTreeClassifier",
    "LOMTreeClassifier",
    "RandomTreeClassifier",
    "RecallTreeClassifier",
]
TIMED = 20_000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=list(ESTIMATORS), default=TREES)
    arguments = parser.parse_args()
    for name in arguments.only:
        first = None
        labels = 1000
        while labels <= arguments.largest:
            X, y = make_multiclass(labels + TIMED, labels)
            y[:labels] = range(labels)
            clf = ESTIMATORS[name](bits=26, random_state=0)
            for begin in range(0, labels, 50_000):
                end = min(begin + 50_000, labels)
                clf.partial_fit(X[begin:end], y[begin:end])
            start = time.perf_counter()
            clf.partial_fit(X[labels:], y[labels:])
            learned = time.perf_counter()
            clf.predict(X[labels:])
            done = time.perf_counter()
            cost = (1e6 * (learned - start) / TIMED, 1e6 * (done - learned) / TIMED)
            first = first or cost
            print(
                f"{name:<26} {labels:>9,} labels   "
                f"learning {cost[0]:7.1f} us ({cost[0] / first[0]:.2f}-fold)   "
                f"prediction {cost[1]:7.1f} us ({cost[1] / first[1]:.2f}-fold)",
                flush=True,
            )
            labels *= 10


if __name__ == "__main__":
    main()
