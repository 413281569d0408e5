"""``labeltree merge``: one model of several that were trained apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labeltree import modelfile
from labeltree.estimators import (
    OnlineClassifier,
    TextClassifier,
    classifier_of,
    load,
    merge,
)
from labeltree.merging.shards import CannotMergeError
from labeltree.runs.notes import notes_of
from labeltree.runs.outputs import require_model_output


def merge_models(
    models: Sequence[Path], output: Path, *, base: Path | None = None, overwrite: bool = False
) -> str:
    """Write the model that several are together.

    Parameters
    ----------
    models : sequence of Path
        Model files, trained on different rows.
    output : Path
        Where to write. How their data were read is kept, and the counts of labels are added;
        where the runs stood is not kept.
    base : Path, optional
        The model from which all of them went on.
    overwrite : bool
        Whether `output` may be a file that exists and is no model.

    Returns
    -------
    str
        What was merged, in a sentence.
    """
    every = [*models, *([] if base is None else [base])]
    require_model_output(output, every, overwrite=overwrite)
    notes = [notes_of(path) for path in models]
    for path, note in zip(models, notes, strict=True):
        _require_same("labeltree", _version(models[0]), models[0], _version(path), path)
        reader, other = notes[0].get("reader"), note.get("reader")
        _require_same("the reader of data", reader, models[0], other, path)
    loaded = [load(path) for path in models]
    try:
        merged = merge(loaded, base=None if base is None else load(base))
    except CannotMergeError as error:
        names = ", ".join(f"model {i} is {path}" for i, path in enumerate(models, start=1))
        options = "--layout dense" + " --hash-bits 18" * isinstance(loaded[0], TextClassifier)
        words = str(error).replace('layout="dense"', options)
        raise ValueError(f"{words} ({names})") from error
    kept = {} if not notes[0].get("reader") else {"reader": notes[0]["reader"]}
    if base is None and all(note.get("label_counts") for note in notes):
        kept["label_counts"] = _label_counts(merged, loaded, notes)
    merged.save(output, notes=kept)
    size = output.stat().st_size / 1e6
    return (
        f"{output}: {len(merged.classes_):,} labels, {merged.examples_:,} examples of "
        f"{len(models)} models, {size:,.1f} MB\n"
    )


def _version(path: Path) -> str:
    return str(modelfile.read_header(path)["version"])


def _require_same(what: str, value: Any, path: Path, other: Any, other_path: Path) -> None:
    if value != other:
        raise ValueError(
            f"{other_path}: {what} is {other!r}, but {value!r} in {path}; only models that were "
            "made alike can be merged: train one of them again"
        )


def _label_counts(
    merged: OnlineClassifier | TextClassifier,
    models: Sequence[OnlineClassifier | TextClassifier],
    notes: Sequence[dict[str, Any]],
) -> list[int]:
    total = np.zeros(len(merged.classes_), dtype=np.int64)
    for model, note in zip(models, notes, strict=True):
        ids = classifier_of(merged).label_ids(model.classes_.tolist())
        counts = np.array(note["label_counts"], dtype=np.int64)
        total[ids[: len(counts)]] += counts[: len(ids)]
    return [int(count) for count in total]
