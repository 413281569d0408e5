"""One half of a run, in the peer's environment: training, or loading and predicting.

    python -m bench.worker PEER check
    python -m bench.worker PEER train|predict DATA WORK TASK

DATA is a prepared data set, WORK a folder for the model and the predictions, TASK the algorithm,
threads, passes and bits as JSON. The last line on standard output is the result, as JSON. Only
numpy, the peer and what the peer needs are imported, so that memory is the peer's.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers import peer
from bench.peers.base import Peer, Task
from bench.prepared import Shape

SINGLE_ROWS = 500
WARM_UP = 20
PATIENCE = 10.0  # seconds for single rows, if that is fewer of them
BATCHES, BATCH_SECONDS = 5, 1.0  # quick predictions are timed again, up to so often and so long


def peak_memory() -> int:
    """Return the most bytes this process has had in memory.

    On Linux not from getrusage, which also counts what the parent had when it started us.
    """
    if (bytes_held := _status("VmHWM")) is not None:
        return bytes_held
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def resident_memory() -> int:
    """Return the bytes this process has in memory now; the most it had, where only this is told."""
    now = _status("VmRSS")
    return peak_memory() if now is None else now


def _status(field: str) -> int | None:
    """Return the bytes that Linux tells of this process under a name; None on other systems."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return 1024 * int(line.split()[1])
    return None


def size_on_disk(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def train(learner: Peer, data: Path, work: Path) -> dict[str, Any]:
    """Learn, and write the model."""
    learner.prepare(data)
    start = time.perf_counter()
    source = learner.read(data, "train")
    read = time.perf_counter()
    model = learner.train(source, work / "model")
    trained = time.perf_counter()
    memory = peak_memory()
    learner.save(model, work / "model")
    return {
        "read_train": read - start,
        "train": trained - read,
        "memory_train": memory,
        "model": size_on_disk(work / "model"),
    }


def predict(learner: Peer, data: Path, work: Path) -> dict[str, Any]:
    """Load the model, and predict all rows at once, then some one by one."""
    start = time.perf_counter()
    source = learner.read(data, "test")
    read = time.perf_counter() - start
    start = time.perf_counter()
    model = learner.load(work / "model")
    load = time.perf_counter() - start
    batches: list[float] = []
    while not batches or (len(batches) < BATCHES and sum(batches) < BATCH_SECONDS):
        run = learner.batch(model, source)
        start = time.perf_counter()
        answer = run()
        batches.append(time.perf_counter() - start)
    labels = learner.labels(answer)
    np.save(work / "labels.npy", labels)
    single = time_rows(learner, model, learner.rows(source, SINGLE_ROWS))
    return {
        "read_test": read,
        "load": load,
        "predict": float(np.median(batches)),
        "p50": float(np.quantile(single, 0.50)),
        "p99": float(np.quantile(single, 0.99)),
        "single_rows": len(single),
        "memory_predict": peak_memory(),
    }


def time_rows(learner: Peer, model: Any, rows: list[Any]) -> list[float]:
    """Return the seconds of each call for one row."""
    for row in rows[:WARM_UP]:
        learner.predict_one(model, row)
    seconds: list[float] = []
    end = time.perf_counter() + PATIENCE
    for row in rows:
        start = time.perf_counter()
        learner.predict_one(model, row)
        stop = time.perf_counter()
        seconds.append(stop - start)
        if stop > end:
            break
    return seconds


def main() -> None:
    """Do what the arguments say."""
    name, phase, *rest = sys.argv[1:]
    found = peer(name)
    for module in found.modules:
        importlib.import_module(module)
    if phase == "check":
        result: dict[str, Any] = {"version": importlib.metadata.version(found.distribution)}
    else:
        data, work, task = rest
        settings = json.loads(task)
        learner = found(Task(**settings, shape=Shape.read(Path(data))))
        result = {"train": train, "predict": predict}[phase](learner, Path(data), Path(work))
    print("\n" + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
