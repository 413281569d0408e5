"""A fitted tree, to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_NODE = 0xFFFFFFFF


def counted(count: float, noun: str, nouns: str | None = None) -> str:
    """Return a number and what it counts: ``1 label``, ``2,000 labels``."""
    text = f"{count:,.0f}"
    return f"{text} {noun if text == '1' else nouns or noun + 's'}"


def learned(weight: float) -> str:
    """Return how often something was learned: ``learned 2,000 times``."""
    return f"learned {counted(weight, 'time')}"


def shortened(name: str, length: int = 40) -> str:
    """Return a name on one line that is not too long, and has nothing that a terminal obeys."""
    name = " ".join(name.split())
    if not name.isprintable():
        name = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return name if len(name) <= length else name[: length - 1] + "…"


def best_of_groups(
    group: NDArray[np.int64], score: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """Return where the n largest scores of each group are, the largest first; groups rise."""
    order = np.lexsort([np.arange(len(score)), -score, group])
    begins = np.searchsorted(group[order], group[order])
    best: NDArray[np.int64] = order[np.arange(len(order)) - begins < n]
    return best


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The nodes of a fitted tree; of several trees if the estimator has several.

    Attributes
    ----------
    parent : array of int64
        The parent of each node, -1 for a root.
    label : array of labels
        The label of a leaf; elsewhere the most frequent one, where the estimator counts them, or
        None.
    weight : array of float64
        How often what is at each node or below it was learned: a row counts in every pass, by its
        weight, and in a tree over label sets for each of its labels.
    labels_below : array of int64
        How many labels were seen at each node or below it.
    measures : mapping of str to array
        What else the algorithm knows of each node.

    Examples
    --------
    >>> from labeltree import LOMTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(500, 8)
    >>> tree = LOMTreeClassifier(max_nodes=7, random_state=0).fit(X, y).tree_
    >>> tree
    <Tree: 15 nodes, 8 leaves, depth 4>
    >>> tree.path(X[:1])[0]
    0
    """

    parent: NDArray[np.int64]
    label: NDArray[Any]
    weight: NDArray[np.float64]
    labels_below: NDArray[np.int64]
    find_path: Callable[[Any], list[int]] = field(repr=False)
    measures: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        trees = f"{len(self.roots)} trees, " if len(self.roots) > 1 else ""
        leaves = counted(self.n_leaves, "leaf", "leaves")
        return f"<Tree: {trees}{counted(self.n_nodes, 'node')}, {leaves}, depth {self.depth}>"

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each node."""
        children: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children

    @property
    def roots(self) -> list[int]:
        """The nodes without a parent."""
        return np.flatnonzero(self.parent < 0).tolist()

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The nodes without children."""
        inner = np.zeros(self.n_nodes, dtype=bool)
        inner[self.parent[self.parent >= 0]] = True
        return np.flatnonzero(~inner)

    @property
    def n_leaves(self) -> int:
        """Number of nodes without children."""
        return len(self.leaves)

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """The number of steps from the root to each node."""
        depths = np.zeros(self.n_nodes, dtype=np.int64)
        above = self.parent
        climbing = np.flatnonzero(above >= 0)
        while len(climbing):  # all nodes take a step at a time
            depths[climbing] += 1
            above = self.parent[above]
            climbing = climbing[above[climbing] >= 0]
        return depths

    @property
    def depth(self) -> int:
        """The largest depth of a node."""
        return int(self.depths.max(initial=0))

    def path(self, X: Any) -> list[int]:
        """Return the nodes that the first row of X passes, root first; tree after tree."""
        return self.find_path(X)

    def frequent_labels(self, max_depth: int, n: int = 3) -> dict[int, list[Any]]:
        """Return the labels with most weight at the leaves below each node, down to a depth."""
        known = [leaf for leaf in self.leaves.tolist() if self.label[leaf] is not None]
        leaves = np.array(known, dtype=np.int64)
        codes: dict[Any, int] = {}
        code = np.array(
            [codes.setdefault(label, len(codes)) for label in self.label[leaves].tolist()],
            dtype=np.int64,
        )
        names = list(codes)
        found: dict[int, list[Any]] = {}
        at = leaves.copy()
        for depth in range(self.depth, -1, -1):
            deeper = self.depths[at] > depth
            at[deeper] = self.parent[at[deeper]]
            here = self.depths[at] == depth
            if depth > max_depth or not here.any():
                continue
            keys, group = np.unique(at[here] * len(names) + code[here], return_inverse=True)
            weight = np.bincount(group, self.weight[leaves[here]]).astype(np.float64)
            best = best_of_groups(keys // len(names), weight, n)
            for node, name in zip(keys[best] // len(names), keys[best] % len(names), strict=True):
                found.setdefault(int(node), []).append(names[name])
        return found

    def to_dict(self, node: int | None = None, max_depth: int = 50) -> dict[str, Any]:
        """Return the tree below a node (the first root by default) as nested dicts."""
        node = self.roots[0] if node is None else int(node)
        if not 0 <= node < self.n_nodes:
            raise ValueError(f"node is {node}, expected one of the nodes 0 to {self.n_nodes - 1}")
        entry: dict[str, Any] = {
            "node": node,
            "weight": float(self.weight[node]),
            "labels": int(self.labels_below[node]),
            "label": self.label[node],
        }
        entry |= {name: float(values[node]) for name, values in self.measures.items()}
        if self.children[node] and max_depth > 0:
            entry["children"] = [
                self.to_dict(child, max_depth - 1) for child in self.children[node]
            ]
        return entry

    def to_html(self) -> str:
        """Return the shape of the tree for a notebook: how many nodes there are at each depth."""
        counts = np.bincount(self.depths)
        leaves = np.bincount(self.depths[self.leaves], minlength=len(counts))
        bars = "".join(
            f'<tr><td style="text-align:right">{depth}</td><td style="text-align:left">'
            f'<div style="width:{max(1, 240 * count // counts.max())}px;height:.8em;'
            f'background:#4a7ebb"></div></td><td>{counted(count, "node")}, '
            f"{counted(leaf, 'leaf', 'leaves')}</td></tr>"
            for depth, (count, leaf) in enumerate(
                zip(counts.tolist(), leaves.tolist(), strict=True)
            )
        )
        return (
            f"<details><summary>tree: {counted(self.n_nodes, 'node')}, "
            f"{counted(self.n_leaves, 'leaf', 'leaves')}, depth "
            f'{self.depth}</summary><table style="font-size:85%">{bars}</table></details>'
        )

    def to_text(self, max_depth: int = 4, words: Mapping[int, list[str]] | None = None) -> str:
        """Return a drawing of the top of the tree, a line a node.

        Each tells the node's most typical words, if they are given by node, and the labels that
        came most often. A bar is its share of what was learned, that of the sibling with most
        being full.
        """
        frequent = self.frequent_labels(max_depth)
        lines = []
        stack = [(root, "", "", "") for root in reversed(self.roots)]
        while stack:
            node, branch, indent, bar = stack.pop()
            told = ", ".join((words or {}).get(node, []))
            told += " | " if told else ""
            names = ", ".join(shortened(str(label)) for label in frequent.get(node, []))
            names += ", ..." if self.labels_below[node] > len(frequent.get(node, [])) > 0 else ""
            lines.append(
                f"{branch}{bar}{told}{names} ({counted(self.labels_below[node], 'label')}, "
                f"{learned(self.weight[node])})\n"
            )
            if self.depths[node] < max_depth:
                children = sorted(self.children[node], key=lambda v: -self.weight[v])
                most = float(self.weight[children].max(initial=0))
                for i, child in reversed(list(enumerate(children))):
                    last = i == len(children) - 1
                    share = float(self.weight[child]) / most if most > 0 else 0.0
                    stack.append(
                        (
                            child,
                            indent + ("└─ " if last else "├─ "),
                            indent + ("   " if last else "│  "),
                            f"{'█' * max(1, round(8 * share)):<8} ",
                        )
                    )
        return "".join(lines)

    def to_dot(self, max_depth: int = 5) -> str:
        """Return the top of the tree in Graphviz's language."""
        lines = ["digraph tree {", "  node [shape=box];"]
        for node in np.flatnonzero(self.depths <= max_depth).tolist():
            text = f"{counted(self.labels_below[node], 'label')}\\n"
            text += learned(self.weight[node])
            if self.label[node] is not None:
                name = str(self.label[node]).replace("\\", "\\\\").replace('"', '\\"')
                text = f"{name}\\n{text}"
            lines.append(f'  n{node} [label="{text}"];')
            if self.parent[node] >= 0:
                lines.append(f"  n{self.parent[node]} -> n{node};")
        return "\n".join([*lines, "}"]) + "\n"
