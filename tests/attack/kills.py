"""kill -9 while `labeltree train` and `save` are at work: nothing is lost, all goes on."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.datasets import dump_svmlight_file

from labeltree import load, modelfile
from labeltree.estimators import ESTIMATORS
from tests.attack.cases import read_whole, repeat, trying
from tests.attack.forked import command, fork, run, strike
from tests.attack.models import assert_same_file, problem

ALGORITHMS = ("label-tree", "recall-tree", "lom-tree", "one-against-all")


class Site:
    """A folder with data, and what uninterrupted runs make of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data.svm"
        dump_svmlight_file(*problem(3000, 40), str(self.data))
        self.whole: dict[str, tuple[Path, float]] = {}

    def options(self, algorithm: str) -> list[object]:
        """Return the options of a run that saves often."""
        more = [] if algorithm == "one-against-all" else ["--bits", "14"]
        return [self.data, "--algorithm", algorithm, "--passes", "3", "--quiet", *more]

    def reference(self, algorithm: str) -> tuple[Path, float]:
        """Return what a run makes that is not disturbed, and how long it takes."""
        if algorithm not in self.whole:
            path = self.folder / algorithm
            train = command(
                "train", *self.options(algorithm), "-m", path, "--checkpoint-every", "500"
            )
            self.whole[algorithm] = path, run(train, self.folder / "errors")
        return self.whole[algorithm]


def train_case(site: Site, random: random.Random, counts: Counter[str]) -> None:
    """Kill a run, and what goes on with it, until one gets through: the model is the same."""
    algorithm = random.choice(ALGORITHMS)
    whole, seconds = site.reference(algorithm)
    with tempfile.TemporaryDirectory(dir=site.folder) as folder:
        path, errors = Path(folder, "m"), site.folder / "errors"
        for attempt in range(8):
            trying(f"{algorithm}, attempt {attempt}".encode())
            if not path.exists():
                train = command(
                    "train", *site.options(algorithm), "-m", path, "--checkpoint-every", "500"
                )
            elif modelfile.read_header(path)["notes"]["run"]["number"] == 3:
                break
            else:
                load(path)  # it is complete
                train = command("train", "--resume", path, "--quiet", "--checkpoint-every", "500")
            if attempt == 7:
                run(train, errors)
                break
            code = strike(fork(train, errors), signal.SIGKILL, seconds, random)
            assert code in (0, -signal.SIGKILL), f"exit code {code}: {errors.read_text()}"
            counts["kills"] += code != 0
        assert_same_file(whole, path)
        load(path).save(path)  # whatever is left over is now cleared
        found = sorted(os.listdir(folder))
        assert found == ["m"], f"left beside a model: {found}"


def save_again(path: Path, models: list[Any]) -> None:
    """Save one model after the other, for ever."""
    while True:
        for clf in models:
            clf.save(path)


def save_case(models: list[Any], random: random.Random, counts: Counter[str]) -> None:
    """Kill a process that saves: the file is one of the models it saved, and whole."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m")
        complete = []
        for number, clf in enumerate(models):
            clf.save(Path(folder, f"whole{number}"))
            complete.append(modelfile.read(Path(folder, f"whole{number}")))
        models[0].save(path)
        for _ in range(5):
            trying(b"save")
            child = fork(partial(save_again, path, models), Path(folder, "errors"))
            code = strike(child, signal.SIGKILL, 0.05, random)
            assert code == -signal.SIGKILL, Path(folder, "errors").read_text()
            counts["kills"] += 1
            found = modelfile.read(path)  # which checks the checksum
            matches = [
                whole[0] == found[0]
                and all(whole[1][name].tobytes() == a.tobytes() for name, a in found[1].items())
                for whole in complete
            ]
            assert any(matches), "a file that is neither the old model nor the new one"
        models[0].save(path)
        left = {*os.listdir(folder)} - {"m", "errors", "whole0", "whole1"}
        assert not left, f"left beside a model: {sorted(left)}"
        assert read_whole(path) is not None


def attack(seconds: float, seed: int) -> dict[str, int]:
    """Kill processes for so many seconds; return how many."""
    models = [
        ESTIMATORS[name](random_state=0).fit(*problem(500, labels))
        for name, labels in (("LabelTreeClassifier", 20), ("RecallTreeClassifier", 60))
    ]
    with contextlib.ExitStack() as stack:
        site = Site(Path(stack.enter_context(tempfile.TemporaryDirectory())))

        def case(random: random.Random, counts: Counter[str]) -> None:
            if random.random() < 0.6:
                train_case(site, random, counts)
            else:
                save_case(models, random, counts)

        return repeat(seconds, seed, case, Counter({"kills": 0}))
