"""``labeltree train``: files in, progressive validation shown, a model out."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

from labeltree.data import Rows, Stream, stream
from labeltree.data.formats import detect_common_format
from labeltree.estimators import OneAgainstAllClassifier, OnlineClassifier
from labeltree.progress import Progress

DEFAULT_FEATURES = 2**24  # of formats that do not tell


def train(
    data: list[str],
    model: Path,
    *,
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    label_sets: bool | None = None,
    passes: int = 1,
    params: dict[str, Any] | None = None,
    quiet: bool = False,
) -> OnlineClassifier:
    """Learn the rows of files in their order, and save the model with how they were read.

    Parameters
    ----------
    data : list of str
        Paths, or "-" for standard input.
    model : Path
        Where to write the model.
    format, reader_options, skip_bad_lines
        As for `labeltree.data.stream`.
    label_sets : bool, optional
        Whether rows have sets of labels. By default the first batch tells.
    passes : int
        How often to read the files. Progressive validation counts the first time.
    params : dict, optional
        Parameters of the estimator.
    quiet : bool
        Whether to print nothing to standard error.

    Returns
    -------
    OnlineClassifier
        The estimator. After Ctrl-C the model learned so far has been saved.
    """
    if passes > 1 and "-" in data:
        raise ValueError("standard input can be read only once: use --passes 1, or a file")
    folder = model.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: there is no such folder to write the model to")
    if not os.access(folder, os.W_OK) or model.is_dir():
        raise PermissionError(f"{model}: a model cannot be written there")
    if format == "auto":
        format = detect_common_format(data)  # noqa: A001
    options = dict(reader_options or {})
    if format == "svmlight":
        options.setdefault("n_features", DEFAULT_FEATURES)

    clf = OneAgainstAllClassifier(**(params or {}))
    clf._validate_params()  # before a byte is read
    table = ProgressTable(quiet=quiet)
    honest: Progress | None = None
    settings: dict[str, object] = {}

    def save() -> None:
        clf.progress_ = honest or clf.progress_
        clf.save(model, notes={"reader": settings})
        table.close(clf, model)

    try:
        for number in range(passes):
            with stream(data, format=format, skip_bad_lines=skip_bad_lines, **options) as rows:
                settings = rows.settings
                label_sets = _learn(clf, rows, label_sets, table if number == 0 else None)
                if rows.bad_lines.count and number == 0 and not quiet:
                    print(rows.bad_lines, file=sys.stderr)
            if not hasattr(clf, "progress_"):
                raise ValueError(f"{', '.join(data)}: no rows to learn from: no model was written")
            honest = honest or copy.deepcopy(clf.progress_)
    except KeyboardInterrupt:
        if hasattr(clf, "progress_"):
            save()
        raise
    save()
    return clf


def _learn(
    clf: OnlineClassifier, rows: Stream, label_sets: bool | None, table: ProgressTable | None
) -> bool | None:
    """Learn a stream once; return whether its rows have sets of labels."""
    for batch in rows:
        if label_sets is None:
            label_sets = not batch.single_label
        clf.partial_fit(batch.X, labels_of(batch, label_sets), sample_weight=batch.weight)
        if table is not None:
            table.update(clf)
    return label_sets


def labels_of(batch: Rows, label_sets: bool) -> Any:
    """Return the labels of a batch in the form that the whole stream has."""
    if label_sets:
        return batch.sets
    if not batch.single_label:
        sizes = (batch.labels.offsets[1:] - batch.labels.offsets[:-1]).tolist()
        size = next(n for n in sizes if n != 1)
        raise ValueError(
            f"a row has {size} labels, expected one as in the rows before it; "
            "for rows with sets of labels give --label-sets"
        )
    return batch.y


class ProgressTable:
    """Progressive error, printed at doubling numbers of examples."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._rows = 0

    def update(self, clf: OnlineClassifier) -> None:
        """Print the last row that is due: the number of labels is that of now."""
        history = clf.progress_.history
        if self._quiet or len(history) == self._rows:
            return
        if self._rows == 0:
            print("  examples     labels    error   recent", file=sys.stderr)
        self._rows = len(history)
        row = history[-1]
        print(
            f"{row.examples:>10,} {clf.n_labels_:>10,} {row.error:>8.4f} {row.recent_error:>8.4f}",
            file=sys.stderr,
        )

    def close(self, clf: OnlineClassifier, model: Path) -> None:
        """Print the totals."""
        if not self._quiet:
            print(
                f"{clf.progress_.examples:,} examples, {clf.n_labels_:,} labels, "
                f"progressive error {clf.progress_.error:.4f}; saved to {model}",
                file=sys.stderr,
            )
