import io

import pytest

from labeltree.data import load


@pytest.fixture
def read():
    """Load bytes as if they were a file called `train`."""

    def read_bytes(content, format="svmlight", **options):  # noqa: A002
        file = io.BytesIO(content)
        file.name = "train"
        return load(file, format=format, **options)

    return read_bytes
