"""``labeltree train --workers`` and ``--dask``: a model that a cluster has learned."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeltree.algorithms import estimator_class
from labeltree.cli.display import Display
from labeltree.data import stream
from labeltree.data.formats import make_format, may_be_text
from labeltree.data.texts import Texts
from labeltree.estimators import OnlineClassifier, TextClassifier
from labeltree.runs.outputs import require_model_output
from labeltree.runs.reading import expand, format_of
from labeltree.runs.training import DEFAULT_FEATURES


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
    settings, is_text = _reader(files, format, reader_options or {}, text_options or {})
    clf: Any
    if is_text:
        clf = dask.DaskTextClassifier(estimator(**params), **(text_options or {}))
    else:
        clf = known[estimator.__name__](**params)
    with _client(workers, address) as client:
        clf.client = client
        shown = f"{len(files):,} files, {len(client.nthreads())} workers"
        display.note(f"{shown}; tasks are shown at {client.dashboard_link}", event="workers")
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
) -> tuple[dict[str, Any], bool]:
    """Return how files are read, and whether they hold texts, as the first rows tell."""
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
    with stream(files[0], batch_size=100, skip_bad_lines=True, **given) as rows:
        first = next(iter(rows), None)
    return settings, first is not None and isinstance(first.X, Texts)


@contextmanager
def _client(workers: int | None, address: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one of processes of this machine."""
    from labeltree.dask.compat import Client, distributed

    if address is not None:
        with Client(address, timeout=10) as client:
            yield client
        return
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
