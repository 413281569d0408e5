"""The lines of a source, one at a time, in bounded memory."""

from __future__ import annotations

from collections import deque

from labeltree.data.errors import readable
from labeltree.data.source import CHUNK, Source


class LineError(ValueError):
    """A line that cannot be taken; the next one can."""


def around(text: str, at: int) -> str:
    """Return what stands around a byte of a text that is not UTF-8, and so a surrogate there."""
    part = text[max(0, at - 20) : at + 8].encode(errors="surrogateescape")
    return f'"{readable(part)}"'


class Lines:
    """An iterator over the lines of a source, as str with their ends.

    Attributes
    ----------
    number : int
        How many lines were given so far, so that this is the number of the last one.
    """

    def __init__(self, source: Source, max_line: int, errors: str = "strict") -> None:
        self.number = 0
        self._source = source
        self._max_line = max_line
        self._errors = errors  # what to do with bytes that are not UTF-8
        self._chunk = memoryview(bytearray(CHUNK))
        self._record = 0  # bytes of a record's lines
        self._whole: deque[bytes] = deque()
        self._partial = b""

    def begin_record(self) -> None:
        """Begin a record, whose lines may have `max_line` bytes together."""
        self._record = 0

    @property
    def at_hand(self) -> bool:
        """Whether the next line can be had without reading, which may mean to wait."""
        return bool(self._whole)

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        while not self._whole:
            if not self._read():
                raise StopIteration
        self.number += 1
        line = self._whole.popleft()
        self._record += len(line)
        if len(line.removesuffix(b"\n")) > self._max_line or self._record > self._max_line + 1:
            start = line[: min(60, self._max_line)].decode(errors="replace")
            raise LineError(
                f"line starting {start!r} is too long: expected at most max_line={self._max_line} "
                "bytes"
            )
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8", self._errors)
        except UnicodeDecodeError as error:
            whole = line.decode(errors="surrogateescape")
            shown = around(whole, len(line[: error.start].decode()))
            raise LineError(f"byte {error.start + 1} is not valid UTF-8: {shown}") from None

    def _read(self) -> bool:
        """Read a chunk; False at the end."""
        count = self._source.readinto(self._chunk)
        if not count:
            rest, self._partial = self._partial, b""
            if rest:
                self._whole.append(rest)
            return bool(rest)
        *whole, rest = self._chunk[:count].tobytes().split(b"\n")
        if whole:
            whole[0] = self._partial + whole[0]
            self._whole.extend(line + b"\n" for line in whole)
            self._partial = rest
        else:
            self._partial += rest
        # Of a line that is too long enough is kept to be refused.
        self._partial = self._partial[: self._max_line + 1]
        return True
