"""``labeltree train``: files in, progressive validation shown, a model out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labeltree.cli.display import Display
from labeltree.estimators import OnlineClassifier, TextClassifier
from labeltree.runs import train


def train_and_report(
    data: Sequence[str],
    model: Path,
    *,
    test: Sequence[str] = (),
    plot: Path | None = None,
    display: Display | None = None,
    **options: Any,
) -> OnlineClassifier | TextClassifier:
    """Train, then evaluate on test files and draw the learning curve, if asked for.

    Parameters
    ----------
    data, model, **options
        As for `labeltree.runs.train`.
    test : sequence of str
        Files with labelled rows.
    plot : Path, optional
        Where to draw the learning curve, in the format that the name's end tells.
    display : Display, optional
        What to show while it runs; nothing by default.

    Returns
    -------
    OnlineClassifier or TextClassifier
        The model.
    """
    display = display or Display()
    if plot is not None:
        from labeltree.plot import learning_curve, picture_format, write  # needs matplotlib

        picture_format(plot)
    clf = train(data, model, test=test, plot=plot, observer=display, **options)
    if test:
        from labeltree.cli.evaluate import evaluate, report

        measured = evaluate(model, test)
        display.result(report(measured).rstrip(), event="test", **measured)
    if plot is not None:
        write(learning_curve(clf), plot)
        display.note(f"the learning curve is in {plot}", event="plot", path=str(plot))
    return clf
