"""Progressive validation: every example is predicted before it is learned."""

from __future__ import annotations

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

    def add(self, wrong: NDArray[np.bool_]) -> None:
        """Count some examples, in order; ``wrong`` tells which were predicted wrongly."""
        errors = self.errors + np.cumsum(wrong, dtype=np.int64)
        end = self.examples + len(wrong)
        mark = 1 << self.examples.bit_length()
        while mark <= end:
            self.checkpoints.append((mark, int(errors[mark - self.examples - 1])))
            mark *= 2
        self.examples = end
        self.errors = int(errors[-1]) if len(wrong) else self.errors

    @property
    def error(self) -> float:
        """Share of the examples so far that were predicted wrongly; nan before the first."""
        return self.errors / self.examples if self.examples else float("nan")

    @property
    def history(self) -> list[ProgressRow]:
        """Error since the start and since the previous row, at doubling numbers of examples."""
        rows = []
        examples, errors = 0, 0
        for n, e in self.checkpoints:
            rows.append(ProgressRow(n, e / n, (e - errors) / (n - examples)))
            examples, errors = n, e
        return rows
