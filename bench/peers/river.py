"""river: logistic regression, one row at a time, in one pass as its users would."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.base import TOP, Peer, Task
from bench.prepared import Part


class Learner(Peer):
    """Softmax regression for single labels; a logistic regression a label for sets.

    Dense features are standardised as they come, as its guides do; sparse rows are of unit length.
    """

    installs: ClassVar[tuple[tuple[str, ...], ...]] = (("river",),)
    distribution: ClassVar[str] = "river"
    modules: ClassVar[tuple[str, ...]] = ("river.linear_model", "river.preprocessing")
    algorithms: ClassVar[dict[str, str]] = {"logistic": "label_tree"}

    @classmethod
    def refuses(cls, task: Task) -> str | None:
        """Say that it has no threads."""
        return "learns and predicts on one thread" if task.threads > 1 else None

    def read(self, folder: Path, part: str) -> Any:
        """Make a dict of each row, and a list of its labels."""
        data = Part.read(folder, part)
        if not data.shape.dense:
            data = data.unit()
        return [dict(data.pairs(row)) for row in range(len(data))], data.label_sets()

    def train(self, source: Any, path: Path) -> Any:  # noqa: ARG002
        """Learn each row once."""
        from river import linear_model, preprocessing

        rows = zip(*source, strict=True)
        if not self.task.shape.sets:
            model = linear_model.SoftmaxRegression()
            if self.task.shape.dense:
                model = preprocessing.StandardScaler() | model
            for x, (label,) in rows:
                model.learn_one(x, label)
            return model
        models = [linear_model.LogisticRegression() for _ in range(self.task.shape.labels)]
        for x, labels in rows:
            for label, model in enumerate(models):
                model.learn_one(x, label in labels)
        return models

    def save(self, model: Any, path: Path) -> None:
        """Write a pickle."""
        path.write_bytes(pickle.dumps(model))

    def load(self, path: Path) -> Any:
        """Read it."""
        return pickle.loads(path.read_bytes())

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Ask for one row after the other."""
        return lambda: [self.predict_one(model, x) for x in source[0]]

    def rows(self, source: Any, count: int) -> list[Any]:
        """Take rows as dicts."""
        return list(source[0][:count])

    def predict_one(self, model: Any, row: Any) -> Any:
        """Ask for all probabilities and keep the best labels."""
        if self.task.shape.sets:
            p = {label: one.predict_proba_one(row)[True] for label, one in enumerate(model)}
        else:
            p = model.predict_proba_one(row)
        return heapq.nlargest(TOP, p, key=p.__getitem__)
