"""A fitted tree as one page of HTML that needs nothing else: no script, no network."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from labeltree.treeview import Tree

_OPEN_TO = 2  # levels that are unfolded at first
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em;
  color: #222; background: #fff; }
details, .leaf { margin-left: 1.3em; border-left: 1px solid #ddd; padding-left: .6em; }
summary { cursor: pointer; }
.bar { display: inline-block; height: .6em; background: #4a7ebb; margin-right: .5em; }
.count { color: #666; font-size: .85em; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1c1c1c; } details, .leaf { border-color: #444; }
  .count { color: #999; }
}
"""


def tree_page(title: str, tree: Tree, max_depth: int) -> str:
    """Return a page that shows a tree down to a depth, and unfolds.

    Each node tells how many labels and examples went below it, those labels that came most often,
    and by the length of a bar its share of all examples.
    """
    body = "".join(_nodes(tree, max_depth))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n"
        f"<p>{tree.n_nodes:,} nodes, {tree.n_leaves:,} leaves, depth {tree.depth}"
        + (f"; shown to depth {max_depth}" if tree.depth > max_depth else "")
        + f".</p>\n{body}</body>\n</html>\n"
    )


def _nodes(tree: Tree, max_depth: int) -> Iterator[str]:
    frequent = tree.frequent_labels(max_depth)
    total = max(float(tree.weight[tree.roots].max(initial=0)), 1.0)
    stack: list[int | str] = list(reversed(tree.roots))
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
            continue
        names = frequent.get(node, [])
        more = ", …" if tree.labels_below[node] > len(names) > 0 else ""
        line = (
            f'<span class="bar" style="width:{8 * float(tree.weight[node]) / total:.2f}em"></span>'
            f"{escape(', '.join(map(str, names)))}{more} "
            f'<span class="count">{tree.labels_below[node]:,} labels, '
            f"{tree.weight[node]:,.0f} examples</span>"
        )
        children = sorted(tree.children[node], key=lambda n: -tree.weight[n])
        if not children or tree.depths[node] >= max_depth:
            yield f'<div class="leaf">{line}</div>\n'
            continue
        opened = " open" if tree.depths[node] < _OPEN_TO else ""
        yield f"<details{opened}><summary>{line}</summary>\n"
        stack += ["</details>\n", *reversed(children)]
