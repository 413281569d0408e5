"""What decided the prediction of a row of a file.

Its parts are the words of a text; else the tokens of the line; or, if the model keeps names, the
features, by their names.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from labeltree.data import DataError, FeatureNames, stream
from labeltree.data.errors import BadLine
from labeltree.data.formats import FORMATS, Csv, make_format
from labeltree.data.lines import Lines
from labeltree.data.loading import MAX_LINE
from labeltree.data.records import csv_records
from labeltree.data.source import CHUNK, Source
from labeltree.estimators import OnlineClassifier, TextClassifier
from labeltree.estimators.explanation import Part, named_parts
from labeltree.estimators.explanation import explain as explain_parts
from labeltree.runs.reading import names_of, reader_settings

_CANDIDATES = 10
_NO_ROW = "the line holds no row to explain; name another"


class Explanation(NamedTuple):
    """How a row is predicted."""

    line: str
    path: list[int]
    candidates: list[tuple[Any, float]]
    left_out: list[Part]


def explain(model: Path, clf: OnlineClassifier | TextClassifier, example: str) -> Explanation:
    """Predict one row, and again without each of its parts.

    Parameters
    ----------
    model : Path
        The model's file.
    clf : OnlineClassifier or TextClassifier
        The model.
    example : str
        ``FILE:LINE``, lines counted from 1; of a row of CSV that has several, any of them.

    Returns
    -------
    Explanation
        The parts that mattered most come first.
    """
    name, _, number = example.rpartition(":")
    if not name or not number.isdigit() or int(number) < 1:
        raise ValueError(
            f"--example is {example!r}, expected FILE:LINE such as test.tsv:17, with lines from 1"
        )
    settings = reader_settings(model, clf, files=[name])
    if settings["format"] in ("parquet", "arrow"):
        raise ValueError(
            f"--example reads text formats only, and the model was trained on "
            f"{settings['format']} rows; use predict_topk and tree_ from Python"
        )
    if FORMATS[settings["format"]].has_label_column:
        settings["label"] = None  # which nobody asks for here
    if settings["format"] == "csv" and isinstance(clf, TextClassifier):
        return _explain_text(clf, *_csv_row(name, int(number), settings))
    header = b""
    if settings["format"] == "xmc":
        header = b" ".join([b"1", *_line(name, 1).split()[1:]]) + b"\n"  # of a file of one row
    line = _line(name, int(number))

    def read(line: bytes, names: FeatureNames | None = None) -> Any:
        text = io.BytesIO(header + line + b"\n")
        try:
            rows = [batch.X for batch in stream(text, names=names, **settings)]
        except DataError as error:
            raise DataError(error.message, name, int(number)) from error
        if not rows:
            raise DataError(_NO_ROW, name, int(number))
        return rows[0]

    shown = line.decode(errors="replace")
    if isinstance(clf, TextClassifier):
        return _explain_text(clf, shown, read(line)[0])
    kept = names_of(model)
    own = None if kept is None else FeatureNames()
    row = read(line, own)  # before any part of it, so that a bad one is reported as it is
    without: Callable[[int], Any]
    if kept is None or own is None:
        parts, rows = _tokens(line, settings["format"], read)
        without = rows.__getitem__
    else:
        all_kept = len(kept) < kept.limit
        parts, without = named_parts(row, own.to_dict(), kept.to_dict(), all_kept=all_kept)
    k = min(_CANDIDATES, clf.n_labels_)
    labels, left_out = explain_parts(clf.predict_topk, row, parts, without, k)
    tree = getattr(clf, "tree_", None)
    path = [] if tree is None else tree.path(row)
    return Explanation(shown, path, labels, left_out)


def _explain_text(clf: TextClassifier, line: str, text: str) -> Explanation:
    labels, left_out = clf.explain(text, k=min(_CANDIDATES, clf.n_labels_))
    tree = getattr(clf, "tree_", None)
    path = [] if tree is None else tree.path(clf.features_.transform([text]))
    return Explanation(line, path, labels, left_out)


class _Written(Lines):
    """Lines that keep those of the record that is being read."""

    record = ""

    def begin_record(self) -> None:
        super().begin_record()
        self.record = ""

    def __next__(self) -> str:
        line = super().__next__()
        self.record += line
        return line


def _csv_row(name: str, number: int, settings: dict[str, Any]) -> tuple[str, str]:
    """Return the row of a CSV file of which a line is part, as it is written, and its text."""
    fields = make_format("csv", {k: v for k, v in settings.items() if k != "format"})
    assert isinstance(fields, Csv)
    source = Source(name)
    try:
        lines = _Written(source, MAX_LINE, "surrogateescape")
        for found in csv_records(lines, fields, name, MAX_LINE):
            if lines.number < number:
                continue
            if isinstance(found, BadLine):
                raise DataError(found.message, name, found.line)
            if found is None:  # the header, or a blank line
                raise DataError(_NO_ROW, name, number)
            return lines.record.rstrip("\r\n"), found.text or ""
    finally:
        source.close()
    raise _too_few_lines(name, lines.number)


def _tokens(line: bytes, format_: str, read: Callable[[bytes], Any]) -> tuple[list[str], list[Any]]:
    """Return the tokens of a line, and the row without each of them."""
    fixed, tokens, joiner = _split(line, format_)
    removable = [i for i, token in enumerate(tokens) if not token.startswith(b"|")]
    rows = [read(fixed + joiner.join(tokens[:i] + tokens[i + 1 :])) for i in removable]
    return [tokens[i].decode(errors="replace") for i in removable], rows


def _split(line: bytes, format_: str) -> tuple[bytes, list[bytes], bytes]:
    """Return what must stay at the front of a line, the tokens after it, and what joins them."""
    if format_ == "vw":
        label, bar, features = line.partition(b"|")
        return label, (bar + features).split(), b" "
    words = line.partition(b"#")[0].split()
    keep = 0 if words and b":" in words[0] else 1
    while keep < len(words) and words[keep].startswith(b"qid:"):
        keep += 1
    return b" ".join(words[:keep]) + b" ", words[keep:], b" "


def _line(name: str, number: int) -> bytes:
    """Return a line of a file, which may be compressed."""
    source = Source(name)
    chunk = memoryview(bytearray(CHUNK))
    before, line = 0, b""
    try:
        while count := source.readinto(chunk):
            text = chunk[:count].tobytes()
            lines = text.count(b"\n")
            if before + lines >= number - 1:
                pieces = (line + text).split(b"\n") if before == number - 1 else text.split(b"\n")
                if before + lines >= number:
                    return pieces[number - 1 - before].rstrip(b"\r")
                line = pieces[-1]
            before += lines
    finally:
        source.close()
    if before == number - 1 and line:
        return line.rstrip(b"\r")
    raise _too_few_lines(name, before + bool(line))


def _too_few_lines(name: str, lines: int) -> DataError:
    return DataError(f"the file has {lines:,} lines, expected one to explain", name)
