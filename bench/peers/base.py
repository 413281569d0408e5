"""What a peer is to the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.prepared import PARTS, Part, Shape

TOP = 5  # labels asked for a row


@dataclass(frozen=True)
class Task:
    """What is to be learned, and how."""

    algorithm: str
    threads: int
    passes: int
    bits: int
    shape: Shape


class Peer:
    """A system that is measured, in its own process and environment.

    A subclass imports the system only inside its methods, because the command reads the class in
    an environment that does not have it. Timed are `read`, `train`, `load`, what `batch` returns,
    and `predict_one`; the rest is not.
    """

    # The arguments of each `pip install` that makes the environment; none means that the system
    # is in the environment that runs the command.
    installs: ClassVar[tuple[tuple[str, ...], ...]] = ()
    # What the system is called on the package index.
    distribution: ClassVar[str]
    # What the methods import: imported before anything is timed, and to check an installation.
    modules: ClassVar[tuple[str, ...]]
    # Each algorithm, and labeltree's that it is compared with.
    algorithms: ClassVar[dict[str, str]]
    # Which of "train" and "predict" start from a text file, so that their time has reading in it.
    from_text: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, task: Task) -> None:
        self.task = task

    @classmethod
    def refuses(cls, task: Task) -> str | None:  # noqa: ARG003
        """Return why the peer cannot do a task, or None."""
        return None

    def prepare(self, folder: Path) -> None:
        """Write files of the peer's own format beside the prepared data."""

    def read(self, folder: Path, part: str) -> Any:
        """Return what `train`, `batch` and `rows` take."""
        return Part.read(folder, part)

    def train(self, source: Any, path: Path) -> Any:
        """Return a model; some are written to the path meanwhile."""
        raise NotImplementedError

    def save(self, model: Any, path: Path) -> None:
        """Write a model, a file or a folder."""

    def load(self, path: Path) -> Any:
        """Return a model that can predict."""
        raise NotImplementedError

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Return a function that predicts all rows when it is called, once."""
        raise NotImplementedError

    def labels(self, answer: Any) -> NDArray[np.int64]:
        """Return the labels, best first, that the last call to a function of `batch` answered.

        One column if the peer gives one label a row, else `TOP`; -1 where it gave none.
        """
        return padded(answer)

    def rows(self, source: Any, count: int) -> list[Any]:
        """Return the first rows, each as `predict_one` takes it; here cut from a matrix."""
        X = source[0]
        return [X[row : row + 1] for row in range(min(count, X.shape[0]))]

    def predict_one(self, model: Any, row: Any) -> Any:
        """Predict one row, in the quickest public way from Python."""
        raise NotImplementedError


def padded(answers: Any, width: int = TOP) -> NDArray[np.int64]:
    """Return lists of label ids as an array, -1 where a list is short."""
    table = np.full((len(answers), width), -1, dtype=np.int64)
    for row, answer in zip(table, answers, strict=True):
        best = list(answer)[:width]
        row[: len(best)] = best
    return table


def best_columns(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of the `TOP` highest columns of each row, highest first."""
    count = min(TOP, scores.shape[1])
    best = np.argpartition(-scores, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return padded(np.take_along_axis(best, order, axis=1))


def write_text(folder: Path, suffix: str, lines: Callable[[Part], Iterator[str]]) -> None:
    """Write the lines of each part to ``PART.SUFFIX``, unless they are there."""
    for part in PARTS:
        path = folder / f"{part}.{suffix}"
        if not path.exists():
            beside = path.with_name(path.name + ".part")
            with open(beside, "w") as file:
                file.writelines(lines(Part.read(folder, part)))
            beside.replace(path)
