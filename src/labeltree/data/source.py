"""The bytes of a file or of standard input, decompressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import IO, Any, cast

from labeltree.data.errors import DataError, readable
from labeltree.eventlog import MAGIC, LogLines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 1 << 20  # bytes per read: large enough to amortise a call, small enough for the L2 cache

Path = str | os.PathLike[str] | IO[bytes]

_HEAD = 10  # bytes needed to tell the compressions apart

# The magic of bzip2 is as long as this because three letters may well start a line of text.
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    "log": re.compile(re.escape(MAGIC)),  # of a server: its records are lines
}
_MODEL = re.compile(rb'.{5}\0\0\0\{"', re.DOTALL)  # a length in 8 bytes, then JSON: safetensors
_FIRST = frozenset(b"\x1fB\xfd\x28\x93" + bytes(range(0x50, 0x60)))  # a first byte of one of them
_OPENERS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": zstd.ZstdFile,
    "log": lambda file: LogLines(file, wanted=b'{"labels"'),
}
_CORRUPT = (EOFError, OSError, zlib.error, lzma.LZMAError, zstd.ZstdError)

COMPRESSED_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


def name_of(path: Path) -> str:
    """Return what to call a file in messages."""
    if isinstance(path, str | os.PathLike):
        return os.fspath(path)
    return str(getattr(path, "name", "<stream>"))


def size_of(path: Path) -> int | None:
    """Return the size of a file in bytes, None for what is no regular file."""
    if isinstance(path, str | os.PathLike) and os.path.isfile(path):
        return os.path.getsize(path)
    return None


def _reader(file: Any) -> Callable[[memoryview], int]:
    """Return a function that fills the start of a buffer with what is there, 0 at the end."""
    if not hasattr(file, "read1") and hasattr(file, "readinto"):  # no buffer of its own, no copy
        return cast(Callable[[memoryview], int], file.readinto)
    # Not readinto1: it waits for more even if its buffer has something to give, and then a slow
    # pipe would hold back rows that have arrived.
    read = getattr(file, "read1", file.read)

    def copy(buffer: memoryview) -> int:
        data = read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    return copy


def _is_pipe(file: Any) -> bool:
    """Tell whether bytes come from elsewhere than a file that lies somewhere whole."""
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (AttributeError, OSError):  # in memory
        return False


def _may_be_compressed(head: bytes) -> bool:
    """Tell whether more bytes are worth waiting for: a pipe may hold no more than a short line."""
    return not head or (head[0] in _FIRST and b"\n" not in head)


class _Unread(io.RawIOBase):
    """A stream whose first bytes were taken to look at them, and are given out again."""

    def __init__(self, file: Any) -> None:
        self._readinto = _reader(file)
        self.name = getattr(file, "name", "")
        self.head = b""
        scrap = memoryview(bytearray(_HEAD))
        while len(self.head) < _HEAD and _may_be_compressed(self.head):
            count = self._readinto(scrap[: _HEAD - len(self.head)])
            if not count:
                break
            self.head += scrap[:count]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        if not self.head:
            return self._readinto(view)
        count = min(len(view), len(self.head))
        view[:count] = self.head[:count]
        self.head = self.head[count:]
        return count


class Source:
    """An open file whose compression, if any, was recognised by its first bytes.

    Parameters
    ----------
    path : str, path-like or binary file object
        ``"-"`` is standard input. Files given as objects are left open.

    Attributes
    ----------
    name : str
        What to call it in messages.
    is_pipe : bool
        Whether it may be a part only of what was written once, as from ``head``.
    """

    def __init__(self, path: Path) -> None:
        self.name = name_of(path)
        self._owned: IO[bytes] | None = None
        file: Any
        if isinstance(path, str | os.PathLike):
            if self.name == "-":
                file = sys.stdin.buffer
            else:
                file = self._owned = open(path, "rb", buffering=0)  # noqa: SIM115
        else:
            file = path
        self.is_pipe = _is_pipe(file)
        try:
            self._open(_Unread(file))
        except BaseException:
            self.close()
            raise

    def _open(self, raw: _Unread) -> None:
        found = [kind for kind, magic in _MAGIC.items() if magic.match(raw.head)]
        self._compression = found[0] if found else None
        if _MODEL.match(raw.head):
            raise DataError(
                "this is a model file (safetensors), where data were expected; give a file with "
                "rows, and the model before it if the command takes one",
                self.name,
            )
        suffix = os.path.splitext(self.name)[1].lower()
        expected = COMPRESSED_SUFFIXES.get(suffix)
        if expected is not None and expected != self._compression:
            received = (
                f"{self._compression} data" if found else f'"{readable(raw.head, final=False)}"'
            )
            raise DataError(
                f"expected {expected} data, as the name ends in {suffix}, received {received}",
                self.name,
            )
        if self._compression is None:
            self._readinto = _reader(raw)
        else:
            # Some decompressors ask for 8 KiB at a time: a buffer makes that cheap.
            buffered = io.BufferedReader(raw, CHUNK)
            self._readinto = _reader(_OPENERS[self._compression](buffered))

    def readinto(self, buffer: memoryview) -> int:
        """Fill a buffer, or the start of it; 0 means the end."""
        if self._compression is None:
            return self._readinto(buffer)
        try:
            return self._readinto(buffer)
        except _CORRUPT as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk, not the data
            raise DataError(
                f"{self._compression} data is truncated or corrupt ({error})", self.name
            ) from error

    @property
    def position(self) -> int:
        """How many bytes of the file, compressed if it is, were read; 0 if it is not a file."""
        if self._owned is None or self._owned.closed:
            return 0
        return self._owned.tell() if self._owned.seekable() else 0

    def first_line(self, limit: int = 4096) -> bytes:
        """Return the first line without its end, or as much as the limit allows."""
        buffer = memoryview(bytearray(limit))
        filled = 0
        while filled < limit and b"\n" not in buffer[:filled].tobytes():
            count = self.readinto(buffer[filled:])
            if not count:
                break
            filled += count
        return buffer[:filled].tobytes().partition(b"\n")[0]

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._owned is not None:
            self._owned.close()


def fraction_of(sizes: Sequence[int | None], finished: int, current: Source | None) -> float | None:
    """Return the share of files' bytes read so far; None where a size is not known.

    `finished` are the bytes of those read to their end, `current` is the one being read.
    """
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or not sum(known):
        return None
    position = 0 if current is None else current.position
    return min(1.0, (finished + position) / sum(known))
