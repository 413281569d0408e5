"""``labeltree train``: files in, progressive validation shown, a model out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree import modelfile
from labeltree.cli.algorithms import (
    DEFAULT_ALGORITHM,
    estimator_class,
    name_of,
    names,
)
from labeltree.cli.checkpoint import Every, Run, require_writable
from labeltree.cli.display import Display, Row
from labeltree.cli.reading import Piece, expand, pieces, prefetch, take, targets_of
from labeltree.data import Stream, stream
from labeltree.data.formats import detect_common_format, make_format
from labeltree.estimators import OnlineClassifier, load
from labeltree.validation import as_threads

DEFAULT_FEATURES = 2**24  # of formats that do not tell


def train(
    data: Sequence[str],
    model: Path,
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    params: dict[str, Any] | None = None,
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    label_sets: bool | None = None,
    passes: int | None = None,
    holdout: float = 0.0,
    checkpoint_every: str | None = None,
    resume: Path | None = None,
    threads: int | None = None,
    display: Display | None = None,
) -> OnlineClassifier:
    """Learn the rows of files in their order, and save the model with how they were read.

    Parameters
    ----------
    data : sequence of str
        Paths, patterns, or "-" for standard input. With `resume` none, to go on with the run's.
    model : Path
        Where to write the model, and its checkpoints.
    algorithm, params
        Which estimator, and its parameters.
    format, reader_options, skip_bad_lines
        As for `labeltree.data.stream`.
    label_sets : bool, optional
        Whether rows have sets of labels. By default the first rows tell.
    passes : int, optional
        How often to read the files, by default once. Progressive validation counts the first
        time.
    holdout : float
        The share of the rows that is predicted in each pass but never learned.
    checkpoint_every : str, optional
        How often to save the model while learning: 60s, 10m, or 5000, 100k, 2M examples.
    resume : Path, optional
        A model to learn on with. A checkpoint of a run that did not end goes on where it was,
        unless it is given other data.
    threads : int, optional
        Number of threads, -1 for all processors.
    display : Display, optional
        What to show while it runs; nothing by default.

    Returns
    -------
    OnlineClassifier
        The estimator. After Ctrl-C the model learned so far has been saved.
    """
    as_threads(threads)  # all that may be wrong is told before a byte is read
    training = Training(model, Every.parse(checkpoint_every), display or Display())
    require_writable(model)
    given = {"format": format, "reader_options": reader_options, "params": params}
    if resume is not None:
        training.resume(resume, expand(data), passes, holdout, given)
    else:
        training.start(estimator_class(algorithm), expand(data), passes or 1, holdout, given)
    if label_sets is not None:
        training.label_sets = label_sets
    training.clf.n_jobs = threads
    training.clf._validate_params()
    try:
        while not training.run.finished:
            training.learn_pass(skip_bad_lines=skip_bad_lines)
    except KeyboardInterrupt:
        training.display.close()
        if training.learned:
            training.save("stopped; to go on: labeltree train --resume " + str(model))
        raise
    training.display.close()
    training.save("done")
    return training.clf


def train_and_report(
    data: Sequence[str],
    model: Path,
    *,
    test: Sequence[str] = (),
    plot: Path | None = None,
    display: Display | None = None,
    **options: Any,
) -> OnlineClassifier:
    """Train, then evaluate on test files and draw the learning curve, if asked for.

    Parameters
    ----------
    data, model, display, **options
        As for `train`.
    test : sequence of str
        Files with labelled rows.
    plot : Path, optional
        Where to draw the learning curve, in the format that the name's end tells.

    Returns
    -------
    OnlineClassifier
        The estimator.
    """
    display = display or Display()
    for name in expand(test):
        open(name, "rb").close()  # what is missing is better known before hours of learning
    if plot is not None:
        from labeltree.plot import learning_curve, picture_format, write  # needs matplotlib

        picture_format(plot)
        require_writable(plot)
    clf = train(data, model, display=display, **options)
    if test:
        from labeltree.cli.evaluate import evaluate, report

        measured = evaluate(model, test)
        display.note(report(measured).rstrip(), event="test", **measured)
    if plot is not None:
        write(learning_curve(clf), plot)
        display.note(f"the learning curve is in {plot}", event="plot", path=str(plot))
    return clf


@dataclass
class Training:
    """A run of `train`: a learner, how far it is in its data, and what is saved with it."""

    model: Path
    every: Every
    display: Display
    clf: OnlineClassifier = field(init=False)
    run: Run = field(init=False)
    settings: dict[str, Any] = field(default_factory=dict)  # how lines become rows
    label_sets: bool | None = None
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    before: int = 0  # rows of the pass that the stream does not have: those of another pipe
    shown: tuple[int, int] = (0, 0)  # examples and errors of the last row of the table

    def start(
        self,
        estimator: type[OnlineClassifier],
        files: list[str],
        passes: int,
        holdout: float,
        given: dict[str, Any],
    ) -> None:
        """Begin with no knowledge."""
        if not files:
            raise ValueError("no data to learn from: give files, or - for standard input")
        if passes > 1 and "-" in files:
            raise ValueError("standard input can be read only once: use --passes 1, or a file")
        format_ = given["format"]
        if format_ == "auto":
            if "-" in files:
                raise ValueError("standard input has no name to tell its format: give --format")
            format_ = detect_common_format(files)
        options = dict(given["reader_options"] or {})
        if format_ == "svmlight":
            options.setdefault("n_features", DEFAULT_FEATURES)
        self.settings = make_format(format_, options).settings()
        self.clf = estimator(**(given["params"] or {}))
        self.run = Run.start(files, passes, _period(holdout))

    def resume(
        self,
        checkpoint: Path,
        files: list[str],
        passes: int | None,
        holdout: float,
        given: dict[str, Any],
    ) -> None:
        """Go on with a saved model, and with its run if that has not ended."""
        self.clf = load(checkpoint)
        notes = modelfile.read_header(checkpoint)["notes"]
        if given["params"] or given["reader_options"] or given["format"] != "auto":
            raise ValueError(
                f"{checkpoint}: the model keeps its parameters, and how lines become rows; leave "
                "those options out with --resume"
            )
        if not notes.get("reader"):
            raise ValueError(
                f"{checkpoint}: the model was trained from Python, and how its rows were read is "
                "not known; train on with partial_fit"
            )
        self.settings = notes["reader"]
        self.label_sets = self.clf.multilabel_
        self.counts = np.array(notes.get("label_counts", []), dtype=np.int64)
        self.shown = (self.clf.progress_.checkpoints or [(0, 0)])[-1]
        run = Run(**notes["run"])
        if not run.finished and (not files or files == run.data):
            if passes is not None and passes != run.passes:
                raise ValueError(f"the run has {run.passes} passes: leave --passes out to go on")
            run.check_files()
            self.run = run
            self.display.note(
                f"going on with {checkpoint} in pass {run.number + 1} of {run.passes}, "
                f"after row {run.rows:,}",
                event="resume",
                number=run.number + 1,
                rows=run.rows,
            )
        elif not files:
            raise ValueError(f"{checkpoint}: its run is complete; give files to learn more from")
        else:
            self.run = Run.start(files, passes or 1, _period(holdout))

    @property
    def learned(self) -> bool:
        """Whether there is anything to save."""
        return hasattr(self.clf, "_learner")

    def learn_pass(self, *, skip_bad_lines: bool) -> None:
        """Learn what is left of a pass."""
        run = self.run
        eager = "-" in run.data
        rows = stream(run.data, skip_bad_lines=skip_bad_lines, eager=eager, **self.settings)
        skip = run.rows_to_skip
        self.before = run.rows - skip
        for piece in self._prefetched(rows, skip):
            if piece is not None:
                self.learn(piece, rows.vocabulary)
                self.settings = dict(rows.settings)
                self._show(piece)
            if self.every.due(0 if piece is None else len(piece.rows)):
                self.save("checkpoint")
        if not self.learned:
            raise ValueError(
                f"{', '.join(run.data)}: no rows to learn from: no model was written; "
                "give a file with rows"
            )
        if run.number == 0:
            self._show_row()
        if rows.bad_lines.count and run.number == 0:
            self.display.note(str(rows.bad_lines), event="bad_lines", count=rows.bad_lines.count)
        if run.holdout and run.held_out[0]:
            held, wrong = run.held_out
            self.display.note(
                f"pass {run.number + 1}: error {wrong / held:.4f} on {held:,} rows held out",
                event="holdout",
                number=run.number + 1,
                examples=held,
                error=wrong / held,
            )
        run.next_pass()

    def _prefetched(self, rows: Stream, skip: int) -> Iterator[Piece | None]:
        return prefetch(pieces(rows, skip=skip, label_sets=self.label_sets))

    def learn(self, piece: Piece, vocabulary: list[Any]) -> None:
        """Learn a piece, but for the rows held out; after Ctrl-C, as much as was learned counts."""
        run, clf = self.run, self.clf
        self._check_labels(piece)
        rows, targets = piece.rows, piece.targets
        start = piece.end - len(rows)
        kept = np.arange(len(rows))
        if run.holdout:
            kept = kept[(start + kept) % run.holdout != run.holdout - 1]
            rows = take(rows, kept)
            targets = targets_of(rows, targets.multilabel)
        before = clf._learner.examples if self.learned else 0
        honest = copy.deepcopy(clf.progress_) if run.number else None
        try:
            if len(rows):
                clf.partial_fit(rows.X, targets, sample_weight=rows.weight)
        finally:
            learned = clf._learner.examples - before if self.learned else 0
            done = len(piece.rows) if learned == len(rows) else int(kept[learned])
            run.rows = self.before + start + done
            if honest is not None:  # what was learned before is no test
                clf.progress_ = honest
            elif learned:
                self._count(rows.labels.ids[: rows.labels.offsets[learned]], vocabulary)
        if run.holdout and self.learned:
            self._validate(take(piece.rows, np.setdiff1d(np.arange(len(piece.rows)), kept)))

    def _check_labels(self, piece: Piece) -> None:
        if self.learned:
            return
        if not len(piece.rows.labels.ids):
            raise ValueError(
                f"{', '.join(self.run.data)}: none of the first {len(piece.rows):,} rows has a "
                "label to learn; check the format and where it has the labels"
            )
        self.label_sets = piece.targets.multilabel
        if self.label_sets and not self.clf._takes_sets:
            able = [name for name in names() if estimator_class(name)._takes_sets]
            raise ValueError(
                f"{', '.join(self.run.data)}: rows have sets of labels, which "
                f"{name_of(type(self.clf))} does not learn; give --algorithm {' or '.join(able)}"
            )

    def _count(self, ids: NDArray[np.uint32], vocabulary: list[Any]) -> None:
        """Count how often each label was learned, by the learner's ids."""
        used, times = np.unique(ids, return_counts=True)
        known = self.clf._vocabulary.ids(vocabulary[i] for i in used.tolist())
        new = len(self.clf._vocabulary) - len(self.counts)
        if new:
            self.counts = np.concatenate([self.counts, np.zeros(new, np.int64)])
        self.counts[known] += times

    def _validate(self, rows: Any) -> None:
        """Predict rows that are held out."""
        labelled = np.flatnonzero(np.diff(rows.labels.offsets))
        if len(labelled):
            rows = take(rows, labelled)
            right = self.clf.score(rows.X, targets_of(rows, bool(self.label_sets))) * len(rows)
            self.run.held_out[0] += len(rows)
            self.run.held_out[1] += len(rows) - round(right)

    def _show(self, piece: Piece) -> None:
        """Move the bar; add a row to the table when the number of examples has doubled."""
        progress = self.clf.progress_
        if progress.checkpoints and progress.checkpoints[-1][0] > self.shown[0]:
            self._show_row()
        self.display.advance(progress.examples, piece.fraction, progress.error)

    def _show_row(self) -> None:
        progress = self.clf.progress_
        examples, errors = self.shown
        if progress.examples > examples:
            self.display.row(
                Row(
                    progress.examples,
                    progress.error,
                    (progress.errors - errors) / (progress.examples - examples),
                    self.clf.n_labels_,
                    depth_of(self.clf),
                )
            )
            self.shown = (progress.examples, progress.errors)

    def save(self, why: str) -> None:
        """Write the model and how far the run has come, both or neither."""
        notes = {
            "reader": self.settings,
            "label_counts": self.counts.tolist(),
            "run": self.run.note(),
        }
        self.clf.save(self.model, notes=notes)
        if why != "checkpoint":
            progress = self.clf.progress_
            self.display.note(
                f"{progress.examples:,} examples, {self.clf.n_labels_:,} labels, "
                f"progressive error {progress.error:.4f}; saved to {self.model}"
                + ("" if why == "done" else f" ({why})"),
                event="saved",
                path=str(self.model),
                examples=progress.examples,
                labels=self.clf.n_labels_,
                error=progress.error,
                finished=self.run.finished,
            )


def depth_of(clf: OnlineClassifier) -> int | None:
    """Return the depth of an estimator's tree, if it has one."""
    return clf.tree_.depth if hasattr(type(clf), "tree_") else None


def _period(holdout: float) -> int:
    if not 0 <= holdout <= 0.5:
        raise ValueError(f"--holdout is {holdout}, expected a share from 0 to 0.5 such as 0.1")
    return round(1 / holdout) if holdout else 0
