"""Precision and time of every single-label estimator on real data, default settings.

Run ``python -m bench.trees --data DIR [--only NAME ...]``: 3 shuffled passes, one thread.
"""

import argparse
import pathlib
import time

from bench.data import SINGLE, read
from labeltree.estimators import ESTIMATORS

# Their cost grows with the number of labels, or they are made for label sets.
LEFT_OUT = {"OneAgainstAllClassifier", "PECOCClassifier", "LdSMClassifier"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    names = [name for name in ESTIMATORS if name not in LEFT_OUT]
    parser.add_argument("--only", nargs="+", choices=list(ESTIMATORS), default=names)
    arguments = parser.parse_args()
    for data in SINGLE:
        X, y = read(arguments.data, data, "train")
        X_test, y_test = read(arguments.data, data, "test")
        for name in arguments.only:
            start = time.perf_counter()
            clf = ESTIMATORS[name](random_state=0).fit(X, y)
            trained = time.perf_counter()
            precision = clf.score(X_test, y_test)
            seconds = time.perf_counter() - trained
            print(
                f"{data:<12} {name:<26} precision@1 {100 * precision:5.2f}   "
                f"training {trained - start:6.1f} s   "
                f"prediction {1e6 * seconds / len(y_test):6.1f} us a row   "
                f"progressive error {clf.progress_.error:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
