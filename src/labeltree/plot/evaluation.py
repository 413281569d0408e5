"""What `labeltree evaluate` measured: recall by frequency, and whether probabilities hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from labeltree import metrics
from labeltree.metrics import Reliability
from labeltree.plot.style import axes, current_style, figure, name_lines, palette


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
    title = "By how often a label was learned"
    ax = axes(title, "", "share of true labels found", note=" ", ax=ax)
    recalls = [name for name in next(iter(groups.values())) if name.startswith("recall@")]
    at = np.arange(len(groups))
    width = 0.8 / max(2, len(recalls))
    with current_style() as scheme:
        for i, name in enumerate(recalls):
            values = [group[name] for group in groups.values()]
            middle = np.array([v["value"] for v in values])
            ends = np.array([[v["value"] - v["low"], v["high"] - v["value"]] for v in values]).T
            places = at + (i - (len(recalls) - 1) / 2) * width
            ax.bar(places, middle, 0.94 * width, color=palette()[i % len(palette())], label=name)
            ax.errorbar(places, middle, yerr=ends, fmt="none", ecolor=scheme.text, linewidth=1)
        ax.set_xticks(at, [f"{name}\n{group['labels']:,} labels" for name, group in groups.items()])
        ax.tick_params(axis="x", length=0)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        ax.set_ylim(bottom=0)
        _legend_above(ax)
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
    title = f"Calibration error {calibration['error']:.4f}"
    note = "bars: share of predictions that have such a probability"
    ax = axes(title, "probability", "share of predictions that are right", note=note, ax=ax)
    names = ("low", "high", "probability", "share_right", "predictions")
    rows = [[row[name] for name in names] for row in calibration["bins"]]
    low, high, probability, right, predictions = np.array(rows, dtype=float).T
    ends = [metrics.wilson(*pair) for pair in zip(right, predictions, strict=True)]
    bars = np.array([[end.value - end.low, end.high - end.value] for end in ends]).T
    with current_style() as scheme:
        share = predictions / predictions.sum()
        ax.bar(low, share, high - low, align="edge", color=scheme.quiet, alpha=0.25)
        ax.plot([0, 1], [0, 1], "--", color=scheme.quiet, linewidth=1.2, label="perfect")
        ax.plot(probability, right, "o-", color=palette()[0], label="this model")
        ax.errorbar(probability, right, yerr=bars, fmt="none", ecolor=palette()[0], linewidth=1)
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1.02)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        name_lines(ax, outside=True)
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
    drawn = figure(1, len(pictures))
    for picture, ax in zip(pictures, drawn.axes, strict=True):
        picture(measured, ax)
    return drawn


def _legend_above(ax: Axes) -> None:
    """Name bars in a line below the title, where no bar can be."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(ax.get_legend_handles_labels()[1]),
        borderpad=0,
        borderaxespad=0.5,
        handlelength=1,
        handleheight=1,
        columnspacing=1.2,
    )
