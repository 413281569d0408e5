"""``labeltree inspect``: what a model is, and how it comes to a prediction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from labeltree import modelfile
from labeltree.algorithms import name_of
from labeltree.cli.explain import Explanation, explain
from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of, load
from labeltree.estimators.treewords import tree_words
from labeltree.runs.notes import notes_of
from labeltree.runs.outputs import require_output
from labeltree.runs.reading import names_of
from labeltree.treepage import tree_page
from labeltree.treeview import Tree, counted, learned, shortened

_DEPTH_DRAWN = 4
_DEPTH_WRITTEN = 12


def inspect(
    model: Path,
    *,
    tree: bool = False,
    depth: int | None = None,
    example: str | None = None,
    dot: Path | None = None,
    html: Path | None = None,
    as_json: bool = False,
) -> str:
    """Describe a model.

    Parameters
    ----------
    model : Path
        A model file.
    tree : bool
        Whether to draw the top of the tree.
    depth : int, optional
        How deep to draw: 4 by default, and 12 in files.
    example : str, optional
        ``FILE:LINE`` of a row to be predicted: its path, its best labels, and the features, if the
        model keeps their names, or else the tokens of the line, that decided.
    dot, html : Path, optional
        Where to write the tree in Graphviz's language, and as a page that unfolds.
    as_json : bool
        Whether to return JSON instead of text.

    Returns
    -------
    str
        The description.
    """
    used: list[str | Path] = [model] if example is None else [model, example.rpartition(":")[0]]
    for path in (dot, html):
        if path is not None:
            require_output(path, used)
            used.append(path)
    clf = load(model)
    view: Tree | None = getattr(clf, "tree_", None)
    algorithm = name_of(type(classifier_of(clf)))
    if view is None and (tree or dot or html):
        raise ValueError(f"{model}: {algorithm} has no tree to draw")
    facts = describe(model, clf, view)
    explanation = None if example is None else explain(model, clf, example)
    depth_written = _DEPTH_WRITTEN if depth is None else depth
    depth_drawn = _DEPTH_DRAWN if depth is None else depth
    words = {}
    if view is not None and (tree or html is not None):
        kept = names_of(model)
        deepest = depth_drawn if html is None else depth_written
        words = tree_words(clf, view, None if kept is None else kept.to_dict(), deepest)
    if view is not None and dot is not None:
        _write(dot, view.to_dot(depth_written))
    if view is not None and html is not None:
        _write(html, tree_page(f"{model.name}: {algorithm}", view, depth_written, words))
    if as_json:
        if explanation is not None:
            facts["example"] = explanation._asdict()
        return json.dumps(facts, indent=2, default=str) + "\n"
    written = "".join(f"the tree is in {path}\n" for path in (dot, html) if path is not None)
    if explanation is not None:
        return _explained(explanation, view) + "\n" * bool(written) + written
    text = "".join(f"{name:<12} {_text(value)}\n" for name, value in facts.items())
    if tree and view is not None:
        text += "\n" + view.to_text(depth_drawn, words)
    return text + "\n" * bool(written) + written


def describe(
    model: Path, clf: OnlineClassifier | TextClassifier, tree: Tree | None
) -> dict[str, Any]:
    """Return what there is to know of a model, fit for JSON."""
    header = modelfile.read_header(model)
    notes = notes_of(model)
    text = clf.features_ if isinstance(clf, TextClassifier) else None
    clf = classifier_of(clf)
    seen = None if text is None else text.features_seen_
    compared = clf.n_labels_ * (seen or clf.n_features_in_) * 4 / 1e6
    facts: dict[str, Any] = {
        "model": str(model),
        "algorithm": name_of(type(clf)),
        "version": header["version"],
        "file": f"{model.stat().st_size / 1e6:,.1f} MB",
        "memory": f"{clf.nbytes_ / 1e6:,.1f} MB",
        "compared": (
            f"one-against-all would need {compared:,.1f} MB: "
            f"labels x {f'{seen:,} features seen' if seen else 'features'} x 4 bytes"
        ),
        "compiled": clf.compiled_,
        "labels": clf.n_labels_,
        "label sets": clf.multilabel_,
        "features": clf.n_features_in_,
        "examples": clf.progress_.examples,
        "error": round(clf.progress_.error, 6),
        "parameters": clf._fixed,
        "settled": {name: getattr(clf, name) for name in clf._settled},
    }
    if tree is not None:
        leaves = tree.leaves
        weight = tree.weight[leaves]
        mean = float(np.average(tree.depths[leaves], weights=weight)) if weight.any() else 0.0
        facts["tree"] = {
            "nodes": tree.n_nodes,
            "leaves": tree.n_leaves,
            "roots": len(tree.roots),
            "depth": tree.depth,
            "mean depth of an example": round(mean, 2),
        }
    if notes.get("label_counts"):
        counts = np.array(notes["label_counts"])
        most = np.argsort(-counts, kind="stable")[:5]
        facts["most seen"] = {
            shortened(str(clf.classes_[i])): int(counts[i]) for i in most.tolist()
        }
    if notes.get("reader"):
        facts["read as"] = notes["reader"]
    if text is not None:
        facts["text"] = {**text.get_params(), "documents counted": text.documents_}
    names = names_of(model) if text is None else getattr(text, "names_", None)
    if names is not None:
        facts["names kept"] = len(names)
    if notes.get("run"):
        run = notes["run"]
        facts["run"] = {
            "data": " ".join(run["data"]),
            "passes completed": f"{run['number']} of {run['passes']}",
            "rows of the next": run["rows"],
        }
    return facts


def _explained(found: Explanation, tree: Tree | None) -> str:
    lines = [found.line, ""]
    if tree is not None and found.path:
        lines += ["path"]
        frequent = tree.frequent_labels(tree.depth)
        for node in found.path:
            names = ", ".join(map(str, frequent.get(node, [])))
            indent = "  " * int(tree.depths[node])
            lines.append(
                f"  {indent}node {node}: {counted(tree.labels_below[node], 'label')}, "
                f"{learned(tree.weight[node])}: {names}"
            )
        lines.append("")
    lines.append(f"{'candidates':<30} {'score':>10}")
    lines += [f"  {label!s:<28} {score:>10.4f}" for label, score in found.candidates]
    best = found.candidates[0][0]
    width = max([28, *(len(part) for part, _, _ in found.left_out)])
    lines += ["", f"{'left out':<{width + 2}} {'score of ' + str(best):>16}   best label then"]
    for part, change, then in found.left_out:
        lines.append(
            f"  {part:<{width}} {change:>+16.3g}   {'' if then == best else then}".rstrip()
        )
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _write(path: Path, text: str) -> None:
    with modelfile.replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
