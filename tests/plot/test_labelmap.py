"""The map of a tree: areas are examples, and words stay in their boxes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree import LabelTreeClassifier, TextClassifier, plot
from labeltree.plot.labelmap import Box, squarified

from ..estimators.test_treewords import TOPICS, texts


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=30),
    st.floats(0.1, 3),
    st.floats(0.1, 3),
    st.floats(0.3, 3),
)
def test_boxes_fill_theirs_in_proportion(weights, width, height, ratio):
    weights = sorted(weights, reverse=True)
    boxes = squarified(weights, Box(1.0, 2.0, width, height), ratio)
    areas = np.array([box.width * box.height for box in boxes])
    np.testing.assert_allclose(areas / areas.sum(), np.array(weights) / sum(weights), rtol=1e-6)
    assert areas.sum() == pytest.approx(width * height)
    for i, box in enumerate(boxes):
        assert box.x >= 1 - 1e-9
        assert box.y >= 2 - 1e-9
        assert box.x + box.width <= 1 + width + 1e-6
        assert box.y + box.height <= 2 + height + 1e-6
        for other in boxes[:i]:
            across = min(box.x + box.width, other.x + other.width) - max(box.x, other.x)
            along = min(box.y + box.height, other.y + other.height) - max(box.y, other.y)
            assert min(across, along) < 1e-6


def test_equal_parts_are_nearly_square():
    for box in squarified([1.0] * 12, Box(0, 0, 1, 1), 1.5):
        assert 0.4 < 1.5 * box.width / box.height < 2.5


def test_map_has_a_box_a_branch_with_its_words_inside(runs):
    X, y = texts()
    clf = TextClassifier(LabelTreeClassifier(random_state=0, passes=1), keep_names=True).fit(X, y)
    ax = plot.label_map(clf)
    ax.figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in ax.patches]
    assert len(boxes) == 4
    written = ax.texts[1:]
    told = [set(text.get_text().replace(",", " ").split()) for text in written]
    assert sum(bool(words & set(topic.split())) for topic in TOPICS.values() for words in told) >= 4
    for text in written:
        inside = text.get_window_extent()
        assert any(
            box.x0 <= inside.x0
            and inside.x1 <= box.x1
            and box.y0 <= inside.y0
            and inside.y1 <= box.y1
            for box in boxes
        )
    assert ax.texts[0].get_text() == "4 labels, learned 240 times; areas: how often learned"
    without = plot.label_map(runs[1])  # no names: labels
    shown = {
        word for text in without.texts[1:] for word in text.get_text().replace(",", " ").split()
    }
    assert shown <= {*map(str, range(20)), "…"}
