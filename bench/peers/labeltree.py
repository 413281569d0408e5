"""labeltree: the estimators, default settings but for threads, and the bits Vowpal Wabbit gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import TOP, Peer, Task, padded

ESTIMATORS = {
    "label_tree": "LabelTreeClassifier",
    "recall_tree": "RecallTreeClassifier",
    "lom_tree": "LOMTreeClassifier",
    "probability_tree": "ProbabilityTreeClassifier",
    "one_against_all": "OneAgainstAllClassifier",
    "ldsm": "LdSMClassifier",
}
SAME_BITS = ("recall_tree", "lom_tree", "one_against_all")
OWN_PASSES = ("label_tree", "ldsm")  # as many as they choose by themselves
ONE_LABEL = ("recall_tree", "lom_tree")


class Learner(Peer):
    """labeltree, as it is installed beside the command."""

    distribution: ClassVar[str] = "labeltree"
    modules: ClassVar[tuple[str, ...]] = ("labeltree.data", "labeltree.estimators")
    algorithms: ClassVar[dict[str, str]] = {name: name for name in ESTIMATORS}

    @classmethod
    def refuses(cls, task: Task) -> str | None:
        """Say what is made for the other kind of labels."""
        if task.algorithm in ONE_LABEL and task.shape.sets:
            return "learns one label a row, not sets"
        if task.algorithm == "ldsm" and not task.shape.sets:
            return "is made for sets of labels"
        return None

    def read(self, folder: Path, part: str) -> Any:
        """Read the text file, as the peers that start from text do."""
        from labeltree.data import load

        data = load(folder / f"{part}.txt", format="xmc", n_features=self.task.shape.features)
        return (data.X.toarray() if self.task.shape.dense else data.X), data.y

    def train(self, source: Any, path: Path) -> Any:  # noqa: ARG002
        """Fit the estimator."""
        from labeltree import estimators

        settings = {"random_state": 0, "n_jobs": self.task.threads}
        if self.task.algorithm not in OWN_PASSES:
            settings["passes"] = self.task.passes
        if self.task.algorithm == "label_tree":
            settings["learn_jobs"] = self.task.threads
        if self.task.algorithm in SAME_BITS:
            settings["bits"] = self.task.bits
        return getattr(estimators, ESTIMATORS[self.task.algorithm])(**settings).fit(*source)

    def save(self, model: Any, path: Path) -> None:
        """Write one file."""
        model.save(path)

    def load(self, path: Path) -> Any:
        """Read it."""
        import labeltree

        return labeltree.load(path).set_params(n_jobs=self.task.threads)

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Ask for the best labels of all rows."""
        return lambda: model.predict_topk(source[0], k=TOP)[0]

    def labels(self, answer: Any) -> NDArray[np.int64]:
        """Take the labels; None where the tree's leaf knew fewer."""
        return padded([[label for label in row if label is not None] for row in answer.tolist()])

    def rows(self, source: Any, count: int) -> list[Any]:
        """Take dense rows as arrays, others as their columns and values."""
        cut = super().rows(source, count)
        return [row[0] if self.task.shape.dense else (row.indices, row.data) for row in cut]

    def predict_one(self, model: Any, row: Any) -> Any:
        """Ask for the best labels of a row."""
        return model.predict_one(row, k=TOP)
