"""Ctrl-C in the middle of a test, and never after it."""

import contextlib
import os
import signal
import threading


@contextlib.contextmanager
def interrupted_after(seconds):
    """Send this process a SIGINT after so many seconds, unless the block has ended before."""
    ended = threading.Lock()

    def interrupt():
        if ended.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, interrupt)
    timer.start()
    try:
        yield
    finally:
        ended.acquire(blocking=False)
        timer.cancel()
