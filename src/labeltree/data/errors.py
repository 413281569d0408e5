"""What is wrong with a file, and where."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import NamedTuple


def one_line(text: str) -> str:
    """Return a text in which names that a file gives cannot end a line or hide."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def readable(data: bytes, *, final: bool = True) -> str:
    """Return bytes as text in one line, and as escapes where they are not UTF-8.

    Unless they are final, a character at their end may be cut, and is left out.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    return one_line(decoder.decode(data, final))


def unescape(message: str) -> str:
    """Return what the core says, which escapes all bytes but ASCII, with text as text."""

    def show(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0]
        cut = message.startswith("...", found.end())  # perhaps within a character
        return readable(bytes.fromhex(found[1].replace("\\x", "")), final=not cut)

    return re.sub(r"\\[^x]|((?:\\x[0-9a-f]{2})+)", show, message)


class DataError(ValueError):
    """A file that cannot be read as what it should be.

    Attributes
    ----------
    path : str
        The file, ``"-"`` for standard input.
    line : int or None
        The line, or the row of a columnar file, counted from 1; None if the whole file is wrong.
    message : str
        What was wrong, what was received and what was expected.
    """

    def __init__(self, message: str, path: str, line: int | None = None) -> None:
        self.message = one_line(message)
        self.path = path
        self.line = line
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {self.message}")

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str, int | None]]:
        # Errors travel between processes, and the default would call us with the joined text only.
        return type(self), (self.message, self.path, self.line)


class DataWarning(UserWarning):
    """Something that is odd about data which can be read all the same."""


class BadLine(NamedTuple):
    """One line that was skipped."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass
class BadLines:
    """The lines that were skipped: how many in all, and the first hundred of them."""

    KEPT = 100

    count: int = 0
    first: list[BadLine] = field(default_factory=list)

    def add(self, lines: list[BadLine], count: int) -> None:
        """Count lines, not all of which need to be given."""
        self.count += count
        self.first.extend(lines[: self.KEPT - len(self.first)])

    def __str__(self) -> str:
        if not self.count:
            return "no bad lines"
        shown = "\n".join(f"  {line}" for line in self.first)
        more = self.count - len(self.first)
        return f"{self.count} bad lines skipped:\n{shown}" + (
            f"\n  and {more} more" if more else ""
        )
