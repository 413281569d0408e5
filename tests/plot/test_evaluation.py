"""Pictures of an evaluation say what was measured."""

import numpy as np
import pytest

from labeltree import metrics, plot


def test_precision_by_frequency():
    interval = {"value": 0.5, "low": 0.4, "high": 0.7}
    group = {"learned": [1, 19], "labels": 3, "examples": 9, "recall@1": interval}
    groups = {"head": {**group, "recall@5": interval}, "tail": {**group, "recall@5": interval}}
    ax = plot.precision_by_frequency({"groups": groups})
    assert [bar.get_height() for bar in ax.patches] == [0.5] * 4
    assert [label.get_text() for label in ax.get_xticklabels()][1] == "tail\n3 labels"
    with pytest.raises(ValueError, match="train it with labeltree train"):
        plot.precision_by_frequency({"groups": {}})


@pytest.fixture
def measured():
    interval = {"value": 0.5, "low": 0.4, "high": 0.7}
    group = {"learned": [1, 19], "labels": 3, "examples": 9, "recall@1": interval}
    table = metrics.reliability(
        list("abcde"), [[label] for label in "axcdx"], [[0.9], [0.3], [0.9], [0.5], [0.3]]
    )
    bins = [row._asdict() for row in table.bins]
    return {"groups": {"tail": group}, "calibration": {"error": table.error, "bins": bins}}


def test_reliability_draws_the_bins_their_sizes_and_the_diagonal(measured):
    ax = plot.reliability(measured)
    diagonal, points = ax.get_lines()[:2]
    np.testing.assert_array_equal(diagonal.get_data(), [[0, 1], [0, 1]])
    np.testing.assert_allclose(points.get_xdata(), [0.3, 0.5, 0.9])
    np.testing.assert_allclose(points.get_ydata(), [0, 1, 1])
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.4, 0.2, 0.4])
    assert ax.get_title(loc="left") == "Calibration error 0.2600"
    del measured["calibration"]
    with pytest.raises(ValueError, match="gives no probabilities"):
        plot.reliability(measured)


def test_evaluation_draws_what_is_known(measured, tmp_path):
    figure = plot.evaluation(measured)
    titles = ["By how often a label was learned", "Calibration error 0.2600"]
    assert [ax.get_title(loc="left") for ax in figure.axes] == titles
    plot.write(figure, tmp_path / "a.svg")
    assert "<svg" in (tmp_path / "a.svg").read_text()
    groups = measured.pop("groups")
    assert [
        ax.get_title(loc="left") for ax in plot.evaluation({**measured, "groups": {}}).axes
    ] == titles[1:]
    assert [ax.get_title(loc="left") for ax in plot.evaluation({"groups": groups}).axes] == titles[
        :1
    ]
    with pytest.raises(ValueError, match="nothing to draw"):
        plot.evaluation({"groups": {}})


def test_reliability_draws_what_the_metric_returns():
    found = metrics.reliability([1, 2, 3], [[1], [2], [1]], [[0.9], [0.9], [0.2]])
    points = plot.reliability(found).get_lines()[1]
    np.testing.assert_allclose(points.get_ydata(), [0, 1])
