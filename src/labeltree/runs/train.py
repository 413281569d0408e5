"""A run from files to a model, whoever asks for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labeltree import modelfile
from labeltree.algorithms import DEFAULT_ALGORITHM, estimator_class
from labeltree.estimators import OnlineClassifier, TextClassifier
from labeltree.runs.observer import Observer
from labeltree.runs.outputs import require_model_output, require_output, require_writable
from labeltree.runs.reading import expand, require_labelled
from labeltree.runs.run import Every, StopRequest
from labeltree.runs.training import Given, Training, require_algorithm
from labeltree.validation import as_threads


def train(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    model: str | os.PathLike[str],
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    params: dict[str, Any] | None = None,
    format: str = "auto",  # noqa: A002
    reader_options: dict[str, Any] | None = None,
    text_options: dict[str, Any] | None = None,
    skip_bad_lines: bool = False,
    label_sets: bool | None = None,
    keep_names: bool = False,
    passes: int | None = None,
    holdout: float = 0.0,
    shuffle: int | None = None,
    checkpoint_every: str | None = None,
    resume: Path | None = None,
    threads: int | None = None,
    test: Sequence[str] = (),
    plot: Path | None = None,
    rounded: bool = False,
    overwrite: bool = False,
    observer: Observer | None = None,
) -> OnlineClassifier | TextClassifier:
    """Learn the rows of files in their order, and save the model with how they were read.

    Parameters
    ----------
    data : str, path-like, or sequence of them
        Paths, patterns, or "-" for standard input. With `resume` none, to go on with the run's.
    model : str or path-like
        Where to write the model, and its checkpoints.
    algorithm : str
        Which estimator, by its name in the command line.
    params : dict, optional
        Its parameters; `random_state` is 0 if it is not given.
    format, reader_options, skip_bad_lines
        As for `labeltree.data.stream`.
    text_options : dict, optional
        Parameters of `labeltree.TextFeatures`, for formats of text.
    label_sets : bool, optional
        Whether rows have sets of labels. By default the first rows tell.
    keep_names : bool
        Whether to keep the names of hashed features with the model, to be shown by `inspect`. A
        model that is resumed goes on as it was started.
    passes : int, optional
        How often to read the files, by default once. Progressive validation counts the first
        time.
    holdout : float
        The share of the rows that is predicted in each pass but never learned.
    shuffle : int, optional
        How many consecutive rows to read before they are learned in a random order, another in
        each pass, which the estimator's `random_state` seeds. By default rows are learned in the
        order of the files.
    checkpoint_every : str, optional
        How often to save the model while learning: 60s, 10m, or 5000, 100k, 2M examples.
    resume : Path, optional
        A model to learn on with. A checkpoint of a run that did not end goes on where it was,
        unless it is given other data.
    threads : int, optional
        Number of threads, -1 for all processors.
    test : sequence of str
        Files to be evaluated on later; that their first rows can be read and have labels is
        better known before hours of learning.
    plot : Path, optional
        A file to be written later; that it can be is better known before, too.
    rounded : bool
        Whether weights are rounded in the file, where they take half the size then; a run that is
        resumed goes on as well, but not bit for bit.
    overwrite : bool
        Whether `model` may be a file that exists and is no model.
    observer : Observer, optional
        Who is told how it goes; nobody by default.

    Returns
    -------
    OnlineClassifier or TextClassifier
        The model. After Ctrl-C the model learned so far has been saved.
    """
    given_data = [data] if isinstance(data, str | os.PathLike) else data
    names = expand([os.fspath(name) for name in given_data])
    model = Path(model)
    as_threads(threads)  # all that may be wrong is told before a byte is read
    every = Every.parse(checkpoint_every)
    training = Training(model, every, observer or Observer(), exact=not rounded)
    require_writable(model)
    params = dict(params or {})
    if resume is None:
        params.setdefault("random_state", 0)
    given = Given(format, reader_options or {}, params, text_options or {}, keep_names)
    if resume is not None:
        require_algorithm(resume, algorithm)
        training.resume(resume, names, passes, holdout, given, shuffle)
    else:
        estimator = estimator_class(algorithm)
        training.start(estimator, names, passes or 1, holdout, given, shuffle)
    if label_sets is not None:
        training.label_sets = label_sets
    training.run.skip_bad_lines |= skip_bad_lines
    read = [*names, *training.run.data, *expand(test)]
    require_model_output(model, read, overwrite=overwrite)
    if plot is not None:
        require_output(plot, [*read, model, *([] if resume is None else [resume])])
    modelfile.remove_leftovers(model)
    if test:
        skip = training.run.skip_bad_lines
        require_labelled(expand(test), training.settings, skip_bad_lines=skip)
    training.use_threads(threads)
    try:
        with StopRequest() as stop:
            while not training.run.finished and not stop.requested:
                training.learn_pass(stop)
            if training.learned:
                training.save(final=True)
            else:
                training.observer.note("stopped before anything was learned; nothing was saved")
            if stop.requested and not training.run.finished:
                raise KeyboardInterrupt
    finally:
        training.observer.close()
    return training.clf
