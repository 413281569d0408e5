"""What decided the prediction of a row: each part of it is left out in turn.

This asks nothing of an algorithm but its predictions, so it is the same for all of them. The parts
are the tokens of the line; or, if the model keeps names, the features, by their names.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeltree.cli.reading import names_of, reader_settings
from labeltree.data import DataError, FeatureNames, stream
from labeltree.data.source import CHUNK, Source
from labeltree.estimators import OnlineClassifier

_CANDIDATES = 10
_SHOWN = 15


class Explanation(NamedTuple):
    """How a row is predicted."""

    line: str
    path: list[int]
    candidates: list[tuple[Any, float]]
    left_out: list[tuple[str, float, Any]]  # part, change of the best score, best label then


def explain(model: Path, clf: OnlineClassifier, example: str) -> Explanation:
    """Predict one row, and again without each of its parts.

    Parameters
    ----------
    model : Path
        The model's file.
    clf : OnlineClassifier
        The model.
    example : str
        ``FILE:LINE``, lines counted from 1.

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
    settings = reader_settings(model, clf)
    if settings["format"] in ("parquet", "arrow"):
        raise ValueError(
            f"--example reads text formats only, and the model was trained on "
            f"{settings['format']} rows; use predict_topk and tree_ from Python"
        )
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
            raise DataError("the line holds no row to explain; name another", name, int(number))
        return rows[0]

    kept = names_of(model)
    own = None if kept is None else FeatureNames()
    row = read(line, own)  # before any part of it, so that a bad one is reported as it is
    if kept is None or own is None:
        parts, without = _tokens(line, settings["format"], read)
    else:
        parts, without = _features(row, own, kept)
    k = min(_CANDIDATES, clf.n_labels_)
    labels, scores = clf.predict_topk(row, k)
    best = labels[0, 0]
    path = clf.tree_.path(row) if hasattr(type(clf), "tree_") else []
    left_out = []
    for i, part in enumerate(parts):
        others, values = clf.predict_topk(without[i], k)
        at = np.flatnonzero(others[0] == best)
        score = float(values[0, at[0]]) if len(at) else 0.0
        left_out.append((part, score - float(scores[0, 0]), others[0, 0]))
    left_out.sort(key=lambda entry: -abs(entry[1]))
    return Explanation(
        line.decode(errors="replace"),
        path,
        [(b, float(s)) for b, s in zip(labels[0], scores[0], strict=True) if b is not None],
        left_out[:_SHOWN],
    )


def _tokens(line: bytes, format_: str, read: Callable[[bytes], Any]) -> tuple[list[str], list[Any]]:
    """Return the tokens of a line, and the row without each of them."""
    fixed, tokens, joiner = _split(line, format_)
    removable = [i for i, token in enumerate(tokens) if not token.startswith(b"|")]
    rows = [read(fixed + joiner.join(tokens[:i] + tokens[i + 1 :])) for i in removable]
    return [tokens[i].decode(errors="replace") for i in removable], rows


def _features(row: Any, own: FeatureNames, kept: FeatureNames) -> tuple[list[str], list[Any]]:
    """Return the names of a row's features, and the row without each of them."""
    here, trained = own.to_dict(), kept.to_dict()
    parts, rows = [], []
    for at, index in enumerate(row.indices.tolist()):
        name = here.get(index, f"#{index}")
        if index not in trained:
            name += "" if len(kept) == kept.limit else " (not met in training)"
        elif trained[index] != name:
            name += f" (hashed as {trained[index]} was)"
        parts.append(name)
        left = row.copy()
        left.data[at] = 0
        rows.append(left)
    return parts, rows


def _split(line: bytes, format_: str) -> tuple[bytes, list[bytes], bytes]:
    """Return what must stay at the front of a line, the tokens after it, and what joins them."""
    if format_ == "tsv":
        label, tab, text = line.partition(b"\t")
        return label + tab, text.split(), b" "
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
    raise DataError(f"the file has {before + bool(line):,} lines, expected one to explain", name)
