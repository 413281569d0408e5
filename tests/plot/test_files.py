"""Pictures as files."""

import pytest

from labeltree import plot


def test_pictures_are_written_whole(runs, tmp_path):
    ax = plot.depth_histogram(runs[1])
    plot.write(ax, tmp_path / "depth.svg")
    assert "<svg" in (tmp_path / "depth.svg").read_text()
    with pytest.raises(ValueError, match="expected a name ending in"):
        plot.write(ax, tmp_path / "depth.docx")
    assert [path.name for path in tmp_path.iterdir()] == ["depth.svg"]


def test_equal_pictures_are_equal_files_whose_words_can_be_searched(runs, tmp_path):
    for name in ("a.svg", "b.svg"):
        plot.write(plot.learning_curve(*runs), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert ">ProbabilityTree</text>" in (tmp_path / "a.svg").read_text()


def test_png(runs, tmp_path):
    plot.write(plot.learning_curve(*runs), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
