"""``labeltree evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from labeltree import metrics
from labeltree.cli.predict import open_data
from labeltree.cli.train import labels_of


def evaluate(
    model: Path,
    data: list[str],
    *,
    format: str = "auto",  # noqa: A002
    skip_bad_lines: bool = False,
    threads: int = 1,
) -> dict[str, Any]:
    """Measure a model on labelled rows.

    Parameters
    ----------
    model, data, format, skip_bad_lines, threads
        As for `labeltree.cli.predict.predict`.

    Returns
    -------
    dict
        Number of examples, error with its 95 % interval, precision and nDCG at 1, 3 and 5.
    """
    clf, rows = open_data(model, data, format=format, skip_bad_lines=skip_bad_lines)
    clf.n_jobs = threads
    k = min(5, clf.n_labels_)
    truth: list[Any] = []
    best: list[Any] = []
    with rows:
        for batch in rows:
            truth.extend(labels_of(batch, clf.multilabel_))
            best.append(clf.predict_topk(batch.X, k)[0])
    if not truth:
        raise ValueError(f"{', '.join(data)}: no rows to evaluate on")
    topk = np.concatenate(best)
    wrong = metrics.error(truth, topk[:, 0])
    measured: dict[str, Any] = {
        "examples": len(truth),
        "error": wrong.value,
        "error_low": wrong.low,
        "error_high": wrong.high,
    }
    for n in (n for n in (1, 3, 5) if n <= k):
        measured[f"precision@{n}"] = metrics.precision_at_k(truth, topk, n)
        measured[f"ndcg@{n}"] = metrics.ndcg_at_k(truth, topk, n)
    return measured


def report(measured: dict[str, Any], *, as_json: bool) -> str:
    """Return what was measured as JSON, or as a table."""
    if as_json:
        return json.dumps(measured) + "\n"
    lines = [
        f"examples      {measured['examples']:,}",
        f"error         {measured['error']:.4f}  "
        f"(95 % interval {measured['error_low']:.4f} to {measured['error_high']:.4f})",
    ]
    lines += [f"{name:<13} {value:.4f}" for name, value in measured.items() if "@" in name]
    return "\n".join(lines) + "\n"
