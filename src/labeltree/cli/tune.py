"""``labeltree tune``: successive halving on progressive validation."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from labeltree.cli.algorithms import DEFAULT_ALGORITHM, estimator_class
from labeltree.cli.checkpoint import Every, StopRequest, seconds
from labeltree.cli.display import Display, Table
from labeltree.cli.outputs import require_model_output
from labeltree.cli.reading import Piece, expand, format_of, pieces, prefetch
from labeltree.cli.settings import Setting, settings, settings_of_text
from labeltree.cli.training import Given, Training
from labeltree.data import Stream, stream
from labeltree.estimators import OnlineClassifier


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
    label_sets: bool | None = None,
    skip_bad_lines: bool = False,
    shuffle: int | None = None,
    seed: int = 0,
    overwrite: bool = False,
    table: Table | None = None,
) -> OnlineClassifier:
    """Try several settings of an algorithm on the same rows, and save the best model.

    All settings learn side by side from one reading of the data; for text from three, as n-grams
    are tried too unless they are given. The half with the larger progressive error is dropped
    again and again, at doubling amounts of data, or when the share of the budget is used up; every
    setting is judged on rows that it had not learned. The defaults stay to the end, beside the
    best of the others.

    Parameters
    ----------
    data, model, algorithm, format, reader_options, label_sets, skip_bad_lines, shuffle
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
    OnlineClassifier
        The best, as it was saved.
    """
    limit = seconds(budget, "--budget")
    files = expand(data)
    require_model_output(model, files, overwrite=overwrite)
    table = table or Table(Display())
    given = Given(format, reader_options or {}, {})
    candidates = []
    tried = _settings(algorithm, files, given, fixed or {}, trials, seed)
    for number, setting in enumerate(tried):
        # What there is to say of the data is said once.
        training = Training(model, Every(), Display() if number else Notes(table))
        training.label_sets = label_sets
        own = given._replace(
            params={"random_state": seed, **setting.params},
            reader_options={**given.reader_options, **setting.reading},
        )
        training.start(estimator_class(algorithm), files, 1, 0.0, own, shuffle)
        training.clf._validate_params()  # before a byte is read
        training.run.skip_bad_lines = skip_bad_lines
        candidates.append(Trial(number, setting, training))
    try:
        with StopRequest() as stop:
            best, complete = _compete(candidates, limit, table, stop)
    finally:
        table.close()
    candidates[0].training.warn_of_runs()
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
        parameters=best.setting.params | best.setting.reading,
        command=command,
        complete=complete,
    )
    if stop.requested:
        raise KeyboardInterrupt
    return best.training.clf


def _settings(
    algorithm: str, files: list[str], given: Given, fixed: dict[str, Any], trials: int, seed: int
) -> list[Setting]:
    """Return what to try: how to read, too, if the data are text that can be read several times."""
    asked = {"word_ngrams", "char_ngrams"} & given.reader_options.keys()
    if not asked and "-" not in files and format_of(files, given.format) == "tsv":
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
    """One reading of the data, and the trials that learn from it."""

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
                        trial.training.learn(piece, self.rows.vocabulary)
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

    by_reading = sorted(trials, key=Trial.reading)
    readings = [Reading([*group]) for _, group in groupby(by_reading, Trial.reading)]
    try:
        while True:
            learned = [reading.learn(running, is_over) for reading in readings]
            first = learned[0]
            if first is None or None in learned:
                break
            table.show([trial.row() for trial in trials])
            rung = rungs - math.ceil(math.log2(len(running)))
            enough = (first.fraction or 0.0) >= (2 ** (rung + 1) - 1) / (2 ** (rungs + 1) - 1)
            if len(running) > 2 and (enough or spent() >= (rung + 1) / (rungs + 1)):
                running = _better_half(running)
                readings = [r for r in readings if _still(r, running)]
                table.show([trial.row() for trial in trials], settled=True)
            if is_over():
                break
        complete = all(reading.ended for reading in readings)
    finally:
        for reading in readings:
            reading.close()
    if not all(hasattr(trial.training.clf, "progress_") for trial in trials):
        if stop.requested:
            raise KeyboardInterrupt
        raise ValueError(f"{', '.join(files)}: no rows to learn from; give a file with rows")
    best = min(running, key=Trial.error)
    for trial in running:
        trial.state = "best" if trial is best else "dropped"
    table.show([trial.row() for trial in trials], settled=True)
    return best, complete


def _still(reading: Reading, running: list[Trial]) -> bool:
    """Tell whether any trial learns from a reading; close it if none does."""
    used = any(trial in running for trial in reading.trials)
    if not used:
        reading.close()
    return used


@dataclass(eq=False)
class Trial:
    """One setting and the model that learns with it."""

    number: int
    setting: Setting
    training: Training
    state: str = "learning"

    def error(self) -> float:
        """Return the progressive error so far."""
        return self.training.clf.progress_.error

    def reading(self) -> str:
        """Return how the trial's data are read, the same for trials that can share a reading."""
        return _options(self.setting.reading)

    def row(self) -> dict[str, Any]:
        """Return what to show of the trial."""
        return {
            "trial": self.number,
            "examples": self.training.clf.progress_.examples,
            "error": self.error(),
            "state": self.state,
            "parameters": _options(self.setting.reading | self.setting.params) or "defaults",
        }

    def command(
        self, files: list[str], model: Path, algorithm: str, seed: int, given: Given
    ) -> str:
        """Return the command that trains this model again."""
        words = ["labeltree", "train", *files, "-m", str(model), "--algorithm", algorithm]
        words += shlex.split(_options(self.setting.params))
        if given.format != "auto":
            words += ["--format", given.format]
        reader = given.reader_options | self.setting.reading
        words += shlex.split(_options({k.removeprefix("n_"): v for k, v in reader.items()}))
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
            trial.state = "dropped"
            del trial.training.clf._learner  # the model's memory, not its record
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
