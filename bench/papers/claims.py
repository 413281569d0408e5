"""What a paper claims, how it is tried here, and the verdict that follows from the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bench.papers.sources import Source

Found = dict[str, Any]  # what was measured, by the name of a cell; goes to JSON
Cell = tuple[str, Callable[[], Any]]
Table = list[list[str]]  # its first row is the heading


class Verdict(StrEnum):
    """How a claim fared."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold"
    UNTRIED = "cannot be tried"


class Criterion(NamedTuple):
    """A part of a claim as a sentence with figures, and whether these bear it out."""

    text: str
    holds: bool


def verdict(criteria: Sequence[Criterion]) -> Verdict:
    """All criteria hold, some, or none; without any, nothing could be tried."""
    if not criteria:
        return Verdict.UNTRIED
    held = sum(criterion.holds for criterion in criteria)
    if held == len(criteria):
        return Verdict.HOLDS
    return Verdict.PARTLY if held else Verdict.FAILS


def each(
    names: Sequence[str], holds: Callable[[str], bool], say: Callable[[str], str], of: str = ""
) -> Criterion:
    """Return one criterion out of the same comparison on several data sets: it must hold on all."""
    text = "; ".join(map(say, names))
    return Criterion(f"{of}: {text}" if of else text, all(map(holds, names)))


class Experiment:
    """A table or figure of a paper.

    What it measures is cut into cells, which are saved one by one and measured once.
    """

    name: ClassVar[str]
    of: ClassVar[str]  # the table or figure, and its page
    claim: ClassVar[str]  # what the paper says of it
    setting: ClassVar[str]  # what was run here, on what
    remark: ClassVar[str] = ""  # what is to be said of the result
    key: ClassVar[str] = ""  # the name of the experiment that measures the same, if not this one

    @property
    def measured_as(self) -> str:
        """The name under which the measurements are kept."""
        return self.key or self.name

    def cells(self, source: Source) -> Iterator[Cell]:
        """Yield what is to be measured: a name, and a function that returns the figures."""
        raise NotImplementedError

    def criteria(self, found: Found) -> list[Criterion]:
        """Return what must hold for the claim to hold."""
        raise NotImplementedError

    def tables(self, found: Found) -> list[Table]:
        """Return the figures measured, beside the paper's."""
        raise NotImplementedError

    def draw(self, found: Found) -> Figure | None:  # noqa: ARG002
        """Draw the figures measured, beside the paper's; nothing by default."""
        return None

    def line(self, found: Found) -> str:
        """Return the result in a line."""
        raise NotImplementedError

    def measure(self, source: Source, found: Found, keep: Callable[[], None]) -> None:
        """Measure the cells that were not found yet."""
        for name, figures in self.cells(source):
            if name not in found:
                found[name] = figures()
                keep()


@dataclass(frozen=True)
class Untried:
    """A table or figure that cannot be tried here, and why."""

    name: str
    of: str
    claim: str
    why: str


@dataclass(frozen=True)
class Paper:
    """A paper, what is to be said about trying it, and what was tried of it."""

    name: str
    title: str
    introduction: str
    experiments: tuple[Experiment | Untried, ...]
