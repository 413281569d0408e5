"""Pictures say what the numbers say."""

import json

import numpy as np
import pytest

from labeltree import LOMTreeClassifier, ProbabilityTreeClassifier, metrics, plot
from labeltree.datasets import make_multiclass


@pytest.fixture(scope="module")
def runs():
    X, y = make_multiclass(600, 20, n_features=128)
    return [
        estimator(random_state=0).fit(X, y)
        for estimator in (LOMTreeClassifier, ProbabilityTreeClassifier)
    ]


def test_learning_curves_of_several_runs_share_axes(runs):
    ax = plot.learning_curve(runs[0], runs[1].progress_, labels=["lom", "probability"])
    lines = ax.get_lines()
    names = ["lom", "probability", "since the previous point"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    assert ax.get_legend().get_lines()[-1].get_linestyle() == lines[1].get_linestyle() == "--"
    examples, error = lines[0].get_data()
    history = runs[0].progress_.history
    assert examples.tolist() == [*[row.examples for row in history], 600]
    np.testing.assert_allclose(error[:-1], [row.error for row in history])
    assert error[-1] == runs[0].progress_.error
    assert plot.learning_curve(runs[1], ax=ax) is ax
    assert len(ax.get_lines()) == 6
    assert len(ax.get_legend().get_texts()) == 4  # dashes are explained once


def test_histograms_count_all_examples_and_leaves(runs):
    tree = runs[0].tree_
    bars = plot.depth_histogram(runs[0]).patches
    assert sum(bar.get_height() for bar in bars) == tree.weight[tree.leaves].sum()
    sizes = plot.leaf_size_histogram(runs[0]).patches
    assert sum(bar.get_height() for bar in sizes) == tree.n_leaves


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
    assert ax.get_title() == "calibration error 0.2600"
    del measured["calibration"]
    with pytest.raises(ValueError, match="gives no probabilities"):
        plot.reliability(measured)


def test_evaluation_draws_what_is_known(measured, tmp_path):
    figure = plot.evaluation(measured)
    titles = ["by how often a label was learned", "calibration error 0.2600"]
    assert [ax.get_title() for ax in figure.axes] == titles
    plot.write(figure, tmp_path / "a.svg")
    assert "<svg" in (tmp_path / "a.svg").read_text()
    groups = measured.pop("groups")
    assert [ax.get_title() for ax in plot.evaluation({**measured, "groups": {}}).axes] == titles[1:]
    assert [ax.get_title() for ax in plot.evaluation({"groups": groups}).axes] == titles[:1]
    with pytest.raises(ValueError, match="nothing to draw"):
        plot.evaluation({"groups": {}})


def test_accuracy_against_time(tmp_path):
    results = [
        {"name": "a", "seconds": 2.0, "accuracy": 0.5},
        {"name": "b", "seconds": 1.0, "accuracy": 0.6},
        {"name": "a", "seconds": 1.0, "accuracy": 0.4},
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    lines = plot.accuracy_against_time(path).get_lines()
    assert [line.get_label() for line in lines] == ["a", "b"]
    assert lines[0].get_xdata().tolist() == [1.0, 2.0]
    path.write_text("{}")
    with pytest.raises(ValueError, match="expected a list of objects"):
        plot.accuracy_against_time(path)


def test_pictures_are_written_whole(runs, tmp_path):
    ax = plot.depth_histogram(runs[1])
    plot.write(ax, tmp_path / "depth.svg")
    assert "<svg" in (tmp_path / "depth.svg").read_text()
    with pytest.raises(ValueError, match="expected a name ending in"):
        plot.write(ax, tmp_path / "depth.docx")
    assert [path.name for path in tmp_path.iterdir()] == ["depth.svg"]
    with pytest.raises(ValueError, match="at least one run"):
        plot.learning_curve()


def test_reliability_draws_what_the_metric_returns():
    found = metrics.reliability([1, 2, 3], [[1], [2], [1]], [[0.9], [0.9], [0.2]])
    points = plot.reliability(found).get_lines()[1]
    np.testing.assert_allclose(points.get_ydata(), [0, 1])
