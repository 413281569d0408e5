"""Speed and size of compiled models beside those they were made from.

    python -m bench.compiled --data DIR [--only NAME ...] [--repeats 5] [--keep 0.999]

LabelTreeClassifier, default settings, one thread. Prediction of the test rows in one call and one
row at a time; the models take turns, and the medians of their ratios are printed with their
range. Files: as learned, with rounded weights, and compiled.
"""

import argparse
import pathlib
import tempfile
import time

import numpy as np

import labeltree
from bench.data import SETS, SINGLE, read

SINGLE_ROWS = 500


def seconds(clf, pieces):
    start = time.perf_counter()
    for X in pieces:
        clf.predict_topk(X, 5)
    return time.perf_counter() - start


def best(clf, X):
    """Return the best label of each row."""
    return clf.predict_topk(X, 1)[0][:, 0]


def precision(labels, truth):
    """Return how many percent of the best labels are right."""
    return 100 * np.mean(
        [label in np.atleast_1d(own) for label, own in zip(labels, truth, strict=True)]
    )


def spread(values):
    return f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=SINGLE + SETS, default=SINGLE + SETS)
    parser.add_argument("--keep", type=float, default=0.999)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(
        "| data | P@1 | P@1 compiled | same best label | rows/s | compiled, ratio | mapped, ratio "
        "| single row, ratio | file, MB | rounded, MB | compiled, MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.only:
        X, y = read(arguments.data, name, "train")
        X_test, y_test = read(arguments.data, name, "test")
        clf = labeltree.LabelTreeClassifier(random_state=0).fit(X, y)
        compiled = clf.compile(keep=arguments.keep)
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, part) for part in ("model", "rounded", "compiled")]
            clf.save(paths[0])
            clf.save(paths[1], exact=False)
            compiled.save(paths[2])
            sizes = [path.stat().st_size / 1e6 for path in paths]
            mapped = labeltree.load(paths[2], mmap=True)
        models = [clf, compiled, mapped]
        answers = [best(model, X_test) for model in models]
        same = np.mean(answers[0] == answers[1])
        rows = [X_test[i : i + 1] for i in range(min(SINGLE_ROWS, X_test.shape[0]))]
        batch, single = ([[] for _ in models] for _ in range(2))
        for model in models:
            seconds(model, [X_test])  # once before, to warm up
        for _ in range(arguments.repeats):
            for i, model in enumerate(models):
                batch[i].append(seconds(model, [X_test]))
                single[i].append(seconds(model, rows))
        batch, single = np.array(batch), np.array(single)
        right = [precision(labels, y_test) for labels in answers]
        print(
            f"| {name} | {right[0]:.2f} | {right[1]:.2f} | {100 * same:.2f} % | "
            f"{X_test.shape[0] / np.median(batch[0]):,.0f} | {spread(batch[0] / batch[1])} | "
            f"{spread(batch[0] / batch[2])} | {spread(single[0] / single[1])} | "
            f"{sizes[0]:.1f} | {sizes[1]:.1f} | {sizes[2]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
