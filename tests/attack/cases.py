"""Case after case until the time is over, each made from a number that makes it again."""

from __future__ import annotations

import mmap
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

Case = Callable[[random.Random, "Counter[str]"], None]

WITNESS = "LABELTREE_ATTACK_WITNESS"  # the file in which a case says what it does
_HEAD = 24  # bytes: how many steps were made, the seed, the length of the input
_ROOM = 1 << 20


class Witness:
    """What a case tries just now, in a mapped file: it is there after a crash of the process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open(path, "a+b") as file:
            file.truncate(_HEAD + _ROOM)
            self._map = mmap.mmap(file.fileno(), _HEAD + _ROOM)

    def _number(self, place: int) -> int:
        return int.from_bytes(self._map[8 * place : 8 * place + 8], "little")

    def _set(self, place: int, number: int) -> None:
        self._map[8 * place : 8 * place + 8] = number.to_bytes(8, "little")

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return self._number(0)

    @property
    def seed(self) -> int:
        """The seed of the case."""
        return self._number(1)

    @property
    def content(self) -> bytes:
        """The input of the step."""
        return self._map[_HEAD : _HEAD + self._number(2)]

    def begin(self, seed: int) -> None:
        """Begin a case."""
        self._set(1, seed)
        self.step(b"")

    def step(self, content: bytes) -> None:
        """Begin a step, with what may crash or hang."""
        content = content[:_ROOM]
        self._map[_HEAD : _HEAD + len(content)] = content
        self._set(2, len(content))
        self._set(0, self.steps + 1)


_witness = Witness(os.environ[WITNESS]) if WITNESS in os.environ else None


def trying(content: bytes = b"") -> None:
    """Say what the case tries next, so that a crash or a hang can be told what it was."""
    if _witness is not None:
        _witness.step(content)


def repeat(seconds: float, seed: int, case: Case, counts: Counter[str] | None = None) -> dict:
    """Run a case with a seed, the next one with the next, for so long, but at least one.

    Raises
    ------
    AssertionError
        At the first fault; ``--seconds 0 --seed`` with the seed that it names does it again.
    """
    counts = Counter() if counts is None else counts
    end = time.monotonic() + seconds
    while True:
        if _witness is not None:
            _witness.begin(seed)
        try:
            case(random.Random(seed), counts)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        seed += 1
        if time.monotonic() >= end:
            return dict(counts)


def check_sentence(error: BaseException) -> None:
    """Check that an error speaks to a user, in one line, of their input."""
    text = str(error)
    assert text, f"an error without a word: {error!r}"
    assert text.isprintable(), f"not one line of text: {text!r}"
    assert len(text) < 3000, f"{len(text)} characters: {text[:200]!r}"
    for word in (
        "std::",
        "nanobind",
        "Invoked with types",
        "incompatible function",
        "basic_string",
    ):
        assert word not in text, f"an error of the inside: {text!r}"


def read_whole(path: Path) -> bytes | None:
    """Return what is in a file, None if there is none."""
    return path.read_bytes() if path.exists() else None
