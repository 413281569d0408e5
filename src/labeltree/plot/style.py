"""How all pictures look: colours, lines, and names at the ends of lines.

::

    with labeltree.plot.style("dark"):
        labeltree.plot.write(labeltree.plot.learning_curve(clf), "curve-dark.svg")

What is drawn in no such block is light. A picture of one's own looks the same if it is made by
`axes` or `figure` and drawn in the block, with `palette` for colours and `name_lines` at last::

    with labeltree.plot.style():
        ax = labeltree.plot.axes("Error", "labels", "error, %")
        ax.plot([1, 10, 100], [5, 7, 12], label="LOMtree")
        labeltree.plot.name_lines(ax)
        labeltree.plot.write(ax, "error.svg")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

SIZE = (7.2, 4.2)  # of one pair of axes, in inches
_NAME = "name of a line"  # marks the texts that name_lines wrote
_FONT = 10.0  # points


@dataclass(frozen=True)
class Scheme:
    """The colours of a picture.

    Attributes
    ----------
    page : str
        Behind it; "none" lets through what is there.
    text, quiet, grid : str
        Of words, of what matters less, and of lines that help to read values.
    lines : tuple of str
        Of lines and bars, one after the other.
    """

    page: str
    text: str
    quiet: str
    grid: str
    lines: tuple[str, ...]


# Okabe and Ito's colours, which people tell apart who see fewer of them; made lighter or darker
# where they would be faint on the page.
SCHEMES = {
    "light": Scheme(
        page="#ffffff",
        text="#24292f",
        quiet="#656d76",
        grid="#e4e7eb",
        lines=("#0072b2", "#d55e00", "#009470", "#c770a1", "#3a96d0", "#333a44"),
    ),
    "dark": Scheme(
        page="#1e2129",
        text="#e3e6ea",
        quiet="#a3abb5",
        grid="#363b45",
        lines=("#56b4e9", "#f07a30", "#14a983", "#f3a6d0", "#3a80d8", "#f0e442"),
    ),
    "both": Scheme(  # which can be read on either page
        page="none",
        text="#7a8189",
        quiet="#7a8189",
        grid="#7a818940",
        lines=("#1a80c4", "#e2540c", "#0f9f78", "#c9719f", "#7c5fd6", "#8a8000"),
    ),
}
_current: ContextVar[Scheme] = ContextVar("scheme", default=SCHEMES["light"])


@contextmanager
def style(scheme: str = "light") -> Iterator[Scheme]:
    """Draw everything in a block alike, in one scheme of colours.

    Parameters
    ----------
    scheme : {"light", "dark", "both"}
        The page that the picture is for. "both" has no background and tones between, so that one
        file serves light and dark pages; where a page can choose, two files have more contrast
        (in MkDocs' Material ``![](a.svg#only-light)`` and ``![](a-dark.svg#only-dark)``).

    Returns
    -------
    context manager
        Gives the `Scheme`.

    Examples
    --------
    >>> from labeltree import plot
    >>> with plot.style("dark") as scheme:
    ...     ax = plot.axes("Error", "labels", "error, %")
    >>> ax.figure.get_facecolor()[:3] == ax.get_facecolor()[:3] != (1, 1, 1)
    True
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}, expected one of {', '.join(SCHEMES)}")
    token = _current.set(SCHEMES[scheme])
    try:
        with current_style() as found:
            yield found
    finally:
        _current.reset(token)


@contextmanager
def current_style() -> Iterator[Scheme]:
    """Draw in the scheme of the block around it, or else for light pages."""
    scheme = _current.get()
    with rc_context(_settings(scheme)):
        yield scheme


def _settings(scheme: Scheme) -> Any:
    from cycler import cycler

    return {
        "font.family": "sans-serif",
        "font.size": _FONT,
        "text.color": scheme.text,
        "figure.facecolor": scheme.page,
        "savefig.facecolor": "auto",
        "axes.facecolor": scheme.page,
        "axes.edgecolor": scheme.quiet,
        "axes.labelcolor": scheme.text,
        "axes.titlecolor": scheme.text,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": cycler(color=scheme.lines),
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "grid.color": scheme.grid,
        "grid.linewidth": 0.8,
        "xtick.color": scheme.quiet,
        "ytick.color": scheme.quiet,
        "xtick.labelcolor": scheme.text,
        "ytick.labelcolor": scheme.text,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "lines.linewidth": 1.8,
        "lines.markersize": 4.5,
        "patch.edgecolor": scheme.page,
        "errorbar.capsize": 2.5,
        "legend.frameon": False,
        "legend.fontsize": 9,
    }


def palette() -> tuple[str, ...]:
    """Return the colours of lines, one after the other, of the block's scheme."""
    return _current.get().lines


def figure(rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None) -> Figure:
    """Return an empty figure with as many pairs of axes: ``figure(1, 3).axes``.

    Parameters
    ----------
    rows, columns : int
        How many pairs of axes there are.
    size : pair of float, optional
        Of the figure, in inches.

    Returns
    -------
    Figure
        In the block's style.
    """
    with current_style() as scheme:
        made = Figure(size or (SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
        for ax in made.subplots(rows, columns, squeeze=False).flat:
            ax.tick_params(  # those that are made when it is saved would look as elsewhere
                which="both",
                color=scheme.quiet,
                labelcolor=scheme.text,
                labelsize=9,
                grid_color=scheme.grid,
                grid_linewidth=0.8,
            )
    return made


def axes(title: str, x: str, y: str, *, note: str = "", ax: Axes | None = None) -> Axes:
    """Return axes with a title and names.

    Parameters
    ----------
    title, x, y : str
        Above, and of the two axes.
    note : str
        In smaller letters below the title.
    ax : matplotlib Axes, optional
        Where to draw; by default axes of a new figure.

    Returns
    -------
    Axes
        In the block's style.
    """
    with current_style() as scheme:
        if ax is None:
            ax = figure().axes[0]
        ax.set_title(title, pad=24 if note else 10, loc="left")
        if note:
            ax.annotate(
                note, (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points"
            ).set(fontsize=9, color=scheme.quiet)
        ax.set_xlabel(x)
        ax.set_ylabel(y)
    return ax


def name_lines(ax: Axes, *, outside: bool = False) -> None:
    """Write the name of each line at its end, in its colour, one below the other.

    Names of lines that end before others stand above their ends.

    To be called when all lines are drawn and limits are set. Lines that were drawn without a
    ``label`` have no name.

    Parameters
    ----------
    ax : matplotlib Axes
        What lines were drawn on. Names that an earlier call wrote are written anew.
    outside : bool
        Whether all names stand at the right of the axes, also of lines that end earlier.
    """
    for text in [text for text in ax.texts if text.get_gid() == _NAME]:
        text.remove()
    ends = []
    for line in ax.get_lines():
        end = _end(line)
        if not str(line.get_label()).startswith("_") and end is not None:
            ends.append((line, *end))
    ax.autoscale_view()  # or else limits are those of before
    picture: Any = ax.get_figure(root=True)
    height = ax.get_position().height * picture.get_size_inches()[1] * 72
    gap = 1.25 * _FONT / max(height * 0.8, 1.0)  # as a share of the axes, which names will narrow
    edge = float(ax.get_xlim()[1])
    last = max([x for _, x, _ in ends], default=0.0)
    for x in [edge] if outside else dict.fromkeys(x for _, x, _ in ends):
        group = [end for end in ends if outside or end[1] == x]
        points = ax.transData.transform([(at, y) for _, at, y in group])
        heights = ax.transAxes.inverted().transform(points)[:, 1].tolist()
        for (line, at, y), own, place in zip(group, heights, _apart(heights, gap), strict=True):
            moved = abs(place - own) > 0.4 * gap or at != x
            leader = {
                "arrowstyle": "-",
                "color": line.get_color(),
                "linewidth": 0.6,
                "alpha": 0.6,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            }
            if outside:
                where: dict[str, Any] = {"xytext": (1.015, place), "textcoords": "axes fraction"}
            else:
                shift = (place - own) * height
                where = {"xytext": (12 if moved else 6, shift), "textcoords": "offset points"}
                if x < last:  # others go on beside it
                    where |= {"xytext": (0, shift + _FONT), "ha": "center"}
            ax.annotate(
                str(line.get_label()),
                (at, y),
                **where,
                va="center",
                color=line.get_color(),
                fontsize=9.5,
                annotation_clip=False,
                gid=_NAME,
                arrowprops=leader if moved else None,
            )


def _end(line: Line2D) -> tuple[float, float] | None:
    """Return the last point of a line that can be drawn."""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    drawn = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    return (float(x[drawn[-1]]), float(y[drawn[-1]])) if len(drawn) else None


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Return places in the same order, at least a gap apart, as near to the first as can be.

    Neighbours that are too near become a pile around their middle, and piles that meet one pile.
    """
    order = np.argsort(places, kind="stable")
    piles: list[list[float]] = []  # where the first place would be for each to stay where it is
    for rank, i in enumerate(order):
        pile = [places[i] - rank * gap]
        while piles and np.mean(piles[-1]) >= np.mean(pile):
            pile = piles.pop() + pile
        piles.append(pile)
    starts = [float(np.mean(pile)) for pile in piles for _ in pile]
    moved = np.empty(len(places))
    moved[order] = np.array(starts) + gap * np.arange(len(places))
    return moved.tolist()
