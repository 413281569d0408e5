"""Readers: files and streams in, CSR rows and labels out.

How a token becomes a label is one rule for svmlight, XMC and Vowpal Wabbit text: it is an int if
it is written as an integer (``12``, ``-3``, ``+1``) or as one with nothing but zeros after the
point (``1.0``), and fits 64 bits; everything else (``cat``, ``0.5``, ``1e3``, ``007``) is a str.
Labels of formats of text are str, those of JSON lines, Parquet and Arrow what they are there. No
label, or an empty one, is a row without labels. A label that is repeated in a row counts once.

Feature indices are kept as written, whether they start at 0 or at 1. A row's indices are sorted,
and the values of a repeated index added up. ``qid`` (svmlight), tag and base (Vowpal Wabbit) are
accepted and ignored.
"""

from labeltree._core import FeatureNames
from labeltree.data.errors import BadLine, BadLines, DataError, DataWarning
from labeltree.data.loading import Dataset, load, stream
from labeltree.data.rows import Labels, Rows
from labeltree.data.streams import Stream
from labeltree.data.texts import Texts

__all__ = [
    "BadLine",
    "BadLines",
    "DataError",
    "DataWarning",
    "Dataset",
    "FeatureNames",
    "Labels",
    "Rows",
    "Stream",
    "Texts",
    "load",
    "stream",
]
