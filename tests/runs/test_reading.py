"""Files to pieces."""

import gc
import io
import weakref

from labeltree.data import stream
from labeltree.runs.reading import FIRST, pieces


def test_rows_that_were_learned_are_not_kept():
    rows = stream(io.BytesIO(b"a\tit purrs\n" * 3 * FIRST), format="tsv", batch_size=100)
    cut = pieces(rows)
    piece = next(cut)
    assert len(piece.rows) == FIRST
    first = weakref.ref(piece.rows.X.data)
    assert first() is not None
    piece = next(cut)
    piece = next(cut)
    gc.collect()
    assert first() is None
    assert piece.end > FIRST
