"""The toy run of LOMtree's supplement, by Algorithm 1 and by the core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bench.papers.claims import Cell, Criterion, Experiment, Found, Table
from bench.papers.sources import Source
from labeltree import LOMTreeClassifier


class Step(NamedTuple):
    """One example at the root: its label, E and e of the label before it, and where it goes."""

    label: int
    overall: float
    own: float
    right: bool


def replay(labels: tuple[int, ...]) -> list[Step]:
    """Return what Algorithm 1 does at the root if scores are 1 or -1 and always learned at once.

    The root is a leaf until a second label comes: the first example trains nothing.
    """
    sums: dict[int, float] = {}
    counts: dict[int, int] = {}
    steps = []
    for label in labels[1:]:
        overall = sum(sums.values()) / max(1, sum(counts.values()))
        own = sums.get(label, 0.0) / max(1, counts.get(label, 0))
        right = not overall - own > 0
        steps.append(Step(label, overall, own, right))
        sums[label] = sums.get(label, 0.0) + (1 if right else -1)
        counts[label] = counts.get(label, 0) + 1
    return steps


def replay_core(labels: tuple[int, ...]) -> list[Step]:
    """Return what the core does, with one feature a label and steps that learn a row at once."""
    # With this value all scores come out as 1 or -1 exactly, so that ties are ties.
    rows = 2 * np.eye(max(labels) + 1, dtype=np.float32)
    clf = LOMTreeClassifier.published(
        loss="squared", step=1000.0, scale="none", layout="dense", max_nodes=1, min_gradient=0.0
    )
    steps = []
    for number, label in enumerate(labels):
        overall, own = root_means(clf, label) if number else (0.0, 0.0)
        clf.partial_fit(rows[[label]], [label])
        if number:
            right = clf.tree_.path(rows[[label]])[-1] == clf._learner.state()["right"][0]
            steps.append(Step(label, overall, own, bool(right)))
    return steps


def root_means(clf: LOMTreeClassifier, label: int) -> tuple[float, float]:
    """Return the mean score of all examples at the root, and that of a label's."""
    state = {name: np.asarray(array) for name, array in clf._learner.state().items()}
    overall = state["score_sum"][0] / max(1.0, state["score_weight"][0])
    position = int(clf.label_ids([label])[0])
    place = np.flatnonzero(state["node_label"] == position) if position >= 0 else []
    if len(place) == 0:
        return float(overall), 0.0
    weight = max(1.0, state["label_score_weight"][place[0]])
    return float(overall), float(state["label_score_sum"][place[0]] / weight)


class Toy(Experiment):
    """The toy run of the supplement."""

    name = "lomtree-figure-4"
    of = "Figure 4 (supplement, Section 13): the first examples at the root"
    claim = (
        "With scores of 1 and -1, the first label goes right (E - e = 0), the second left (E - e "
        "= 1), and so on: the root "
        "soon splits four labels in a pure and balanced way."
    )
    setting = (
        "Rows of one feature a label, squared loss and steps so large that a row is learned at "
        "once; beside the core runs "
        "Algorithm 1 with scores of exactly 1 and -1. In Algorithm 1 a node is a leaf until it "
        "has seen two labels, so one "
        "example of another label goes before the figure's first."
    )
    labels = (0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0)

    def cells(self, source: Source) -> Iterator[Cell]:  # noqa: ARG002
        yield "core", lambda: [list(step) for step in replay_core(self.labels)]

    def criteria(self, found: Found) -> list[Criterion]:
        steps = [Step(*step) for step in found["core"]]
        expected = replay(self.labels)
        same = sum(
            a.right == b.right and abs(a.overall - b.overall) + abs(a.own - b.own) < 1e-5
            for a, b in zip(steps, expected, strict=True)
        )
        first, second = steps[0], steps[1]
        sides = {
            label: {step.right for step in steps if step.label == label} for label in self.labels
        }
        right = sum(True in side for side in sides.values())
        return [
            Criterion(
                f"E - e is {first.overall - first.own:.0f} at the first label, which goes "
                f"{'right' if first.right else 'left'}, and {second.overall - second.own:.0f} at "
                "the second, "
                f"which goes {'right' if second.right else 'left'}",
                first.right and not second.right and abs(second.overall - second.own - 1) < 1e-5,
            ),
            Criterion(
                f"{same} of {len(expected)} steps are those of Algorithm 1", same == len(expected)
            ),
            Criterion(
                f"each label stays on one side, {right} of {len(sides)} of them right",
                all(len(side) == 1 for side in sides.values()) and 2 * right == len(sides),
            ),
        ]

    def tables(self, found: Found) -> list[Table]:
        rows = [["label", "E", "e of the label", "goes"]]
        for step in map(Step._make, found["core"]):
            rows.append(
                [
                    str(step.label),
                    f"{step.overall:.2f}",
                    f"{step.own:.2f}",
                    "right" if step.right else "left",
                ]
            )
        return [rows]

    def line(self, found: Found) -> str:
        return f"{len(found['core'])} steps of the core, as Algorithm 1 prints them"
