"""What all tests share."""

import os
import signal

import pytest
from hypothesis import settings

# A machine that pauses for a moment fails no test.
settings.register_profile("labeltree", deadline=None)
settings.load_profile("labeltree")

# Nor does a shell that starts tests in the background, where Ctrl-C is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run all tests by a worker a core; a few tests are quicker without, and easier to debug.

    `-n` says otherwise.
    """
    if hasattr(config, "workerinput"):  # this is a worker
        return
    option = config.option
    everything = config.args_source is not pytest.Config.ArgsSource.ARGS
    chosen = option.keyword or option.markexpr or option.usepdb or option.collectonly
    chosen = chosen or getattr(option, "lf", False)
    if everything and not chosen and getattr(option, "numprocesses", 0) is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if cores and cores > 1:
            option.numprocesses = min(cores, 16)
            option.dist = "worksteal"  # begins with tests in a row, which share what they set up
