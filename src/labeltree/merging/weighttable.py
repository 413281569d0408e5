"""Tables of weights: those of several models of one numbering, averaged row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]
Floats = NDArray[np.float32]

_RELAXED = np.float32(2**0.5)  # how much further than the average weights move without sums
_TOGETHER = 1 << 14  # rows of tables: what is worked on at once stays in the cache


def average(
    states: Sequence[State],
    base: State | None,
    shares: Sequence[float],
    *,
    name: str,
    lane: int,
    has_sums: bool,
) -> State:
    """Average tables of weights, where all models have the same numbers.

    A weight moves from that of the base by the moves of all, weighted by how much its gradient
    sum grew in each. Without sums, it moves by the average of those that moved it, times the root
    of two: over-relaxation, which is stable below two, where the plain average learns too slowly.

    Parameters
    ----------
    states : sequence of dict
        Each with the arrays `name` and ``name + "_row"``, as learners save tables.
    base : dict, optional
        The state that all went on from; none if they were trained apart.
    shares : sequence of float
        How much each counts where they were trained apart and there are no sums.
    name : str
        Of the table.
    lane : int
        How many weights of a row have their sums behind them.
    has_sums : bool
        Whether there are any.

    Returns
    -------
    dict
        The same two arrays.
    """
    row = f"{name}_row"
    size = lane * (1 + has_sums)
    every = states if base is None else [*states, base]
    rows = union([state[row] for state in every])
    merged = np.zeros((len(rows), size), dtype=np.float32)
    places = [np.searchsorted(rows, state[row]) for state in every]
    for begin in range(0, len(rows), _TOGETHER):
        end = min(begin + _TOGETHER, len(rows))
        parts = []
        for state, place in zip(every, places, strict=True):
            part = np.zeros((end - begin, size), dtype=np.float32)
            first, last = np.searchsorted(place, [begin, end])
            part[place[first:last] - begin] = state[name].reshape(-1, size)[first:last]
            parts.append(part)
        if base is None:
            merged[begin:end] = _apart(parts, lane, shares)
        else:
            merged[begin:end] = _together(parts[:-1], parts[-1], lane)
    used = merged.any(axis=1)
    return {name: merged[used].ravel(), row: rows[used]}


def largest(states: Sequence[State], name: str) -> State:
    """Return the largest of each entry of tables that have one in a row."""
    row = f"{name}_row"
    rows = union([state[row] for state in states])
    most = np.zeros(len(rows), dtype=np.float32)
    for state in states:
        at = np.searchsorted(rows, state[row])
        most[at] = np.maximum(most[at], state[name])
    return {name: most, row: rows}


def union(rows: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return all numbers of rising arrays, each once."""
    every = np.concatenate(rows).astype(np.uint64)
    every.sort(kind="stable")  # merges what rises already; np.unique takes ten times as long
    new = np.ones(len(every), dtype=bool)
    np.not_equal(every[1:], every[:-1], out=new[1:])
    return every[new]


def _together(parts: Sequence[Floats], base: Floats, lane: int) -> Floats:
    """Move weights by the moves of all, weighted by how much gradient sums grew."""
    old = base[:, :lane]
    moves = [part[:, :lane] - old for part in parts]
    added, movers = sum(moves), sum((move != 0).astype(np.float32) for move in moves)
    plain = old + added / np.maximum(1, movers / _RELAXED)
    if base.shape[1] == lane:
        return np.asarray(plain)
    grown = [np.maximum(part[:, lane:] - base[:, lane:], 0) for part in parts]
    new = np.asarray(sum(grown))
    merged = np.where(new > 0, old + _averaged(moves, grown), plain)
    return np.concatenate([merged, base[:, lane:] + new], axis=1)


def _apart(parts: Sequence[Floats], lane: int, shares: Sequence[float]) -> Floats:
    """Average weights by gradient sums, or by the shares of the tables that have them."""
    weights = [part[:, :lane] for part in parts]
    share = [np.float32(s) * (w != 0) for s, w in zip(shares, weights, strict=True)]
    if parts[0].shape[1] == lane:
        return _averaged(weights, share)
    sums = [part[:, lane:] for part in parts]
    total = np.asarray(sum(sums))
    mean = np.where(total > 0, _averaged(weights, sums), _averaged(weights, share))
    return np.concatenate([mean, total], axis=1)


def _averaged(weights: Sequence[Floats], share: Sequence[Floats]) -> Floats:
    total = np.asarray(sum(share))
    mean = np.asarray(sum(s * w for s, w in zip(share, weights, strict=True)))
    np.divide(mean, total, out=mean, where=total > 0)
    return mean
