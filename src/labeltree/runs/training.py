"""A run of `train`: a learner, how far it is in its data, and what is saved with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltree import modelfile
from labeltree.algorithms import DEFAULT_ALGORITHM, estimator_class, name_of, names
from labeltree.data import FeatureNames, Rows, stream
from labeltree.data.formats import make_format, may_be_text
from labeltree.data.texts import Texts
from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of, load
from labeltree.labels import Targets
from labeltree.progress import Progress
from labeltree.runs.labelcounts import add_counts, forgets
from labeltree.runs.labelroom import LabelRoom
from labeltree.runs.notes import notes_of
from labeltree.runs.observer import Observer
from labeltree.runs.reading import (
    Piece,
    format_of,
    names_of,
    pieces,
    prefetch,
    read_labels_as,
    targets_of,
    text_settings,
)
from labeltree.runs.run import Every, Run, StopRequest
from labeltree.runs.telling import Telling

DEFAULT_FEATURES = 2**24  # of formats that do not tell
PORTION = 2048  # rows between two moments at which a run may stop, or fewer of a slow learner:
_MODELS = 2**20  # linear models that a row is given to, times rows, in between
_TREE = 100  # models that a tree counts for


class Given(NamedTuple):
    """What a user has said of how lines become rows, texts features, and rows a model."""

    format: str
    reader_options: dict[str, Any]
    params: dict[str, Any]
    text_options: dict[str, Any]
    keep_names: bool = False


@dataclass
class Training:
    """A run of `train`: a learner, how far it is in its data, and what is saved with it."""

    model: Path
    every: Every
    observer: Observer
    exact: bool = True  # whether weights are saved as they are, not rounded
    clf: OnlineClassifier | TextClassifier = field(init=False)
    run: Run = field(init=False)
    settings: dict[str, Any] = field(default_factory=dict)  # how lines become rows
    names: FeatureNames | None = None  # of the features, if they are kept, but for those of text
    text_options: dict[str, Any] = field(default_factory=dict)  # of what texts become
    label_sets: bool | None = None
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    before: int = 0  # rows of the pass that the stream does not have: those of another pipe
    telling: Telling = field(init=False)
    room: LabelRoom = field(default_factory=LabelRoom)  # of rows too wide for the model

    def __post_init__(self) -> None:
        self.telling = Telling(self.observer)

    def start(
        self,
        estimator: type[OnlineClassifier],
        files: list[str],
        passes: int,
        holdout: float,
        given: Given,
        shuffle: int | None = None,
    ) -> None:
        """Begin with no knowledge."""
        if not files:
            raise ValueError("no data to learn from: give files, or - for standard input")
        if passes > 1 and "-" in files:
            raise ValueError("standard input can be read only once: use --passes 1, or a file")
        format_ = format_of(files, given.format)
        options, text = dict(given.reader_options), dict(given.text_options)
        if format_ in ("svmlight", "log"):
            options.setdefault("n_features", DEFAULT_FEATURES)
        if format_ == "vw" and "hash_bits" in text:
            options["hash_bits"] = text.pop("hash_bits")
        made = make_format(format_, options)
        if text and not may_be_text(format_):
            option = "--" + next(iter(text)).replace("_", "-")
            raise ValueError(
                f"{option} is for text, and the format is {format_}; leave the option out"
            )
        if given.keep_names:
            if made.has_names:
                self.names = FeatureNames()
            elif may_be_text(format_):
                text["keep_names"] = True
            else:
                raise ValueError(
                    f"--keep-names is for text and vw, whose features are hashed names, and the "
                    f"format is {format_}; leave the option out"
                )
        self.settings = made.settings()
        self.text_options = text
        self.clf = estimator(**given.params)
        if made.is_text or text:
            self._expect_text()
        self.run = Run.start(files, passes, _period(holdout), shuffle, self._seed)

    def resume(
        self,
        checkpoint: Path,
        files: list[str],
        passes: int | None,
        holdout: float,
        given: Given,
        shuffle: int | None = None,
    ) -> None:
        """Go on with a saved model, and with its run if that has not ended."""
        self.clf = load(checkpoint)
        if self.clf.compiled_:
            raise ValueError(
                f"{checkpoint}: the model was compiled for prediction; resume the one it was made "
                "from"
            )
        notes = notes_of(checkpoint)
        reader = given.reader_options or given.format != "auto"
        unread = isinstance(self.clf, TextClassifier) and not notes.get("reader")  # from Python
        if given.params or given.text_options or (reader and not unread):
            raise ValueError(
                f"{checkpoint}: the model keeps its parameters, and how lines become rows; leave "
                "those options out with --resume"
            )
        if unread and files:
            format_ = format_of(files, given.format)
            notes["reader"] = make_format(format_, given.reader_options).settings()
        if not notes.get("reader"):
            raise ValueError(
                f"{checkpoint}: the model was trained from Python, and how its rows were read is "
                "not known; train on with partial_fit"
            )
        self.settings = notes["reader"]
        if isinstance(self.clf, TextClassifier) and files and "-" not in files:
            self.settings = text_settings(self.settings, "auto", files)
        self.names = names_of(checkpoint)
        keeps = self.names is not None or getattr(self.clf, "keep_names", False)
        if given.keep_names and not keeps:
            raise ValueError(
                f"{checkpoint}: the model was trained without --keep-names, and the names of what "
                "it has learned are lost; leave the option out, or train anew"
            )
        self.label_sets = self.clf.multilabel_
        counts = notes.get("label_counts") or []
        self.counts = np.array(counts[: len(self.clf.classes_)], dtype=np.int64)
        self.telling.go_on(self.clf)
        run = Run(**notes["run"]) if notes.get("run") else Run.start([], 0, 0)
        if not run.finished and (not files or run.reads(files)):
            if (
                passes not in (None, run.passes)
                or (holdout and _period(holdout) != run.holdout)
                or shuffle not in (None, run.shuffle)
            ):
                raise ValueError(
                    f"{checkpoint}: its run has {run.passes} passes, and its own rows held out and "
                    "shuffled; leave --passes, --holdout and --shuffle out to go on with it"
                )
            run.check_files()
            self.run = run
            self.observer.note(
                f"going on with {checkpoint} in pass {run.number + 1} of {run.passes}, "
                f"after row {run.rows:,}",
                event="resume",
                number=run.number + 1,
                rows=run.rows,
            )
        elif not files:
            raise ValueError(f"{checkpoint}: its run is complete; give files to learn more from")
        else:
            if not run.finished:
                self.observer.note(
                    f"learning {', '.join(files)} from the start; {checkpoint} was at row "
                    f"{run.rows:,} of {', '.join(run.data)}",
                    event="restart",
                )
            self.run = Run.start(files, passes or 1, _period(holdout), shuffle, self._seed)

    def _expect_text(self) -> None:
        """Put text features before the classifier."""
        assert isinstance(self.clf, OnlineClassifier)
        self.clf = TextClassifier(self.clf, **self.text_options)
        self.clf.check_params()

    def use_threads(self, threads: int | None) -> None:
        """Let the learner have so many threads; refuse what is wrong with its parameters."""
        clf = classifier_of(self.clf)
        clf.n_jobs = threads
        clf.check_params()

    @property
    def _seed(self) -> int:
        seed = classifier_of(self.clf).random_state
        return seed if isinstance(seed, int) else 0

    @property
    def learned(self) -> bool:
        """Whether there is anything to save."""
        return bool(self.clf.__sklearn_is_fitted__())

    def learn_pass(self, stop: StopRequest) -> None:
        """Learn what is left of a pass, unless asked to stop."""
        run = self.run
        eager = "-" in run.data
        rows = stream(
            run.data,
            skip_bad_lines=run.skip_bad_lines,
            eager=eager,
            names=None if run.number else self.names,  # later passes have no new ones
            **self.settings,
        )
        rows.keep_labels = not forgets(self.clf)
        if self.learned:
            read_labels_as(self.clf, rows)
        if run.rows == 0 and self.learned:
            self.clf.begin_pass(again=run.number > 0, more=run.number + 1 < run.passes)
        skip = run.rows_to_skip
        self.before = run.rows - skip
        shuffle = run.shuffled_by(self.before)
        cut = pieces(rows, skip=skip, label_sets=self.label_sets, shuffle=shuffle)
        for piece in prefetch(cut):
            if piece is not None:
                self.learn(piece, stop)
                self.settings = dict(rows.settings)
                self.telling.progress(self.clf, run, piece.fraction)
            if stop.requested:
                return
            if self.every.due(0 if piece is None else len(piece.rows)):
                self.save()
        if not self.learned:
            raise ValueError(
                f"{', '.join(run.data)}: no rows to learn from: no model was written; "
                "give a file with rows"
            )
        self.telling.end_of_pass(self.clf, run, self.settings, rows.bad_lines, self.room.left_out)
        run.next_pass()
        if run.finished:
            self.clf.begin_pass(again=False)

    def learn(self, piece: Piece, stop: StopRequest | None = None) -> None:
        """Learn a piece, but for the rows held out; if asked to stop, only the first of its rows.

        Rows are learned in portions, so that nobody waits for long after Ctrl-C. Where they end
        depends on the rows alone, never on the clock.
        """
        run = self.run
        rows = piece.rows
        if isinstance(rows.X, Texts) and isinstance(self.clf, OnlineClassifier):
            self._expect_text()  # as the columns of the first rows have told
        if not isinstance(rows.X, Texts) and isinstance(self.clf, TextClassifier):
            given = ", ".join("--" + name.replace("_", "-") for name in self.text_options)
            raise ValueError(
                f"{', '.join(run.data)}: the rows have features and no text, which "
                f"{given or 'the model'} is for"
            )
        self._check_labels(piece)
        if not self.learned:
            self.clf.begin_pass(again=False, more=run.passes > 1)
        if run.holdout:  # rows of weight zero are predicted where they come, and not learned
            held = piece.numbers % run.holdout == run.holdout - 1
            weight = np.ones(len(rows), np.float32) if rows.weight is None else rows.weight
            rows = replace(rows, weight=np.where(held, np.float32(0), weight))
        if run.number == 0:
            self.telling.doubts.add(rows, self.settings, label_sets=piece.targets.multilabel)
        begin = 0
        while begin < len(rows):
            end = min(begin + self._portion(), len(rows))
            targets = piece.targets
            if end - begin < len(rows):
                targets = targets_of(rows[begin:end], targets.multilabel)
            self._learn_portion(rows[begin:end], targets, piece.numbers[begin:end])
            begin = end
            run.rows = self.before + piece.end - len(rows) + end
            if stop is not None and stop.requested:
                return

    def _portion(self) -> int:
        """Return how many rows to learn before looking up again."""
        if not self.learned:  # what is settled from the first rows is settled from all of them
            return 1 << 62
        models = max(1, self.clf.n_labels_)
        clf = classifier_of(self.clf)
        if hasattr(type(clf), "tree_"):
            models = _TREE * (getattr(clf, "n_trees", None) or 1)
        return min(PORTION, max(16, _MODELS // models))

    def _learn_portion(self, rows: Rows, targets: Targets, numbers: NDArray[np.int64]) -> None:
        clf, run = self.clf, self.run
        data = ", ".join(run.data)
        fitting = self.room.fitting(clf, rows, numbers, data, leave_out=run.skip_bad_lines)
        if fitting is not None:
            if not len(fitting):
                return
            rows, numbers = rows.take(fitting), numbers[fitting]
            targets = targets_of(rows, targets.multilabel)
        before = clf.progress_ if self.learned else Progress()
        try:
            clf.partial_fit(rows.X, targets, sample_weight=rows.weight, row_numbers=numbers)
            after = clf.progress_
            if run.holdout:
                run.held_out[0] += after.passed_over - before.passed_over
                run.held_out[1] += after.passed_over_errors - before.passed_over_errors
            if run.number:
                run.again[0] += after.examples - before.examples
                run.again[1] += after.errors - before.errors
            else:
                run.unlabelled += int(np.count_nonzero(np.diff(rows.labels.offsets) == 0))
                learned = rows if rows.weight is None else rows.take(np.flatnonzero(rows.weight))
                used, times = np.unique(learned.labels.ids, return_counts=True)
                labels = (rows.labels.vocabulary[i] for i in used.tolist())
                self.counts = add_counts(self.counts, self.clf, labels, times)
        finally:
            if run.number:  # what was learned before is no test
                clf.progress_ = before

    def _check_labels(self, piece: Piece) -> None:
        if self.learned:
            return
        if not len(piece.rows.labels.ids):
            raise ValueError(
                f"{', '.join(self.run.data)}: none of the first {len(piece.rows):,} rows has a "
                "label to learn; check the format and where it has the labels"
            )
        self.telling.doubts.tell_of_header(piece, self.settings, self.run.data[0])
        self.label_sets = piece.targets.multilabel
        clf = classifier_of(self.clf)
        if self.label_sets and not takes_sets(clf):
            able = [name for name in names() if takes_sets(estimator_class(name)())]
            several = np.diff(piece.rows.labels.offsets).max() > 1
            what = "rows have sets of labels" if several else "there are rows without a label"
            raise ValueError(
                f"{', '.join(self.run.data)}: {what}, which {name_of(type(clf))} does not "
                f"learn; give --algorithm {' or '.join(able)}, or rows of one label"
            )

    def save(self, *, final: bool = False) -> None:
        """Write the model and how far the run has come, both or neither."""
        notes = {
            "reader": self.settings,
            "label_counts": self.counts.tolist(),
            "run": self.run.note(),
        }
        attached: dict[str, NDArray[Any]] = {}
        if self.names is not None:
            indices, names = self.names.arrays()
            attached = {"feature_indices": indices, "feature_names": names}
        self.clf.save(self.model, notes=notes, attached=attached, exact=self.exact)
        if final:
            self.telling.saved(self.clf, self.run, self.model)


def require_algorithm(checkpoint: Path, algorithm: str) -> None:
    """Raise if another algorithm is asked for than the one that a model goes on with."""
    known = modelfile.read_header(checkpoint)["estimator"]
    if algorithm != DEFAULT_ALGORITHM and names().get(algorithm) != known:
        raise ValueError(
            f"{checkpoint}: the model goes on with its own algorithm; leave --algorithm out"
        )


def takes_sets(clf: OnlineClassifier) -> bool:
    """Tell whether rows may have sets of labels."""
    return clf._takes_sets


def _period(holdout: float) -> int:
    if not 0 <= holdout <= 0.5:
        raise ValueError(f"--holdout is {holdout}, expected a share from 0 to 0.5 such as 0.1")
    return round(1 / holdout) if holdout else 0
