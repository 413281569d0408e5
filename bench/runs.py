"""Which runs there are, in which order, and how one is made."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.environments import ROOT, Environment, last_error
from bench.peers import peer
from bench.peers.base import TOP, Task
from bench.prepared import Part, Shape
from labeltree.metrics import precision_at_k

OK, REFUSED, LATE, FAILED = "ok", "refused", "time limit", "failed"
# Libraries that start threads of their own read one of these.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


class Cell(NamedTuple):
    """What is run as often as there are repeats."""

    data: str
    peer: str
    algorithm: str
    threads: int


@dataclass(frozen=True)
class Settings:
    """What all runs have in common; results of other settings are not mixed."""

    passes: int
    bits: int


def cells(data: str, peers: list[str], threads: list[int]) -> list[Cell]:
    """Return all that is run on a data set, peers taking turns."""
    by_peer = [
        [Cell(data, name, algorithm, count) for algorithm in peer(name).algorithms]
        for count in threads
        for name in peers
    ]
    turns = max(map(len, by_peer), default=0)
    return [column[turn] for turn in range(turns) for column in by_peer if turn < len(column)]


def schedule(
    data_sets: list[str], peers: list[str], threads: list[int], repeats: int
) -> Iterator[tuple[int, Cell]]:
    """Give all runs, interleaved: each repeat makes every run once, beginning elsewhere."""
    for repeat in range(repeats):
        for data in data_sets:
            found = cells(data, peers, threads)
            first = repeat * len(found) // repeats
            for cell in found[first:] + found[:first]:
                yield repeat, cell


def already(results: list[dict[str, Any]], repeat: int, cell: Cell, limit: float) -> bool:
    """Return whether a run need not be made: it is there, or can only be too slow again."""
    same = [run for run in results if all(run[k] == v for k, v in cell._asdict().items())]
    if any(run["status"] == LATE and run["limit"] >= limit for run in same):
        return True
    return any(run["repeat"] == repeat and run["status"] in (OK, REFUSED) for run in same)


def make_run(
    cell: Cell, settings: Settings, folder: Path, environment: Environment, limit: float
) -> dict[str, Any]:
    """Train and predict in processes of their own, and return what was measured."""
    shape = Shape.read(folder)
    chosen = {"algorithm": cell.algorithm, "threads": cell.threads, **asdict(settings)}
    reason = peer(cell.peer).refuses(Task(**chosen, shape=shape))
    if reason:
        return {"status": REFUSED, "reason": reason}
    measured: dict[str, Any] = {"limit": limit}
    end = time.monotonic() + limit
    with tempfile.TemporaryDirectory(prefix="labeltree-bench-") as work:
        for phase in ("train", "predict"):
            command = [
                environment.python,
                *("-m", "bench.worker", cell.peer, phase),
                *(folder.absolute(), work, json.dumps(chosen)),
            ]
            try:
                output = run_process(command, cell.threads, end - time.monotonic())
            except subprocess.TimeoutExpired:
                reason = f"did not end in {limit:g} s, in phase {phase}"
                return {**measured, "status": LATE, "reason": reason}
            except subprocess.CalledProcessError as error:
                reason = f"{phase}: exit status {error.returncode}: {last_error(error.stderr)}"
                return {**measured, "status": FAILED, "reason": reason}
            measured |= json.loads(output.splitlines()[-1])
        labels = np.load(Path(work) / "labels.npy")
    test = Part.read(folder, "test")
    measured |= {"rows_train": len(Part.read(folder, "train")), "rows_test": len(test)}
    truth = test.label_sets()
    for k in (1, 3, TOP):
        measured[f"precision@{k}"] = (
            precision_at_k(truth, labels, k) if k <= labels.shape[1] else None
        )
    return {**measured, "status": OK}


def run_process(command: list[Any], threads: int, seconds: float) -> str:
    """Return what a process wrote; end it and all that it started when the time is over."""
    variables = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    variables.pop("PYTHONPATH", None)
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=max(seconds, 0.0))
        except BaseException:  # also Ctrl-C, which the new session keeps from the process
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output, errors)
    return output


def make_runs(
    plan: Iterator[tuple[int, Cell]],
    results: list[dict[str, Any]],
    settings: Settings,
    folders: Mapping[str, Path],
    environments: Mapping[str, Environment],
    limit: float,
    keep: Callable[[], None],
) -> None:
    """Make all runs of a plan that are not among the results, and add them there."""
    for repeat, cell in plan:
        if already(results, repeat, cell, limit):
            continue
        run = make_run(cell, settings, folders[cell.data], environments[cell.peer], limit)
        run = {**cell._asdict(), "repeat": repeat, **run}
        key = {**cell._asdict(), "repeat": repeat}
        results[:] = [old for old in results if any(old[k] != v for k, v in key.items())]
        results.append(run)
        print(line(run), flush=True)
        keep()


def line(run: dict[str, Any]) -> str:
    """Return a run in one line."""
    name = f"{run['data']:<11} {run['peer']:<13} {run['algorithm']:<17} {run['threads']} thr."
    if run["status"] != OK:
        return f"{name} {run['status']}: {run['reason']}"
    return (
        f"{name} precision@1 {100 * run['precision@1']:5.1f}   training {run['train']:7.2f} s   "
        f"{run['rows_test'] / run['predict']:10,.0f} rows/s   p50 {1e6 * run['p50']:8.0f} us"
    )
