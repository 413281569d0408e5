"""What a fitted tree is about, on one map: branches are as large as what they learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from labeltree.estimators.treewords import tree_words
from labeltree.plot.style import axes, current_style, figure, palette
from labeltree.treeview import counted, learned, shortened

_SIZE = (10.0, 6.2)  # inches
_LETTER = 0.6  # width of a letter, on average, as a share of its height
_LEAST = 6.0  # height of letters, in points, that can be read


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


def label_map(clf: Any, names: Mapping[int, str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the two top levels of a fitted tree as a map, with what each branch is about.

    A rectangle is as large as a branch's share of what was learned; one colour is one branch of the
    top level. In it are the branch's most typical words, where names of features are known, or else
    its most frequent labels. Of several trees the first is drawn.

    Parameters
    ----------
    clf : estimator
        With a `tree_`.
    names : mapping of int to str, optional
        What features are called; by default what a `TextClassifier` with ``keep_names`` knows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from labeltree import ProbabilityTreeClassifier, TextClassifier
    >>> texts, y = ["it purrs", "it barks", "it sings"] * 9, ["cat", "dog", "bird"] * 9
    >>> clf = TextClassifier(ProbabilityTreeClassifier(), keep_names=True).fit(texts, y)
    >>> sorted(text.get_text() for text in label_map(clf).texts)[1:]
    ['barks', 'purrs', 'sings']
    """
    tree = clf.tree_
    root = tree.roots[0]
    title = "What branches are about"
    note = f"{counted(tree.labels_below[root], 'label')}, {learned(tree.weight[root])}"
    with current_style() as scheme:
        if ax is None:
            ax = figure(size=_SIZE).axes[0]
        ax = axes(title, "", "", note=f"{note}; areas: how often learned", ax=ax)
        ax.set_axis_off()
        ax.set_xlim(0, 1)
        ax.set_ylim(1, 0)
        words = tree_words(clf, tree, names, max_depth=2)
        frequent = tree.frequent_labels(2)
        picture: Any = ax.get_figure(root=True)
        picture.draw_without_rendering()  # lays it out
        scale = 72 / picture.dpi * np.array(ax.get_window_extent().size)  # points
        edge = "#ffffff" if scheme.page == "none" else scheme.page
        page = np.array(to_rgb(edge))
        ratio = float(scale[0] / scale[1])
        for i, (node, box) in enumerate(_parts(tree, root, Box(0, 0, 1, 1), ratio)):
            color = np.array(to_rgb(palette()[i % len(palette())]))
            told = words.get(node) or [str(label) for label in frequent.get(node, [])]
            inner = box
            if tree.children[node]:
                head = min(0.3 * box.height, 15 / float(scale[1]))
                fill = 0.6 * color + 0.4 * page
                ax.add_patch(_patch(box, fill, edge))
                top = Box(box.x, box.y, box.width, head)
                _write(ax, told, top, scale, _ink(fill), title=True)
                inner = Box(box.x, box.y + head, box.width, box.height - head)
            for j, (child, part) in enumerate(_parts(tree, node, inner, ratio)):
                share = 0.34 if j % 2 else 0.26
                fill = share * color + (1 - share) * page
                ax.add_patch(_patch(part, fill, edge))
                told = words.get(child) or [str(label) for label in frequent.get(child, [])]
                _write(ax, told, part, scale, _ink(fill))
    return ax


def _patch(box: Box, fill: Any, edge: str) -> Rectangle:
    return Rectangle(
        (box.x, box.y), box.width, box.height, facecolor=fill, edgecolor=edge, linewidth=1
    )


def _parts(tree: Any, node: int, box: Box, ratio: float) -> list[tuple[int, Box]]:
    """Return what a node is divided into, itself if it is a leaf, and where each part lies."""
    parts = [v for v in tree.children[node] if tree.weight[v] > 0] or [node]
    parts.sort(key=lambda v: -tree.weight[v])
    weights = [max(float(tree.weight[v]), 1e-9) for v in parts]
    return list(zip(parts, squarified(weights, box, ratio), strict=True))


def squarified(weights: Sequence[float], box: Box, ratio: float = 1.0) -> list[Box]:
    """Cut a box into parts of given shares that are nearly square.

    Rows of parts are laid along the shorter side, each as long as its parts become squarer by it
    (Bruls, Huizing & van Wijk 2000).

    Parameters
    ----------
    weights : sequence of float
        The shares, the largest first.
    box : Box
        What to cut.
    ratio : float
        How long a unit of width is beside a unit of height.

    Returns
    -------
    list of Box
        One a weight.
    """
    found: list[Box] = []
    x, y, width, height = box.x * ratio, box.y, box.width * ratio, box.height
    left = list(weights)
    while left:
        scale = width * height / sum(left)
        short = min(width, height)

        def worst(row: list[float], scale: float = scale, short: float = short) -> float:
            depth = sum(row) * scale / short
            return max(max(depth * depth / (w * scale), w * scale / (depth * depth)) for w in row)

        n = 1
        while n < len(left) and worst(left[: n + 1]) <= worst(left[:n]):
            n += 1
        row, left = left[:n], left[n:]
        depth = sum(row) * scale / short
        at = 0.0
        for weight in row:
            length = weight * scale / depth
            one = (x, y + at, depth, length) if width >= height else (x + at, y, length, depth)
            found.append(Box(one[0] / ratio, one[1], one[2] / ratio, one[3]))
            at += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
    return found


def _ink(fill: Any) -> str:
    """Return the colour of letters that are read best on a colour."""
    return "#1b1f24" if float(np.dot(fill, [0.299, 0.587, 0.114])) > 0.45 else "#f2f4f7"


def _write(
    ax: Axes, told: list[str], box: Box, scale: Any, color: str, *, title: bool = False
) -> None:
    """Write words into a box, as many as there is room for, if there is room for any."""
    width, height = 0.94 * box.width * scale[0], 0.94 * box.height * scale[1]
    most = 1 if title else 4  # lines
    size = min(10.0, 0.72 * height if title else min(height / 2.6, width / 7))
    if size < _LEAST or not told:
        return
    room = width / (_LETTER * (1.08 if title else 1.0) * size)  # letters of a line
    lines: list[str] = []
    for word in told:
        name = shortened(word, max(2, int(room)))
        if lines and len(lines[-1]) + 2 + len(name) <= room:
            lines[-1] += f", {name}"
        elif len(lines) < min(most, max(1, int(height / (1.3 * size)))):
            lines.append(name)
        else:
            break
    ax.text(
        box.x + 4 / scale[0],
        box.y + (box.height / 2 if title else 3 / scale[1]),
        "\n".join(lines),
        fontsize=size,
        fontweight="bold" if title else "normal",
        va="center" if title else "top",
        color=color,
        clip_on=True,
    )
