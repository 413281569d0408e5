"""``python -m tests.attack``: each attack in a process of its own, for so many seconds."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.cases import WITNESS, Witness

ATTACKS = ("readers", "model_files", "arrays", "kills", "interrupts", "full_disk", "threads")
LONGEST_STEP = 10.0  # seconds; what takes longer hangs
LARGEST = 2 << 30  # bytes of memory, of attacks whose inputs are small
SANITIZERS = ("libasan", "libtsan")


def main() -> int:
    """Run the attacks asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each attack")
    parser.add_argument("--only", choices=ATTACKS, action="append", help="may be given repeatedly")
    parser.add_argument("--seed", type=int, default=None, help="of the first case of each")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for what did harm")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seed = time.time_ns() // 1000 % 10**12 if options.seed is None else options.seed
    if options.child:
        return run(options.child, options.seconds, seed)
    names = options.only or ATTACKS
    failed = [name for name in names if not attack(name, options.seconds, seed, options.keep)]
    return int(bool(failed))


def run(name: str, seconds: float, seed: int) -> int:
    """Run one attack in this process, and print its counts."""
    if not any(word in os.environ.get("LD_PRELOAD", "") for word in SANITIZERS):
        resource.setrlimit(resource.RLIMIT_DATA, (LARGEST, LARGEST))  # shadow memory would not fit
    counts = importlib.import_module(f"tests.attack.{name}").attack(seconds, seed)
    print(json.dumps(counts))
    return 0


def attack(name: str, seconds: float, seed: int, keep: Path | None) -> bool:
    """Run one attack in a process that may crash or hang; return whether all went well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "witness")
        witness = Witness(path)
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.attack", "--child", name]
        command += ["--seconds", str(seconds), "--seed", str(seed)]
        begin = time.monotonic()
        with open(Path(folder, "out"), "w+b") as out, open(Path(folder, "err"), "w+b") as err:
            child = subprocess.Popen(
                command,
                env={**os.environ, WITNESS: str(path), "PYTHONFAULTHANDLER": "1"},
                stdout=out,
                stderr=err,
                start_new_session=True,  # so that what it has started can be ended with it
            )
            hung = not wait(child, witness, begin + seconds + 6 * LONGEST_STEP)
            out.seek(0)
            err.seek(0)
            result, errors = out.read().decode(), err.read().decode(errors="replace")
        line = f"{name:<12}{time.monotonic() - begin:6.1f} s"
        if not hung and child.returncode == 0:
            counts = json.loads(result.splitlines()[-1])
            print(line, ", ".join(f"{n:,} {what}" for what, n in (counts | {"faults": 0}).items()))
            print(errors, end="", flush=True)
            return True
        what = "hung" if hung else f"failed with exit code {child.returncode}"
        again = witness.seed or seed
        print(f"{line} {what} at seed {again}; once more: python -m tests.attack --only {name} "
              f"--seconds 0 --seed {again}")  # fmt: skip
        print("\n".join(errors.splitlines()[-40:]))
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}-{again}.input").write_bytes(witness.content)
            (keep / f"{name}-{again}.log").write_text(errors)
        sys.stdout.flush()
        return False


def wait(child: subprocess.Popen[bytes], witness: Witness, latest: float) -> bool:
    """Wait for the end of a process; if it hangs, say where it is, end it and return False."""
    steps, since = 0, time.monotonic()
    try:
        while True:
            try:
                child.wait(timeout=0.2)
                return True
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            if witness.steps != steps:
                steps, since = witness.steps, now
            slow = steps > 0 and now - since > LONGEST_STEP
            if slow or (now > latest and (steps == 0 or now - since > LONGEST_STEP)):
                child.send_signal(signal.SIGABRT)  # faulthandler then tells where it is
                time.sleep(1)
                return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
