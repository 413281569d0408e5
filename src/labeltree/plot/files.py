"""Pictures as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labeltree import modelfile

# Words of an SVG stay words, to be searched and read aloud; equal pictures are equal files.
_SVG: Any = {"svg.fonttype": "none", "svg.hashsalt": "labeltree"}


def write(drawn: Axes | Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture in the format that the end of the name tells; complete, or not at all.

    Parameters
    ----------
    drawn : matplotlib Axes or Figure
        What was drawn.
    path : str or path-like
        Such as ``curve.png`` or ``curve.svg``.
    """
    picture: Any = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    kind = picture_format(path)
    metadata = {"metadata": {"Date": None}} if kind == "svg" else {}
    with rc_context(_SVG), modelfile.replacing(path) as beside:
        picture.savefig(beside, format=kind, dpi=150, **metadata)


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture, by the end of its name."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    known = Figure().canvas.get_supported_filetypes()
    if suffix not in known:
        raise ValueError(f"{path}: expected a name ending in .{', .'.join(sorted(known))}")
    return suffix
