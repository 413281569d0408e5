"""One look for all pictures, that everybody can read."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labeltree import plot
from labeltree.plot.style import SCHEMES

# How people see colours who lack one kind of cones, in linear RGB (Viénot, Brettel & Mollon 1999
# for the first two).
SEEN_BY = {
    "all": np.eye(3),
    "protanopes": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopes": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}
PAGES = {"light": ["#ffffff"], "dark": ["#1e2129"], "both": ["#ffffff", "#1e2129"]}


def linear(color):
    rgb = np.array(to_rgb(color[:7]))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """CIE L*a*b* of linear RGB."""
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.maximum(np.array(matrix) @ rgb / [0.9505, 1, 1.089], 0))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("name", SCHEMES)
def test_colours_stand_out_from_the_page(name):
    scheme = SCHEMES[name]
    for page in PAGES[name]:
        assert contrast(scheme.text, page) >= (3.9 if name == "both" else 7)
        assert contrast(scheme.quiet, page) >= (3.9 if name == "both" else 4.5)
        for color in scheme.lines:
            assert contrast(color, page) >= 3, color


@pytest.mark.parametrize("eyes", SEEN_BY)
@pytest.mark.parametrize("name", SCHEMES)
def test_lines_are_told_apart_by_all_eyes(name, eyes):
    seen = {color: lab(np.array(SEEN_BY[eyes]) @ linear(color)) for color in SCHEMES[name].lines}
    near = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in combinations(seen, 2)}
    assert min(near.values()) > (8 if name == "both" else 12), min(near, key=near.get)


def named(ax):
    return {text.get_text(): text for text in ax.texts if text.get_gid()}


def test_names_stand_at_the_ends_in_the_colours_of_lines_and_apart():
    with plot.style():
        ax = plot.axes("title", "x", "y", note="below it")
        ends = [1.0, 1.001, 1.002, 5.0]
        for i, end in enumerate(ends):
            ax.plot([0, 1, 2], [end, end, np.nan if i == 0 else end], label=f"line {i}")
        ax.plot([0, 2], [2, 2])  # which has no name
        plot.name_lines(ax)
        plot.name_lines(ax)  # not twice
    names = named(ax)
    assert len(ax.texts) == 1 + len(ends)
    assert list(names) == ["line 0", "line 1", "line 2", "line 3"]
    for line, text in zip(ax.get_lines(), names.values(), strict=False):
        assert text.get_color() == line.get_color()
    assert names["line 0"].xy == (1, 1.0)
    assert names["line 3"].xy == (2, 5.0)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in names.values()]
    assert boxes[1].y1 <= boxes[2].y0 + 1  # in the order of the lines
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    width, height = ax.figure.canvas.get_width_height()
    assert all(box.x1 <= width and box.y1 <= height for box in boxes)


def test_a_block_changes_all_that_is_drawn_in_it_and_nothing_after():
    faces = {}
    for name, scheme in SCHEMES.items():
        with plot.style(name) as given:
            assert given is scheme
            assert plot.palette() == scheme.lines
            ax = plot.axes("title", "x", "y")
            (line,) = ax.plot([1, 2])
        assert line.get_color() == scheme.lines[0]
        ax.figure.canvas.draw()  # outside of the block
        assert {tick.label1.get_color() for tick in ax.xaxis.get_major_ticks()} == {scheme.text}
        faces[name] = ax.figure.get_facecolor()
    assert len(set(faces.values())) == 3
    assert faces["both"][3] == 0  # transparent
    assert plot.palette() == SCHEMES["light"].lines
    with pytest.raises(ValueError, match="scheme is 'night', expected one of light, dark, both"):
        plot.style("night").__enter__()
