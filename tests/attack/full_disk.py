"""A disk that is full, or a limit on files: what was there stays, and a sentence says why.

On a small tmpfs where root allows to mount one, else with a limit on the size of files alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from sklearn.datasets import dump_svmlight_file

from labeltree import load
from tests.attack.cases import check_sentence, read_whole, repeat, trying
from tests.attack.forked import command, fork, run, wait
from tests.attack.models import problem

SIZE = 1 << 22  # bytes of the small disk


def mount_small_disk(folder: Path) -> bool:
    """Make a folder a disk of four megabytes that only this process sees, and that goes with it.

    Return whether that was allowed.
    """
    mounts = 0x00020000  # CLONE_NEWNS: from now on this process has mounts of its own
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "labeltree-attack", str(folder)]
    try:
        allowed = ctypes.CDLL(None).unshare(mounts) == 0
        for command in (["mount", "--make-rprivate", "/"], mount):
            allowed = allowed and subprocess.run(command, capture_output=True).returncode == 0
    except (OSError, AttributeError):
        allowed = False
    if not allowed:
        print("full_disk: no small disk can be mounted here, only files limited", file=sys.stderr)
    return allowed


def limited(work: Callable[[], object], size: int) -> Callable[[], None]:
    """Return the work, done where no file may be larger than so many bytes."""

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        work()

    return run


class Site:
    """Data and a model on a disk with room, and a folder without."""

    def __init__(self, folder: Path, small: Path, mounted: bool) -> None:
        self.folder, self.small, self.mounted = folder, small, mounted
        self.data, self.model = folder / "data.svm", folder / "m"
        self.errors = folder / "errors"
        dump_svmlight_file(*problem(1500, 40), str(self.data))
        self.train = ["train", self.data, "--algorithm", "label-tree", "--bits", "14", "--quiet"]
        run(command(*self.train, "-m", self.model), self.errors)
        self.clf = load(self.model)

    def works(self, target: Path) -> dict[str, Callable[[], object]]:
        """Return what writes a file, by name."""

        def save() -> None:
            try:
                self.clf.save(target)
            except OSError as error:
                check_sentence(error)
                print(f"labeltree: {error}", file=sys.stderr)
                sys.exit(2)

        predict = [self.model, self.data, "--top", "5", "--scores", "-o", target]
        return {
            "save": save,
            "train": command(*self.train, "-m", target, "--checkpoint-every", "300"),
            "predict": command("predict", *predict),
            "compile": command("compile", self.model, "-o", target),
        }


def case(site: Site, random: random.Random, counts: Counter[str]) -> None:
    """Write where there is no room: the old file is there, or the whole new one."""
    target, ballast = site.small / "target", site.small / "ballast"
    for path in site.small.iterdir():
        path.unlink()
    name = random.choice(("save", "train", "predict", "compile"))
    work = site.works(target)[name]
    if random.random() < 0.7:
        target.write_bytes(site.model.read_bytes())
    old = read_whole(target)
    free = int(random.choice((0, 1, 100, 4096, 50_000, 300_000)) * random.uniform(0, 2))
    if site.mounted and random.random() < 0.6:
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            room = os.statvfs(site.small)
            file.write(bytes(max(room.f_bavail * room.f_bsize - free, 0)))
    else:
        work = limited(work, max(free, 2000))  # what is said must have room, too
    trying(f"{name}, {free} bytes free".encode())
    code = wait(fork(work, site.folder / "errors"))
    said = site.errors.read_text()
    new = read_whole(target)
    counts["writes"] += 1
    ballast.unlink(missing_ok=True)
    assert "Traceback" not in said, said
    if code == 0:
        if name != "predict":
            load(target)
        else:
            assert new is not None, "predictions that were written are not there"
            assert new.count(b"\n") == 1500, "predictions are missing, and nobody was told"
    else:
        counts["refused"] += 1
        lines = [line for line in said.splitlines() if line.startswith("labeltree: ")]
        assert code == 2, f"exit code {code}: {said}"
        assert len(lines) == 1, f"expected one sentence, received {said!r}"
        if new != old:  # a checkpoint was written before the disk was full
            assert name == "train", f"{name} has changed the file it could not write"
            load(target)
    left = {path.name for path in site.small.iterdir()} - {"target"}
    assert not left, f"left on a full disk: {sorted(left)}"


def attack(seconds: float, seed: int) -> dict[str, int]:
    """Write where there is no room for so many seconds; return how often."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as small:
        mounted = mount_small_disk(Path(small))
        try:
            site = Site(Path(folder), Path(small), mounted)
            counts = Counter({"writes": 0, "refused": 0})
            return repeat(seconds, seed, lambda r, c: case(site, r, c), counts)
        finally:
            if mounted:
                subprocess.run(["umount", small], check=True)
