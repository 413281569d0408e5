"""What looks wrong with the data of a run, told once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from labeltree.data import Rows
from labeltree.data.formats import FORMATS
from labeltree.runs.firstlabels import FirstLabels
from labeltree.runs.labelruns import LabelRuns
from labeltree.runs.observer import Observer
from labeltree.runs.reading import Piece


@dataclass
class Doubts:
    """Looks at the rows of the first pass, and tells an observer of what is odd about them."""

    observer: Observer
    runs: LabelRuns = field(default_factory=LabelRuns)  # of labels
    warned_of_runs: bool = False
    first_labels: FirstLabels | None = field(default_factory=FirstLabels)  # None once judged

    def add(self, rows: Rows, settings: dict[str, Any], *, label_sets: bool) -> None:
        """Look at rows, which are read with the given settings."""
        if not label_sets:
            self.runs.add(rows.labels.ids)
        if self.first_labels is not None:
            self.first_labels.add(rows)
            if self.first_labels.complete:
                self.tell_of_labels(settings)

    def tell_of_header(self, piece: Piece, settings: dict[str, Any], file: str) -> None:
        """Say so if the first row looks like the names of columns."""
        if settings.get("format") != "tsv":
            return
        at = (piece.numbers == 0).nonzero()[0]
        first = piece.rows.take(at).sets[0] if len(at) else []
        if first and str(first[0]).lower() in ("label", "labels"):
            self.observer.note(
                f"warning: {file}: the first label is {first[0]!r}: if that is a header, take the "
                "line out, as all lines are learned as rows",
                event="header",
                label=first[0],
            )

    def tell_of_runs(self, *, shuffled: bool) -> None:
        """Say once that the order of the rows makes progressive validation too good."""
        if self.warned_of_runs or not self.runs.found:
            return
        self.warned_of_runs = True
        self.observer.note(
            f"warning: {self.runs.sentence(shuffled=shuffled)}",
            event="runs_of_labels",
            repeated=self.runs.share,
            by_chance=self.runs.by_chance,
        )

    def tell_of_labels(self, settings: dict[str, Any]) -> None:
        """Say once what is odd about the labels of the first rows."""
        if self.first_labels is None:
            return
        labels, self.first_labels = self.first_labels, None
        rows, own, joined = len(labels.sets), labels.own(), labels.joined()
        if joined and settings.get("label_separator", "") is None:
            label, separator = joined
            self.observer.note(
                f"warning: labels such as {label!r} seem to be several: if they are, give "
                f"--label-separator '{separator}'",
                event="joined_labels",
                label=label,
                separator=separator,
            )
        elif own:
            named = FORMATS[settings["format"]].has_label_column
            self.observer.note(
                f"warning: {own:,} of the first {rows:,} rows have a label that no other row has: "
                "check that labels and features have not changed places, and that labels are not "
                f"ids{' (--label-column names them)' if named else ''}",
                event="labels_of_one_row",
                rows=rows,
                own=own,
            )
