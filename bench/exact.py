"""One-against-all by the dual update beside liblinear's solver of the same problem.

    python -m bench.exact --data DIR [--only NAME ...]

scikit-learn's `LinearSVC` (squared hinge, dual) in `OneVsRestClassifier`, one thread, its own
tolerance, and `OneAgainstAllClassifier(update="dual")` with as large a C in 5 and 20 passes, on
the same rows of unit length: seconds of training, precision at 1, 3 and 5 on the test files, and
for how many test rows both have the same best label.
"""

import argparse
import pathlib
import time

import numpy as np
import scipy.sparse as sp
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer, normalize
from sklearn.svm import LinearSVC

from bench.data import read
from labeltree import OneAgainstAllClassifier
from labeltree.metrics import precision_at_k

C = 0.3


def liblinear(X, y, X_test):
    """Return the five best labels of each row, and the seconds of training."""
    made = MultiLabelBinarizer(sparse_output=True)
    Y = made.fit_transform([np.atleast_1d(labels) for labels in y])
    start = time.perf_counter()
    model = OneVsRestClassifier(LinearSVC(C=C, dual=True, loss="squared_hinge")).fit(X, Y)
    seconds = time.perf_counter() - start
    margins = model.decision_function(X_test)
    return made.classes_[np.argsort(-margins, axis=1)[:, :5]], seconds


def labeltree(X, y, X_test, passes):
    start = time.perf_counter()
    model = OneAgainstAllClassifier(update="dual", C=C, passes=passes, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    return model.predict_topk(X_test, k=5)[0], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=["bibtex", "delicious", "debtags"])
    arguments = parser.parse_args()
    print("| data | system | P@1 | P@3 | P@5 | training, s | same best label, % |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.only:
        (X, y), (X_test, y_test) = (read(arguments.data, name, part) for part in ("train", "test"))
        X, X_test = (normalize(rows).astype(np.float32) for rows in (X, X_test))
        if sp.issparse(X):
            X.sort_indices()
        exact, seconds = liblinear(X, y, X_test)
        answers = {"LinearSVC": (exact, seconds)}
        for passes in (5, 20):
            answers[f"labeltree, {passes} passes"] = labeltree(X, y, X_test, passes)
        for system, (labels, seconds) in answers.items():
            at = " | ".join(f"{100 * precision_at_k(y_test, labels, k):.1f}" for k in (1, 3, 5))
            same = 100 * np.mean(labels[:, 0] == exact[:, 0])
            print(f"| {name} | {system} | {at} | {seconds:.1f} | {same:.1f} |", flush=True)


if __name__ == "__main__":
    main()
