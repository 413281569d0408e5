"""``labeltree predict``: rows in, one line of labels a row out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from labeltree import modelfile
from labeltree.data import Stream, stream
from labeltree.estimators import OnlineClassifier, load


def predict(
    model: Path,
    data: list[str],
    output: Path | None = None,
    *,
    top: int | None = None,
    scores: bool = False,
    format: str = "auto",  # noqa: A002
    skip_bad_lines: bool = False,
    threads: int = 1,
) -> None:
    """Write the labels of each row, in order.

    Parameters
    ----------
    model : Path
        A model file.
    data : list of str
        Paths, or "-" for standard input.
    output : Path, optional
        Where to write; standard output by default.
    top : int, optional
        How many labels a row, best first, separated by tabs. By default the best label; or, if
        the model predicts sets, the set, separated by commas.
    scores : bool
        Whether each label is followed by a tab and its score.
    format, skip_bad_lines
        As for `labeltree.data.stream`; all else is read from the model file.
    threads : int
        Number of threads.
    """
    clf, rows = open_data(model, data, format=format, skip_bad_lines=skip_bad_lines)
    clf.n_jobs = threads
    sets = clf.multilabel_ and top is None and not scores
    with rows, _opened(output) as file:
        for batch in rows:
            if sets:
                for labels in clf.predict(batch.X):
                    file.write(",".join(map(str, labels)) + "\n")
            else:
                _write_top(file, *clf.predict_topk(batch.X, top or 1), scores=scores)
            file.flush()


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Open the output; a file appears only once it is complete."""
    if output is None:
        yield sys.stdout
        return
    with modelfile.replacing(output) as beside, beside.open("w") as file:
        yield file


def open_data(
    model: Path,
    data: list[str],
    *,
    format: str,  # noqa: A002
    skip_bad_lines: bool,
) -> tuple[OnlineClassifier, Stream]:
    """Load a model, and open data to be read as those it was trained on."""
    clf = load(model)
    settings: dict[str, Any] = modelfile.read_header(model)["notes"].get("reader", {})
    if not settings:  # trained from Python: only the number of features is known
        settings = {"format": "svmlight", "n_features": clf.n_features_in_}
    if format not in ("auto", settings["format"]):
        if not {format, settings["format"]} <= {"svmlight", "xmc"}:
            raise ValueError(
                f"{model}: the model was trained on {settings['format']} rows; rows in format "
                f"{format} would number their features differently"
            )
        settings = {**settings, "format": format}
    return clf, stream(data, skip_bad_lines=skip_bad_lines, **settings)


def _write_top(file: TextIO, labels: Any, values: Any, *, scores: bool) -> None:
    for row, numbers in zip(labels.tolist(), values.tolist(), strict=True):
        if scores:
            cells = [f"{label}\t{score:.6g}" for label, score in zip(row, numbers, strict=True)]
        else:
            cells = list(map(str, row))
        file.write("\t".join(cells) + "\n")
