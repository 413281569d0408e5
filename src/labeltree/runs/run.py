"""Where a run is in its data, kept with the model so that a killed run goes on exactly."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from labeltree.runs.shuffling import Shuffle

LATER = 8192  # consecutive rows that trade places in later passes
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_EXAMPLES = {"": 1, "k": 1000, "M": 1_000_000}


def seconds(text: str, option: str) -> float:
    """Return the seconds of a duration such as 90s, 10m or 2h."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if match is None or float(match[1]) == 0:
        raise ValueError(f"{option} is {text!r}, expected a duration such as 90s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2]]


@dataclass
class Every:
    """Tells when it is time for the next checkpoint: after so many seconds, or examples."""

    seconds: float | None = None
    examples: int | None = None
    _time: float = field(default_factory=time.monotonic)
    _count: int = 0

    @classmethod
    def parse(cls, text: str | None, option: str = "--checkpoint-every") -> Every:
        """Read 60s, 10m, 2h, or a number of examples: 5000, 100k, 2M."""
        if text is None:
            return cls()
        count = re.fullmatch(r"(\d+)([kM]?)", text)
        if count is not None and int(count[1]) > 0:
            return cls(examples=int(count[1]) * _EXAMPLES[count[2]])
        if re.fullmatch(r"[\d.]+[smh]", text):
            return cls(seconds=seconds(text, option))
        raise ValueError(
            f"{option} is {text!r}, expected a duration such as 60s or 10m, or a number "
            "of examples such as 5000, 100k or 2M"
        )

    def due(self, learned: int) -> bool:
        """Tell whether it is time, now that so many more examples were learned."""
        self._count += learned
        now = time.monotonic()
        is_due = (self.examples is not None and self._count >= self.examples) or (
            self.seconds is not None and now - self._time >= self.seconds and self._count > 0
        )
        if is_due:
            self._time, self._count = now, 0
        return is_due


class StopRequest:
    """While it is entered, Ctrl-C asks to stop at the next good moment; once more stops at once."""

    def __init__(self) -> None:
        self.requested = False
        self._old: Any = None

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._old = signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, *_: Any) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(self, *_: Any) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)


@dataclass
class Run:
    """What a run reads and how far it has come: saved as the note ``run`` of a model."""

    data: list[str]
    sizes: list[int | None]  # of the files, None for what is not a file
    passes: int = 1
    skip_bad_lines: bool = False
    holdout: int = 0  # every so many rows one is held out; 0 for none
    number: int = 0  # passes completed
    rows: int = 0  # rows read of the pass that is under way
    held_out: list[int] = field(default_factory=lambda: [0, 0])  # in this pass: rows, errors
    again: list[int] = field(default_factory=lambda: [0, 0])  # learned before: rows, errors
    shuffle: int = 0  # how many consecutive rows trade places; 0 for none
    seed: int = 0  # of the shuffling
    unlabelled: int = 0  # rows of the first pass that had no label

    @classmethod
    def start(
        cls,
        data: Sequence[str],
        passes: int,
        holdout: int,
        shuffle: int | None = None,
        seed: int = 0,
    ) -> Run:
        """Begin a run."""
        sizes = [_size(name) for name in data]
        return cls(list(data), sizes, passes, holdout=holdout, shuffle=shuffle or 0, seed=seed)

    def reads(self, data: Sequence[str]) -> bool:
        """Tell whether these are the files that the run reads."""
        return [*map(os.path.abspath, data)] == [*map(os.path.abspath, self.data)]

    @property
    def finished(self) -> bool:
        """Whether all passes are completed."""
        return self.number >= self.passes

    def note(self) -> dict[str, Any]:
        """Return the run as JSON can hold it."""
        return asdict(self)

    def next_pass(self) -> None:
        """Go to the start of the next pass."""
        self.number += 1
        self.rows = 0
        self.held_out = [0, 0]
        self.again = [0, 0]

    def shuffled_by(self, before: int) -> Shuffle | None:
        """Return how the pass is shuffled that has had so many rows from another pipe.

        Later passes always are, a little: rows that come in the same order every time are learned
        less well.
        """
        rows = self.shuffle or (LATER if self.number else 0)
        return Shuffle(rows, (self.seed, self.number, before)) if rows else None

    @property
    def rows_to_skip(self) -> int:
        """The rows to pass over; none of standard input, which goes on where it was left."""
        return 0 if "-" in self.data else self.rows

    def check_files(self) -> None:
        """Raise if a file has become shorter than it was."""
        for name, size in zip(self.data, self.sizes, strict=True):
            now = _size(name)
            if size is not None and (now is None or now < size):
                raise ValueError(
                    f"{name}: the file had {size:,} bytes when the run started and now has "
                    f"{now or 0:,}: the run cannot go on where it was; restore the file, or give "
                    "other files to learn from their start"
                )


def _size(name: str) -> int | None:
    return os.path.getsize(name) if name != "-" and os.path.isfile(name) else None
