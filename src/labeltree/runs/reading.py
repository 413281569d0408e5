"""Files to pieces that a learner takes, read on a thread of their own."""

from __future__ import annotations

import glob
import os
import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltree import modelfile
from labeltree.data import FeatureNames, Rows, Stream, stream
from labeltree.data.formats import FORMATS, detect_common_format, make_format, may_be_text
from labeltree.data.rows import concatenate
from labeltree.data.source import Source
from labeltree.estimators import OnlineClassifier, TextClassifier, load
from labeltree.eventlog import segments_of
from labeltree.labels import Targets
from labeltree.packedlabels import as_integer
from labeltree.runs.notes import notes_of
from labeltree.runs.shuffling import Numbered, Shuffle, numbered, shuffled

FIRST = 1024  # rows from which a learner settles what was left to the data
_AHEAD = 4  # batches parsed ahead of the learner
_TICK = 0.2  # seconds after which one who waits for rows is told that there are none yet


class Piece(NamedTuple):
    """Consecutive rows of a stream, ready to be learned."""

    rows: Rows
    targets: Targets
    end: int  # how many rows of the stream there are up to the last of these
    fraction: float | None  # of the files' bytes read so far
    numbers: NDArray[np.int64]  # of the rows, counted from 0, as they are in the files


def expand(data: Sequence[str]) -> list[str]:
    """Return the files that are meant, with patterns such as ``part-*.tsv`` filled in."""
    files: list[str] = []
    for name in data:
        if os.path.isdir(name) and segments_of(Path(name)):  # the log of a server
            files += [str(path) for _, path in segments_of(Path(name))]
        elif name != "-" and glob.has_magic(name) and not os.path.exists(name):
            found = sorted(glob.glob(name))
            if not found:
                raise FileNotFoundError(f"{name}: no file has a name like this; check the pattern")
            files += found
        else:
            files.append(name)
    return files


def format_of(files: list[str], given: str) -> str:
    """Return the format of files, by their names if it is not given."""
    if given != "auto":
        return given
    if "-" in files:
        raise ValueError("standard input has no name to tell its format: give --format")
    for name in files:
        Source(name).close()  # a missing file, or a model, is no matter of its format
    try:
        return detect_common_format(files)
    except ValueError as error:
        raise ValueError(
            f"{', '.join(files)}: the names do not tell one format; give --format, one of "
            f"{', '.join(FORMATS)}"
        ) from error


def require_labelled(files: list[str], settings: dict[str, Any], *, skip_bad_lines: bool) -> None:
    """Raise unless files can be read in the given way, and have a row with labels."""
    rows = 0
    with stream(files, skip_bad_lines=skip_bad_lines, **settings) as batches:
        for batch in batches:
            rows += len(batch)
            if any(batch.sets):
                return
    lacking = "no row has a label" if rows else "there are no rows"
    raise ValueError(f"{', '.join(files)}: {lacking} to evaluate on; give labelled rows")


def pieces(
    rows: Stream, *, skip: int = 0, label_sets: bool | None = None, shuffle: Shuffle | None = None
) -> Iterator[Piece]:
    """Cut a stream into pieces that end wherever the number of rows has doubled.

    The first piece has `FIRST` rows, however slowly they arrive, so that what a learner settles
    from it does not depend on batches. The first `skip` rows, learned before, are passed over.
    """
    begin = 0
    fraction_before = 0.0
    batches = numbered(rows) if shuffle is None else shuffled(rows, shuffle)
    for batch, numbers in _with_full_start(rows, batches):
        end = begin + len(batch)
        fraction_after = rows.fraction_read
        start = max(begin, skip)
        while start < end:
            mark = max(FIRST, 1 << start.bit_length())
            stop = min(end, mark)
            part = batch[start - begin : stop - begin]
            if label_sets is None:
                label_sets = not part.single_label
            fraction = None
            if fraction_after is not None:
                done = (stop - begin) / len(batch)
                fraction = fraction_before + done * (fraction_after - fraction_before)
            targets = targets_of(part, label_sets)
            yield Piece(part, targets, stop, fraction, numbers[start - begin : stop - begin])
            start = stop
        begin = end
        fraction_before = fraction_after or 0.0
    if begin < skip:
        raise ValueError(
            f"the data have {begin:,} rows, but {skip:,} were read before the checkpoint; "
            "give the files of that run, or leave them out"
        )


def _with_full_start(rows: Stream, batches: Iterator[Numbered]) -> Iterator[Numbered]:
    """Yield batches, the first of them with at least `FIRST` rows if there are so many."""
    first = _first(rows, batches)
    while first:
        yield first.pop()  # so that it does not stay in memory until the end
    yield from batches


def _first(rows: Stream, batches: Iterator[Numbered]) -> list[Numbered]:
    """Return the first batches, with at least `FIRST` rows if there are so many, as one."""
    gathered: list[Numbered] = []
    for batch in batches:
        gathered.append(batch)
        if sum(len(part.rows) for part in gathered) >= FIRST:
            break
    if not gathered:
        return []
    parts = [part.rows for part in gathered]
    whole = concatenate(parts, rows.n_features)
    return [Numbered(whole, np.concatenate([part.numbers for part in gathered]))]


def targets_of(rows: Rows, label_sets: bool) -> Targets:
    """Return the labels of rows in the form that the whole stream has."""
    if not label_sets and not rows.single_label:
        sizes = np.diff(rows.labels.offsets)
        size = int(sizes[sizes != 1][0])
        raise ValueError(
            f"a row has {size} labels, expected one as in the rows before it; "
            "for rows with sets of labels give --label-sets"
        )
    labels, index = rows.distinct()
    return Targets("sets" if label_sets else "class", rows.labels.offsets, labels, index)


def prefetch(items: Iterator[Any]) -> Generator[Any]:
    """Run an iterator on a thread of its own; yield None whenever there is nothing yet.

    The thread is a daemon that nobody waits for: it may sit in a read from a silent pipe.
    """
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def put(kind: str, value: Any) -> None:
        while not stopped.is_set():
            try:
                ready.put((kind, value), timeout=_TICK)
                return
            except queue.Full:
                pass

    def run() -> None:
        try:
            for item in items:
                put("item", item)
                if stopped.is_set():
                    return
        except BaseException as error:
            put("error", error)
        else:
            put("end", None)

    threading.Thread(target=run, name="labeltree-reader", daemon=True).start()
    try:
        while True:
            try:
                kind, value = ready.get(timeout=_TICK)
            except queue.Empty:
                yield None
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stopped.set()


def open_data(
    model: str | os.PathLike[str],
    data: Sequence[str],
    *,
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    labelled: bool = True,
) -> tuple[OnlineClassifier | TextClassifier, Stream]:
    """Load a model, mapped if it is compiled, and open data to be read as those it learned."""
    clf = load(model, mmap=bool(modelfile.read_header(model).get("compiled")))
    files = expand(data)
    settings = reader_settings(model, clf, format, files)
    if reader_options:
        name = str(settings.pop("format"))
        settings = make_format(name, {**settings, **reader_options}).settings()
    if not labelled and FORMATS[settings["format"]].has_label_column:
        settings["label"] = None
    eager = "-" in files
    rows = stream(files, skip_bad_lines=skip_bad_lines, eager=eager, **settings)
    if labelled:
        read_labels_as(clf, rows)
    return clf, rows


def read_labels_as(clf: OnlineClassifier | TextClassifier, rows: Stream) -> None:
    """Let labels that text has be integers where they are written so, if those of a model are."""
    if rows.has_text_labels:
        labels = clf.classes_.tolist()
        rows.integer_labels = any(type(label) is int for label in labels) and not any(
            isinstance(label, str) and as_integer(label) != label for label in labels
        )


def reader_settings(
    model: str | os.PathLike[str],
    clf: OnlineClassifier | TextClassifier,
    format: str = "auto",  # noqa: A002
    files: Sequence[str] = (),
) -> dict[str, Any]:
    """Return how the rows that a model was trained on were read, or other files are to be."""
    settings: dict[str, Any] = notes_of(model).get("reader", {})
    if isinstance(clf, TextClassifier):
        return text_settings(settings, format, files)
    if settings.get("format") == "tsv":
        raise ValueError(
            f"{model}: the model was trained on text by a version that kept nothing of how text "
            "becomes features; train it again, or predict rows of features from Python"
        )
    if not settings:  # trained from Python: only the number of features is known
        settings = {"format": "svmlight", "n_features": clf.n_features_in_}
    if format not in ("auto", settings["format"]):
        if not {format, settings["format"]} <= {"svmlight", "xmc"}:
            raise ValueError(
                f"{model}: the model was trained on {settings['format']} rows; rows in format "
                f"{format} would number their features differently"
            )
        settings = {**settings, "format": format}
    return settings


def text_settings(settings: dict[str, Any], format_: str, files: Sequence[str]) -> dict[str, Any]:
    """Return how to read texts: as those learned, or as the format of the files has it."""
    if format_ == "auto":
        try:
            format_ = detect_common_format(files)
        except (ValueError, OSError):  # its name does not tell: as before
            format_ = settings.get("format", "tsv")
    if settings.get("format") == format_:
        return dict(settings)
    if not may_be_text(format_):
        raise ValueError(
            f"the model was trained on text, and the data are {format_} rows; give a file of text"
        )
    return {"format": format_}


def names_of(model: str | os.PathLike[str]) -> FeatureNames | None:
    """Return the names of features that a model file keeps, None if it keeps none."""
    attached = modelfile.read_attached(model)
    if "feature_names" not in attached:
        return None
    names = FeatureNames()
    names.extend(attached["feature_indices"], attached["feature_names"])
    return names
