"""What `labeltree train` has noted in a model file, checked before anybody relies on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from labeltree import modelfile
from labeltree.data.formats import FORMATS, make_format


def notes_of(model: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the notes of a model file; those that `train` makes are what they should be.

    Raises
    ------
    labeltree.modelfile.ModelFileError
        If one of them is not.
    """
    notes: dict[str, Any] = modelfile.read_header(model)["notes"]
    checks: dict[str, Callable[[Any], bool]] = {
        "reader": _is_reader,
        "label_counts": _are_counts,
        "run": _is_run,
    }
    for name, fits in checks.items():
        if notes.get(name) and not fits(notes[name]):
            raise modelfile.CorruptModelFileError(
                f"{model}: the model file is damaged: its note {name!r} is none that labeltree "
                "train writes; copy the file again from where it was made"
            )
    return notes


def _is_reader(note: Any) -> bool:
    if not isinstance(note, dict) or not isinstance(note.get("format"), str):
        return False
    options = {name: value for name, value in note.items() if name != "format"}
    try:
        make_format(note["format"], options)
    except (TypeError, ValueError, OverflowError):
        return False
    return note["format"] in FORMATS


def _are_counts(note: Any) -> bool:
    return isinstance(note, list) and all(map(_is_count, note))


def _is_run(note: Any) -> bool:
    if not isinstance(note, dict) or not {"data", "sizes"} <= note.keys() <= _RUN.keys():
        return False
    return all(_RUN[name](value) for name, value in note.items()) and (
        len(note["data"]) == len(note["sizes"])
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _are_two_counts(value: Any) -> bool:
    return _are_counts(value) and len(value) == 2


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(size is None or _is_count(size) for size in value)


_RUN: dict[str, Callable[[Any], bool]] = {
    "data": lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
    "sizes": _are_sizes,
    "passes": _is_count,
    "skip_bad_lines": lambda value: isinstance(value, bool),
    "holdout": _is_count,
    "number": _is_count,
    "rows": _is_count,
    "held_out": _are_two_counts,
    "again": _are_two_counts,
    "shuffle": _is_count,
    "seed": _is_count,
    "unlabelled": _is_count,
}
