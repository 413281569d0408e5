"""Copies of this process that may be killed: they need not import anything again."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from labeltree.cli import main


def fork(work: Callable[[], object], errors: Path) -> int:
    """Start a copy of this process that does the work and ends; its errors go to a file."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        out = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        work()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def command(*arguments: object) -> Callable[[], None]:
    """Return the work of a command line."""

    def run() -> None:
        sys.argv = ["labeltree", *map(str, arguments)]
        main()

    return run


def wait(pid: int, seconds: float = 60.0) -> int:
    """Wait for the end of a process; return its exit code, negative for a signal."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"a process has not ended in {seconds} seconds")


def run(work: Callable[[], object], errors: Path) -> float:
    """Do the work in a process of its own, which must succeed; return how long it took."""
    begin = time.monotonic()
    code = wait(fork(work, errors))
    assert code == 0, f"exit code {code}: {errors.read_text()}"
    return time.monotonic() - begin


def strike(pid: int, kind: signal.Signals, longest: float, random: random.Random) -> int:
    """Send a signal at a random moment; return the exit code."""
    time.sleep(random.uniform(0, longest))
    os.kill(pid, kind)
    return wait(pid)
