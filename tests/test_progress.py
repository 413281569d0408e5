import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labeltree.progress import Progress


@given(st.lists(st.booleans(), max_size=70), st.lists(st.integers(1, 20), max_size=20))
def test_checkpoints_do_not_depend_on_batches(wrong, sizes):
    wrong = np.array(wrong, dtype=bool)
    whole, pieces = Progress(), Progress()
    whole.add(wrong)
    begin = 0
    for size in [*sizes, len(wrong)]:
        pieces.add(wrong[begin : begin + size])
        begin += size
    assert whole == pieces
    assert whole.errors == wrong.sum()
    for row in whole.history:
        assert row.error == wrong[: row.examples].mean()
        previous = row.examples // 2
        assert row.recent_error == wrong[previous : row.examples].mean()


def test_nothing_counted():
    assert np.isnan(Progress().error)
    assert Progress().history == []
