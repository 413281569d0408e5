"""Whether probabilities mean what they say, on test files.

    python -m bench.calibration DIR [--only NAME ...] [--holdout]

For one label a row: the expected calibration error of the best label (15 bins), in how many rows
it has a probability of 0.9 or more, and how many of those are right. For label sets: the error of
all labels that have at least a probability of 0.3, 0.5 and 0.7, and F1 at 0.5.
"""

import argparse
import pathlib

import numpy as np

from bench.data import read, split
from labeltree import LabelTreeClassifier
from labeltree.metrics import calibration_error

SETS = ("debtags", "bibtex", "delicious")
SINGLE = ("maintainer", "glyph1000", "hypernym")
THRESHOLDS = (0.3, 0.5, 0.7)


def of_single(clf, X, y):
    labels, p = clf.predict_topk(X, k=1)
    right, sure = labels[:, 0] == np.asarray(y), p[:, 0] >= 0.9
    return {
        "error": calibration_error(y, labels, p),
        "mean probability": p[:, 0].mean(),
        "precision": right.mean(),
        "sure": sure.mean(),
        "of these right": right[sure].mean() if sure.any() else np.nan,
    }


def of_sets(clf, X, y):
    labels, p = clf.predict_topk(X, k=50)
    errors = {f"error from {t}": calibration_error(y, labels, p, threshold=t) for t in THRESHOLDS}
    predicted = clf.predict(X)
    common = sum(len({*a} & {*b}) for a, b in zip(predicted, y, strict=True))
    return {
        **errors,
        "F1": 2 * common / sum(len(a) + len(b) for a, b in zip(predicted, y, strict=True)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--only", nargs="+", default=[*SINGLE, *SETS])
    parser.add_argument("--holdout", action="store_true")
    options = parser.parse_args()
    for name in options.only:
        X, y = read(options.data, name, "train")
        parts = split(X, y) if options.holdout else (X, y, *read(options.data, name, "test"))
        X, y, X_test, y_test = parts
        clf = LabelTreeClassifier(random_state=0).fit(X, y)
        found = (of_sets if name in SETS else of_single)(clf, X_test, y_test)
        print(name, ", ".join(f"{key} {value:.3f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
