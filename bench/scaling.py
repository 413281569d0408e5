"""How the cost of an example grows with the number of labels.

Run ``python -m bench.scaling [--largest 1000000] [--only NAME ...] [--plot scaling.png]``. Models
of every size are compared in the same state: each has learned one example of each of its K labels,
and is timed on a second one. The features stay the same. Memory is what the model's arrays hold.
"""

import argparse
import time

import numpy as np

from labeltree.datasets import make_multiclass
from labeltree.estimators import ESTIMATORS

TREES = [
    "ProbabilityTreeClassifier",
    "LOMTreeClassifier",
    "RandomTreeClassifier",
    "RecallTreeClassifier",
]
CONTRAST = "OneAgainstAllClassifier"
TIMED = 20_000  # examples, in all models of one size together
PATIENCE = {CONTRAST: 10_000}  # most labels for the learner that grows in proportion to them


def measure(name, labels, bits):
    """Return microseconds an example to learn and to predict, and the bytes of a model."""
    X, y = make_multiclass(2 * labels, labels)
    y[:labels] = range(labels)
    X2, y2 = make_multiclass(min(labels, TIMED), labels, random_state=1)
    spent = np.zeros(2)
    models = max(1, TIMED // labels)
    for model in range(models):
        clf = ESTIMATORS[name](bits=bits, random_state=model)
        for begin in range(0, labels, 50_000):
            rows = slice(begin, min(begin + 50_000, labels))
            clf.partial_fit(X[rows], y[rows])
        start = time.perf_counter()
        clf.partial_fit(X2, y2)
        learned = time.perf_counter()
        clf.predict(X2)
        spent += learned - start, time.perf_counter() - learned
    used = sum(np.asarray(array).nbytes for array in clf._learner.state().values())
    return (*(1e6 * spent / (models * len(y2))), used)


def draw(path, costs):
    """Plot the costs against the number of labels, both on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    titles = ("learning, us an example", "prediction, us an example", "model, bytes")
    for i, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        for name, rows in costs.items():
            axis.loglog(
                [row[0] for row in rows],
                [row[1 + i] for row in rows],
                marker="o",
                label=name.removesuffix("Classifier"),
            )
        axis.set(title=title, xlabel="labels")
    axes[0].legend()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=list(ESTIMATORS), default=[*TREES, CONTRAST])
    parser.add_argument("--bits", type=int, default=26)
    parser.add_argument("--plot", help="where to draw the costs")
    arguments = parser.parse_args()
    costs = {}
    labels = 1000
    while labels <= arguments.largest:
        for name in arguments.only:
            if labels > PATIENCE.get(name, labels):
                continue
            rows = costs.setdefault(name, [])
            rows.append((labels, *measure(name, labels, arguments.bits)))
            _, learning, prediction, used = rows[-1]
            growth = np.log(learning / rows[0][1]) / np.log(max(labels, 1001) / 1000)
            print(
                f"{name:<26} {labels:>9,} labels   "
                f"learning {learning:7.1f} us ({learning / rows[0][1]:5.2f}-fold)   "
                f"prediction {prediction:7.1f} us ({prediction / rows[0][2]:5.2f}-fold)   "
                f"{used / 1e6:7.1f} MB   learning grows as K^{growth:.2f}",
                flush=True,
            )
        labels *= 10
    if arguments.plot:
        draw(arguments.plot, costs)


if __name__ == "__main__":
    main()
