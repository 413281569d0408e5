"""An append-only log of records on disk: what was appended is there after any crash.

A log is a folder of segments. A segment is a file named by the number of its first record; it has
a header, then records: length, CRC-32 of the payload, CRC-32 of both, payload. Records are numbered
from 0 through all segments. Only the end of the last segment can be torn by a crash; that is cut
when the log is opened. Whatever else is wrong is refused, and named.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import secrets
import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from labeltree.disk import sync

SEGMENT_BYTES = 64 << 20

MAGIC = b"\x93labeltree"  # how segments begin, and no text does
_MAGIC = MAGIC + b" log 1"
_HEADER = struct.Struct("<16s16sQ")  # magic, the log's id, the number of the first record
_HEAD = struct.Struct("<III")  # of a record: length, CRC-32 of the payload, CRC-32 of the two
_SEARCHED = 4 << 20  # bytes behind a damaged record that a crash may have left
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class LogError(ValueError):
    """A log that cannot be read, or a folder that is none."""


class LogFullError(OSError):
    """There is no room for a record; none of those that were to be appended is in the log."""


class EventLog:
    """The log of a folder, which is made if it is not there; one process at a time has it."""

    def __init__(self, folder: str | os.PathLike[str], segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = Path(folder)
        self._segment_bytes = segment_bytes
        _make_folder(self.folder)
        self._lock = _locked(self.folder / "lock")
        self._broken: OSError | None = None
        self._file = -1
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        segments = self._segments()
        if segments and segments[-1][1].stat().st_size < _HEADER.size:  # torn when it was made
            segments.pop()[1].unlink()
        if segments:
            first, path = segments[-1]
            self.id, _ = _read_header(path)
            self.end, self._size = _cut_torn_tail(path, first)
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        else:
            self.id = secrets.token_bytes(16)
            self.end, self._size = 0, 0
            self._begin_segment()

    def append(self, payloads: Sequence[bytes]) -> int:
        """Append records, all or none; they are on disk when this returns the log's new end.

        Raises
        ------
        LogFullError
            If there is no room. When there is some again, records can be appended again.
        OSError
            If the disk does not tell whether it has the records. The log takes no more then.
        """
        if self._broken is not None:
            raise self._broken
        if self._size >= self._segment_bytes:
            try:
                self._begin_segment()
            except OSError as error:
                if error.errno in _NO_ROOM:
                    raise LogFullError(error.errno, "no room for the log", self.folder) from error
                raise
        data = b"".join(_head(payload) + payload for payload in payloads)
        try:
            _write_all(self._file, data, self._size)
            os.fdatasync(self._file)
        except OSError as error:
            self._undo(error)
        self._size += len(data)
        self.end += len(payloads)
        return self.end

    def _undo(self, error: OSError) -> None:
        """Take back what was written in part; raise what went wrong."""
        try:
            os.ftruncate(self._file, self._size)
            os.fsync(self._file)
        except OSError as worse:
            self._broken = worse
            raise worse from error
        if error.errno in _NO_ROOM:
            raise LogFullError(error.errno, "no room for the log", self.folder) from error
        self._broken = error
        raise error

    def read(self, start: int = 0) -> Iterator[bytes]:
        """Yield the records from a number on.

        Raises
        ------
        LogError
            If one of them is damaged or missing.
        """
        if start > self.end:
            raise LogError(
                f"{self.folder}: the log ends with record {self.end:,}, and record {start:,} is "
                "asked for: its last segment is missing"
            )
        yield from read_records(self.folder, start, self.end)

    @property
    def first(self) -> int:
        """The number of the first record that is still there."""
        return self._segments()[0][0]

    def drop_before(self, number: int) -> None:
        """Remove the segments that have no record from a number on."""
        segments = self._segments()
        for (_, path), (first, _) in pairwise(segments):
            if first <= number:
                path.unlink()

    def close(self) -> None:
        """Let other processes have the log."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _segments(self) -> list[tuple[int, Path]]:
        return segments_of(self.folder)

    def _begin_segment(self) -> None:
        path = self.folder / f"{self.end:020d}.log"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, _HEADER.pack(_MAGIC, self.id, self.end), 0)
            os.fsync(file)
            sync(self.folder)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size = file, _HEADER.size


def segments_of(folder: Path) -> list[tuple[int, Path]]:
    """Return the segments of a log, each with the number of its first record, in order."""
    found = [path for path in folder.glob("*.log") if path.stem.isdigit()]
    return sorted((int(path.stem), path) for path in found)


def read_records(folder: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the records of a log from a number on; without `end`, up to a torn tail."""
    segments = segments_of(folder)
    if not segments:
        raise LogError(f"{folder}: there is no log in this folder")
    if segments[0][0] > start:
        raise LogError(
            f"{folder}: the log begins with record {segments[0][0]:,}, and record {start:,} is "
            "asked for: its segment is missing, or was removed after two snapshots"
        )
    later = [first for first, _ in segments[1:]]
    for (first, path), following in zip(segments, [*later, None], strict=True):
        if following is not None and following <= start:
            continue
        number = first
        for number, payload in _records(path, first, last=following is None and end is None):
            if end is not None and number >= end:
                return
            if number >= start:
                yield payload
            number += 1
        if following is not None and following != number:
            raise LogError(
                f"{path}: the segment ends with record {number:,}, and the next one begins with "
                f"record {following:,}: records are missing"
            )


def _records(path: Path, first: int, *, last: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a segment with their numbers; of the `last` one, up to a torn tail."""
    _, number = _read_header(path)
    if number != first:
        raise LogError(f"{path}: the segment begins with record {number:,}, not as its name says")
    with path.open("rb") as file:
        file.seek(_HEADER.size)
        while head := file.read(_HEAD.size):
            at = file.tell() - len(head)
            payload = file.read(_length(head))
            if payload and _head(payload) == head:
                yield number, payload
                number += 1
                continue
            if last and _is_torn(_rest(path, at)):
                return
            raise LogError(
                f"{path}: record {number:,}, at byte {at:,}, is damaged; restore the file from a "
                f"copy, or cut it there to lose this record and all after it: truncate -s {at} "
                f"{path}"
            )


class LogLines(io.RawIOBase):
    """The records of an open segment as lines; those that do not begin as `wanted` are left out."""

    def __init__(self, file: Any, wanted: bytes = b"") -> None:
        head = file.read(_HEADER.size)
        self._number = _HEADER.unpack(head)[2] if len(head) == _HEADER.size else 0
        self._file, self._wanted = file, wanted
        self._line = memoryview(b"")
        # The number that the next segment of the same folder begins with, if there is one.
        name = getattr(file, "name", "")
        is_path = isinstance(name, str | os.PathLike) and Path(name).is_file()
        beside = segments_of(Path(name).parent) if is_path else []
        later = [first for first, _ in beside if first > self._number]
        self._following = min(later, default=None)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the start of a buffer; 0 means the end, which may be torn."""
        while not self._line:
            head = self._file.read(_HEAD.size)
            payload = self._file.read(_length(head))
            if not payload or _head(payload) != head:
                if head and (self._following or not _is_torn(head + payload + self._file.read())):
                    raise EOFError(f"record {self._number:,} is damaged")
                if self._following not in (None, self._number):
                    raise EOFError(
                        f"the segment ends with record {self._number:,}, and the next begins with "
                        f"record {self._following:,}"
                    )
                return 0
            self._number += 1
            if payload.startswith(self._wanted):
                self._line = memoryview(payload + b"\n")
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(self._line))
        view[:count] = self._line[:count]
        self._line = self._line[count:]
        return count


def _head(payload: bytes) -> bytes:
    length, crc = len(payload), zlib.crc32(payload)
    return _HEAD.pack(length, crc, zlib.crc32(struct.pack("<II", length, crc)))


def _length(head: bytes) -> int:
    """Return how long the payload behind a head is; 0 if the head is damaged."""
    if len(head) < _HEAD.size or zlib.crc32(head[:8]) != _HEAD.unpack(head)[2]:
        return 0
    return int(_HEAD.unpack(head)[0])


def _rest(path: Path, at: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read()


def _is_torn(rest: bytes) -> bool:
    """Tell whether a crash explains the rest of a segment, which begins with a bad record.

    What was written last is then missing: the file ends within the record, or in zeros, which no
    payload does.
    """
    head = rest[: _HEAD.size]
    ends_within = len(head) < _HEAD.size or 0 < _length(head) > len(rest) - _HEAD.size
    return ends_within or (rest.endswith(b"\0") and not _has_record(rest[1:]))


def _has_record(rest: bytes) -> bool:
    """Tell whether there is a good record somewhere: then what is before it was not torn."""
    if len(rest) > _SEARCHED:
        return True
    for at in range(len(rest) - _HEAD.size):
        head = rest[at : at + _HEAD.size]
        payload = rest[at + _HEAD.size : at + _HEAD.size + _length(head)]
        if payload and _head(payload) == head:
            return True
    return False


def _cut_torn_tail(path: Path, first: int) -> tuple[int, int]:
    """Cut what a crash has left of a record; return the number of the next, and the size."""
    end, size = first, _HEADER.size
    for number, payload in _records(path, first, last=True):
        end, size = number + 1, size + _HEAD.size + len(payload)
    if size < path.stat().st_size:
        with path.open("r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())
    return end, size


def _read_header(path: Path) -> tuple[bytes, int]:
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        raise LogError(f"{path}: this is not a segment of a labeltree log; give another folder")
    _, log_id, first = _HEADER.unpack(head)
    return log_id, first


def _write_all(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def _make_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise LogError(f"{folder}: this is not a folder, expected one for the log")
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)
        with contextlib.suppress(OSError):
            sync(folder.parent)


def _locked(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise LogError(
            f"{path.parent}: another process uses this log; stop it, or give another --log"
        ) from error
    return file
