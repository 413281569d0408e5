"""napkinxc: probabilistic label trees with its own defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.base import TOP, Peer
from bench.prepared import Part


class Learner(Peer):
    """PLT; single labels are sets of one."""

    installs: ClassVar[tuple[tuple[str, ...], ...]] = (("napkinxc",),)
    distribution: ClassVar[str] = "napkinxc"
    modules: ClassVar[tuple[str, ...]] = ("napkinxc.models", "scipy.sparse")
    algorithms: ClassVar[dict[str, str]] = {"plt": "label_tree"}

    def _model(self, path: Path) -> Any:
        from napkinxc.models import PLT

        return PLT(str(path), threads=self.task.threads, seed=0)

    def read(self, folder: Path, part: str) -> Any:
        """Make the matrix, of rows of unit length as it would by itself, and lists of labels."""
        data = Part.read(folder, part).unit()
        return data.csr(), data.label_sets()

    def train(self, source: Any, path: Path) -> Any:
        """Fit; the model is written to the path meanwhile."""
        model = self._model(path)
        model.fit(*source)

    def load(self, path: Path) -> Any:
        """Read the folder."""
        model = self._model(path)
        model.load()
        return model

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Ask for the best labels of all rows."""
        return lambda: self.predict_one(model, source[0])

    def predict_one(self, model: Any, row: Any) -> Any:
        """Ask for the best labels."""
        return model.predict(row, top_k=TOP)
