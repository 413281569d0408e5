"""SIGINT at every moment of fit, partial_fit, save and `labeltree train`."""

from __future__ import annotations

import os
import random
import signal
import struct
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file

from labeltree import load, modelfile
from tests.attack.cases import repeat, trying
from tests.attack.forked import command, fork, run, strike
from tests.attack.models import assert_same_file, make_estimator, problem


class Sniper:
    """A process that sends this one a SIGINT after some time."""

    def __init__(self) -> None:
        self.hit = False
        receive, self._send = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._send)
            while len(message := os.read(receive, 8)) == 8:
                delay = struct.unpack("d", message)[0]
                end = time.monotonic() + delay
                if delay > 0.001:
                    time.sleep(delay - 0.001)
                while time.monotonic() < end:
                    pass
                os.kill(parent, signal.SIGINT)
            os._exit(0)
        os.close(receive)
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, *_: Any) -> None:
        self.hit = True
        raise KeyboardInterrupt

    def during(self, work: Any, delay: float) -> bool:
        """Do the work, interrupted after a delay; return whether it was."""
        self.hit = False
        try:
            os.write(self._send, struct.pack("d", delay))
            work()
            finished = True
            while not self.hit:
                time.sleep(0.0002)
        except KeyboardInterrupt:
            return not locals().get("finished", False)
        return False

    def close(self) -> None:
        """End the process."""
        os.close(self._send)
        os.waitpid(self._pid, 0)


def check_model(clf: Any, folder: Path) -> None:
    """Check that labels and learner agree, that the model is saved, loaded and learns on."""
    if not hasattr(clf, "_learner"):
        return
    known, room = len(clf.classes_), clf._learner.labels
    assert known == room, f"{known} labels, but the learner has {room}"
    X, y = problem(20, 10, 7)
    path = folder / "checked"
    clf.save(path)
    copy = load(path)
    if clf._learner.learned_labels:
        np.testing.assert_array_equal(clf.predict_topk(X, 2)[1], copy.predict_topk(X, 2)[1])
    for model in (clf, copy):
        model.partial_fit(X, y + 5000)
    assert {*(y + 5000)} <= {*clf.classes_.tolist()}, "labels that were learned are not known"
    if getattr(clf, "learn_jobs", 1) == 1:
        np.testing.assert_array_equal(clf.predict_topk(X, 2)[1], copy.predict_topk(X, 2)[1])


def learning_case(
    sniper: Sniper, folder: Path, random: random.Random, counts: Counter[str]
) -> None:
    """Interrupt fit, partial_fit and save, again and again."""
    clf = make_estimator(random)
    X, y = problem(200, 60, random.randrange(50))
    clf.partial_fit(X[:50], y[:50])
    path = folder / "model"
    for number in range(6):
        trying(repr(clf).encode())
        labels = y + 100 * number  # new ones each time
        small = slice(0, random.choice((1, 10, 200)))
        name = random.choice(("partial_fit", "partial_fit", "fit", "save"))
        clf.save(path)
        works = {
            "partial_fit": lambda small=small, y=labels: clf.partial_fit(X[small], y[small]),
            "fit": lambda y=labels: clf.fit(X, y),
            "save": lambda: clf.save(path),
        }
        longest = 0.02 if small.stop == 200 or name == "fit" else 0.003
        counts["interrupts"] += sniper.during(works[name], random.uniform(0, longest))
        counts["tries"] += 1
        load(path)
        check_model(clf, folder)
    clf.save(path)  # whatever is left over is now cleared
    left = sorted({*os.listdir(folder)} - {"checked", "model"})
    assert not left, f"left beside a model: {left}"


def train_case(folder: Path, random: random.Random, counts: Counter[str]) -> None:
    """Interrupt `labeltree train` and go on, until the end: the model is the same."""
    data, errors, whole = folder / "data.svm", folder / "errors", folder / "whole"
    options = [data, "--passes", "2", "--quiet", "--bits", "14"]
    if not whole.exists():
        dump_svmlight_file(*problem(2000, 40), str(data))
        run(command("train", *options, "-m", whole), errors)
    path = folder / "m"
    path.unlink(missing_ok=True)
    for attempt in range(5):
        trying(f"train, attempt {attempt}".encode())
        more = ["--resume", path, "--quiet"] if path.exists() else [*options, "-m", path]
        if path.exists() and modelfile.read_header(path)["notes"]["run"]["number"] == 2:
            break
        if attempt == 4:
            run(command("train", *more), errors)
            break
        code = strike(fork(command("train", *more), errors), signal.SIGINT, 0.3, random)
        assert code in (0, 130), f"exit code {code}: {errors.read_text()}"
        assert "Traceback" not in errors.read_text(), errors.read_text()
        counts["interrupts"] += code == 130
        counts["tries"] += 1
        if path.exists():
            load(path)
    assert_same_file(whole, path)


def attack(seconds: float, seed: int) -> dict[str, int]:
    """Interrupt for so many seconds; return how often."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:

        def case(random: random.Random, counts: Counter[str]) -> None:
            if random.random() < 0.1:
                train_case(Path(other), random, counts)
            else:
                sniper = Sniper()
                try:
                    learning_case(sniper, Path(one), random, counts)
                finally:
                    sniper.close()

        return repeat(seconds, seed, case)
