"""Merging as it is defined: one weight at a time."""

from __future__ import annotations


def average(parts: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Average (weight, gradient sum, share) of models trained apart."""
    total = sum(g for _, g, _ in parts)
    if total > 0:
        return sum(g * w for w, g, _ in parts) / total, total
    shares = [(w, share) for w, _, share in parts if w != 0]
    if not shares:
        return 0.0, 0.0
    return sum(w * s for w, s in shares) / sum(s for _, s in shares), 0.0


def go_on(base: tuple[float, float], parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Move a weight from where all began by what each has moved it."""
    weight, total = base
    grown = sum(g - total for _, g in parts)
    if grown > 0:
        return weight + sum((g - total) * (w - weight) for w, g in parts) / grown, total + grown
    return weight + sum(w - weight for w, _ in parts) / len(parts), total


def dense_models(state, labels: int, features: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Read the dense table of a state: (label, feature) -> (weight, gradient sum)."""
    stride = (features + 16) // 16 * 16
    read = {}
    for position, label in enumerate(state["weights_row"].tolist()):
        row = state["weights"][position * 2 * stride : (position + 1) * 2 * stride]
        for feature in range(features + 1):
            read[label, feature] = float(row[feature]), float(row[stride + feature])
    return {
        (label, feature): read.get((label, feature), (0.0, 0.0))
        for label in range(labels)
        for feature in range(features + 1)
    }
