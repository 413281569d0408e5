"""fasttext: the supervised model with its own defaults, but no word is too rare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from bench.peers.base import TOP, Peer, Task, write_text
from bench.prepared import Part

LABEL = "__label__"


class Learner(Peer):
    """Each feature that is present is a word; its value is lost.

    Hierarchical softmax for single labels, one-against-all for sets.
    """

    installs: ClassVar[tuple[tuple[str, ...], ...]] = (("fasttext-wheel", "numpy<2"),)
    distribution: ClassVar[str] = "fasttext-wheel"
    modules: ClassVar[tuple[str, ...]] = ("fasttext",)
    algorithms: ClassVar[dict[str, str]] = {"supervised": "label_tree"}
    from_text: ClassVar[frozenset[str]] = frozenset({"train"})

    @classmethod
    def refuses(cls, task: Task) -> str | None:
        """Say that it takes words only."""
        if task.shape.dense:
            return "learns from words; dense rows would lose their values"
        return None

    def prepare(self, folder: Path) -> None:
        """Write the rows as words."""
        write_text(folder, "words", lines)

    def read(self, folder: Path, part: str) -> Any:
        """Name the file to learn; take rows to predict without their labels."""
        path = folder / f"{part}.words"
        if part == "train":
            return path
        with open(path) as file:
            return [" ".join(w for w in line.split() if not w.startswith(LABEL)) for line in file]

    def train(self, source: Any, path: Path) -> Any:  # noqa: ARG002
        """Read the file and learn."""
        import fasttext

        return fasttext.train_supervised(
            input=str(source),
            loss="ova" if self.task.shape.sets else "hs",
            minCount=1,
            thread=self.task.threads,
            seed=0,
            verbose=0,
        )

    def save(self, model: Any, path: Path) -> None:
        """Write one file."""
        model.save_model(str(path))

    def load(self, path: Path) -> Any:
        """Read it."""
        import fasttext

        fasttext.FastText.eprint = lambda *_: None  # a warning about its own older versions
        return fasttext.load_model(str(path))

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Ask for the best labels of all rows."""
        return lambda: model.predict(source, k=TOP)[0]

    def labels(self, answer: Any) -> Any:
        """Read the ids in the names."""
        return super().labels([[int(n.removeprefix(LABEL)) for n in row] for row in answer])

    def rows(self, source: Any, count: int) -> list[Any]:
        """Take rows of words."""
        return list(source[:count])

    def predict_one(self, model: Any, row: Any) -> Any:
        """Ask for the best labels of a row."""
        return model.predict(row, k=TOP)


def lines(part: Part) -> Iterator[str]:
    for row, labels in enumerate(part.label_sets()):
        names = [f"{LABEL}{label}" for label in labels]
        yield " ".join([*names, *(f"w{column}" for column, _ in part.pairs(row))]) + "\n"
