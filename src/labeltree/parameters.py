"""What the parameters of estimators may be, and the sentence that refuses what they are not.

The values that a parameter may have are told by a list, one of which must admit it: an `Interval`,
`StrOptions`, a type, None, or the name of a list that many parameters share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np


class InvalidParameterError(ValueError, TypeError):
    """A parameter is of a type, or has a value, that it may not have."""


@dataclass(frozen=True)
class Interval:
    """Numbers between two bounds; None is a bound that is infinite."""

    type: type[Any]  # Integral or Real
    low: float | None
    high: float | None
    closed: Literal["left", "right", "both", "neither"]

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, self.type):
            return False
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        above = value >= low if self.closed in ("left", "both") else value > low
        below = value <= high if self.closed in ("right", "both") else value < high
        return bool(above and below)

    def __str__(self) -> str:
        kind, number = ("an int", int) if self.type is Integral else ("a float", float)
        low = "-inf" if self.low is None else number(self.low)
        high = "inf" if self.high is None else number(self.high)
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        return f"{kind} in the range {opening}{low}, {high}{closing}"


@dataclass(frozen=True)
class StrOptions:
    """One of some strings."""

    options: set[str]

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


_SHARED: dict[str, list[Any]] = {
    "boolean": [bool, np.bool_],
    "random_state": [
        Interval(Integral, 0, 2**32 - 1, closed="both"),
        np.random.RandomState,
        None,
    ],
}


def admits(constraints: Sequence[Any], value: Any) -> bool:
    """Tell whether a value is what one of the constraints asks for."""
    return any(_is(value, constraint) for constraint in constraints)


def described(constraints: Sequence[Any]) -> str:
    """Return what the constraints ask for, in words."""
    each: list[str] = []
    for constraint in constraints:
        if isinstance(constraint, str):
            each += map(_word, _SHARED[constraint])
        else:
            each.append(_word(constraint))
    return " or ".join(filter(None, [", ".join(each[:-1]), each[-1]]))


def check(constraints: Mapping[str, Sequence[Any]], given: Mapping[str, Any], owner: str) -> None:
    """Raise if a parameter is not what it should be; those without constraints may be anything."""
    for name, value in given.items():
        if name in constraints and not admits(constraints[name], value):
            raise InvalidParameterError(
                f"The {name!r} parameter of {owner} must be {described(constraints[name])}. "
                f"Got {value!r} instead."
            )


def _is(value: Any, constraint: Any) -> bool:
    if constraint is None:
        return value is None
    if isinstance(constraint, str):
        return admits(_SHARED[constraint], value)
    if isinstance(constraint, type):
        return isinstance(value, constraint)
    return value in constraint


def _word(constraint: Any) -> str:
    if not isinstance(constraint, type):
        return str(constraint)
    names: dict[type, str] = {Integral: "int", Real: "float"}
    own = constraint.__qualname__
    module = constraint.__module__
    name = names.get(constraint, own if module == "builtins" else f"{module}.{own}")
    return f"an instance of {name!r}"
