"""What models hold in memory, beside one-against-all on the same data.

Run ``python -m bench.memory --data DIR [--only NAME ...]``: one pass, default settings. Counted are
the arrays of the model, of hashed tables the rows in use; ``table`` is what the whole table takes.
"""

import argparse
import pathlib

import numpy as np

from bench.data import read
from labeltree.estimators import ESTIMATORS

DATA = ["maintainer", "glyph1000"]
FIRST = "OneAgainstAllClassifier"
TREES = [
    "RecallTreeClassifier",
    "LOMTreeClassifier",
    "ProbabilityTreeClassifier",
    "LabelTreeClassifier",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=list(ESTIMATORS), default=TREES)
    arguments = parser.parse_args()
    for data in DATA:
        X, y = read(arguments.data, data, "train")
        base = None
        for name in [FIRST, *arguments.only]:
            clf = ESTIMATORS[name](random_state=0, passes=1).fit(X, y)
            used = sum(np.asarray(array).nbytes for array in clf._learner.state().values())
            base = base or used
            table = f"{8 * 2**clf.bits_ / 1e6:6.0f} MB" if clf.layout_ == "hashed" else "   none"
            print(
                f"{data:<12} {name:<26} {used / 1e6:7.1f} MB   "
                f"{used / base:5.2f} of one-against-all   table {table}",
                flush=True,
            )


if __name__ == "__main__":
    main()
