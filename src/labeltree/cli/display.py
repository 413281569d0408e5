"""What a run shows: a bar and a table on a terminal, plain lines elsewhere, JSON, or nothing."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, TextIO

from labeltree.runs.observer import Observer, Row

HEADER = "  examples    error   recent     labels  depth"


class Display(Observer):
    """Shows nothing; the base of those that show something."""

    has_bar = False  # whether there is a terminal, on which a bar can move

    def result(self, text: str, **values: Any) -> None:
        """Show what was asked for by name, on standard output; JSON shows the values instead."""


class Results(Display):
    """Shows only what was asked for by name."""

    def result(self, text: str, **_: Any) -> None:
        """Print it to standard output."""
        print(text, flush=True)


class Plain(Results):
    """Lines of text."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._header = False

    def _print(self, line: str) -> None:
        print(line, file=self._file, flush=True)

    def row(self, row: Row) -> None:
        """Print a row, the first below a header."""
        if not self._header:
            self._print(HEADER)
            self._header = True
        self._print(str(row))

    def note(self, text: str, **_: Any) -> None:
        """Print a sentence."""
        self._print(text)


class Terminal(Plain):
    """Lines of text above a bar that moves."""

    has_bar = True

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.fields[count]}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[share]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[error]}"),
            console=Console(file=file),
            transient=True,
            refresh_per_second=5,
        )
        self._task = self._progress.add_task(
            "", total=None, count="", share="", rate="", error="", start=True
        )
        self._start = time.monotonic()
        self._first: int | None = None

    def _print(self, line: str) -> None:
        self._progress.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def advance(self, examples: int, fraction: float | None, error: str) -> None:
        """Move the bar."""
        if self._first is None:  # a resumed run starts with what it knew
            self._first, self._start = examples, time.monotonic()
            self._progress.start()
        rate = (examples - self._first) / max(time.monotonic() - self._start, 1e-9)
        self._progress.update(
            self._task,
            total=None if fraction is None else 1.0,
            completed=0 if fraction is None else fraction,
            count=f"{examples:,} examples",
            share="" if fraction is None else f"{fraction:.0%}",
            rate=f"{rate:,.0f} examples/s",
            error=error,
        )

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()


class JsonLines(Display):
    """One JSON object a line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._start = time.monotonic()

    def _print(self, event: str, values: dict[str, Any]) -> None:
        seconds = round(time.monotonic() - self._start, 3)
        known = {key: None if value != value else value for key, value in values.items()}  # nan
        line = json.dumps({"event": event, "seconds": seconds, **known})
        print(line, file=self._file, flush=True)

    def row(self, row: Row) -> None:
        """Print a row as an object."""
        self._print("progress", row._asdict())

    def note(self, text: str, **values: Any) -> None:
        """Print the values of a note."""
        event = values.pop("event", "note")
        self._print(event, values or {"text": text})

    def result(self, text: str, **values: Any) -> None:
        """Print the values of a result."""
        self.note(text, **values)


def make_display(*, quiet: bool = False, as_json: bool = False) -> Display:
    """Return the display that fits: JSON and results go to standard output, all else does not."""
    if as_json:
        return JsonLines(sys.stdout)
    if quiet:
        return Results()
    return Terminal(sys.stderr) if sys.stderr.isatty() else Plain(sys.stderr)


class Table:
    """A table that changes while a command runs: shown whenever it has settled for a while."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def show(self, rows: list[dict[str, Any]], *, settled: bool = False) -> None:
        """Show the rows; where nothing can be overwritten, only those that are settled."""
        if settled:
            self._display.note(table_text(rows), event="table", rows=rows)

    def note(self, text: str, **values: Any) -> None:
        """Show a sentence; JSON shows the values instead."""
        self._display.note(text, **values)

    def close(self) -> None:
        """Show nothing more."""


class LiveTable(Table):
    """A table that is drawn over and over in the same place of a terminal."""

    def __init__(self, file: TextIO, *, transient: bool) -> None:
        super().__init__(Plain(file))
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._live = Live(console=Console(file=file), refresh_per_second=5, transient=transient)

    def show(self, rows: list[dict[str, Any]], *, settled: bool = False) -> None:  # noqa: ARG002
        """Draw the rows."""
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._text(table_text(rows)))

    def close(self) -> None:
        """Leave the table as it is, or take it away if it is transient."""
        self._live.stop()


def table_text(rows: list[dict[str, Any]]) -> str:
    """Return rows as aligned columns; text goes left, numbers right."""
    if not rows:
        return ""
    cells = [list(rows[0])] + [[_cell(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = [not isinstance(value, str) for value in rows[0].values()]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, numbers, strict=True)
        ).rstrip()
        for line in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def make_table(*, quiet: bool = False, as_json: bool = False, transient: bool = False) -> Table:
    """Return the table that fits where the output goes; a terminal may forget it at the end."""
    if not quiet and not as_json and sys.stderr.isatty():
        return LiveTable(sys.stderr, transient=transient)
    return Table(make_display(quiet=quiet, as_json=as_json))
