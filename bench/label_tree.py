"""Precision and time of LabelTreeClassifier, default settings, beside what it is meant to reach.

    python -m bench.label_tree --data DIR [--only NAME ...]

One thread, one seed; 3 shuffled passes, and 1. `stdlib_tokens` is learned in one pass, in order.
`python -m bench` compares it with other libraries.
"""

import argparse
import pathlib
import time

from bench.data import read
from labeltree import LabelTreeClassifier
from labeltree.datasets import stdlib_tokens
from labeltree.metrics import precision_at_k

DATA = {  # precision at 1, 3 and 5 to reach, percent
    "bibtex": (63.2, 39.0, 28.5),
    "debtags": (84.6, 60.9, 46.7),
    "delicious": (67.0, 60.3, 55.9),
    "maintainer": (81.1,),
    "glyph1000": (87.7,),
    "hypernym": (38.5,),
}
TOKENS = "stdlib_tokens"
TOKENS_ERROR = 0.58


def fit_and_predict(X, y, X_test, y_test, *, stream=False, **parameters):
    """Return precision at 1, 3, 5, the seconds of training and of prediction, and the model."""
    start = time.perf_counter()
    clf = LabelTreeClassifier(random_state=0, **parameters)
    (clf.partial_fit if stream else clf.fit)(X, y)
    trained = time.perf_counter()
    labels, _ = clf.predict_topk(X_test, k=5)
    seconds = time.perf_counter() - trained
    precision = [precision_at_k(y_test, labels, k) for k in (1, 3, 5)]
    return precision, trained - start, seconds, clf


def report(data, system, precision, training, prediction, rows):
    at = " | ".join(f"{100 * p:.1f}" for p in precision)
    print(f"| {data} | {system} | {at} | {training:.1f} | {rows / prediction:,.0f} |", flush=True)


def run_tokens():
    clf = LabelTreeClassifier(random_state=0)
    seconds = 0.0
    for X, y in stdlib_tokens(limit=1_000_000, batch_size=50_000):
        start = time.perf_counter()
        clf.partial_fit(X, y)
        seconds += time.perf_counter() - start
    print(
        f"\n{TOKENS}, first 1,000,000, one pass in order: progressive error "
        f"{clf.progress_.error:.3f} (to reach: {TOKENS_ERROR}), {seconds:.0f} s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    names = [*DATA, TOKENS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    print("| data | | P@1 | P@3 | P@5 | training, s | prediction, rows a second |")
    print("|---|---|---|---|---|---|---|")
    for data in arguments.only:
        if data == TOKENS:
            continue
        parts = (*read(arguments.data, data, "train"), *read(arguments.data, data, "test"))
        rows = len(parts[3])
        wanted = [f"{p:.1f}" for p in DATA[data]] + [""] * (3 - len(DATA[data]))
        print(f"| {data} | to reach | {' | '.join(wanted)} | | |")
        for system, parameters in {"labeltree": {}, "labeltree, one pass": {"passes": 1}}.items():
            report(data, system, *fit_and_predict(*parts, **parameters)[:3], rows)
    if TOKENS in arguments.only:
        run_tokens()


if __name__ == "__main__":
    main()
