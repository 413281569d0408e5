"""``labeltree evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree import metrics, modelfile
from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of
from labeltree.metrics import Estimate
from labeltree.runs.notes import notes_of
from labeltree.runs.outputs import require_output
from labeltree.runs.reading import expand, open_data
from labeltree.treeview import counted

# Groups of labels by how often they were learned, as studies of long tails have them.
GROUPS = {"head": (101, math.inf), "middle": (20, 100), "tail": (1, 19), "never learned": (0, 0)}

_MEANING = "mean distance of probability and share right"


def evaluate(
    model: Path,
    data: Sequence[str],
    *,
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    threads: int = 1,
) -> dict[str, Any]:
    """Measure a model on labelled rows.

    Parameters
    ----------
    model, data, skip_bad_lines, threads
        As for `labeltree.cli.predict.predict`.
    format, reader_options
        As for `labeltree.data.stream`.

    Returns
    -------
    dict
        ``examples``, and how many rows ``without_labels`` were left out, of a model that predicts
        one label; ``metrics``, each with its value and 95 % interval; and ``groups``: for
        labels that were learned often (head), less often (middle), seldom (tail) and never, how
        many true labels there were, and which share of them was predicted first or among five.
        Of a model that gives probabilities, ``calibration``: the ``error`` and ``bins`` of
        `labeltree.metrics.reliability`, of the best label of each row, or of the five best if
        rows have sets.
    """
    clf, stream = open_data(
        model,
        data,
        format=format,
        reader_options=reader_options,
        skip_bad_lines=skip_bad_lines,
    )
    classifier_of(clf).n_jobs = threads
    k = min(5, clf.n_labels_)
    truth: list[list[Any]] = []
    best: list[NDArray[Any]] = []
    scores: list[NDArray[Any]] = []
    true_probability: list[NDArray[Any]] = []
    unlabelled = 0
    with stream:
        for rows in stream:
            if not clf.multilabel_:
                labelled = np.flatnonzero(np.diff(rows.labels.offsets))
                unlabelled += len(rows) - len(labelled)
                rows = rows.take(labelled) if len(labelled) < len(rows) else rows
            if not len(rows):
                continue
            truth.extend(rows.sets)
            labels, some = clf.predict_topk(rows.X, k)
            best.append(labels.astype(object))
            scores.append(some)
            if hasattr(clf, "label_proba") and rows.single_label:
                true_probability.append(clf.label_proba(rows.X, rows.y))
    names = ", ".join(data)
    if not truth and not unlabelled:
        raise ValueError(f"{names}: no rows to evaluate on; give a file with labelled rows")
    if not any(truth):
        raise ValueError(f"{names}: no row has a label to compare with; give labelled rows")
    _require_known_labels(clf, truth, names)
    topk = np.concatenate(best)
    measured = _metrics(truth, topk)
    if sum(map(len, true_probability)) == len(truth):  # every row has its one label
        measured["squared_loss"] = metrics.squared_loss(np.concatenate(true_probability))
    calibration = {}
    if hasattr(clf, "predict_proba"):
        judged = k if clf.multilabel_ else 1
        p = np.concatenate(scores)[:, :judged]
        calibration = {"calibration": _calibration(truth, topk[:, :judged], p)}
    counts = notes_of(model).get("label_counts")
    return {
        "examples": len(truth),
        **({"without_labels": unlabelled} if unlabelled else {}),
        "metrics": {name: value._asdict() for name, value in measured.items()},
        **calibration,
        "groups": {} if not counts else _groups(clf, counts, truth, topk),
    }


def _require_known_labels(
    clf: OnlineClassifier | TextClassifier, truth: list[list[Any]], names: str
) -> None:
    """Warn if no label is known to the model; raise if none can be, as its type is another."""
    distinct = dict.fromkeys(label for labels in truth for label in labels)
    if np.any(classifier_of(clf).label_ids(distinct) >= 0):
        return
    learned = clf.classes_.tolist()
    words = (
        f"none of the {counted(len(distinct), 'label')} of {names} is known to the model; the "
        f"first is {next(iter(distinct))!r}, and the first that it has learned {learned[0]!r}"
    )
    of_text = [{isinstance(label, str) for label in labels} for labels in (distinct, learned)]
    if of_text[0].isdisjoint(of_text[1]):
        raise ValueError(f"{words}; give labels of one type, numbers or strings, in both")
    print(f"warning: {words}; check that the file is meant for this model", file=sys.stderr)


def evaluate_and_report(
    model: Path,
    data: Sequence[str],
    *,
    output: Path | None = None,
    plot: Path | None = None,
    as_json: bool = False,
    **options: Any,
) -> None:
    """Measure a model, print the result, and write and draw it, if asked for.

    Parameters
    ----------
    model, data, **options
        As for `evaluate`.
    output : Path, optional
        Where to write JSON, too.
    plot : Path, optional
        Where to draw, in the format that the name's end tells.
    as_json : bool
        Whether to print JSON and not tables.
    """
    used = [str(model), *expand(data)]
    if output is not None:
        require_output(output, used)
        used.append(str(output))
    if plot is not None:
        from labeltree.plot import evaluation, picture_format, write  # needs matplotlib

        picture_format(plot)
        require_output(plot, used)
    measured = evaluate(model, data, **options)
    if output is not None:
        with modelfile.replacing(output) as beside:  # the file appears once it is complete
            beside.write_text(to_json(measured))
    print(to_json(measured) if as_json else report(measured), end="", flush=True)
    if plot is not None:
        write(evaluation(measured), plot)


def _metrics(truth: list[list[Any]], topk: NDArray[Any]) -> dict[str, Estimate]:
    measured = {"error": metrics.error(truth, topk[:, 0])}
    for k in (k for k in (1, 3, 5) if k <= topk.shape[1]):
        for name, measure in (
            ("precision", metrics.precision_at_k),
            ("ndcg", metrics.ndcg_at_k),
        ):
            if (name, k) != ("ndcg", 1):  # which is precision@1
                measured[f"{name}@{k}"] = metrics.wilson(measure(truth, topk, k), len(truth))
    return measured


def _calibration(
    truth: list[list[Any]], topk: NDArray[Any], probabilities: NDArray[Any]
) -> dict[str, Any]:
    """Return how far the probabilities of predictions are from the share that is right."""
    table = metrics.reliability(truth, topk, probabilities)
    return {"error": table.error, "bins": [row._asdict() for row in table.bins]}


def _groups(
    clf: OnlineClassifier | TextClassifier,
    counts: list[int],
    truth: list[list[Any]],
    topk: NDArray[Any],
) -> dict[str, dict[str, Any]]:
    """Return, for each group of labels, how many of its true labels were found."""
    learned = dict(zip(clf.classes_.tolist(), counts, strict=False))
    rows = np.repeat(np.arange(len(truth)), [len(labels) for labels in truth])
    labels = [label for row in truth for label in row]
    times = np.array([learned.get(label, 0) for label in labels])
    found = topk[rows] == np.array([*labels, None], dtype=object)[:-1, None]
    groups = {}
    for name, (low, high) in GROUPS.items():
        chosen = (times >= low) & (times <= high)
        if chosen.any():
            n = int(chosen.sum())
            groups[name] = {
                "learned": [low, None if high == math.inf else int(high)],
                "labels": len({labels[i] for i in np.flatnonzero(chosen).tolist()}),
                "examples": n,
                "recall@1": metrics.wilson(float(found[chosen, 0].mean()), n)._asdict(),
                f"recall@{topk.shape[1]}": metrics.wilson(
                    float(found[chosen].any(axis=1).mean()), n
                )._asdict(),
            }
    return groups


def report(measured: dict[str, Any]) -> str:
    """Return what was measured as tables to read."""
    left = measured.get("without_labels", 0)
    lines = [f"{measured['examples']:,} examples"]
    lines += [f"{left:,} rows without labels were left out"] if left else []
    lines += ["", f"{'':<16} {'value':>8}   95 % interval"]
    lines += [f"{name:<16} {_cells(value)}" for name, value in measured["metrics"].items()]
    if "calibration" in measured:
        lines.append(f"{'calibration':<16} {measured['calibration']['error']:>8.4f}   {_MEANING}")
    if measured["groups"]:
        recall = list(next(iter(measured["groups"].values())))[-1]
        lines += [
            "",
            f"{'labels learned':<24} {'labels':>8} {'examples':>9}   {'recall@1':<26} {recall}",
        ]
        for name, group in measured["groups"].items():
            low, high = group["learned"]
            times = f"over {low - 1}" if high is None else f"{low} to {high}" if high else ""
            lines.append(
                f"{name + (f' ({times})' if times else ''):<24} {group['labels']:>8,} "
                f"{group['examples']:>9,} {_cells(group['recall@1'])}  {_cells(group[recall])}"
            )
    return "\n".join(lines) + "\n"


def _cells(estimate: dict[str, float]) -> str:
    return f"{estimate['value']:>8.4f}   {estimate['low']:.4f} to {estimate['high']:.4f}"


def to_json(measured: dict[str, Any]) -> str:
    """Return what was measured as JSON."""
    return json.dumps(measured, indent=2) + "\n"
