"""Curves say what the numbers say."""

import json

import numpy as np
import pytest

from labeltree import plot
from labeltree.progress import Progress


def names(ax):
    return [text.get_text() for text in ax.texts if text.get_gid()]


def test_learning_curves_of_several_runs_share_axes(runs):
    ax = plot.learning_curve(runs[0], runs[1].progress_, labels=["lom", "probability"])
    lines = ax.get_lines()
    assert names(ax) == ["lom", "probability"]
    assert ax.get_legend() is None
    examples, error = lines[0].get_data()
    history = runs[0].progress_.history
    assert examples.tolist() == [*[row.examples for row in history], 600]
    np.testing.assert_allclose(error[:-1], [row.error for row in history])
    assert error[-1] == runs[0].progress_.error
    assert plot.learning_curve(runs[1], ax=ax) is ax
    assert len(ax.get_lines()) == 6
    assert names(ax) == ["lom", "probability", "ProbabilityTree"]
    assert len({line.get_color() for line in ax.get_lines()}) == 3


def test_dashes_are_explained_and_have_the_colour_of_their_line(runs):
    ax = plot.learning_curve(*runs)
    (note,) = [text for text in ax.texts if not text.get_gid()]
    assert note.get_text() == "since the start; dashed: since the previous point"
    whole, recent = ax.get_lines()[:2]
    assert (whole.get_linestyle(), recent.get_linestyle()) == ("-", "--")
    assert whole.get_color() == recent.get_color()
    history = runs[0].progress_.history
    np.testing.assert_allclose(recent.get_ydata()[:-1], [row.recent_error for row in history])


def test_the_curve_fills_its_axes():
    progress = Progress()
    wrong = np.random.default_rng(0).random(1 << 14) < 0.02
    progress.add(wrong | (np.arange(len(wrong)) < 8))
    ax = plot.learning_curve(progress)
    shown = [line.get_xydata() for line in ax.get_lines()]
    low, high = ax.get_ylim()
    first, last = ax.get_xlim()
    assert last == 1 << 14
    assert first == 64  # before, everything is wrong
    y = np.concatenate([points[points[:, 0] >= first, 1] for points in shown])
    assert np.ptp(y[np.isfinite(y)]) > 0.85 * (high - low)


def test_runs_of_one_name_are_repeats_with_a_band(runs):
    lom, probability = runs
    ax = plot.learning_curve(lom, probability, labels=["same", "same"])
    assert names(ax) == ["same"]
    errors = [[row.error for row in run.progress_.history] for run in runs]
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata()[:-1], np.mean(errors, axis=0))
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    at = {row.examples: i for i, row in enumerate(lom.progress_.history)}[256]
    heights = corners[corners[:, 0] == 256, 1]
    found = {min(heights), max(heights)}
    np.testing.assert_allclose(sorted(found), sorted(error[at] for error in errors))


def test_without_runs_or_with_other_labels_nothing_is_drawn(runs):
    with pytest.raises(ValueError, match="at least one run"):
        plot.learning_curve()
    with pytest.raises(ValueError, match="2 runs and 1 labels"):
        plot.learning_curve(*runs, labels=["one"])


def test_accuracy_against_time(tmp_path):
    results = [
        {"name": "a", "seconds": 2.0, "accuracy": 0.5},
        {"name": "b", "seconds": 1.0, "accuracy": 0.6},
        {"name": "a", "seconds": 1.0, "accuracy": 0.4},
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    ax = plot.accuracy_against_time(path)
    assert names(ax) == ["a", "b"]
    assert ax.get_lines()[0].get_xdata().tolist() == [1.0, 2.0]
    path.write_text("{}")
    with pytest.raises(ValueError, match="expected a list of objects"):
        plot.accuracy_against_time(path)
