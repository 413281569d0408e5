import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree.data import DataError, load
from tests.data.rows_check import label_lists

TEXT_FORMATS = ["svmlight", "xmc", "vw", "tsv"]
garbage = st.one_of(
    st.binary(max_size=200),
    st.text("0123456789:,|#'\t -.eEinfaqd\n\r\x00é", max_size=200).map(str.encode),
)


def check(data):
    """What holds of all rows, whatever they were read from."""
    X = data.X
    X.check_format(full_check=True)
    assert X.shape[0] == len(data) == len(label_lists(data)) == len(data.y)
    assert (X.data - X.data == 0).all()


def load_or_error(content, **options):
    try:
        return load(io.BytesIO(content), **options), None
    except DataError as error:
        return None, error


@pytest.mark.parametrize("format_", TEXT_FORMATS)
@settings(max_examples=300)
@given(content=garbage)
def test_garbage_is_an_error_or_rows_but_never_a_crash(format_, content):
    data, error = load_or_error(content, format=format_)
    if error is None:
        check(data)
    else:
        assert str(error).isprintable()


@pytest.mark.parametrize("format_", TEXT_FORMATS)
@settings(max_examples=300)
@given(content=garbage)
def test_every_line_is_a_row_or_reported(format_, content):
    data, error = load_or_error(b"2 9 9\n" + content, format=format_, skip_bad_lines=True)
    if error is None:
        check(data)
        assert len(data) + data.bad_lines.count <= content.count(b"\n") + 2
    else:  # only what concerns the whole file cannot be skipped
        assert format_ == "xmc"
