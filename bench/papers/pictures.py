"""How the pictures look: lines with their names at the ends, and rows of dots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

# Okabe and Ito's colours, which colour-blind people can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PAPER = "#777777"
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "labeltree",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.family": "sans-serif",
}

Line = tuple[Sequence[float], ...]  # x, y, and where there are repeats half the spread of y


def lines(
    drawn: Mapping[str, Line] | Sequence[tuple[str, Mapping[str, Line]]],
    x: str,
    y: str,
    *,
    paper: Sequence[str] = (),
    log: str = "",
) -> Figure:
    """Draw lines on one pair of axes, or on several side by side; those of the paper are dashed."""
    panels = [("", drawn)] if isinstance(drawn, Mapping) else drawn
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(1.2 + 4.2 * len(panels), 3.2), layout="constrained")
        for axes, (title, named) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            axes.set(title=title, xlabel=x, ylabel=y)
            if "x" in log:
                axes.set_xscale("log")
                _mark(axes, {value for line in named.values() for value in line[0]})
            if "y" in log:
                axes.set_yscale("log")
            axes.grid(alpha=0.25, linewidth=0.6)
            colours = iter(COLOURS)
            ends = []
            for name, line in named.items():
                style = (
                    {"color": PAPER, "linestyle": "--"}
                    if name in paper
                    else {"color": next(colours)}
                )
                axes.errorbar(*line, marker="o", markersize=3.5, linewidth=1.4, **style)
                ends.append((name, line[0][-1], line[1][-1], style["color"]))
            _name_ends(axes, ends)
    return figure


def _mark(axes: Any, values: set[float]) -> None:
    """Write the values themselves on a logarithmic axis, where there is room."""
    axes.xaxis.set_minor_formatter(NullFormatter())
    room = (max(values) / min(values)) ** (1 / 12)
    shown: list[float] = []
    for value in sorted(values):
        if not shown or value >= room * shown[-1]:
            shown.append(value)
    axes.set_xticks(shown, [f"{value:,.0f}" for value in shown], minor=False)
    axes.minorticks_off()


def _name_ends(axes: Any, ends: Sequence[tuple[str, float, float, str]]) -> None:
    """Write names right of the ends of lines, apart from each other."""
    if not ends:
        return
    low, high = axes.get_ylim()
    place = (lambda v: math.log(v)) if axes.get_yscale() == "log" else (lambda v: v)
    unit = (place(high) - place(low)) / 16  # about a line of text
    order = sorted(range(len(ends)), key=lambda i: place(ends[i][2]))
    heights = [place(ends[i][2]) for i in order]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + unit)
    over = heights[-1] - place(high)
    if over > 0:
        heights = [height - over for height in heights]
        for i in range(len(heights) - 2, -1, -1):
            heights[i] = min(heights[i], heights[i + 1] - unit)
    for i, height in zip(order, heights, strict=True):
        name, _, _, colour = ends[i]
        axes.text(
            1.02,
            (height - place(low)) / (place(high) - place(low)),
            name,
            color=colour,
            transform=axes.transAxes,
            va="center",
            fontsize=8,
        )


def dots(
    rows: Sequence[str],
    values: Mapping[str, Sequence[float]],
    paper: Mapping[str, Sequence[float]],
    x: str,
    *,
    log: bool = False,
) -> Figure:
    """Draw a row of dots for each data set, one a learner; hollow ones are the paper's."""
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 1.1 + 0.5 * len(rows)), layout="constrained")
        axes = figure.subplots()
        at = np.arange(len(rows))
        for (name, found), colour in zip(values.items(), COLOURS, strict=False):
            axes.plot(found, at - 0.1, "o", color=colour, markersize=6, label=name)
            if name in paper:
                axes.plot(paper[name], at + 0.15, "o", mec=colour, mfc="none", markersize=6)
        axes.plot([], [], "o", mec=PAPER, mfc="none", label="paper")
        axes.set(xlabel=x, yticks=at, yticklabels=rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        if log:
            axes.set_xscale("log")
        axes.grid(axis="x", alpha=0.25, linewidth=0.6)
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3, fontsize=8, frameon=False
        )
    return figure


def write(figure: Figure, path: Path) -> None:
    """Write a picture that is the same, byte for byte, for the same figures."""
    with matplotlib.rc_context(SETTINGS):
        figure.savefig(path, format="svg", metadata={"Date": None}, facecolor="white")
