"""How learning went: error against examples, accuracy against time."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter
from numpy.typing import NDArray

from labeltree.plot.style import axes, current_style, name_lines, palette
from labeltree.progress import Progress

_NOTE = "since the start; dashed: since the previous point"


def learning_curve(*runs: Any, labels: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the progressive error against the number of examples, one line a run.

    Parameters
    ----------
    *runs : estimators or Progress
        Fitted estimators, or their `progress_`.
    labels : list of str, optional
        Names of the runs; by default the estimators' classes. Runs of one name are repeats: the
        line is their mean, and a band reaches from the best to the worst.
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
    if labels is not None and len(labels) != len(runs):
        raise ValueError(f"there are {len(runs)} runs and {len(labels)} labels, expected as many")
    known = {"Progress": "error"}
    repeats: dict[str, list[NDArray[np.float64]]] = {}
    for i, run in enumerate(runs):
        kind = type(run).__name__
        name = labels[i] if labels else known.get(kind, kind.removesuffix("Classifier"))
        repeats.setdefault(name if labels else f"{name}{' ' * i}", []).append(_points(run))
    if ax is None:
        ax = axes("Progressive validation", "examples", "error", note=_NOTE)
    with current_style():
        colors = palette()
        for name, each in repeats.items():
            color = colors[len(ax.get_lines()) // 2 % len(colors)]
            length = min(map(len, each))  # that of the shortest
            examples, error, recent = np.mean([points[:length] for points in each], axis=0).T
            ax.plot(examples, error, color=color, label=name.rstrip() or name)
            ax.plot(examples, recent, "--", color=color, alpha=0.6, linewidth=1.2, label="_recent")
            if len(each) > 1:
                errors = [points[:length, 1] for points in each]
                ends = np.min(errors, axis=0), np.max(errors, axis=0)
                ax.fill_between(examples, *ends, color=color, alpha=0.2, linewidth=0)
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(FuncFormatter(_number))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        _fit(ax)
        name_lines(ax)
    return ax


def _points(run: Any) -> NDArray[np.float64]:
    """Return examples, error and recent error at each point, and at the end."""
    progress: Progress = run if isinstance(run, Progress) else run.progress_
    rows = [(r.examples, r.error, r.recent_error) for r in progress.history]
    if rows and progress.examples > rows[-1][0]:
        rows.append((progress.examples, progress.error, np.nan))
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _fit(ax: Axes) -> None:
    """Show what lines do, but for their first points, where all begin with an error of one."""
    points = np.concatenate([np.asarray(line.get_xydata()) for line in ax.get_lines()])
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return
    last = points[:, 0].max()
    first = max(points[:, 0].min(), min(64, last / 16))
    low, high = np.quantile(points[points[:, 0] >= first, 1], [0, 1])
    room = 0.05 * max(high - low, 0.02)
    ax.set_xlim(first, last)
    ax.set_ylim(max(0.0, low - room), high + room)


def _number(value: float, _: Any = None) -> str:
    return f"{value:,.0f}"


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
    if ax is None:
        ax = axes("Accuracy against training time", "seconds", "accuracy")
    with current_style():
        for name in dict.fromkeys(row["name"] for row in results):
            points = sorted((r["seconds"], r["accuracy"]) for r in results if r["name"] == name)
            ax.plot(*zip(*points, strict=True), "o-", label=name)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        name_lines(ax)
    return ax
