"""The workers: who they are, and tasks whose names mean something."""

from __future__ import annotations

import contextlib
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from labeltree._version import __version__
from labeltree.dask.compat import Client, Future, distributed

_TOGETHER = 8  # parts that a task of a tree of tasks adds up


class LostWorkersError(ChildProcessError):
    """A task has ended several workers."""


class Cluster:
    """A client, its workers in a fixed order, and a name for what is asked of them.

    Whatever tasks return depends on what they are given alone, so that a task may be done again
    where a worker was lost.

    Parameters
    ----------
    client : distributed.Client, optional
        The current one by default.
    verbose : bool
        Whether `result` shows a bar.
    """

    def __init__(self, client: Client | None = None, *, verbose: bool = False) -> None:
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError as error:
                raise ValueError(
                    "there is no Dask client, expected one; make it first, as by "
                    "distributed.Client(), or pass client"
                ) from error
        self.client = client
        # The client writes over `scheduler_info` every second, with an answer without workers.
        self.workers = sorted(client.nthreads())
        if not self.workers:
            raise ValueError("the cluster has no workers, expected at least one; start some first")
        self._require_version()
        self._run = uuid.uuid4().hex[:12]
        self._tasks = 0
        self._verbose = verbose

    def _require_version(self) -> None:
        """Raise if a worker has another version, whose models this one may not understand."""
        versions = self.client.run(version_of)
        for worker, version in sorted(versions.items()):
            if version != __version__:
                raise ValueError(
                    f"the worker {worker} has labeltree {version}, expected {__version__}, which "
                    "this process has; install the same version everywhere"
                )

    def submit(
        self, name: str, function: Callable[..., Any], *args: Any, worker: int | None = None
    ) -> Future:
        """Let a worker call a function.

        Parameters
        ----------
        name : str
            What the task is called where tasks are shown.
        function, *args
            What to call; futures among the arguments become what they are of.
        worker : int, optional
            Which worker should, as long as it is there.

        Returns
        -------
        distributed.Future
            Of what it returns.
        """
        self._tasks += 1
        wanted = None if worker is None else [self.workers[worker % len(self.workers)]]
        return self.client.submit(
            function,
            *args,
            key=f"labeltree-{name}-{self._run}{self._tasks:06x}",
            workers=wanted,
            allow_other_workers=wanted is not None,
            pure=False,
        )

    def result(self, future: Future) -> Any:
        """Wait for what a task returns; a bar shows how many tasks before it are done."""
        if self._verbose:
            with contextlib.redirect_stdout(sys.stderr):  # where `fit` of one machine shows it, too
                distributed.progress(future, notebook=False)
        try:  # from the worker itself, if it can be reached; else by way of the scheduler
            return self.client.gather(future, direct=True)
        except distributed.KilledWorker as error:
            raise LostWorkersError(
                f"workers were lost again and again while they did {error.task}: most often their "
                "memory ran out; give them more, or the model fewer bits, or use more workers"
            ) from error

    def add_up(
        self, name: str, function: Callable[[list[Any]], Any], parts: Sequence[Future]
    ) -> Future:
        """Let a tree of tasks add up what is in many places."""
        level = list(parts)
        while len(level) > 1:
            level = [
                self.submit(name, function, level[i : i + _TOGETHER])
                for i in range(0, len(level), _TOGETHER)
            ]
        return level[0]


def version_of() -> str:
    """Return the version of labeltree of the process that is asked."""
    from labeltree import _version

    return _version.__version__
