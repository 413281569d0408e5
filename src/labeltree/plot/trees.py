"""The shape of fitted trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from labeltree.plot.style import axes, current_style, palette


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
    ax = axes("Where examples end", "depth of a leaf", "examples", ax=ax)
    depths = tree.depths[tree.leaves]
    with current_style():
        counts = np.bincount(depths, tree.weight[tree.leaves], minlength=tree.depth + 1)
        ax.bar(np.arange(tree.depth + 1), counts, 0.85, color=palette()[0])
        ax.set_xlim(max(0, np.flatnonzero(counts)[:1].sum() - 1) - 0.5, tree.depth + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.yaxis.set_major_formatter(_plain_numbers())
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
    ax = axes("How much leaves have seen", "examples of a leaf", "leaves", ax=ax)
    weight = np.maximum(tree.weight[tree.leaves], 0.5)
    with current_style():
        bins = np.geomspace(weight.min(), weight.max() + 1, 25).tolist()
        ax.hist(weight, bins=bins, color=palette()[0], rwidth=0.94)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(_plain_numbers())
        ax.yaxis.set_major_formatter(_plain_numbers())
    return ax


def _plain_numbers() -> FuncFormatter:
    """Return what writes 10,000 as such; each axis needs one of its own."""
    return FuncFormatter(lambda value, _: f"{value:,.10g}")
