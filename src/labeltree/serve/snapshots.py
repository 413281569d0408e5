"""Snapshots of a served model: ordinary model files that tell how far they are in the log."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

from labeltree import modelfile
from labeltree.eventlog import EventLog, LogError
from labeltree.runs.run import Every
from labeltree.serve.model import ServedModel
from labeltree.serve.recentids import RecentIds

KEPT = 2
BASE = 1  # the records that the model has learned which a log goes on from: that which names it


RECOVERY_SECONDS = 60.0  # that the rest of a log may take to be learned again
_REST = 3  # times as long as a snapshot took there is none, unless it was asked for


class Schedule:
    """Tells when a snapshot is due: as asked for, and before recovery would take long."""

    def __init__(self, every: Every) -> None:
        self._every = every
        self._owed = False
        self._behind = 0.0  # seconds of learning that no snapshot has
        self._begun, self._took = time.monotonic(), 0.0

    def due(self, examples: int, seconds: float) -> bool:
        """Tell whether it is time, now that so many more examples were learned in so long."""
        self._behind += seconds
        self._owed |= self._every.due(examples)
        rested = time.monotonic() - self._begun >= _REST * self._took
        return self._owed or (self._behind >= RECOVERY_SECONDS and rested)

    def begin(self) -> None:
        """Note that a snapshot has the model as it is now."""
        self._owed, self._behind, self._begun = False, 0.0, time.monotonic()

    def end(self) -> None:
        """Note that it is written."""
        self._took = time.monotonic() - self._begun


class Snapshot(NamedTuple):
    """A model file, and how many records of the log it has learned."""

    position: int
    path: Path


class Recovered(NamedTuple):
    """A model, if there is one, the ids and records that it has learned, and what was not read."""

    model: ServedModel | None
    ids: RecentIds
    position: int
    skipped: list[str]


def contents(model: ServedModel, ids: RecentIds, log: EventLog) -> modelfile.Contents:
    """Return what a snapshot holds of a model that has learned all of a log."""
    note = {"log": {"id": log.id.hex(), "position": log.end}}
    return model.contents(note, {"recent_ids": ids.array()})


def write(contents: modelfile.Contents, log: EventLog, target: Path | None) -> Snapshot:
    """Write a snapshot; forget older ones than the two last, and what only they need of the log.

    `target`, if given, becomes the same file: the model as a user knows it. The log may go on
    meanwhile.
    """
    position = contents.header["notes"]["log"]["position"]
    path = log.folder / f"snapshot-{position:020d}.labeltree"
    contents.write(path)
    if target is not None:
        _copy(path, target)
    found = of(log)
    for old in found[KEPT:]:
        old.path.unlink(missing_ok=True)
    if len(found) >= KEPT:
        log.drop_before(found[KEPT - 1].position)
    return Snapshot(position, path)


def of(log: EventLog) -> list[Snapshot]:
    """Return the snapshots of a log, the newest first."""
    found = []
    for path in log.folder.glob("snapshot-*.labeltree"):
        number = path.stem.removeprefix("snapshot-")
        if number.isdigit():
            found.append(Snapshot(int(number), path))
    return sorted(found, reverse=True)


def check(log: EventLog) -> None:
    """Raise if the log is gone that snapshots are of; remove what a killed process has left."""
    for pattern in ("*.labeltree-download", ".snapshot-*.labeltree-partial"):
        for path in log.folder.glob(pattern):
            path.unlink(missing_ok=True)
    if not log.end and of(log):
        raise LogError(
            f"{log.folder}: there are snapshots, and no records: the segments of the log are "
            "missing or were emptied; restore them, or move the snapshots away to lose what came "
            "after them"
        )


def recover(log: EventLog, target: Path | None) -> Recovered:
    """Return the newest good model of a log, or the model that it goes on from.

    `target` is the model as a user knows it. If the log has records, it must be of this log.
    """
    exists = target is not None and target.exists()
    if not log.end:
        model = ServedModel.load(target) if target is not None and exists else None
        return Recovered(model, RecentIds(), 0, [])
    found, skipped = of(log), []
    base = json.loads(next(log.read(0))).get("base") if log.first == 0 else None
    if target is not None and exists:
        note = _note(target)
        if note is None:
            skipped.append(f"{target}: the model file is damaged")
        elif note.get("id") == log.id.hex():
            found = sorted([*found, Snapshot(int(note["position"]), target)], reverse=True)
        elif base is None or modelfile.read_checksum(target) != base:
            raise LogError(
                f"{target}: this is not the model that the log in {log.folder} goes on from; give "
                "another --log, or move one of them away"
            )
        else:
            found.append(Snapshot(BASE, target))
    for position, path in found:
        try:
            return Recovered(*_load(path, position, log), position, skipped)
        except (ValueError, KeyError, OSError) as error:
            skipped.append(str(error))
    if log.first > 0 or base is not None:
        raise LogError(
            f"{log.folder}: the model that the log goes on from cannot be read: "
            f"{'; '.join(skipped) or 'it is missing'}"
        )
    return Recovered(None, RecentIds(), 0, skipped)


def _load(path: Path, position: int, log: EventLog) -> tuple[ServedModel, RecentIds]:
    """Load a snapshot, or the model that the log goes on from."""
    model, ids = ServedModel.load(path), RecentIds()
    note = model.notes.get("log") or {}
    if note.get("id") == log.id.hex() and note.get("position") == position:
        ids.restore(model.attached.pop("recent_ids"))
    elif position != BASE:
        raise LogError(f"{path}: the snapshot is not of this log")
    model.attached.pop("recent_ids", None)
    return model, ids


def base_record(target: Path) -> bytes:
    """Return the first record of a log that goes on from a model file."""
    return json.dumps({"base": modelfile.read_checksum(target)}).encode()


def _note(path: Path) -> dict[str, Any] | None:
    """Return what a model file tells of a log; None if it is damaged."""
    try:
        note: Any = modelfile.read_header(path)["notes"].get("log")
    except modelfile.ModelFileError:
        return None
    return note if isinstance(note, dict) else {}


def _copy(path: Path, target: Path) -> None:
    """Let a file appear under another name, too, at once or not at all."""
    with modelfile.replacing(target) as beside:
        with contextlib.suppress(OSError):
            beside.unlink()
            os.link(path, beside)
            return
        shutil.copyfile(path, beside)
