"""scikit-learn: SGDClassifier, one-against-all, as many epochs as the others make passes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bench.peers.base import Peer, Task, best_columns
from bench.prepared import Part

MOST_BYTES = 2**32  # of coefficients, which are dense
ROWS = 1000  # scored at a time, each with a number a label


class Learner(Peer):
    """SGDClassifier with logistic loss; sets through OneVsRestClassifier.

    Dense features are standardised first, as its user guide advises.
    """

    installs: ClassVar[tuple[tuple[str, ...], ...]] = (("scikit-learn",),)
    distribution: ClassVar[str] = "scikit-learn"
    modules: ClassVar[tuple[str, ...]] = (
        "sklearn.linear_model",
        "sklearn.multiclass",
        "sklearn.pipeline",
        "sklearn.preprocessing",
        "scipy.sparse",
    )
    algorithms: ClassVar[dict[str, str]] = {"sgd": "one_against_all"}

    @classmethod
    def refuses(cls, task: Task) -> str | None:
        """Say what would take too much memory."""
        size = 8 * task.shape.labels * task.shape.features
        if size > MOST_BYTES:
            return f"its dense coefficients would take {size / 1e9:.1f} GB"
        return None

    def read(self, folder: Path, part: str) -> Any:
        """Make the matrices; sparse rows are of unit length, as its tf-idf makes them."""
        data = Part.read(folder, part)
        if not data.shape.dense:
            data = data.unit()
        return data.matrix(), data.indicator() if data.shape.sets else data.label

    def train(self, source: Any, path: Path) -> Any:  # noqa: ARG002
        """Fit."""
        import joblib
        from sklearn.linear_model import SGDClassifier
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        settings = {"loss": "log_loss", "max_iter": self.task.passes, "tol": None}
        if self.task.shape.sets:
            clf = OneVsRestClassifier(
                SGDClassifier(random_state=0, **settings), n_jobs=self.task.threads
            )
        else:
            clf = SGDClassifier(random_state=0, n_jobs=self.task.threads, **settings)
        if self.task.shape.dense:
            clf = make_pipeline(StandardScaler(), clf)
        with joblib.parallel_config(backend="threading"):  # memory stays in this process
            return clf.fit(*source)

    def save(self, model: Any, path: Path) -> None:
        """Write a pickle."""
        path.write_bytes(pickle.dumps(model))

    def load(self, path: Path) -> Any:
        """Read it."""
        return pickle.loads(path.read_bytes())

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Score some rows at a time and keep the best labels."""
        X = source[0]
        parts = range(0, X.shape[0], ROWS)
        return lambda: np.concatenate(
            [self.predict_one(model, X[begin : begin + ROWS]) for begin in parts]
        )

    def predict_one(self, model: Any, row: Any) -> Any:
        """Score all labels."""
        best = best_columns(model.decision_function(row))
        return np.where(best < 0, -1, model.classes_[best])
