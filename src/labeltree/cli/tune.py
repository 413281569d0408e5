"""``labeltree tune``: successive halving on progressive validation."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeltree.cli.algorithms import DEFAULT_ALGORITHM, Parameter, estimator_class, parameters
from labeltree.cli.checkpoint import Every, StopRequest, require_writable, seconds
from labeltree.cli.display import Display, Table
from labeltree.cli.reading import expand, pieces, prefetch
from labeltree.cli.training import Given, Training
from labeltree.data import stream
from labeltree.estimators import OnlineClassifier

# Memory and time, and a limit that hardly depends on the data.
_NOT_TUNED = {"bits", "layout", "min_gradient"}
_CHANGED = 0.5  # the share of its parameters in which a trial differs from the defaults


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
    seed: int = 0,
    table: Table | None = None,
) -> OnlineClassifier:
    """Try several settings of an algorithm on the same rows, and save the best model.

    All settings learn side by side from one reading of the data. The half with the larger
    progressive error is dropped again and again, at doubling amounts of data, or when the share
    of the budget is used up; every setting is judged on rows that it had not learned.

    Parameters
    ----------
    data, model, algorithm, format, reader_options, label_sets, skip_bad_lines
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
    table : Table, optional
        Where to show the trials.

    Returns
    -------
    OnlineClassifier
        The best, as it was saved.
    """
    limit = seconds(budget, "--budget")
    require_writable(model)
    table = table or Table(Display())
    given = Given(format, reader_options or {}, {})
    files = expand(data)
    candidates = []
    for number, setting in enumerate(settings(algorithm, fixed or {}, trials, seed)):
        training = Training(model, Every(), Display(), label_sets=label_sets)
        params = {"random_state": seed, **setting}
        training.start(estimator_class(algorithm), files, 1, 0.0, given._replace(params=params))
        training.clf._validate_params()  # before a byte is read
        training.run.skip_bad_lines = skip_bad_lines
        candidates.append(Trial(number, setting, training))
    try:
        with StopRequest() as stop:
            best, complete = _compete(candidates, limit, table, stop)
    finally:
        table.close()
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
        parameters=best.setting,
        command=command,
        complete=complete,
    )
    if stop.requested:
        raise KeyboardInterrupt
    return best.training.clf


def _compete(
    trials: list[Trial], limit: float, table: Table, stop: StopRequest
) -> tuple[Trial, bool]:
    """Let trials learn, and drop the worse half again and again.

    Returns the best, and whether it has learned all the data.
    """
    running = trials
    first = trials[0].training
    files = first.run.data
    rungs = math.ceil(math.log2(len(trials)))
    start = time.monotonic()
    complete = True
    skip = first.run.skip_bad_lines
    rows = stream(files, skip_bad_lines=skip, eager="-" in files, **first.settings)
    for piece in prefetch(pieces(rows, label_sets=first.label_sets)):
        spent = (time.monotonic() - start) / limit
        if piece is not None:
            for trial in running:
                trial.training.learn(piece, rows.vocabulary)
                trial.training.settings = dict(rows.settings)
            table.show([trial.row() for trial in trials])
            rung = rungs - math.ceil(math.log2(len(running)))
            enough = (piece.fraction or 0.0) >= (2 ** (rung + 1) - 1) / (2 ** (rungs + 1) - 1)
            if len(running) > 1 and (enough or spent >= (rung + 1) / (rungs + 1)):
                running = _better_half(running)
                table.show([trial.row() for trial in trials], settled=True)
        if spent >= 1 or stop.requested:
            complete = False
            break
    if not all(hasattr(trial.training.clf, "progress_") for trial in trials):
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
    setting: dict[str, Any]
    training: Training
    state: str = "learning"

    def error(self) -> float:
        """Return the progressive error so far."""
        return self.training.clf.progress_.error

    def row(self) -> dict[str, Any]:
        """Return what to show of the trial."""
        return {
            "trial": self.number,
            "examples": self.training.clf.progress_.examples,
            "error": self.error(),
            "state": self.state,
            "parameters": _options(self.setting) or "defaults",
        }

    def command(
        self, files: list[str], model: Path, algorithm: str, seed: int, given: Given
    ) -> str:
        """Return the command that trains this model again."""
        words = ["labeltree", "train", *files, "-m", str(model), "--algorithm", algorithm]
        words += shlex.split(_options(self.setting))
        if given.format != "auto":
            words += ["--format", given.format]
        for name, value in given.reader_options.items():
            text = "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [f"--{name.removeprefix('n_').replace('_', '-')}", text]
        if self.training.label_sets:
            words.append("--label-sets")
        if self.training.run.skip_bad_lines:
            words.append("--skip-bad-lines")
        return shlex.join([*words, "--seed", str(seed)])


def _better_half(running: list[Trial]) -> list[Trial]:
    ranked = sorted(running, key=Trial.error)
    kept = ranked[: (len(ranked) + 1) // 2]
    for trial in ranked[len(kept) :]:
        trial.state = "dropped"
        del trial.training.clf._learner  # the model's memory, not its record
    return [trial for trial in running if trial in kept]


def _options(setting: dict[str, Any]) -> str:
    words = []
    for name, value in setting.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", str(value)]
    return shlex.join(words)


def settings(algorithm: str, fixed: dict[str, Any], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the defaults, then settings near them, each different and each valid."""
    random = np.random.default_rng(seed)
    free = [p for p in parameters(algorithm) if p.name not in _NOT_TUNED and p.name not in fixed]
    estimator = estimator_class(algorithm)
    found: list[dict[str, Any]] = [dict(fixed)]
    for _ in range(100 * trials):
        if len(found) == trials:
            break
        drawn = {p.name: _draw(p, random) for p in free if random.random() < _CHANGED}
        setting = {**fixed, **{name: v for name, v in drawn.items() if v is not None}}
        try:
            estimator(**setting)._validate_params()
        except ValueError:  # outside what the estimator allows
            continue
        if setting not in found:
            found.append(setting)
    return found


def _draw(parameter: Parameter, random: np.random.Generator) -> Any:
    """Return a value near the default, None where there is nothing to go by."""
    default = parameter.default
    if parameter.choices:
        others = [word for word in parameter.choices if word != default and not word.isupper()]
        return str(random.choice(others)) if others else None
    if parameter.kind is bool:
        return not default
    if parameter.kind is float:
        factor = 2.0 ** random.uniform(-2, 2)
        if default == 0:
            return float(f"{factor / 8:.2g}")
        return float(f"{(1.0 if default is None else default) * factor:.2g}")
    if parameter.kind is int and default:
        return int(max(1, default * 2.0 ** random.integers(-1, 3)))
    return None
