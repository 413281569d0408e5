"""``labeltree demo``: the first two minutes, on data that every machine has."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeltree.algorithms import DEFAULT_ALGORITHM, estimator_class, parameters
from labeltree.cli.display import Table, make_table, table_text
from labeltree.datasets import stdlib_functions
from labeltree.estimators import TextClassifier
from labeltree.runs.outputs import require_writable

BATCH = 1000
BASELINE = "one-against-all"
BASELINE_SHARE = 5  # the baseline learns one example in so many: its cost grows with the labels
BASELINE_SECONDS = 30.0
ALGORITHMS = list(
    dict.fromkeys([DEFAULT_ALGORITHM, "probability-tree", "recall-tree", "lom-tree"])
)[:3]
QUESTIONS = [
    "parse a date and time",
    "open a socket and listen for connections",
    "compress bytes with gzip",
    "send an email message",
    "read rows of a CSV file",
    "draw a button in a window",
]


@dataclass
class Learner:
    """One of the learners that run side by side."""

    name: str
    clf: TextClassifier
    goal: int
    seconds_allowed: float = float("inf")
    learned: int = 0
    seconds: float = 0.0
    busy: bool = False

    @property
    def done(self) -> bool:
        """Whether there is nothing more to learn, or no more time."""
        return self.learned >= self.goal or self.seconds > self.seconds_allowed

    def learn(self, X: Any, y: Any) -> None:
        """Learn a batch, and see how long that takes."""
        start = time.perf_counter()
        self.clf.partial_fit(X, y)
        self.seconds += time.perf_counter() - start
        self.learned += len(y)

    def row(self) -> dict[str, Any]:
        """Return what to show of the learner."""
        started = self.learned > 0
        return {
            "learner": self.name,
            "examples": self.learned,
            "labels": self.clf.n_labels_ if started else 0,
            "examples/s": int(self.learned / max(self.seconds, 1e-9)),
            "error": self.clf.progress_.error if started else 0.0,
        }

    def result(self) -> dict[str, Any]:
        """Return what to show of the learner at the end."""
        return {**self.row(), "memory (MB)": round(self.clf.nbytes_ / 1e6)}


def demo(
    examples: int = 50_000, folder: Path = Path("labeltree-demo"), *, seed: int = 0
) -> list[Learner]:
    """Learn in which module of the standard library a function stands, and ask questions.

    Three trees learn side by side with one-against-all, which stops early: its cost per example
    grows with the number of labels.

    Parameters
    ----------
    examples : int
        How many functions to learn, at most.
    folder : Path
        Where to write the model and the plot; made if it is not there.
    seed : int
        Seed of the learners.

    Returns
    -------
    list of Learner
        The learners, the baseline last.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder}: this is not a folder; name another with --folder")
    require_writable(folder.resolve())  # beside it: the folder itself may have to be made
    texts, labels = stdlib_functions(examples, random_state=seed)
    examples = len(texts)  # the standard library may have fewer
    starts = range(0, examples, BATCH)
    batches = [(texts[i : i + BATCH], labels[i : i + BATCH]) for i in starts]
    print(
        f"From the text of {examples:,} functions of Python {sys.version.split()[0]}'s standard "
        f"library to the {len(set(labels)):,} modules they stand in.\nThe error is progressive: "
        "each function is predicted before it is learned, and may be of a new module.\n",
        file=sys.stderr,
    )
    learners = _learners(examples, seed)
    table = make_table(transient=True)
    try:
        _run(learners, batches, table)
    finally:
        table.close()
    print(table_text([learner.result() for learner in learners]))
    print(
        f"\n{BASELINE} stopped after {learners[-1].learned:,} examples: its cost for each example "
        "grows with the labels.\n\nWhich module is it? The three best guesses of each:\n"
    )
    print(table_text(_answers(learners)))
    _keep(learners, folder)
    return learners


def _learners(examples: int, seed: int) -> list[Learner]:
    trees = [Learner(name, _make(name, seed), examples) for name in ALGORITHMS]
    share = examples // BASELINE_SHARE
    return [*trees, Learner(BASELINE, _make(BASELINE, seed), share, BASELINE_SECONDS)]


def _make(algorithm: str, seed: int) -> TextClassifier:
    bits = {"bits": 24} if any(p.name == "bits" for p in parameters(algorithm)) else {}
    estimator: Any = estimator_class(algorithm)
    return TextClassifier(estimator(random_state=seed, **bits))


def _run(learners: list[Learner], batches: list[tuple[list[str], list[str]]], table: Table) -> None:
    """Let the learners take turns on two threads, and show how they fare."""
    stop = threading.Event()
    lock = threading.Lock()

    def work() -> None:
        while not stop.is_set():
            with lock:  # the one that is furthest behind is next
                waiting = [item for item in learners if not item.busy and not item.done]
                if not waiting:
                    return
                learner = min(waiting, key=lambda item: item.learned / item.goal)
                learner.busy = True
            learner.learn(*batches[learner.learned // BATCH])
            learner.busy = False

    shown = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(work) for _ in range(2)]
        try:
            while wait(running, timeout=0.2).not_done:
                settled = time.monotonic() - shown > 10
                if settled:
                    shown = time.monotonic()
                table.show([learner.row() for learner in learners], settled=settled)
        finally:
            stop.set()
    for future in running:
        future.result()
    table.show([learner.row() for learner in learners])


def _answers(learners: list[Learner]) -> list[dict[str, str]]:
    """Return what each learner predicts for some texts that no module has."""
    answers = {
        learner.name: [
            " ".join(str(label) for label in row if label is not None)
            for row in learner.clf.predict_topk(QUESTIONS, k=3)[0]
        ]
        for learner in learners
    }
    return [
        {"text": question, **{name: answers[name][i] for name in answers}}
        for i, question in enumerate(QUESTIONS)
    ]


def _keep(learners: list[Learner], folder: Path) -> None:
    """Save the best tree's model and, where matplotlib is installed, a plot."""
    folder.mkdir(exist_ok=True)
    best = min(learners[:-1], key=lambda learner: learner.clf.progress_.error)
    model = folder / "demo.labeltree"
    best.clf.save(model)
    print(f"\nThe {best.name} is in {model}", end="")
    if importlib.util.find_spec("matplotlib") is None:
        print("; for a plot of the learning curves: pip install 'labeltree[plot]'")
    else:
        from labeltree.plot import learning_curve, write

        curves = learning_curve(
            *(learner.clf for learner in learners), labels=[learner.name for learner in learners]
        )
        write(curves, folder / "curves.png")
        print(f", the learning curves are in {folder / 'curves.png'}")
    print(f"\nNext: labeltree inspect {model} --tree")
