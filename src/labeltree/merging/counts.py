"""What adds up: counts of rows, labels and features, and what probabilities were borne out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree.merging.weighttable import State, largest

NUMBERS = ("examples", "total_weight", "total_norm", "sought", "found", "documents")


def add(name: str, states: Sequence[State], base: State | None) -> NDArray[Any]:
    """Return the sum of an array; of what all have from a base, once."""
    first = states[0][name]
    total = sum(state[name].astype(np.float64) for state in states)
    if base is not None:
        total = total - (len(states) - 1) * base[name].astype(np.float64)
    return np.asarray(np.maximum(total, 0)).astype(first.dtype)


def add_by_label(
    name: str, states: Sequence[State], ids: Sequence[NDArray[np.int64]], labels: int
) -> NDArray[Any]:
    """Return the sum of an array with an entry a label, where labels have other ids in each."""
    total = np.zeros(labels, dtype=np.float64)
    for state, own in zip(states, ids, strict=True):
        total[own] += state[name]
    return total.astype(states[0][name].dtype)


def of_rows(states: Sequence[State], base: State | None) -> State:
    """Return what is known of rows, whatever learns from them: how many, and their features."""
    merged = {name: add(name, states, base) for name in NUMBERS if name in states[0]}
    merged.update(largest(states, "largest"))
    if "document_places" in states[0]:
        merged.update(_documents(states, base))
        merged["counting"] = states[0]["counting"]
    return merged


def _documents(states: Sequence[State], base: State | None) -> State:
    every = [(state, 1) for state in states]
    if base is not None:
        every.append((base, 1 - len(states)))
    places = np.concatenate([state["document_places"] for state, _ in every])
    counts = np.concatenate(
        [state["document_counts"].astype(np.int64) * sign for state, sign in every]
    )
    found, at = np.unique(places, return_inverse=True)
    total = np.bincount(at, counts, minlength=len(found)).astype(np.int64)
    kept = total > 0
    return {
        "document_places": found[kept].astype(np.uint32),
        "document_counts": total[kept].astype(np.uint32),
    }


def of_probabilities(states: Sequence[State], base: State | None) -> State:
    """Return the curves of a label tree's probabilities, made of what all have seen."""
    merged: State = {}
    for prefix in ("best_", "others_"):
        if f"{prefix}curve" not in states[0]:
            continue
        shares = np.array([float(state[f"{prefix}examples"][0]) for state in states])
        shares = shares / shares.sum() if shares.any() else np.full(len(states), 1 / len(states))
        curves = [state[f"{prefix}curve"] for state in states]
        merged[f"{prefix}curve"] = np.average(curves, axis=0, weights=shares)
        merged[f"{prefix}examples"] = add(f"{prefix}examples", states, base)
        next_fit = [state[f"{prefix}next_fit"] for state in states]
        merged[f"{prefix}next_fit"] = np.max(next_fit, axis=0)
        stated = add(f"{prefix}stated", states, base)
        merged[f"{prefix}stated"] = stated
        merged[f"{prefix}right"] = np.minimum(add(f"{prefix}right", states, base), stated)
    return merged
