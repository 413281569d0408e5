"""What decided a prediction: each part of what was predicted for is left out in turn.

This asks nothing of an algorithm but its predictions, so it is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

SHOWN = 15  # parts
TRIED = 500  # of them: each takes a prediction


class Part(NamedTuple):
    """A part, and what was predicted without it."""

    part: str
    change: float  # of the score of the best label
    best_without: Any  # the best label then


class Explanation(NamedTuple):
    """How something is predicted, and what decided it, most decisive first."""

    labels: list[tuple[Any, float]]
    parts: list[Part]


def explain(
    predict_topk: Callable[[Any, int], tuple[Any, Any]],
    whole: Any,
    parts: Sequence[str],
    without: Callable[[int], Any],
    k: int,
) -> Explanation:
    """Predict a row, and again without each of its parts.

    Parameters
    ----------
    predict_topk : callable
        Gives the best labels of rows, and their scores.
    whole : rows
        The row.
    parts : sequence of str
        What its parts are called.
    without : callable
        Gives the row without the part of a number.
    k : int
        How many labels to tell.

    Returns
    -------
    Explanation
        Of the parts, those that matter most.
    """
    labels, scores = predict_topk(whole, k)
    best = labels[0, 0]
    found = []
    for i, part in enumerate(parts):
        others, values = predict_topk(without(i), k)
        at = np.flatnonzero(others[0] == best)
        score = float(values[0, at[0]]) if len(at) else 0.0
        found.append(Part(part, score - float(scores[0, 0]), others[0, 0]))
    found.sort(key=lambda part: -abs(part.change))
    ranked = zip(labels[0].tolist(), scores[0].tolist(), strict=True)
    return Explanation([pair for pair in ranked if pair[0] is not None], found[:SHOWN])


def text_parts(text: str) -> tuple[list[str], Callable[[int], str]]:
    """Return words of a text, or characters where there are no spaces, and it without one."""
    words, joiner = text.split(), " "
    if len(words) < 2:
        words, joiner = list(text.strip()), ""
    return words[:TRIED], lambda i: joiner.join(words[:i] + words[i + 1 :])


def named_parts(
    row: Any, own: dict[int, str], kept: dict[int, str], *, all_kept: bool
) -> tuple[list[str], Callable[[int], Any]]:
    """Return the names of a row's features, and the row without one of them.

    Parameters
    ----------
    row : csr_matrix
        The row.
    own : dict of int to str
        What its features are called in it.
    kept : dict of int to str
        What features were called in training.
    all_kept : bool
        Whether those were all there were.
    """
    heaviest = np.sort(np.argsort(-np.abs(row.data), kind="stable")[:TRIED])
    parts = []
    for index in row.indices[heaviest].tolist():
        name = own.get(index, f"#{index}")
        if index not in kept:
            name += " (not met in training)" if all_kept else ""
        elif kept[index] != name:
            name += f" (hashed as {kept[index]} was)"
        parts.append(name)

    def without(i: int) -> Any:
        left = row.copy()
        left.data[heaviest[i]] = 0
        return left

    return parts, without
