"""How the cost of an example grows: with labels, features, depth of the tree, or candidates.

    python -m bench.scaling [--of labels|features|depth|candidates] [--only NAME ...]
                            [--sizes N ...] [--rows N] [--bits 26] [--plot FILE]

labels      the number of labels, K
features    non-zero features of a row
depth       depth of the leaf at which an example arrives. Recall Tree (of one tree and one
            candidate) and LOMtree are bounded by a setting and have the same labels throughout; the
            others are binary trees of 2^depth labels, and the search follows one path
candidates  candidates of one tree, for LabelTreeClassifier without an index; the more there are,
            the shallower is a Recall Tree

All else stays the same. At every size a model has learned one example of each label, or more where
labels are few, and is timed on `--rows` further ones: to learn them with progressive validation,
then to predict them. Times are the processor's, medians over batches of 1,000 rows; memory is what
the model's arrays hold, depth the average over the examples learned. At the end, a table in
microseconds and MB with exponents of growth: the slope of log cost over log size, by least squares
through all sizes. In the picture, bands reach from the first to the third quartile of the batches.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench.synthetic import rows
from labeltree.estimators import ESTIMATORS

RECALL, LOM = "RecallTreeClassifier", "LOMTreeClassifier"
RANDOM, PROBABILITY = "RandomTreeClassifier", "ProbabilityTreeClassifier"
LABEL_TREE, CONTRAST = "LabelTreeClassifier", "OneAgainstAllClassifier"
TREES = (PROBABILITY, LOM, RANDOM, RECALL)
PATIENCE = {CONTRAST: 10_000}  # most labels for the learner that grows in proportion to them
LEARNED_AT_ONCE = 50_000  # rows in memory, before the clock starts
TIMED_AT_ONCE = 1000  # rows of a call that is timed
UNITS = {"learning": 1.0, "prediction": 1.0, "memory": 1e6}  # of the table: us, us, MB


class Case(NamedTuple):
    """What a model is, and what it learns before it is timed."""

    labels: int
    before: int  # examples
    parameters: dict[str, Any]
    nnz: int = 20


class Cost(NamedTuple):
    """What was measured at one size."""

    size: float
    learning: float  # microseconds an example
    prediction: float
    memory: int  # bytes
    depth: float
    quartiles: dict[str, tuple[float, float]]  # of the batches' learning and prediction


class Sweep(NamedTuple):
    """Sizes at which some estimators are measured."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: int  # timed at each size, in all models of it together
    case: Callable[[str, int], Case]


def depth_case(name, depth):
    labels = 1 << 16
    if name == RECALL:
        settings = {"max_depth": depth, "n_trees": 1, "candidates": 1}
    elif name == LOM:
        settings = {"max_nodes": 2**depth - 1}
    else:
        labels = 2**depth
        settings = {"arity": 2, "search_budget": 1} if name == PROBABILITY else {}
    return Case(labels, max(labels, 20_000), settings)


def candidates_case(name, candidates):
    settings = {"candidates": candidates, "n_trees": 1}
    if name == LABEL_TREE:
        settings["index_length"] = 0
    return Case(10_000, 10_000, settings)


SWEEPS = {
    "labels": Sweep(
        (*TREES, LABEL_TREE, CONTRAST),
        (1000, 10_000, 100_000, 1_000_000),
        20_000,
        lambda _, size: Case(size, size, {}),
    ),
    "features": Sweep(
        (*TREES, LABEL_TREE),
        (8, 16, 32, 64, 128, 256, 512),
        4000,
        lambda _, size: Case(2000, 4000, {}, nnz=size),
    ),
    "depth": Sweep(TREES, (2, 4, 6, 8, 10, 12, 14, 16), 20_000, depth_case),
    "candidates": Sweep(
        (RECALL, LABEL_TREE), (1, 2, 4, 8, 16, 32, 64, 128), 10_000, candidates_case
    ),
}


def measure(name, case, timed, bits):
    """Return the cost of an example, but for the size at which it is."""
    before = np.random.default_rng(0).permutation(case.before) % case.labels
    after = np.random.default_rng(1).permutation(case.before)[:timed] % case.labels
    batches = list(in_batches(after, TIMED_AT_ONCE, case.nnz, 1))
    learning, prediction = [], []
    for model in range(max(1, timed // case.before)):
        clf = ESTIMATORS[name](bits=bits, random_state=model, **case.parameters)
        for X, y in in_batches(before, LEARNED_AT_ONCE, case.nnz, 0):
            clf.partial_fit(X, y)
        learning += [microseconds(clf.partial_fit, X, y) / len(y) for X, y in batches]
        prediction += [microseconds(clf.predict, X) / len(y) for X, y in batches]
    memory = sum(np.asarray(array).nbytes for array in clf._learner.state().values())
    quartiles = {
        kind: tuple(np.quantile(times, [0.25, 0.75]).tolist())
        for kind, times in (("learning", learning), ("prediction", prediction))
    }
    return np.median(learning), np.median(prediction), memory, mean_depth(clf), quartiles


def in_batches(labels, size, nnz, seed):
    for begin in range(0, len(labels), size):
        y = labels[begin : begin + size]
        yield rows(y, nnz=nnz, seed=(seed, begin)), y


def microseconds(function, *arguments):
    start = time.process_time()  # of one thread, however busy the machine
    function(*arguments)
    return 1e6 * (time.process_time() - start)


def mean_depth(clf):
    """Return the depth of the leaves that examples reached, on average; 0 without a tree."""
    if not hasattr(clf, "tree_"):
        return 0.0
    tree = clf.tree_
    return float(np.average(tree.depths[tree.leaves], weights=tree.weight[tree.leaves]))


def exponent(sizes, times):
    """Return b of the line log time = a + b log size that is nearest by least squares."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def show(name, quantity, cost):
    print(
        f"{name:<26} {round(cost.size, 1):>9,} {quantity:<10} learning {cost.learning:8.1f} us   "
        f"prediction {cost.prediction:8.1f} us   {cost.memory / 1e6:7.1f} MB   "
        f"depth {cost.depth:5.1f}",
        flush=True,
    )


def table(quantity, sizes, costs):
    """Return the lines of a table of all costs, with the exponent and extent of their growth."""
    lines = [f"| {quantity} | {' | '.join(f'{size:,}' for size in sizes)} | exponent |"]
    lines.append("|---" * (len(sizes) + 2) + "|")
    for name, points in costs.items():
        found = list(points.values())
        for kind, unit in UNITS.items():
            of = {size: getattr(cost, kind) / unit for size, cost in points.items()}
            cells = [f"{of[size]:.1f}" if size in of else "" for size in sizes]
            growth = ""
            if len(found) > 1:
                b = exponent([cost.size for cost in found], list(of.values()))
                growth = f"{b:.2f} ({getattr(found[-1], kind) / getattr(found[0], kind):.2f}-fold)"
            lines.append(f"| {name}, {kind} | {' | '.join(cells)} | {growth} |")
    return lines


def draw(path, quantity, costs):
    """Plot the costs against the size, both on logarithmic axes."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from labeltree import plot

    titles = {
        "learning": "Learning, \N{MICRO SIGN}s an example",
        "prediction": "Prediction, \N{MICRO SIGN}s an example",
        "memory": "Model, MB",
    }
    with plot.style("both"):
        figure = plot.figure(1, 3, size=(11.5, 4.2))
        for axis, (kind, title) in zip(figure.axes, titles.items(), strict=True):
            plot.axes(title, quantity, "", ax=axis)
            for name, points in costs.items():
                sizes = [cost.size for cost in points.values()]
                values = [getattr(cost, kind) / UNITS[kind] for cost in points.values()]
                (line,) = axis.plot(sizes, values, "o-", label=name.removesuffix("Classifier"))
                if kind != "memory":
                    ends = np.transpose([cost.quartiles[kind] for cost in points.values()])
                    axis.fill_between(sizes, *ends, color=line.get_color(), alpha=0.2, linewidth=0)
            axis.set(xscale="log", yscale="log")
            axis.minorticks_off()
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            for ticks in (axis.xaxis, axis.yaxis):
                ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
                ticks.set_minor_formatter(NullFormatter())
            plot.name_lines(axis)
        plot.write(figure, path)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", choices=list(SWEEPS), default="labels", help="what grows")
    parser.add_argument("--only", nargs="+", choices=list(ESTIMATORS))
    parser.add_argument("--sizes", nargs="+", type=int, help="values of what grows")
    parser.add_argument("--rows", type=int, help="examples timed at each size")
    parser.add_argument("--bits", type=int, default=26)
    parser.add_argument("--plot", help="where to draw the costs")
    options = parser.parse_args(arguments)
    sweep = SWEEPS[options.of]
    names = options.only or sweep.names
    if options.of in ("depth", "candidates") and not set(names) <= set(sweep.names):
        parser.error(f"--of {options.of} is measured for {', '.join(sweep.names)} only")
    costs = {}
    sizes = options.sizes or sweep.sizes
    for size in sizes:
        for name in names:
            case = sweep.case(name, size)
            if case.labels > PATIENCE.get(name, case.labels):
                continue
            figures = measure(name, case, options.rows or sweep.rows, options.bits)
            depth = figures[3]
            cost = Cost(depth if options.of == "depth" else size, *figures)
            costs.setdefault(name, {})[size] = cost
            show(name, options.of, cost)
    print("", *table(options.of, sizes, costs), sep="\n")
    if options.plot:
        draw(options.plot, options.of, costs)


if __name__ == "__main__":
    main()
