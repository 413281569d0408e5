"""The algorithms as published beside the defaults, on hold-outs of the training files.

Run ``python -m bench.published --data DIR [--only NAME ...]`` for precision, and with
``--estimates`` for the loss of what nodes make of PECOC's estimates. 80 percent to train, 20
percent to test.
"""

import argparse
import copy
import pathlib

import numpy as np

from bench.data import SINGLE, read, split
from labeltree import (
    LdSMClassifier,
    LOMTreeClassifier,
    PECOCClassifier,
    ProbabilityTreeClassifier,
    RecallTreeClassifier,
)
from labeltree.metrics import precision_at_k

TREES = (RecallTreeClassifier, LOMTreeClassifier, ProbabilityTreeClassifier)
VARIANTS = {
    RecallTreeClassifier: [
        {"importance": "total"},
        {"importance": "equal"},
        {"path_features": "none"},
    ],
    ProbabilityTreeClassifier: [{"loss": "logistic"}],
}
FOREST = {"n_trees": 20, "max_nodes": 1500}
LAMBDAS = {"bibtex": (2.0, 1.0), "delicious": (2.0, 2.0)}
ESTIMATES = ("shares", "clipped", "formula")


def show(clf, name, parts, what):
    X, y, X_test, y_test = parts
    best, _ = clf.fit(X, y).predict_topk(X_test, k=5)
    sets = [[label] for label in y_test] if isinstance(y_test, np.ndarray) else y_test
    precision = "/".join(f"{100 * precision_at_k(sets, best, k):.1f}" for k in (1, 3, 5))
    print(f"{name:<11} {type(clf).__name__:<26} {what:<42} P@1/3/5 {precision}", flush=True)


def compare(folder, name):
    parts = split(*read(folder, name, "train"))
    if name in SINGLE:
        for estimator in TREES:
            show(estimator(random_state=0), name, parts, "default")
            for others in [{}, *VARIANTS.get(estimator, [])]:
                clf = estimator.published(random_state=0, **others)
                show(clf, name, parts, " ".join(["published", *map(str, others.items())]))
        return
    lambda1, lambda2 = LAMBDAS[name]
    show(LdSMClassifier(random_state=0, **FOREST), name, parts, "default")
    others = {"lambda1": lambda1, "lambda2": lambda2}
    show(LdSMClassifier.published(random_state=0, **FOREST, **others), name, parts, "published")


def losses(clf, X, y):
    """Return the means of (1 - Q(y))^2, of the squared loss of all labels, log-loss and error."""
    P = clf._all_probabilities(clf._matrix(X)).astype(np.float64)
    known = np.isin(y, clf.classes_)
    own = P[known, np.searchsorted(clf.classes_, y[known])]
    unknown = np.count_nonzero(~known)
    first = ((1 - own) ** 2).sum() + unknown
    every = (P**2).sum() - 2 * own.sum() + len(y)
    log = -np.log(np.maximum(own, 1e-6)).sum() - unknown * np.log(1e-6)
    wrong = (clf.classes_[P.argmax(1)] != y).sum()
    return np.array([first, every, log, wrong]) / len(y)


def estimates(folder, name):
    """Print losses of the same regressors by each of the estimates."""
    X, y, X_test, y_test = split(*read(folder, name, "train"))
    glyphs = name == "glyph1000"  # elsewhere PECOC takes too long
    arities = (4, 8, 32) if glyphs else (8,)
    learners = [ProbabilityTreeClassifier(random_state=0, arity=k) for k in arities]
    if glyphs:
        learners.append(PECOCClassifier(random_state=0))
    for learner in learners:
        clf = learner.set_params(estimates="shares").fit(X, y)
        for kind in ESTIMATES:
            other = copy.copy(clf)
            other.__setstate__({**clf.__getstate__(), "_fixed": {**clf._fixed, "estimates": kind}})
            rows = [slice(i, i + 500) for i in range(0, 4000, 500)]
            found = np.mean([losses(other, X_test[part], y_test[part]) for part in rows], 0)
            arity = getattr(clf, "arity", "all")
            print(f"{name:<11} children {arity:<4} {kind:<8} {np.round(found, 3)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=[*SINGLE, *LAMBDAS])
    parser.add_argument("--estimates", action="store_true")
    arguments = parser.parse_args()
    names = list(SINGLE) if arguments.estimates else [*SINGLE, *LAMBDAS]
    for name in arguments.only or names:
        (estimates if arguments.estimates else compare)(arguments.data, name)


if __name__ == "__main__":
    main()
