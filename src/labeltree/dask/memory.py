"""Memory of the process that tasks no longer need, and where a worker has files instead."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from labeltree.dask.compat import distributed

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def gives_back(task: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a task give memory back to the system when it ends, where the C library can.

    What lies between what is still needed would else stay with the process: the index of a model
    has thousands of lists.
    """

    @functools.wraps(task)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return task(*args, **kwargs)
        finally:
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
            if trim is not None:
                trim(0)

    return wrapped


def local_folder() -> str | None:
    """Return where a worker may put files; None if there is no worker in this process."""
    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:  # not in a task: what another worker has sent is being unpacked
        folders = [str(worker.local_directory) for worker in distributed.Worker._instances]
        return next(filter(os.path.isdir, folders), None)
