"""vowpalwabbit: its own text format and cache, logistic loss, other settings its defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import Peer, Task, best_columns, write_text
from bench.prepared import Part

OPTIONS = {"recall_tree": "--recall_tree", "lom_tree": "--log_multi", "one_against_all": "--oaa"}


class Learner(Peer):
    """Vowpal Wabbit through its Python package; files are read by the native parser.

    Single labels are numbered from 1, those of sets from 0, as its reductions want them. Of single
    labels it gives the best; of sets, in a batch, the probability of every label, and for a row
    alone those above one half.
    """

    installs: ClassVar[tuple[tuple[str, ...], ...]] = (("vowpalwabbit", "numpy"),)
    distribution: ClassVar[str] = "vowpalwabbit"
    modules: ClassVar[tuple[str, ...]] = ("vowpalwabbit",)
    algorithms: ClassVar[dict[str, str]] = {name: name for name in OPTIONS}
    from_text: ClassVar[frozenset[str]] = frozenset({"train", "predict"})

    @classmethod
    def refuses(cls, task: Task) -> str | None:
        """Say what it has no reduction or threads for."""
        if task.threads > 1:
            return "learns and predicts on one thread (one more reads the file)"
        if task.shape.sets and task.algorithm != "one_against_all":
            return "learns one label a row, not sets"
        return None

    def prepare(self, folder: Path) -> None:
        """Write the rows as its text."""
        write_text(folder, "vw", lines)

    def read(self, folder: Path, part: str) -> Any:
        """Leave reading to the native parser."""
        return folder / f"{part}.vw"

    def train(self, source: Any, path: Path) -> Any:
        """Make the passes, the first over the text and the others over the cache."""
        from vowpalwabbit import Workspace

        task = self.task
        option = "--multilabel_oaa" if task.shape.sets else OPTIONS[task.algorithm]
        Workspace(
            f"--quiet -d {source} --cache_file {path}.cache -k --passes {task.passes} "
            f"--holdout_off {option} {task.shape.labels} --loss_function logistic "
            f"-b {task.bits} -f {path}"
        ).finish()

    def load(self, path: Path) -> Any:
        """Load for single rows; the batch is read by a workspace of its own."""
        from vowpalwabbit import Workspace

        return path, Workspace(f"--quiet -t -i {path}")

    def batch(self, model: Any, source: Any) -> Callable[[], Any]:
        """Load the model, and return what reads and predicts a file."""
        from vowpalwabbit import Workspace

        path, _ = model
        answers = path.with_name("predictions")
        ranks = ""
        if self.task.shape.sets:
            # Version 9.11 does not clear the probabilities of an example's place in the queue
            # when the next row takes it, and repeats the old ones: each row needs its own place.
            with open(source) as file:
                ranks = f"--probabilities --ring_size {1 + sum(1 for _ in file)}"
        # A file named without -d is read when `run_parser` is called, not at once.
        workspace = Workspace(f"--quiet -t -i {path} -p {answers} {ranks} {source}")

        def run() -> Path:
            workspace.run_parser()
            workspace.finish()
            return answers

        return run

    def labels(self, answer: Any) -> NDArray[np.int64]:
        """Read the file of predictions: a label, or ``label:probability`` for all labels."""
        with open(answer) as file:
            rows = [line for line in file if line.strip()]
        if not self.task.shape.sets:
            return np.array([[int(float(line)) - 1] for line in rows])
        scores = [[float(pair.partition(":")[2]) for pair in line.split()] for line in rows]
        return best_columns(np.array(scores))

    def rows(self, source: Any, count: int) -> list[Any]:
        """Take the text of a row, without its labels."""
        with open(source) as file:
            found = [line.partition("|")[2] for line, _ in zip(file, range(count), strict=False)]
        return [f"|{features.rstrip()}" for features in found]

    def predict_one(self, model: Any, row: Any) -> Any:
        """Predict a line of text."""
        return model[1].predict(row)


def lines(part: Part) -> Iterator[str]:
    first = 0 if part.shape.sets else 1
    for row, labels in enumerate(part.label_sets()):
        names = ",".join(str(label + first) for label in labels)
        features = " ".join(f"{column}:{value:.6g}" for column, value in part.pairs(row))
        yield f"{names} | {features}\n"
