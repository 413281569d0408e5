"""Precision and time of every single-label estimator on real data, default settings.

Run ``python bench/trees.py --data DIR [--only NAME ...]``: 3 shuffled passes, one thread.
"""

import argparse
import pathlib
import time

from labeltree.data import load
from labeltree.estimators import ESTIMATORS

DATA = ["maintainer", "glyph1000", "hypernym"]
DENSE = {"glyph1000"}
# Their cost grows with the number of labels, or they are made for label sets.
LEFT_OUT = {"OneAgainstAllClassifier", "PECOCClassifier", "LdSMClassifier"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    names = [name for name in ESTIMATORS if name not in LEFT_OUT]
    parser.add_argument("--only", nargs="+", choices=list(ESTIMATORS), default=names)
    arguments = parser.parse_args()
    for data in DATA:
        train, test = (load(arguments.data / f"{data}_{part}.txt.gz") for part in ("train", "test"))
        X, X_test = (part.X.toarray() if data in DENSE else part.X for part in (train, test))
        for name in arguments.only:
            start = time.perf_counter()
            clf = ESTIMATORS[name](random_state=0).fit(X, train.y)
            trained = time.perf_counter()
            precision = clf.score(X_test, test.y)
            seconds = time.perf_counter() - trained
            print(
                f"{data:<12} {name:<26} precision@1 {100 * precision:5.2f}   "
                f"training {trained - start:6.1f} s   "
                f"prediction {1e6 * seconds / len(test):6.1f} us a row   "
                f"progressive error {clf.progress_.error:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
