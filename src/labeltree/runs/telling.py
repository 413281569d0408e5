"""What a run says of itself: progress, what is odd about its data, and what it has saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labeltree.data import BadLines
from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of
from labeltree.runs.doubts import Doubts
from labeltree.runs.observer import Observer, Row
from labeltree.runs.run import Run
from labeltree.treeview import counted


class Telling:
    """Puts into words, for an observer, what a run learns.

    Attributes
    ----------
    doubts : Doubts
        About the rows of the first pass.
    """

    def __init__(self, observer: Observer) -> None:
        self.doubts = Doubts(observer)
        self._observer = observer
        self._shown = (0, 0)  # examples and errors of the last row of the table

    def go_on(self, clf: OnlineClassifier | TextClassifier) -> None:
        """Begin behind what a model that is resumed has told."""
        self._shown = (clf.progress_.checkpoints or [(0, 0)])[-1]

    def progress(
        self, clf: OnlineClassifier | TextClassifier, run: Run, fraction: float | None
    ) -> None:
        """Move the bar; add a row to the table when the number of examples has doubled.

        `fraction` is the part of the pass that was read, None if that is not known.
        """
        progress = clf.progress_
        if progress.checkpoints and progress.checkpoints[-1][0] > self._shown[0]:
            self._row(clf)
            if run.number == 0:
                self.doubts.tell_of_runs(shuffled=run.shuffle > 0)
        if fraction is not None:
            fraction = (run.number + fraction) / run.passes
        again, wrong = run.again
        error = f"training error {wrong / again:.4f}" if again else f"error {progress.error:.4f}"
        self._observer.advance(clf.examples_, fraction, error)

    def end_of_pass(
        self,
        clf: OnlineClassifier | TextClassifier,
        run: Run,
        settings: dict[str, Any],
        bad_lines: BadLines,
        left_out: int,
    ) -> None:
        """Say how a pass went; after the first, what was skipped and what is odd, too.

        `left_out` are the rows with more labels than a model may have.
        """
        if run.number == 0:
            self._row(clf)
            self.tell_doubts(run, settings)
            if bad_lines.count:
                self._observer.note(str(bad_lines), event="bad_lines", count=bad_lines.count)
            if left_out:
                self._observer.note(
                    f"{counted(left_out, 'row')} with more labels than --max-labels skipped",
                    event="too_many_labels",
                    rows=left_out,
                )
        if run.held_out[0]:
            held, wrong = run.held_out
            self._observer.note(
                f"pass {run.number + 1}: error {wrong / held:.4f} on {held:,} rows held out",
                event="holdout",
                number=run.number + 1,
                examples=held,
                error=wrong / held,
            )
        elif run.again[0]:
            again, wrong = run.again
            self._observer.note(
                f"pass {run.number + 1}: training error {wrong / again:.4f} on {again:,} rows that "
                "were learned before",
                event="pass",
                number=run.number + 1,
                examples=again,
                training_error=wrong / again,
            )

    def tell_doubts(self, run: Run, settings: dict[str, Any]) -> None:
        """Tell what is odd about the data, if that was not told before."""
        self.doubts.tell_of_runs(shuffled=run.shuffle > 0)
        self.doubts.tell_of_labels(settings)

    def saved(self, clf: OnlineClassifier | TextClassifier, run: Run, model: Path) -> None:
        """Say what has become of the run, now that its model is saved for good."""
        self._observer.close()
        progress = clf.progress_
        if run.unlabelled:
            self._observer.note(
                f"{counted(run.unlabelled, 'row')} had no label: not among the examples",
                event="without_labels",
                rows=run.unlabelled,
            )
        on = "" if run.finished else f" (stopped; to go on: {_resume_command(run, model)})"
        self._observer.note(
            f"{counted(progress.examples, 'example')}, {counted(clf.n_labels_, 'label')}, "
            f"progressive error {progress.error:.4f}; saved to {model}{on}",
            event="saved",
            path=str(model),
            examples=progress.examples,
            labels=clf.n_labels_,
            error=progress.error,
            finished=run.finished,
        )

    def _row(self, clf: OnlineClassifier | TextClassifier) -> None:
        progress = clf.progress_
        examples, errors = self._shown
        if progress.examples > examples:
            self._observer.row(
                Row(
                    progress.examples,
                    progress.error,
                    (progress.errors - errors) / (progress.examples - examples),
                    clf.n_labels_,
                    depth_of(clf),
                )
            )
            self._shown = (progress.examples, progress.errors)


def depth_of(clf: OnlineClassifier | TextClassifier) -> int | None:
    """Return the depth of a model's tree, if it has one."""
    tree = getattr(classifier_of(clf), "tree_", None)
    return None if tree is None else int(tree.depth)


def _resume_command(run: Run, model: Path) -> str:
    data = " -" if "-" in run.data else ""
    return f"labeltree train{data} --resume {model}"
