import io
import pathlib
import sys

import pytest

from labeltree.data import load

# For `reference`, whatever pytest is asked to collect.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))


@pytest.fixture
def read():
    """Load bytes as if they were a file called `train`."""

    def read_bytes(content, format="svmlight", **options):  # noqa: A002
        file = io.BytesIO(content)
        file.name = "train"
        return load(file, format=format, **options)

    return read_bytes
