"""What a run tells while it goes on, and to whom."""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """Progressive validation at one point of a run."""

    examples: int
    error: float  # since the start
    recent_error: float  # since the previous row
    labels: int
    depth: int | None  # of a tree

    def __str__(self) -> str:
        depth = "" if self.depth is None else str(self.depth)
        return (
            f"{self.examples:>10,} {self.error:>8.4f} {self.recent_error:>8.4f} "
            f"{self.labels:>10,} {depth:>6}"
        )


class Observer:
    """Takes no notice; the base of those that do."""

    def row(self, row: Row) -> None:
        """Take a row of the table of progressive validation."""

    def advance(self, examples: int, fraction: float | None, error: str) -> None:
        """Hear how many examples were learned, how much of the data was read, and an error."""

    def note(self, text: str, **values: Any) -> None:
        """Take a sentence, and the values that are in it."""

    def close(self) -> None:
        """Expect nothing more."""
