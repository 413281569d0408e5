"""Squared loss against the arity of a tree whose nodes are PECOC."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.papers import pictures
from bench.papers.claims import Cell, Criterion, Experiment, Found, Table
from bench.papers.estimates import published, true_probability
from bench.papers.measures import seconds
from bench.papers.sources import Parts, Source
from labeltree import ProbabilityTreeClassifier


class Arity(Experiment):
    """Squared loss against the regressors that are asked."""

    name = "cpt-arity"
    of = "Curve of Section 3.2: regret bound against computation"
    claim = (
        "A tree of arity k, of nodes with PECOC, asks (k - 1) log_k n regressors, and the factor "
        "on their squared error, "
        "4 (log_k n)² ((k - 1) / k)², falls from (log2 n)² to 4: more computation buys a better "
        "bound."
    )
    setting = (
        "Balanced trees, one pass; squared loss on the test rows, and the regressors asked, on "
        "average over them. As published, formula (4) is taken as it is and may leave [0, 1]. "
        '"Shares" is the same with estimates lifted above zero and made to sum to one, as the '
        "defaults do, which besides learn by logistic loss."
    )
    remark = (
        "The more children a node has, the more it costs to lift negative estimates and to make "
        "all sum to one: with the very same regressors, the gain of a larger arity is lost."
    )
    sets = ("glyph1000", "hypernym")
    arities = (2, 4, 16, 64, 256, 1024)
    kinds = ("published", "shares", "default")
    most = 500  # regressors that a data set with more than 2,000 labels is tried with

    def cells(self, source: Source) -> Iterator[Cell]:
        for name in self.sets:
            many = len(np.unique(source.parts(name).y)) > 2000
            for arity in self.arities:
                if not (many and arity > self.most):
                    for kind in self.kinds:
                        yield (
                            f"{name}/{kind}/{arity}",
                            lambda name=name, kind=kind, arity=arity: self.learned(
                                source.parts(name), kind, arity
                            ),
                        )

    def learned(self, parts: Parts, kind: str, arity: int) -> dict[str, Any]:
        common = {"tree": "balanced", "arity": arity, "passes": 1}
        if kind != "default":
            estimates = "formula" if kind == "published" else kind
            clf = published(parts.X, parts.y, estimates=estimates, **common)
        else:
            clf = ProbabilityTreeClassifier(**common, random_state=0)
        training, _ = seconds(clf.fit, parts.X, parts.y)
        asking, p = seconds(true_probability, clf, parts.X_test, parts.y_test)
        shape = clf.tree_
        depth = float(np.average(shape.depths[shape.leaves], weights=shape.weight[shape.leaves]))
        labels = int(clf.n_labels_)
        return {
            "loss": float(((1 - p.astype(float)) ** 2).mean()),
            "asked": (arity - 1) * depth,
            "bound": 4 * (math.log(labels) / math.log(arity)) ** 2 * ((arity - 1) / arity) ** 2,
            "train": training,
            "test": 1e6 * asking / len(p),
        }

    def runs(self, found: Found, name: str, kind: str) -> dict[int, dict[str, Any]]:
        return {
            arity: found[cell]
            for arity in self.arities
            if (cell := f"{name}/{kind}/{arity}") in found
        }

    def criteria(self, found: Found) -> list[Criterion]:
        listed = []
        for name in self.sets:
            runs = self.runs(found, name, "published")
            first, best = runs[2]["loss"], min(runs, key=lambda arity: runs[arity]["loss"])
            listed.append(
                Criterion(
                    f"{name}: the loss falls from {first:.3f} at arity 2 to "
                    f"{runs[best]['loss']:.3f} at "
                    f"{best}, and is {runs[max(runs)]['loss']:.3f} at {max(runs)}",
                    runs[max(runs)]["loss"] < first,
                )
            )
            listed.append(
                Criterion(
                    f"{name}: it falls all the way: "
                    + ", ".join(f"{run['loss']:.3f}" for run in runs.values()),
                    all(b["loss"] <= a["loss"] for a, b in itertools.pairwise(runs.values())),
                )
            )
        return listed

    def tables(self, found: Found) -> list[Table]:
        rows = [
            [
                "data",
                "arity",
                "regressors asked",
                "factor of the bound",
                *(f"loss, {kind}" for kind in self.kinds),
                "s to train",
                "µs a row",
            ]
        ]
        for name in self.sets:
            for arity, run in self.runs(found, name, "published").items():
                losses = [self.runs(found, name, kind)[arity]["loss"] for kind in self.kinds]
                rows.append(
                    [
                        name,
                        str(arity),
                        f"{run['asked']:.0f}",
                        f"{run['bound']:.1f}",
                        *(f"{value:.4f}" for value in losses),
                        f"{run['train']:.1f}",
                        f"{run['test']:.1f}",
                    ]
                )
        return [rows]

    def draw(self, found: Found) -> Any:
        def curve(name: str, kind: str, what: str) -> tuple[list[float], list[float]]:
            runs = self.runs(found, name, kind).values()
            return [run["asked"] for run in runs], [run[what] for run in runs]

        losses = {
            f"{name}, {kind}": curve(name, kind, "loss")
            for name in self.sets
            for kind in ("published", "shares")
        }
        bounds = {name: curve(name, "published", "bound") for name in self.sets}
        return pictures.lines(
            [("squared loss", losses), ("factor of the bound (paper)", bounds)],
            "regressors asked",
            "",
            log="x",
        )

    def line(self, found: Found) -> str:
        return "; ".join(
            f"{name}: loss "
            + ", ".join(
                f"{run['loss']:.3f} (arity {arity})"
                for arity, run in self.runs(found, name, "published").items()
                if arity in (2, 16, max(self.runs(found, name, "published")))
            )
            for name in self.sets
        )
