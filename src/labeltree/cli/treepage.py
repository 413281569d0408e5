"""A fitted tree as one page of HTML that needs nothing else, and loads nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

import numpy as np

from labeltree.treeview import Tree, counted

_OPEN_TO = 2  # levels that are unfolded at first
_SEARCHED = 200_000  # labels, those with most examples: more would make the page too large
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em;
  color: #222; background: #fff; }
details, .leaf { margin-left: 1.3em; border-left: 1px solid #ddd; padding-left: .6em; }
summary { cursor: pointer; }
.bar { display: inline-block; height: .6em; background: #4a7ebb; margin-right: .5em; }
.count { color: #666; font-size: .85em; }
.found { outline: 2px solid #d08700; }
input { font: inherit; width: 20em; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1c1c1c; } details, .leaf { border-color: #444; }
  .count { color: #999; }
}
"""

# Without a script the page unfolds all the same; so the search shows itself.
_SCRIPT = """
const box = document.getElementById("search"), told = document.getElementById("told");
box.closest("p").hidden = false;
let asked = null, matches = [], at = 0;
box.addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  const text = box.value.trim().toLowerCase();
  if (!text) return;
  if (text !== asked) {
    asked = text;
    at = 0;
    matches = LABELS.filter(([label]) => label.toLowerCase().includes(text));
    matches.sort((a, b) => (b[0].toLowerCase() === text) - (a[0].toLowerCase() === text));
  } else if (matches.length) at = (at + 1) % matches.length;
  document.querySelectorAll(".found").forEach(node => node.classList.remove("found"));
  told.textContent = matches.length ? `${at + 1} of ${matches.length}: ${matches[at][0]}` : "none";
  if (!matches.length) return;
  const node = document.getElementById("n" + matches[at][1]);
  for (let up = node.parentElement; up; up = up.parentElement)
    if (up.tagName === "DETAILS") up.open = true;
  node.classList.add("found");
  node.scrollIntoView({block: "center"});
});
"""


def tree_page(title: str, tree: Tree, max_depth: int) -> str:
    """Return a page that shows a tree down to a depth, and unfolds.

    Each node tells how many labels and examples went below it, those labels that came most often,
    and by the length of a bar its share of the examples of the node above. A search unfolds the
    way to a label's leaf, or to the deepest node above it that is shown.
    """
    labels = json.dumps(list(_labels(tree, max_depth)), separators=(",", ":"))
    script = f"const LABELS = {labels.replace('<', chr(92) + 'u003c')};{_SCRIPT}"
    body = "".join(_nodes(tree, max_depth))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n"
        f"<p>{counted(tree.n_nodes, 'node')}, {counted(tree.n_leaves, 'leaf', 'leaves')}, "
        f"depth {tree.depth}"
        + (f"; shown to depth {max_depth}" if tree.depth > max_depth else "")
        + ". A bar is the share of the examples of the node above.</p>\n"
        '<p hidden><label>Find a label: <input id="search" type="search" '
        'placeholder="Enter finds it, and again the next"></label> <span id="told"></span></p>\n'
        f"{body}<script>{script}</script>\n</body>\n</html>\n"
    )


def _labels(tree: Tree, max_depth: int) -> Iterator[tuple[str, int]]:
    """Yield the labels of the leaves, the most frequent first, and the node that shows each."""
    leaves = tree.leaves[np.argsort(-tree.weight[tree.leaves], kind="stable")][:_SEARCHED]
    shown = leaves.copy()
    while (deep := tree.depths[shown] > max_depth).any():
        shown[deep] = tree.parent[shown[deep]]
    for leaf, node in zip(leaves.tolist(), shown.tolist(), strict=True):
        if tree.label[leaf] is not None:
            yield str(tree.label[leaf]), node


def _nodes(tree: Tree, max_depth: int) -> Iterator[str]:
    frequent = tree.frequent_labels(max_depth)
    stack: list[int | str] = list(reversed(tree.roots))
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
            continue
        names = frequent.get(node, [])
        more = ", …" if tree.labels_below[node] > len(names) > 0 else ""
        above = tree.parent[node]
        whole = float(tree.weight[above if above >= 0 else node])
        share = float(tree.weight[node]) / whole if whole > 0 else 0.0
        line = (
            f'<span class="bar" style="width:{8 * min(1.0, share):.2f}em"></span>'
            f"{escape(', '.join(map(str, names)))}{more} "
            f'<span class="count">{counted(tree.labels_below[node], "label")}, '
            f"{counted(tree.weight[node], 'example')}</span>"
        )
        children = sorted(tree.children[node], key=lambda n: -tree.weight[n])
        if not children or tree.depths[node] >= max_depth:
            yield f'<div class="leaf" id="n{node}">{line}</div>\n'
            continue
        opened = " open" if tree.depths[node] < _OPEN_TO else ""
        yield f'<details{opened}><summary id="n{node}">{line}</summary>\n'
        stack += ["</details>\n", *reversed(children)]
