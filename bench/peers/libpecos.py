"""libpecos: XR-Linear with its own defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import TOP, Peer, padded
from bench.prepared import Part


class Learner(Peer):
    """XR-Linear on a tree of clustered labels."""

    # What it needs for texts (torch and more, gigabytes) is not imported by its linear models.
    installs: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("--no-deps", "libpecos"),
        ("numpy<2", "scipy<1.14", "scikit-learn"),
    )
    distribution: ClassVar[str] = "libpecos"
    modules: ClassVar[tuple[str, ...]] = ("pecos.xmc", "pecos.xmc.xlinear.model", "scipy.sparse")
    algorithms: ClassVar[dict[str, str]] = {"xr_linear": "label_tree"}

    def read(self, folder: Path, part: str) -> Any:
        """Make the matrices, of rows of unit length, as its users do for sparse features."""
        data = Part.read(folder, part).unit()
        return data.csr(), data.indicator()

    def train(self, source: Any, path: Path) -> Any:  # noqa: ARG002
        """Cluster the labels and learn the models of the tree."""
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        X, Y = source
        threads = self.task.threads
        embedding = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=threads)
        clusters = Indexer.gen(embedding, threads=threads)
        return XLinearModel.train(X, Y, clusters, threads=threads)

    def save(self, model: Any, path: Path) -> None:
        """Write a folder."""
        model.save(str(path))

    def load(self, path: Path) -> Any:
        """Load the form that can only predict, which is quicker."""
        from pecos.xmc.xlinear.model import XLinearModel

        return XLinearModel.load(str(path), is_predict_only=True)

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Ask for the best labels of all rows."""
        return lambda: self.predict_one(model, source[0])

    def labels(self, answer: Any) -> NDArray[np.int64]:
        """Sort each row's labels by their scores."""
        rows = zip(answer.indptr[:-1], answer.indptr[1:], strict=True)
        return padded(
            [answer.indices[a:b][np.argsort(-answer.data[a:b], kind="stable")] for a, b in rows]
        )

    def predict_one(self, model: Any, row: Any) -> Any:
        """Ask for the best labels."""
        return model.predict(row, only_topk=TOP, threads=self.task.threads)
