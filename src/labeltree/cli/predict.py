"""``labeltree predict``: rows in, one line of labels a row out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from labeltree import modelfile
from labeltree.data import Rows
from labeltree.estimators import classifier_of
from labeltree.runs.outputs import require_output
from labeltree.runs.reading import expand, open_data

Prediction = list[tuple[Any, float | None]]  # labels and their scores, best first


def predict(
    model: Path,
    data: Sequence[str],
    output: Path | None = None,
    *,
    top: int | None = None,
    scores: bool = False,
    output_format: str = "tsv",
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    threads: int = 1,
) -> None:
    """Write the labels of each row, in order, as soon as the row has arrived.

    Parameters
    ----------
    model : Path
        A model file.
    data : sequence of str
        Paths, patterns, or "-" for standard input.
    output : Path, optional
        Where to write; standard output by default. The file appears once it is complete.
    top : int, optional
        How many labels a row, best first. By default the best label; or, if the model predicts
        sets, the set.
    scores : bool
        Whether each label comes with its score; those of a set best first.
    output_format : {"tsv", "jsonl", "svmlight"}
        tsv: the labels, each followed by its score if asked for, separated by tabs; a set by
        commas. jsonl: an object with the lists ``labels`` and ``scores``. svmlight: the row's own
        label, then ``label:score`` pairs, by label; for labels that are numbers, or are written
        as such.
    format, reader_options, skip_bad_lines
        As for `labeltree.data.stream`; all else is read from the model file.
    threads : int
        Number of threads.
    """
    if output_format not in _WRITERS:
        raise ValueError(
            f"--output-format is {output_format!r}, expected one of {', '.join(_WRITERS)}"
        )
    if output is not None:
        require_output(output, [model, *expand(data)])
    clf, stream = open_data(
        model,
        data,
        format=format,
        reader_options=reader_options,
        skip_bad_lines=skip_bad_lines,
        labelled=output_format == "svmlight",  # which repeats a row's own label
    )
    classifier_of(clf).n_jobs = threads
    scores = scores or output_format == "svmlight"
    sets = clf.multilabel_ and top is None and output_format != "svmlight"
    write = _WRITERS[output_format]
    empty = True
    seen = without = 0  # rows, and those of them with an empty set
    with stream, _opened(output) as file:
        for rows in stream:
            empty = False
            found: list[Prediction]
            chosen = clf.predict(rows.X) if sets else []
            seen += len(rows)
            without += sum(not len(labels) for labels in chosen)
            if sets and not scores:
                found = [[(label, None) for label in row] for row in chosen]
            else:
                most = top or max([1, *map(len, chosen)])
                labels, values = clf.predict_topk(rows.X, most)
                found = [
                    [(b, s if scores else None) for b, s in zip(best, some, strict=True)]
                    for best, some in zip(labels.tolist(), values.tolist(), strict=True)
                ]
            if sets and scores:  # the labels of a set are the best ones
                found = [row[: len(labels)] for row, labels in zip(found, chosen, strict=True)]
            write(file, rows, found, "," if sets and not scores else "\t")
            file.flush()
        if empty and "-" not in data and not stream.bad_lines.count:
            raise ValueError(f"{', '.join(data)}: no rows to predict; give a file with rows")
    if without:
        threshold = getattr(classifier_of(clf), "threshold", None)
        above = "" if threshold is None else f" above the threshold {threshold:g}"
        print(
            f"{without:,} of {seen:,} rows have no label{above}; --top 1 gives the best one in any "
            "case",
            file=sys.stderr,
        )
    if stream.bad_lines.count:
        print(stream.bad_lines, file=sys.stderr)


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Open the output; a file appears only once it is complete."""
    if output is None:
        yield sys.stdout
        return
    with modelfile.replacing(output) as beside, beside.open("w", encoding="utf-8") as file:
        yield file


def _write_tsv(file: TextIO, _: Rows, found: list[Prediction], separator: str) -> None:
    for row in found:
        cells = [
            "" if label is None else str(label) if score is None else f"{label}\t{score:.6g}"
            for label, score in row
        ]
        file.write(separator.join(cells) + "\n")


def _write_jsonl(file: TextIO, _: Rows, found: list[Prediction], __: str) -> None:
    for row in found:
        known = [pair for pair in row if pair[0] is not None]
        entry: dict[str, Any] = {"labels": [label for label, _ in known]}
        if known and known[0][1] is not None:
            entry["scores"] = [float(f"{score:.6g}") for _, score in known]
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write_svmlight(file: TextIO, rows: Rows, found: list[Prediction], _: str) -> None:
    for labels, row in zip(rows.sets, found, strict=True):
        known = sorted((_index(label), score) for label, score in row if label is not None)
        cells = [f"{label}:{score:.6g}" for label, score in known]
        file.write(" ".join([",".join(map(str, labels)), *cells]) + "\n")


def _index(label: Any) -> int:
    """Return a label as the index of a pair; those of text are written as numbers at best."""
    written = str(label)
    if written.isascii() and written.isdigit() and (written == "0" or written[0] != "0"):
        return int(written)
    raise ValueError(
        f"the label {label!r} is not written as an integer from 0, which svmlight needs before "
        "each score; use --output-format tsv or jsonl"
    )


_WRITERS: dict[str, Callable[[TextIO, Rows, list[Prediction], str], None]] = {
    "tsv": _write_tsv,
    "jsonl": _write_jsonl,
    "svmlight": _write_svmlight,
}
