"""The pictures, in the style of `labeltree.plot`: lines with their names, and rows of dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labeltree import plot

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
    with plot.style("both") as scheme:
        figure = plot.figure(1, len(panels), size=(1.5 + 4.2 * len(panels), 3.6))
        for ax, (title, named) in zip(figure.axes, panels, strict=True):
            plot.axes(title, x, y, ax=ax)
            if "x" in log:
                ax.set_xscale("log")
                values = {value for line in named.values() for value in line[0]}
                _mark(ax, values, 10 if len(panels) == 1 else 6)
            if "y" in log:
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter("{x:,g}")
            colours = iter(plot.palette())
            for name, (at, height, *half) in named.items():
                own = (
                    {"color": scheme.quiet, "ls": "--"}
                    if name in paper
                    else {"color": next(colours)}
                )
                if half:
                    ax.errorbar(at, height, *half, fmt="none", ecolor=own["color"], capsize=0)
                ax.plot(at, height, marker="o", label=name, **own)
            plot.name_lines(ax, outside=True)
    return figure


def _mark(ax: Axes, values: set[float], most: int) -> None:
    """Write the values themselves on a logarithmic axis, where there is room."""
    room = (max(values) / min(values)) ** (1 / most)
    shown: list[float] = []
    for value in sorted(values):
        if not shown or value >= room * shown[-1]:
            shown.append(value)
    ax.set_xticks(shown, [f"{value:,.0f}" for value in shown])
    ax.minorticks_off()


def dots(
    rows: Sequence[str],
    values: Mapping[str, Sequence[float]],
    paper: Mapping[str, Sequence[float]],
    x: str,
) -> Figure:
    """Draw a row of dots for each data set, one a learner; hollow ones are the paper's."""
    with plot.style("both") as scheme:
        figure = plot.figure(size=(7.2, 1.2 + 0.45 * len(rows) + 0.2 * len(values)))
        (ax,) = figure.axes
        plot.axes("", x, "", ax=ax)
        at = np.arange(len(rows))
        for i, (name, found) in enumerate(values.items()):
            colour, apart = plot.palette()[i], 0.05 * (i - (len(values) - 1) / 2)
            ax.plot(found, at - 0.12 + apart, "o", color=colour, markersize=6, label=name)
            if name in paper:
                ax.plot(paper[name], at + 0.24 + apart, "o", mec=colour, mfc="none", markersize=6)
        if paper:
            ax.plot([], [], "o", mec=scheme.quiet, mfc="none", label="paper")
        ax.set(yticks=at, yticklabels=rows)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.grid(axis="both")
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def write(figure: Figure, path: Path) -> None:
    plot.write(figure, path)
