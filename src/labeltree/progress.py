"""Progressive validation: every example is predicted before it is learned."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ProgressRow(NamedTuple):
    """Progressive error at one point of the stream."""

    examples: int
    error: float
    recent_error: float


@dataclass
class Progress:
    """How a learner fared on each example before it learned from it.

    The error is an honest estimate of the error on new examples, free of charge, as long as no
    example is seen twice; ``fit`` therefore counts its first pass only.

    Attributes
    ----------
    examples : int
        Number of labelled examples counted.
    errors : int
        Number of those whose predicted label was wrong (for label sets: not in the set).
    checkpoints : list of (examples, errors)
        The counts at 1, 2, 4, 8, ... examples.
    squared_loss_sum : float
        The sum of ``(1 - P(y | x)) ** 2`` over them, where the learner estimates probabilities.
    passed_over, passed_over_errors : int
        Number of labelled examples of weight zero, which are predicted but never learned, and of
        those whose predicted label was wrong.

    Examples
    --------
    >>> import numpy as np
    >>> progress = Progress()
    >>> progress.add(np.array([True, True, False, True, False]))
    >>> progress.error
    0.6
    >>> progress.history[-1]
    ProgressRow(examples=4, error=0.75, recent_error=0.5)
    """

    examples: int = 0
    errors: int = 0
    checkpoints: list[tuple[int, int]] = field(default_factory=list)
    squared_loss_sum: float | None = None
    passed_over: int = 0
    passed_over_errors: int = 0

    def add(self, wrong: NDArray[np.bool_], probability: NDArray[np.float32] | None = None) -> None:
        """Count some examples, in order; ``wrong`` tells which were predicted wrongly."""
        if probability is not None:
            # One after the other, so that the sum does not depend on batches.
            losses = (1.0 - probability.astype(np.float64)) ** 2
            start = self.squared_loss_sum or 0.0
            self.squared_loss_sum = float(np.cumsum([start, *losses])[-1])
        errors = self.errors + np.cumsum(wrong, dtype=np.int64)
        end = self.examples + len(wrong)
        mark = 1 << self.examples.bit_length()
        while mark <= end:
            self.checkpoints.append((mark, int(errors[mark - self.examples - 1])))
            mark *= 2
        self.examples = end
        self.errors = int(errors[-1]) if len(wrong) else self.errors

    def pass_over(self, wrong: NDArray[np.bool_]) -> None:
        """Count some examples of weight zero; ``wrong`` tells which were predicted wrongly."""
        self.passed_over += len(wrong)
        self.passed_over_errors += int(wrong.sum())

    @property
    def error(self) -> float:
        """Share of the examples so far that were predicted wrongly; nan before the first."""
        return self.errors / self.examples if self.examples else float("nan")

    @property
    def squared_loss(self) -> float:
        """Mean of ``(1 - P(y | x)) ** 2``; nan if the learner estimates no probabilities."""
        if self.squared_loss_sum is None or not self.examples:
            return float("nan")
        return self.squared_loss_sum / self.examples

    @property
    def history(self) -> list[ProgressRow]:
        """Error since the start and since the previous row, at doubling numbers of examples."""
        rows = []
        examples, errors = 0, 0
        for n, e in self.checkpoints:
            rows.append(ProgressRow(n, e / n, (e - errors) / (n - examples)))
            examples, errors = n, e
        return rows


class Meter:
    """A line on standard error that is written over and over while `fit` goes through its rows.

    Parameters
    ----------
    passes, rows : int
        How often `fit` goes through how many rows.
    verbose : int
        Whether to show anything: 0 shows nothing, and leaves passes whole.
    """

    PARTS = 20  # of a pass, after each of which the line is written anew
    TOGETHER = 64  # rows that the core looks up at once: parts end where these do
    WIDTH = 24

    def __init__(self, passes: int, rows: int, verbose: int) -> None:
        self._total = passes * rows
        self._verbose = verbose > 0
        self._done = 0
        self._start = time.monotonic()

    def parts(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Cut a pass into parts that are learned one after the other."""
        if not self._verbose:
            return [order]
        ends = len(order) * np.arange(1, self.PARTS) // self.PARTS
        ends = ends // self.TOGETHER * self.TOGETHER
        return [part for part in np.split(order, ends) if len(part)]

    def advance(self, rows: int, progress: Progress) -> None:
        """Show that so many more rows were learned."""
        self._done += rows
        if self._verbose:
            seconds = max(time.monotonic() - self._start, 1e-9)
            filled = self.WIDTH * self._done // self._total
            left = seconds * (self._total - self._done) / self._done
            error = f", error {progress.error:.4f}" if progress.examples else ""
            print(
                f"\r{self._done / self._total:4.0%} |{'█' * filled:<{self.WIDTH}}| "
                f"{self._done:,}/{self._total:,} rows, {self._done / seconds:,.0f} a second, "
                f"{left:.0f} s left{error} ",
                end="\n" if self._done == self._total else "",
                file=sys.stderr,
                flush=True,
            )
