"""omikuji: a forest of three label trees, Parabel with its own defaults, or like Bonsai's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.base import TOP, Peer, write_text
from bench.prepared import Part

# What differs from the defaults: for Bonsai, what omikuji's README measures under that name.
SETTINGS: dict[str, dict[str, Any]] = {
    "parabel": {},
    "bonsai": {"cluster_k": 100, "cluster_balanced": False, "max_depth": 3},
}


def lines(part: Part) -> Iterator[str]:
    """Yield the header and a line a row."""
    yield f"{len(part)} {part.shape.features} {part.shape.labels}\n"
    rows = part.unit()
    for row, labels in enumerate(part.label_sets()):
        pairs = " ".join(f"{column}:{value:.7g}" for column, value in rows.pairs(row))
        yield f"{','.join(map(str, labels))} {pairs}\n"


class Learner(Peer):
    """The Python package learns from a file and predicts one row a call."""

    installs: ClassVar[tuple[tuple[str, ...], ...]] = (("omikuji", "numpy"),)
    distribution: ClassVar[str] = "omikuji"
    modules: ClassVar[tuple[str, ...]] = ("omikuji",)
    algorithms: ClassVar[dict[str, str]] = {"parabel": "label_tree"}
    from_text: ClassVar[frozenset[str]] = frozenset({"train"})

    def prepare(self, folder: Path) -> None:
        """Write rows of unit length in the format of the Extreme Classification Repository."""
        write_text(folder, "unit", lines)

    def read(self, folder: Path, part: str) -> Any:
        """Name the file to learn; take rows to predict apart."""
        if part == "train":
            return folder / "train.unit"
        data = Part.read(folder, part).unit()
        return [data.pairs(row) for row in range(len(data))]

    def train(self, source: Any, path: Path) -> Any:  # noqa: ARG002
        """Read the file and grow the trees."""
        import omikuji

        settings = omikuji.Model.default_hyper_param()
        for name, value in SETTINGS[self.task.algorithm].items():
            setattr(settings, name, value)
        return omikuji.Model.train_on_data(str(source), settings, n_threads=self.task.threads)

    def save(self, model: Any, path: Path) -> None:
        """Write a folder."""
        model.save(str(path))

    def load(self, path: Path) -> Any:
        """Read it."""
        import omikuji

        model = omikuji.Model.load(str(path))
        model.init_prediction_thread_pool(self.task.threads)
        return model

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Ask for one row after the other: the package has no call for many."""
        return lambda: [self.predict_one(model, row) for row in source]

    def labels(self, answer: Any) -> Any:
        """Drop the scores."""
        return super().labels([[label for label, _ in row] for row in answer])

    def rows(self, source: Any, count: int) -> list[Any]:
        """Take rows as pairs of column and value."""
        return list(source[:count])

    def predict_one(self, model: Any, row: Any) -> Any:
        """Ask for the best labels of a row."""
        return model.predict(row, top_k=TOP)
