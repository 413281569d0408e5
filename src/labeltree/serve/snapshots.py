"""Snapshots of a served model: ordinary model files that tell how far they are in the log."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from labeltree import modelfile
from labeltree.eventlog import EventLog, LogError
from labeltree.serve.model import ServedModel
from labeltree.serve.recentids import RecentIds

KEPT = 2


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


def write(model: ServedModel, ids: RecentIds, log: EventLog, target: Path | None) -> Snapshot:
    """Write a snapshot; forget older ones than the two last, and what only they need of the log.

    `target`, if given, becomes the same file: the model as a user knows it.
    """
    path = log.folder / f"snapshot-{log.end:020d}.labeltree"
    note = {"log": {"id": log.id.hex(), "position": log.end}}
    model.save(path, note, {"recent_ids": ids.array()})
    if target is not None:
        _copy(path, target)
    found = of(log)
    for old in found[KEPT:]:
        old.path.unlink(missing_ok=True)
    if len(found) >= KEPT:
        log.drop_before(found[KEPT - 1].position)
    return Snapshot(log.end, path)


def of(log: EventLog) -> list[Snapshot]:
    """Return the snapshots of a log, the newest first."""
    found = []
    for path in log.folder.glob("snapshot-*.labeltree"):
        number = path.stem.removeprefix("snapshot-")
        if number.isdigit():
            found.append(Snapshot(int(number), path))
    return sorted(found, reverse=True)


def recover(log: EventLog, target: Path | None) -> Recovered:
    """Return the newest good model of a log.

    That is a snapshot or, if none can be read, the model as a user knows it. Without records that
    may be any model; with some it must be of this log.
    """
    own = _note(target) if target is not None and target.exists() else None
    found = of(log)
    if own is not None and log.end and own.get("id") != log.id.hex():
        raise LogError(
            f"{target}: this is not the model that the log in {log.folder} goes on from; give "
            "another --log, or move one of them away"
        )
    if own is not None and log.end and target is not None:
        found = sorted([*found, Snapshot(int(own["position"]), target)], reverse=True)
    skipped: list[str] = []
    if own is None and log.end and target is not None and target.exists():
        skipped.append(f"{target}: the model file is damaged")
    for position, path in found:
        ids = RecentIds()
        try:
            model = ServedModel.load(path)
            note = model.notes.get("log") or {}
            if note.get("id") != log.id.hex() or note.get("position") != position:
                raise LogError(f"{path}: the snapshot is not of this log")
            ids.restore(model.attached.pop("recent_ids"))
        except (ValueError, KeyError, OSError) as error:
            skipped.append(str(error))
            continue
        return Recovered(model, ids, position, skipped)
    first = log.first
    if first > 0:
        reasons = "; ".join(skipped) or "there is none"
        raise LogError(
            f"{log.folder}: the log begins with record {first:,}, and no snapshot that goes so far "
            f"can be read: {reasons}"
        )
    if log.end or target is None or not target.exists():
        return Recovered(None, RecentIds(), 0, skipped)
    model = ServedModel.load(target)
    model.attached.pop("recent_ids", None)
    return Recovered(model, RecentIds(), 0, skipped)


def _note(path: Path) -> dict[str, Any] | None:
    """Return what a model file tells of a log; None if it is damaged."""
    try:
        note: Any = modelfile.read_header(path)["notes"].get("log")
    except modelfile.CorruptModelFileError:
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
