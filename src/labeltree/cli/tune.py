"""``labeltree tune``: successive halving on progressive validation."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeltree.algorithms import DEFAULT_ALGORITHM, estimator_class
from labeltree.cli.display import Display, Table
from labeltree.cli.settings import Setting, settings, settings_of_text
from labeltree.data import Stream, stream
from labeltree.data.formats import FORMATS
from labeltree.estimators import OnlineClassifier, TextClassifier
from labeltree.progress import Progress
from labeltree.runs.outputs import require_model_output
from labeltree.runs.reading import Piece, expand, format_of, pieces, prefetch
from labeltree.runs.run import Every, StopRequest, seconds
from labeltree.runs.training import Given, Training

# What options of the readers are called on the command line.
_OPTIONS = {
    "n_features": "features",
    "label": "label_column",
    "text": "text_column",
    "weight": "weight_column",
}


def tune(
    data: Sequence[str],
    model: Path,
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    fixed: dict[str, Any] | None = None,
    budget: str = "10m",
    trials: int = 8,
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    text_options: dict[str, Any] | None = None,
    label_sets: bool | None = None,
    skip_bad_lines: bool = False,
    shuffle: int | None = None,
    seed: int = 0,
    overwrite: bool = False,
    table: Table | None = None,
) -> OnlineClassifier | TextClassifier:
    """Try several settings of an algorithm on the same rows, and save the best model.

    All settings learn side by side from one reading of the data. Of text other features are tried
    too, unless they are given. The half with the larger progressive error is dropped
    again and again, at doubling amounts of data, or when the share of the budget is used up; every
    setting is judged on rows that it had not learned. The defaults stay to the end, beside the
    best of the others.

    Parameters
    ----------
    data, model, algorithm, format, reader_options, text_options
        As for `labeltree.cli.train.train`.
    label_sets, skip_bad_lines, shuffle
        As for `labeltree.cli.train.train`.
    fixed : dict, optional
        Parameters that are not to be tuned.
    budget : str
        How long to try, as in 90s, 10m or 1h.
    trials : int
        How many settings to start with: the defaults, and others drawn at random. Each has a
        model of its own in memory.
    seed : int
        Seed of the draws, and of the learners.
    overwrite : bool
        As for `labeltree.cli.train.train`.
    table : Table, optional
        Where to show the trials.

    Returns
    -------
    OnlineClassifier or TextClassifier
        The best, as it was saved.
    """
    limit = seconds(budget, "--budget")
    files = expand(data)
    require_model_output(model, files, overwrite=overwrite)
    table = table or Table(Display())
    given = Given(format, reader_options or {}, {}, text_options or {})
    candidates = []
    tried = _settings(algorithm, files, given, fixed or {}, trials, seed)
    for number, setting in enumerate(tried):
        # What there is to say of the data is said once.
        training = Training(model, Every(), Display() if number else Notes(table))
        training.label_sets = label_sets
        own = given._replace(
            params={"random_state": seed, **setting.params},
            text_options={**given.text_options, **setting.text},
        )
        training.start(estimator_class(algorithm), files, 1, 0.0, own, shuffle)
        training.use_threads(None)  # before a byte is read
        training.run.skip_bad_lines = skip_bad_lines
        candidates.append(Trial(number, setting, training))
    try:
        with StopRequest() as stop:
            best, complete = _compete(candidates, limit, table, stop)
    finally:
        table.close()
    first = candidates[0].training
    first.telling.tell_doubts(first.run, first.settings)
    if complete:
        best.training.run.next_pass()
    best.training.save()
    command = best.command(files, model, algorithm, seed, given)
    rest = f"; labeltree train --resume {model} learns the rest of the data"
    table.note(
        f"the best model is in {model}{'' if complete else rest}\nto train it again: {command}",
        event="best",
        path=str(model),
        error=best.error(),
        parameters=best.setting.params | best.setting.text,
        command=command,
        complete=complete,
    )
    if stop.requested:
        raise KeyboardInterrupt
    return best.training.clf


def _settings(
    algorithm: str, files: list[str], given: Given, fixed: dict[str, Any], trials: int, seed: int
) -> list[Setting]:
    """Return what to try: other features, too, if the data are text."""
    asked = {"word_ngrams", "char_ngrams"} & given.text_options.keys()
    if not asked and FORMATS[format_of(files, given.format)].is_text:
        return settings_of_text(algorithm, fixed, trials, seed)
    return [Setting(params, {}) for params in settings(algorithm, fixed, trials, seed)]


class Notes(Display):
    """Shows sentences beside a table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def note(self, text: str, **values: Any) -> None:
        """Show a sentence; JSON shows the values instead."""
        self._table.note(text, **values)


@dataclass(eq=False)
class Reading:
    """The reading of the data from which all trials learn."""

    trials: list[Trial]
    rows: Stream = field(init=False)
    ended: bool = False
    _pieces: Generator[Piece | None] = field(init=False)

    def __post_init__(self) -> None:
        first = self.trials[0].training
        run = first.run
        eager = "-" in run.data
        self.rows = stream(
            run.data, skip_bad_lines=run.skip_bad_lines, eager=eager, **first.settings
        )
        cut = pieces(self.rows, label_sets=first.label_sets, shuffle=run.shuffled_by(0))
        self._pieces = prefetch(cut)

    def learn(self, running: list[Trial], is_over: Callable[[], bool]) -> Piece | None:
        """Let the trials that are running learn a piece; None if there is none, or no time."""
        for piece in self._pieces:
            if piece is not None:
                for trial in self.trials:
                    if trial in running:
                        trial.training.learn(piece)
                        trial.training.settings = dict(self.rows.settings)
                return piece
            if is_over():
                return None
        self.ended = True
        return None

    def close(self) -> None:
        """Read no more."""
        self._pieces.close()


def _compete(
    trials: list[Trial], limit: float, table: Table, stop: StopRequest
) -> tuple[Trial, bool]:
    """Let trials learn, and drop the worse half again and again.

    Returns the best, and whether it has learned all the data.
    """
    running = trials
    files = trials[0].training.run.data
    rungs = math.ceil(math.log2(len(trials)))
    start = time.monotonic()

    def spent() -> float:
        return (time.monotonic() - start) / limit

    def is_over() -> bool:
        return stop.requested or spent() >= 1

    reading = Reading(trials)
    try:
        while True:
            piece = reading.learn(running, is_over)
            if piece is None:
                break
            table.show([trial.row() for trial in trials])
            rung = rungs - math.ceil(math.log2(len(running)))
            enough = (piece.fraction or 0.0) >= (2 ** (rung + 1) - 1) / (2 ** (rungs + 1) - 1)
            if len(running) > 2 and (enough or spent() >= (rung + 1) / (rungs + 1)):
                running = _better_half(running)
                table.show([trial.row() for trial in trials], settled=True)
            if is_over():
                break
        complete = reading.ended
    finally:
        reading.close()
    if not all(trial.dropped or trial.training.learned for trial in trials):
        if stop.requested:
            raise KeyboardInterrupt
        raise ValueError(f"{', '.join(files)}: no rows to learn from; give a file with rows")
    best = min(running, key=Trial.error)
    for trial in running:
        trial.state = "best" if trial is best else "dropped"
    table.show([trial.row() for trial in trials], settled=True)
    return best, complete


@dataclass(eq=False)
class Trial:
    """One setting and the model that learns with it."""

    number: int
    setting: Setting
    training: Training
    state: str = "learning"
    dropped: Progress | None = None  # how far it was

    @property
    def progress(self) -> Progress:
        """How well it predicts, so far."""
        return self.dropped or self.training.clf.progress_

    def error(self) -> float:
        """Return the progressive error so far."""
        return self.progress.error

    def drop(self) -> None:
        """Give up, and with it the model's memory."""
        self.dropped = self.progress
        self.state = "dropped"
        del self.training.clf

    def row(self) -> dict[str, Any]:
        """Return what to show of the trial."""
        return {
            "trial": self.number,
            "examples": self.progress.examples,
            "error": self.error(),
            "state": self.state,
            "parameters": _options(self.setting.text | self.setting.params) or "defaults",
        }

    def command(
        self, files: list[str], model: Path, algorithm: str, seed: int, given: Given
    ) -> str:
        """Return the command that trains this model again."""
        words = ["labeltree", "train", *files, "-m", str(model), "--algorithm", algorithm]
        words += shlex.split(_options(self.setting.params))
        if given.format != "auto":
            words += ["--format", given.format]
        named = {_OPTIONS.get(name, name): v for name, v in given.reader_options.items()}
        words += shlex.split(_options(named | given.text_options | self.setting.text))
        if self.training.label_sets:
            words.append("--label-sets")
        if self.training.run.skip_bad_lines:
            words.append("--skip-bad-lines")
        if self.training.run.shuffle:
            words += ["--shuffle", str(self.training.run.shuffle)]
        return shlex.join([*words, "--seed", str(seed)])


def _better_half(running: list[Trial]) -> list[Trial]:
    """Drop the worse half, but never the defaults: whoever wins is better than they are."""
    ranked = sorted(running, key=Trial.error)
    kept = ranked[: (len(ranked) + 1) // 2]
    if running[0] not in kept:
        kept[-1] = running[0]
    for trial in running:
        if trial not in kept:
            trial.drop()
    return [trial for trial in running if trial in kept]


def _options(values: dict[str, Any]) -> str:
    words = []
    for name, value in values.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            text = "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [f"--{option}", text]
    return shlex.join(words)
