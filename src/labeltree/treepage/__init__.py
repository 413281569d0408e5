"""A fitted tree as one page of HTML that needs nothing else, and loads nothing.

What the page shows is in it as JSON; the elements of a level are made when it is unfolded, so that
pages of large trees open at once. tree.js does that, tree.css is how it looks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree.treeview import Tree, counted, shortened

MOST_NODES = 20_000  # of a page, those learned most often
MOST_LABELS = 200_000  # that are found by the search, those learned most often
_LETTERS = 4_000_000  # of their names, all together
_LENGTH = 200  # of a name


def tree_page(
    title: str, tree: Tree, max_depth: int, words: Mapping[int, list[str]] | None = None
) -> str:
    """Return a page that shows a tree down to a depth, and unfolds.

    Each node tells its most typical words, if they are given, those labels that came most often
    below it, how many labels did, and how often they were learned; by the length of a bar it tells
    that beside its siblings. A search finds labels and words, and unfolds the way to them.

    Parameters
    ----------
    title : str
        Of the page.
    tree : Tree
        What to show.
    max_depth : int
        Of the nodes shown.
    words : mapping of int to list of str, optional
        By node, as `labeltree.estimators.treewords.tree_words` returns them.

    Returns
    -------
    str
        HTML, of 6 MB or so at most, however large the tree is.

    Examples
    --------
    >>> from labeltree import LOMTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> clf = LOMTreeClassifier(random_state=0).fit(*make_multiclass(500, 8))
    >>> tree_page("8 labels", clf.tree_, max_depth=3).startswith("<!DOCTYPE html>")
    True
    """
    shown = _shown(tree, max_depth)
    data = json.dumps(_data(tree, shown, words or {}), separators=(",", ":"))
    part = f"; shown: {counted(len(shown), 'node')}, those learned most often"
    part += f", to depth {max_depth}" if tree.depth > max_depth else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_asset('tree.css')}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n"
        f'<p class="quiet">{counted(tree.n_nodes, "node")}, '
        f"{counted(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.depth}"
        + (part if len(shown) < tree.n_nodes else "")
        + ". A bar compares a branch with its siblings by how often it was learned: a row counts "
        "in every pass, and in a tree over label sets for each of its labels.</p>\n"
        "<noscript><p>This page unfolds by JavaScript, which is off; "
        "<code>labeltree inspect --tree</code> shows the same as text.</p></noscript>\n"
        '<search hidden><input id="search" type="search" autocomplete="off" '
        'aria-label="Find a label or a word" placeholder="Find a label or a word">'
        '<ul id="results" aria-live="polite"></ul></search>\n'
        '<ul id="tree"></ul>\n'
        f'<script type="application/json" id="data">{data.replace("<", chr(92) + "u003c")}'
        f"</script>\n<script>\n{_asset('tree.js')}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return files("labeltree.treepage").joinpath(name).read_text(encoding="utf-8")


def _shown(tree: Tree, max_depth: int) -> NDArray[np.int64]:
    """Return the nodes that a page has: parents first, siblings together, most learned first."""
    nodes = np.flatnonzero(tree.depths <= max_depth)
    order = np.lexsort([nodes, tree.depths[nodes], -tree.weight[nodes]])
    shown = np.zeros(tree.n_nodes, dtype=bool)
    shown[nodes[order[:MOST_NODES]]] = True
    for depth in range(1, max_depth + 1):  # below what is shown only
        here = nodes[tree.depths[nodes] == depth]
        shown[here] &= shown[tree.parent[here]]
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    found: list[NDArray[np.int64]] = []
    count = 0
    for depth in range(max_depth + 1):
        here = np.flatnonzero(shown & (tree.depths == depth))
        above = np.where(depth > 0, place[tree.parent[here]], 0)
        here = here[np.lexsort([here, -tree.weight[here], above])]
        place[here] = count + np.arange(len(here))
        count += len(here)
        found.append(here)
    return np.concatenate(found)


def _data(tree: Tree, shown: NDArray[np.int64], words: Mapping[int, list[str]]) -> dict[str, Any]:
    """Return what tree.js reads: lists with an entry a node, and labels with what shows them."""
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[shown] = np.arange(len(shown))
    parent = tree.parent[shown]
    hidden = np.bincount(tree.parent[(place < 0) & (tree.parent >= 0)], minlength=tree.n_nodes)
    leaves, at = _leaves(tree, place)
    labels: dict[str, int] = {}
    for leaf in leaves.tolist():
        labels.setdefault(_name(tree.label[leaf]), len(labels))
    searched = len(labels)
    frequent = tree.frequent_labels(int(tree.depths[shown].max(initial=0)))
    names = [
        [labels.setdefault(_name(label), len(labels)) for label in frequent.get(node, [])]
        for node in shown.tolist()
    ]
    return {
        "parent": np.where(parent < 0, -1, place[parent]).tolist(),
        "learned": [round(weight, 2) for weight in tree.weight[shown].tolist()],
        "count": tree.labels_below[shown].tolist(),
        "hidden": hidden[shown].tolist(),
        "names": names,
        "words": [words.get(node, []) for node in shown.tolist()],
        "labels": list(labels),
        "searched": searched,
        "leaf": [labels[_name(tree.label[leaf])] for leaf in leaves.tolist()],
        "at": at.tolist(),
    }


def _leaves(tree: Tree, place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaves that can be found, those of most examples first, and what shows each."""
    leaves = tree.leaves[np.argsort(-tree.weight[tree.leaves], kind="stable")]
    known = np.array([label is not None for label in tree.label[leaves].tolist()], dtype=bool)
    leaves = leaves[known][:MOST_LABELS]
    letters = np.cumsum([len(_name(label)) for label in tree.label[leaves].tolist()])
    leaves = leaves[: int(np.searchsorted(letters, _LETTERS, side="right"))]
    at = leaves.copy()
    while (deep := place[at] < 0).any():
        at[deep] = tree.parent[at[deep]]
    return leaves, place[at]


def _name(label: Any) -> str:
    return shortened(str(label), _LENGTH)
