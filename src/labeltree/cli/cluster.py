"""``labeltree train --workers`` and ``--dask``: a model that a cluster has learned."""

from __future__ import annotations

import gc
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from types import FrameType
from typing import Any

from labeltree.algorithms import estimator_class
from labeltree.cli.display import Display
from labeltree.data import Rows, stream
from labeltree.data.formats import make_format, may_be_text
from labeltree.data.texts import Texts
from labeltree.estimators import OnlineClassifier, TextClassifier
from labeltree.runs.doubts import Doubts
from labeltree.runs.firstlabels import ROWS
from labeltree.runs.outputs import require_model_output
from labeltree.runs.reading import expand, format_of
from labeltree.runs.training import DEFAULT_FEATURES

_NOTHING = logging.CRITICAL + 1


def train_on_workers(
    data: Sequence[str],
    model: Path,
    *,
    workers: int | None = None,
    address: str | None = None,
    test: Sequence[str] = (),
    algorithm: str,
    params: dict[str, Any],
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    text_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    passes: int | None = None,
    overwrite: bool = False,
    display: Display | None = None,
) -> OnlineClassifier | TextClassifier:
    """Train on a Dask cluster, whose workers read the files, and save the model.

    Parameters
    ----------
    data, model, algorithm, params, format, reader_options, text_options
        As for `labeltree.runs.train`. Files are all read before anything is learned, and learned
        as by `fit`.
    skip_bad_lines, overwrite
        As for `labeltree.runs.train`.
    workers : int, optional
        How many processes of this machine to use, where there is no `address`.
    address : str, optional
        Of a scheduler.
    test : sequence of str
        Files with labelled rows, to evaluate the model on.
    passes : int, optional
        How often to go through the rows; as `fit` does by default.
    display : Display, optional
        What to show; nothing by default.

    Returns
    -------
    OnlineClassifier or TextClassifier
        The model.
    """
    from labeltree import dask  # an extra

    display = display or Display()
    files = [os.path.abspath(name) for name in expand(data)]
    if not files or "-" in data:
        raise ValueError("a cluster needs files to learn from; standard input is read by one alone")
    require_model_output(model, [*files, *test], overwrite=overwrite)
    known = {
        "LabelTreeClassifier": dask.DaskLabelTreeClassifier,
        "OneAgainstAllClassifier": dask.DaskOneAgainstAllClassifier,
        "LdSMClassifier": dask.DaskLdSMClassifier,
    }
    estimator = estimator_class(algorithm)
    if estimator.__name__ not in known:
        raise ValueError(
            f"{algorithm} cannot be trained by workers, expected label-tree, one-against-all or "
            "ldsm; leave --workers and --dask out"
        )
    params = {"random_state": 0, **params}
    if passes is not None:
        params["passes"] = passes
    settings, first = _reader(files, format, reader_options or {}, text_options or {})
    is_text = first is not None and isinstance(first.X, Texts)
    clf: Any
    if is_text:
        clf = dask.DaskTextClassifier(estimator(**params), **(text_options or {}))
    else:
        clf = known[estimator.__name__](**params)
    with _client(workers, address) as client:
        clf.client = client
        shown = f"{len(files):,} files, {len(client.nthreads())} workers"
        display.note(f"{shown}; tasks are shown at {client.dashboard_link}", event="workers")
        if first is not None:
            doubts = Doubts(display)
            doubts.add(first, settings, label_sets=True)
            doubts.tell_of_labels(settings)
        reader = {**settings, "skip_bad_lines": skip_bad_lines}
        clf.fit(files, reader=reader, verbose=int(display.has_bar))
    local: OnlineClassifier | TextClassifier = clf.to_local()
    local.save(model, notes={"reader": settings})
    display.note(f"{model}: {local.n_labels_:,} labels", event="saved")
    if test:
        from labeltree.cli.evaluate import evaluate, report

        measured = evaluate(model, test)
        display.result(report(measured).rstrip(), event="test", **measured)
    return local


def _reader(
    files: Sequence[str], format_: str, options: dict[str, Any], text: dict[str, Any]
) -> tuple[dict[str, Any], Rows | None]:
    """Return how files are read, and the first rows."""
    format_ = format_of(list(files), format_)
    options = dict(options)
    if format_ in ("svmlight", "log"):
        options.setdefault("n_features", DEFAULT_FEATURES)
    if format_ == "vw" and "hash_bits" in text:
        options["hash_bits"] = text.pop("hash_bits")
    if text and not may_be_text(format_):
        option = "--" + next(iter(text)).replace("_", "-")
        raise ValueError(f"{option} is for text, and the format is {format_}; leave the option out")
    settings = make_format(format_, options).settings()
    given: Any = settings
    with stream(files[0], batch_size=ROWS, skip_bad_lines=True, **given) as rows:
        first = next(iter(rows), None)
    return settings, first


@contextmanager
def _client(workers: int | None, address: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one of processes of this machine."""
    from labeltree.dask.compat import Client, dask, distributed

    if address is not None:
        with _quiet(), Client(address, timeout=10) as client:
            yield client
        return
    folder = dask.config.get("temporary-directory", None)
    with (
        _quiet(),
        _ended_by_signals() as is_ending,
        tempfile.TemporaryDirectory(prefix="labeltree-", dir=folder) as scratch,
        dask.config.set({"temporary-directory": scratch}),  # of the scheduler, too
        _without_ctrl_c(),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=scratch,
            silence_logs=_NOTHING,
        ) as cluster,
        Client(cluster) as client,
    ):
        _hear_ctrl_c()
        try:
            yield client
        finally:
            is_ending()


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to one sentence to tell what failed, or that nothing did: Dask logs much of it."""
    loggers = [logging.getLogger(name) for name in ("distributed", "asyncio", "tornado")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_NOTHING)
    try:
        yield
    finally:
        gc.collect()  # asyncio tells of tasks when they are collected
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def _ended_by_signals() -> Iterator[Callable[[], None]]:
    """Let SIGTERM end what goes on as Ctrl-C does: workers end, and their files are removed.

    What a signal raises is lost, and told, where Python cannot pass it on: while it collects
    garbage. So it waits for the end of that, and is raised again every second, until the function
    that is given is called.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    timer = getattr(signal, "setitimer", None)
    heard = [signal.SIGINT, signal.SIGTERM, *([signal.SIGALRM] if timer else [])]
    last = signal.SIGINT

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if number in (signal.SIGINT, signal.SIGTERM):
            last = signal.Signals(number)
        waits = timer is not None and _is_collecting(frame)
        if timer:
            timer(signal.ITIMER_REAL, 0.02 if waits else 1.0)
        if not waits:
            raise KeyboardInterrupt if last == signal.SIGINT else SystemExit(128 + last)

    def stop() -> None:
        if timer:
            timer(signal.ITIMER_REAL, 0.0)

    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield stop
    finally:
        stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_collecting(frame: FrameType | None) -> bool:
    """Tell whether a destructor is running, or what Dask lets Python call when it collects."""
    while frame is not None:
        if frame.f_code.co_name in ("__del__", "_gc_callback"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Start threads, and processes, that Ctrl-C does not reach: it is this thread's to end them."""
    resource_tracker.ensure_running()  # which would let the thread hear it that starts a process
    _mask(signal.SIG_BLOCK)
    try:
        yield
    finally:
        _hear_ctrl_c()


def _hear_ctrl_c() -> None:
    _mask(signal.SIG_UNBLOCK)


def _mask(how: int) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(how, {signal.SIGINT})
