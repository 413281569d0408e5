"""Pictures of learning and of models; needs matplotlib: ``pip install 'labeltree[plot]'``.

Every function draws on one pair of axes, given or made, and returns them; but `evaluation` puts
several pictures side by side.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from labeltree import metrics, modelfile
from labeltree.metrics import Reliability
from labeltree.progress import Progress

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ImportError as error:
    raise ImportError("drawing needs matplotlib: pip install 'labeltree[plot]'") from error

__all__ = [
    "accuracy_against_time",
    "depth_histogram",
    "evaluation",
    "leaf_size_histogram",
    "learning_curve",
    "picture_format",
    "precision_by_frequency",
    "reliability",
    "write",
]


def _axes(ax: Axes | None, title: str, x: str, y: str) -> Axes:
    if ax is None:
        ax = Figure(figsize=(7, 4.5), layout="constrained").subplots()
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(alpha=0.3)
    return ax


def write(drawn: Axes | Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture in the format that the end of the name tells; complete, or not at all.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        What was drawn.
    path : str or path-like
        Such as ``curve.png`` or ``curve.svg``.
    """
    figure: Any = drawn if isinstance(drawn, Figure) else drawn.get_figure()
    with modelfile.replacing(path) as beside:
        figure.savefig(beside, format=picture_format(path), dpi=150)


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture, by the end of its name."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    known = Figure().canvas.get_supported_filetypes()
    if suffix not in known:
        raise ValueError(f"{path}: expected a name ending in .{', .'.join(sorted(known))}")
    return suffix


def learning_curve(*runs: Any, labels: list[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the progressive error against the number of examples, one line a run.

    Parameters
    ----------
    *runs : estimators or Progress
        Fitted estimators, or their `progress_`.
    labels : list of str, optional
        Names of the runs; by default the estimators' classes.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on. Dashes: since the previous point; lines: since the start.

    Examples
    --------
    >>> from labeltree import LOMTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> clf = LOMTreeClassifier(random_state=0).fit(*make_multiclass(500, 8))
    >>> len(learning_curve(clf).get_lines())
    2
    """
    if not runs:
        raise ValueError("expected at least one run to draw, received none")
    ax = _axes(ax, "progressive validation", "examples", "error")
    for i, run in enumerate(runs):
        progress: Progress = run if isinstance(run, Progress) else run.progress_
        name = labels[i] if labels else type(run).__name__.removesuffix("Classifier")
        rows = [(r.examples, r.error, r.recent_error) for r in progress.history]
        if rows and progress.examples > rows[-1][0]:
            rows.append((progress.examples, progress.error, np.nan))
        examples, error, recent = np.array(rows, dtype=float).reshape(-1, 3).T
        (line,) = ax.plot(examples, error, label=name)
        ax.plot(examples, recent, "--", color=line.get_color(), alpha=0.5)
    ax.set_xscale("log", base=2)
    ax.set_ylim(0, 1)
    dashed = Line2D([], [], linestyle="--", color="gray", label="since the previous point")
    ax.legend(handles=[*ax.get_legend_handles_labels()[0], dashed])
    return ax


def precision_by_frequency(measured: dict[str, Any], ax: Axes | None = None) -> Axes:
    """Draw which share of head, middle and tail labels was found, with intervals.

    Parameters
    ----------
    measured : dict
        What `labeltree.cli.evaluate.evaluate` returns, or ``labeltree evaluate --json`` prints.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on.
    """
    groups = measured["groups"]
    if not groups:
        raise ValueError(
            "the model does not know how often it learned each label: train it with labeltree train"
        )
    ax = _axes(ax, "by how often a label was learned", "", "share of true labels found")
    recalls = [name for name in next(iter(groups.values())) if name.startswith("recall@")]
    at = np.arange(len(groups))
    for i, name in enumerate(recalls):
        values = [group[name] for group in groups.values()]
        middle = np.array([v["value"] for v in values])
        bars = np.array([[v["value"] - v["low"], v["high"] - v["value"]] for v in values]).T
        ax.bar(at + (i - 0.5) * 0.35, middle, 0.35, yerr=bars, capsize=3, label=name)
    ax.set_xticks(at, [f"{name}\n{group['labels']:,} labels" for name, group in groups.items()])
    ax.set_ylim(0, 1)
    ax.legend()
    return ax


def reliability(measured: dict[str, Any] | Reliability, ax: Axes | None = None) -> Axes:
    """Draw which share of predictions is right against their probability, with intervals.

    Parameters
    ----------
    measured : Reliability or dict
        What `labeltree.metrics.reliability` returns; or what `labeltree.cli.evaluate.evaluate`
        does, or ``labeltree evaluate --json`` prints.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on. Bars: which share of predictions has such probabilities. Points of a
        well calibrated model lie on the diagonal.
    """
    if isinstance(measured, Reliability):
        bins = [row._asdict() for row in measured.bins]
        measured = {"calibration": {"error": measured.error, "bins": bins}}
    if "calibration" not in measured:
        raise ValueError(
            "the model gives no probabilities: expected one of an estimator with predict_proba"
        )
    calibration = measured["calibration"]
    title = f"calibration error {calibration['error']:.4f}"
    ax = _axes(ax, title, "probability", "share of predictions that are right")
    names = ("low", "high", "probability", "share_right", "predictions")
    rows = [[row[name] for name in names] for row in calibration["bins"]]
    low, high, probability, right, predictions = np.array(rows, dtype=float).T
    share = predictions / predictions.sum()
    ax.bar(low, share, high - low, align="edge", alpha=0.25, label="share of predictions")
    ax.plot([0, 1], [0, 1], "--", color="gray", label="perfect")
    ends = [metrics.wilson(*pair) for pair in zip(right, predictions, strict=True)]
    bars = np.array([[end.value - end.low, end.high - end.value] for end in ends]).T
    ax.errorbar(probability, right, yerr=bars, fmt="o-", capsize=3, label="share right")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.legend(loc="upper left")
    return ax


def evaluation(measured: dict[str, Any]) -> Figure:
    """Draw what is known of `precision_by_frequency` and `reliability`, side by side.

    Parameters
    ----------
    measured : dict
        What `labeltree.cli.evaluate.evaluate` returns, or ``labeltree evaluate --json`` prints.

    Returns
    -------
    Figure
        What was drawn on.
    """
    pictures = [precision_by_frequency] if measured["groups"] else []
    pictures += [reliability] if "calibration" in measured else []
    if not pictures:
        raise ValueError(
            "there is nothing to draw: the model gives no probabilities, and does not know how "
            "often it learned each label; train it with labeltree train"
        )
    figure = Figure(figsize=(7 * len(pictures), 4.5), layout="constrained")
    axes = figure.subplots(1, len(pictures), squeeze=False)[0]
    for picture, ax in zip(pictures, axes, strict=True):
        picture(measured, ax)
    return figure


def depth_histogram(clf: Any, ax: Axes | None = None) -> Axes:
    """Draw how many examples end at each depth of a fitted tree.

    Parameters
    ----------
    clf : estimator
        With a `tree_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on.
    """
    tree = clf.tree_
    ax = _axes(ax, "depth", "depth of a leaf", "examples")
    depths = tree.depths[tree.leaves]
    ax.bar(np.arange(tree.depth + 1), np.bincount(depths, tree.weight[tree.leaves]))
    return ax


def leaf_size_histogram(clf: Any, ax: Axes | None = None) -> Axes:
    """Draw how many leaves of a fitted tree have seen how many examples.

    Parameters
    ----------
    clf : estimator
        With a `tree_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on.
    """
    tree = clf.tree_
    ax = _axes(ax, "leaf size", "examples of a leaf", "leaves")
    weight = tree.weight[tree.leaves]
    top = max(1.0, float(weight.max(initial=1.0)))
    ax.hist(np.maximum(weight, 0.5), bins=np.geomspace(0.5, top + 1, 30).tolist())
    ax.set_xscale("log")
    return ax


def accuracy_against_time(path: str | os.PathLike[str], ax: Axes | None = None) -> Axes:
    """Draw the accuracy of several systems against their training time.

    Parameters
    ----------
    path : str or path-like
        A benchmark's results as JSON: a list of objects with ``name``, ``seconds`` and
        ``accuracy``; those of one name are joined by a line.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on.
    """
    results = json.loads(Path(path).read_text())
    needed = {"name", "seconds", "accuracy"}
    if not isinstance(results, list) or not all(needed <= {*row} for row in results):
        raise ValueError(f"{path}: expected a list of objects with name, seconds and accuracy")
    ax = _axes(ax, "accuracy against training time", "seconds", "accuracy")
    for name in dict.fromkeys(row["name"] for row in results):
        points = sorted((r["seconds"], r["accuracy"]) for r in results if r["name"] == name)
        ax.plot(*zip(*points, strict=True), "o-", label=name)
    ax.set_xscale("log")
    ax.legend()
    return ax
