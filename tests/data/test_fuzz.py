import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree.data import DataError, Texts, load
from tests.data.rows_check import label_lists, text_bytes

TEXT_FORMATS = ["svmlight", "xmc", "vw", "tsv", "fasttext", "annif", "csv", "jsonl"]
HEADERS = {"xmc": b"2 9 9\n", "csv": b"label,text\n"}
TOKENS = [
    *('"', '""', ",", "\n", "\r\n", "\t", " ", "label", "text", "labels", ":", "{", "}", "["),
    *("]", "<", ">", "<a>", "__label__", "__label__a", "null", "1", "é", "\ud800", "\\ud800"),
]
garbage = st.one_of(
    st.binary(max_size=200),
    st.text("0123456789:,|#'\t -.eEinfaqd\n\r\x00é", max_size=200).map(str.encode),
    st.lists(
        st.sampled_from(TOKENS),
        max_size=40,
    ).map(lambda parts: "".join(parts).encode(errors="surrogatepass")),
)


def check(data):
    """What holds of all rows, whatever they were read from."""
    X = data.X
    assert X.shape[0] == len(data) == len(label_lists(data)) == len(data.y)
    if isinstance(X, Texts):
        b"".join(text_bytes(X)).decode()
        assert list(X) == [text.decode() for text in text_bytes(X)]
        return
    X.check_format(full_check=True)
    assert (X.data - X.data == 0).all()


def load_or_error(content, **options):
    try:
        return load(io.BytesIO(content), **options), None
    except DataError as error:
        return None, error


@pytest.mark.parametrize("format_", TEXT_FORMATS)
@settings(max_examples=200)
@given(content=garbage)
def test_garbage_is_an_error_or_rows_but_never_a_crash(format_, content):
    data, error = load_or_error(content, format=format_)
    if error is None:
        check(data)
    else:
        assert str(error).isprintable()


@pytest.mark.parametrize("format_", TEXT_FORMATS)
@settings(max_examples=200)
@given(content=garbage)
def test_every_line_is_a_row_or_reported(format_, content):
    content = HEADERS.get(format_, b"") + content
    data, error = load_or_error(content, format=format_, skip_bad_lines=True)
    if error is None:
        check(data)
        assert len(data) + data.bad_lines.count <= content.count(b"\n") + 1
        assert all(str(bad).isprintable() for bad in data.bad_lines.first)
    else:  # only what concerns the whole file cannot be skipped
        assert format_ == "xmc"
