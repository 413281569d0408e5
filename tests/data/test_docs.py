import doctest

from labeltree.data import loading


def test_examples_in_docstrings_run():
    result = doctest.testmod(loading)
    assert result.attempted > 5
    assert result.failed == 0
