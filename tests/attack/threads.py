"""One thread learns while others ask for everything an estimator has; then two learn; and forks."""

from __future__ import annotations

import copy
import os
import pickle
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from labeltree import LabelTreeClassifier, LdSMClassifier, load
from tests.attack.cases import repeat, trying
from tests.attack.models import make_estimator, problem

BATCHES, BATCH = 30, 20
LONGEST = 10.0  # seconds that a thread may wait

EXIT = """
import threading
from labeltree import LabelTreeClassifier
from labeltree.datasets import make_multiclass
X, y = make_multiclass(500, 30, n_features=64)
clf = LabelTreeClassifier(bits=12, random_state=0).fit(X, y)
def predict():
    while True: clf.predict(X)
for _ in range(3): threading.Thread(target=predict, daemon=True).start()
clf.partial_fit(X, y)
print("ready", flush=True)
"""


def check_copy(clf: Any, X: Any) -> None:
    """Check that a copy made at some moment is a whole model."""
    assert len(clf.classes_) == clf._learner.labels, "labels and learner are of other moments"
    labels, scores = clf.predict_topk(X, 3)
    assert labels.shape == scores.shape, "labels and scores differ in number"
    assert {*labels.ravel()} - {None} <= {*clf.classes_.tolist()}, "a label nobody knows"


def operations(clf: Any, X: Any, path: Path) -> dict[str, Callable[[], object]]:
    """Return all that may be called while another thread learns."""

    def save() -> None:
        clf.save(path)
        check_copy(load(path), X)

    def progress() -> None:
        progress = clf.progress_
        assert 0 <= progress.errors <= progress.examples, "more errors than examples"

    def topk() -> None:
        labels, scores = clf.predict_topk(X, 5)
        assert np.isfinite(scores[labels != None]).all(), "a score that is no number"  # noqa: E711

    found = {
        "predict": lambda: clf.predict(X),
        "predict_topk": topk,
        "predict_one": lambda: clf.predict_one({1: 1.0, 5: 0.5}, k=2),
        "save": save,
        "compile": lambda: check_copy(clf.compile(), X),
        "progress_": progress,
        "classes_": lambda: clf.classes_,
        "n_labels_": lambda: clf.n_labels_,
        "pickle": lambda: check_copy(pickle.loads(pickle.dumps(clf)), X),
        "deepcopy": lambda: check_copy(copy.deepcopy(clf), X),
    }
    if isinstance(clf, LdSMClassifier):
        del found["compile"]  # which it does not have
    if hasattr(clf, "decision_function"):
        found["decision_function"] = lambda: clf.decision_function(X)
    if hasattr(type(clf), "tree_"):
        found["tree_"] = lambda: clf.tree_.n_nodes
    return found


class Crew:
    """Threads that stop at the first error of any of them."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[], object]) -> None:
        """Start a thread."""

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self.errors.append(error)
                self.stop.set()

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def join(self) -> None:
        """Wait for all, and raise what one of them has raised."""
        for thread in self._threads:
            thread.join(LONGEST)
            assert not thread.is_alive(), f"a thread has not ended in {LONGEST} seconds"
        if self.errors:
            raise self.errors[0]


def learning_case(random: random.Random, counts: Counter[str], learners: int) -> None:
    """Learn in one or two threads while others look."""
    clf = make_estimator(random)
    X, y = problem(BATCHES * BATCH, 60, random.randrange(20))
    clf.partial_fit(X[:BATCH], y[:BATCH])
    crew = Crew()
    asked = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:

        def learn(number: int) -> None:
            for begin in range(0, len(y), BATCH):
                if crew.stop.is_set():
                    return
                waited = time.monotonic()
                clf.partial_fit(X[begin : begin + BATCH], y[begin : begin + BATCH] + 10 * number)
                waited = time.monotonic() - waited
                assert waited < LONGEST, f"a batch took {waited:.1f} seconds"

        def ask(number: int) -> None:
            known = operations(clf, X[:30], Path(folder, f"model{number}"))
            names = random.sample(sorted(known), 3)
            while not crew.stop.is_set():
                for name in names:
                    known[name]()
                    asked[name] += 1

        def lead() -> None:
            teams = [threading.Thread(target=learn, args=(i,)) for i in range(1, learners)]
            for thread in teams:
                thread.start()
            learn(0)
            for thread in teams:
                thread.join()
            crew.stop.set()

        trying(repr(clf).encode())
        for number in range(3):
            crew.start(lambda number=number: ask(number))
        crew.start(lead)
        crew.join()
        check_copy(clf, X[:30])
        clf.save(Path(folder, "model"))
        check_copy(load(Path(folder, "model")), X[:30])
    learned = BATCH + learners * len(y)
    assert clf._learner.examples == learned, f"{clf._learner.examples} of {learned} were learned"
    counts["batches"] += learners * BATCHES
    counts["calls beside"] += sum(asked.values())


def fork_case(random: random.Random, counts: Counter[str]) -> None:
    """Fork while another thread learns: the child answers, or says why it cannot, and ends."""
    clf = make_estimator(random)
    X, y = problem(300, 60, random.randrange(20))
    clf.partial_fit(X[:20], y[:20])
    crew = Crew()

    def learn() -> None:
        while not crew.stop.is_set():
            clf.partial_fit(X, y)

    crew.start(learn)
    try:
        for _ in range(5):
            trying(b"fork")
            time.sleep(random.uniform(0, 0.02))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                child = os.fork()
            if child == 0:
                try:
                    clf.predict(X[:5])
                    clf.partial_fit(X[:5], y[:5])
                    os._exit(0)
                except RuntimeError:
                    os._exit(3)  # a clear error
                finally:
                    os._exit(1)
            end = time.monotonic() + LONGEST
            done, status = 0, 0
            while not done and time.monotonic() < end:
                done, status = os.waitpid(child, os.WNOHANG)
                time.sleep(0.001)
            if not done:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            assert done, "a forked process hangs"
            code = os.waitstatus_to_exitcode(status)
            assert code in (0, 3), f"a forked process ended with {code}"
            counts["forks"] += 1
    finally:
        crew.stop.set()
    crew.join()


def together_case(random: random.Random, counts: Counter[str]) -> None:
    """Let threads learn one model together, rows with a label or with sets, in a large table."""
    X, y = problem(300, 40, random.randrange(10))
    targets = [[int(label), int(label) // 2] for label in y] if random.random() < 0.5 else y
    clf = LabelTreeClassifier(
        learn_jobs=4, layout="hashed", bits=random.choice((12, 24)), random_state=0
    ).fit(X, targets)
    check_copy(clf, X)
    counts["together"] += 1


def exit_case(counts: Counter[str]) -> None:
    """End a process whose daemon threads predict; only how long it takes to end is limited."""
    child = subprocess.Popen(
        [sys.executable, "-c", EXIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with child:
        while not select.select([child.stdout], [], [], 1.0)[0]:
            trying(b"exit: it imports")
        trying(b"exit")
        try:
            _, said = child.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    assert child.returncode == 0, f"exit code {child.returncode}: {said}"
    counts["exits"] += 1


def case(random: random.Random, counts: Counter[str]) -> None:
    """Do one of all."""
    chance = random.random()
    if chance < 0.5:
        learning_case(random, counts, 1)
    elif chance < 0.75:
        learning_case(random, counts, 2)
    elif chance < 0.8:
        together_case(random, counts)
    elif chance < 0.95 or sanitized():
        fork_case(random, counts)
    else:
        exit_case(counts)


def sanitized() -> bool:
    """Tell whether threads are watched, which makes a new process slow to start."""
    return "libtsan" in os.environ.get("LD_PRELOAD", "")


def attack(seconds: float, seed: int) -> dict[str, int]:
    """Let threads meet for so many seconds; return how often."""
    return repeat(seconds, seed, case)
