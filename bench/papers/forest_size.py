"""LdSM against the number of trees, and of their nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bench.ldsm import SETTINGS
from bench.papers import pictures
from bench.papers.claims import Cell, Criterion, Experiment, Found, Table
from bench.papers.forests import AT, NEAR, SETS, SPLITS, Grades, grades, measured, text
from bench.papers.sources import Parts, Source
from labeltree import LdSMClassifier, merge


class Figure4(Experiment):
    """Measures against the number of trees."""

    name = "ldsm-figure-4"
    of = "Figures 4 and 6 (supplement): precision and nDCG against the number of trees"
    claim = (
        "Precision and nDCG grow with the trees and level off; an ensemble is far ahead of one "
        "tree."
    )
    setting = (
        "The settings chosen on a hold-out. Trees are grown once and added to the forest one "
        "after the other, so that each forest holds the smaller ones. To level off is to gain less "
        "than a quarter of all in the second half of the trees. The paper's figures are only in "
        "its picture."
    )
    sets = ("bibtex", "delicious_xc")
    counts = (1, 2, 5, 10, 20, 30, 50)
    settings: Mapping[str, dict[str, Any]] = SETTINGS

    def cells(self, source: Source) -> Iterator[Cell]:
        for name in self.sets:
            yield name, lambda name=name: self.grown(name, source.parts(name))

    def grown(self, name: str, parts: Parts) -> dict[str, Grades]:
        setting = dict(self.settings[SETS[name]]) | {"n_trees": max(self.counts)}
        found: dict[str, Grades] = {}
        before, forest = 0, None
        for count in self.counts:
            more = LdSMClassifier(**setting, random_state=0)
            more.fit_trees(parts.X, parts.y, range(before, count))
            forest = merge([forest, more], same_rows=True) if forest else more
            before = count
            found[str(count)] = grades(parts, forest.predict_topk(parts.X_test, k=max(AT))[0])
        return found

    def criteria(self, found: Found) -> list[Criterion]:
        listed = []
        for name in self.sets:
            p = [found[name][str(count)]["P"] for count in self.counts]
            gain = p[-1][0] - p[0][0]
            half = self.counts.index(max(c for c in self.counts if c <= max(self.counts) / 2))
            late = p[-1][0] - p[half][0]
            listed += [
                Criterion(
                    f"{SPLITS[name]}: P@1 {p[0][0]:.1f} with one tree, {p[-1][0]:.1f} with "
                    f"{self.counts[-1]}",
                    gain > 0,
                ),
                Criterion(
                    f"{SPLITS[name]}: {late:+.1f} of these {gain:.1f} points come from "
                    f"{self.counts[half]} trees on",
                    late < gain / 4,
                ),
            ]
        return listed

    def tables(self, found: Found) -> list[Table]:
        rows = [["trees", *(f"{SPLITS[name]}, {of}" for name in self.sets for of in ("P", "nDCG"))]]
        for count in self.counts:
            cells = [
                text(found[name][str(count)][of]) for name in self.sets for of in ("P", "nDCG")
            ]
            rows.append([str(count), *cells])
        return [rows]

    def draw(self, found: Found) -> Any:
        panels = [
            (
                SPLITS[name],
                {
                    f"{of}@{k}": (
                        self.counts,
                        [found[name][str(count)][of][i] for count in self.counts],
                    )
                    for of, i, k in (
                        ("P", 0, 1),
                        ("P", 1, 3),
                        ("P", 2, 5),
                        ("nDCG", 1, 3),
                        ("nDCG", 2, 5),
                    )
                },
            )
            for name in self.sets
        ]
        return pictures.lines(panels, "trees", "%", log="x")

    def line(self, found: Found) -> str:
        return "; ".join(
            f"{SPLITS[name]}: P@1 {found[name][str(self.counts[0])]['P'][0]:.1f} with one tree, "
            f"{found[name][str(self.counts[-1])]['P'][0]:.1f} with {self.counts[-1]}"
            for name in self.sets
        )


class Figure5(Experiment):
    """Measures against the number of nodes."""

    name = "ldsm-figure-5"
    of = "Figure 5 (supplement): precision and nDCG against the number of nodes and the depth"
    claim = "Precision and nDCG grow with the nodes of a tree, and depth grows slowly with them."
    setting = (
        "The settings chosen on a hold-out, with 10 trees; trees may have ever more nodes. A point "
        "below the best still counts as grown, and four more levels for four times the nodes as "
        "slow. The paper goes up to 64,000 nodes (Bibtex) and 32,000 (Delicious); its figures are "
        "only in its picture."
    )
    sets = ("bibtex", "delicious_xc")
    nodes = (20, 60, 200, 600, 2000, 6000)
    trees = 10
    settings: Mapping[str, dict[str, Any]] = SETTINGS

    def cells(self, source: Source) -> Iterator[Cell]:
        for name in self.sets:
            for most in self.nodes:
                setting = dict(self.settings[SETS[name]]) | {
                    "n_trees": self.trees,
                    "max_nodes": most,
                }
                yield (
                    f"{name}/{most}",
                    lambda setting=setting, name=name: measured(
                        LdSMClassifier(**setting, random_state=0), source.parts(name)
                    ),
                )

    def criteria(self, found: Found) -> list[Criterion]:
        listed = []
        for name in self.sets:
            runs = [found[f"{name}/{most}"] for most in self.nodes]
            p = [run["grades"]["P"][0] for run in runs]
            best = int(np.argmax(p))
            drop = p[best] - p[-1]
            grown = math.log(self.nodes[-1] / self.nodes[0])
            listed += [
                Criterion(
                    f"{SPLITS[name]}: P@1 grows from {p[0]:.1f} ({self.nodes[0]} nodes) to "
                    f"{p[best]:.1f} "
                    f"({self.nodes[best]:,}) and is {p[-1]:.1f} at the end",
                    best > 0 and drop <= NEAR,
                ),
                Criterion(
                    f"{SPLITS[name]}: depth grows from {runs[0]['depth']} to {runs[-1]['depth']}, "
                    f"{(runs[-1]['depth'] - runs[0]['depth']) / (grown / math.log(4)):.1f} levels "
                    "for four times the nodes",
                    runs[-1]["depth"] <= 4 * grown / math.log(4) + runs[0]["depth"],
                ),
            ]
        return listed

    def tables(self, found: Found) -> list[Table]:
        rows = [
            [
                "nodes",
                *(f"{SPLITS[name]}, {of}" for name in self.sets for of in ("P", "nDCG", "depth")),
            ]
        ]
        for most in self.nodes:
            cells = []
            for name in self.sets:
                run = found[f"{name}/{most}"]
                cells += [text(run["grades"]["P"]), text(run["grades"]["nDCG"]), str(run["depth"])]
            rows.append([f"{most:,}", *cells])
        return [rows]

    def draw(self, found: Found) -> Any:
        panels = [
            (
                SPLITS[name],
                {
                    of: (self.nodes, [figure(found[f"{name}/{most}"]) for most in self.nodes])
                    for of, figure in (
                        ("P@1", lambda run: run["grades"]["P"][0]),
                        ("P@5", lambda run: run["grades"]["P"][2]),
                        ("nDCG@5", lambda run: run["grades"]["nDCG"][2]),
                        ("depth", lambda run: run["depth"]),
                    )
                },
            )
            for name in self.sets
        ]
        return pictures.lines(panels, "nodes of a tree, at most", "%; levels", log="x")

    def line(self, found: Found) -> str:
        return "; ".join(
            f"{SPLITS[name]}: P@1 "
            + ", ".join(f"{found[f'{name}/{most}']['grades']['P'][0]:.1f}" for most in self.nodes)
            for name in self.sets
        )
