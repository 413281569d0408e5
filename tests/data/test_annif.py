import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.data import DataError, load
from tests.data.rows_check import assert_rows, label_lists
from tests.reference import text_formats

text = st.text(st.characters(exclude_characters="\t\r\n", exclude_categories=["Cs"]))
uri = st.text("abc:/#<>é", min_size=1, max_size=6).map("<{}>".format)


@given(text, st.lists(uri, max_size=4), st.sampled_from([" ", "  ", "\t"]))
def test_agrees_with_the_obvious_parser(text, uris, space):
    line = f"it {text}\t{space.join(uris)}"
    data = load(io.BytesIO(line.encode()), format="annif")
    assert_rows(data, [text_formats.annif(line)])


def test_labels_are_what_the_brackets_hold(read):
    content = (
        b"it purrs\t<http://a.org/1> <http://a.org/2>\nit barks\t<7>\t<7>\nit sings\t\n\t<x>\n"
    )
    data = read(content, format="annif")
    assert label_lists(data) == [["http://a.org/1", "http://a.org/2"], ["7"], [], ["x"]]
    assert [*data.X] == ["it purrs", "it barks", "it sings", ""]


def test_blank_lines_byte_order_mark_and_carriage_returns(read):
    data = read(b"\xef\xbb\xbfit\t<a>\r\n\r\n \t \n\nhe\t<b>\r\n", format="annif")
    assert label_lists(data) == [["a"], ["b"]]
    assert [*data.X] == ["it", "he"]


def test_compressed_files_one_after_the_other(tmp_path):
    paths = [tmp_path / f"{i}.tsv.gz" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(gzip.compress(b"text %d\t<%d>\nno tab" % (i, i % 2)))
    data = load(paths, format="annif", skip_bad_lines=True)
    assert data.y.tolist() == ["0", "1", "0"]
    assert [*data.X] == ["text 0", "text 1", "text 2"]
    assert [(bad.path, bad.line) for bad in data.bad_lines.first] == [(str(p), 2) for p in paths]


BAD = [
    (b"no tab", 'line "no tab" has no tab: expected text<TAB><uri> <uri>'),
    (b"caf\xe9\t<a>", 'text "caf\\xe9" is not valid UTF-8'),
    (b"it\t<b\xe9>", 'label "b\\xe9" is not valid UTF-8'),
    (b"it\t<>", 'label "" is empty: expected labels with one separator in between'),
    (b"it\t<b> c", 'label "c" is not in angle brackets: expected text<TAB><uri> <uri>'),
    (b"it\t<b", 'label "<b" is not in angle brackets: expected text<TAB><uri> <uri>'),
    (b"it\t<", 'label "<" is not in angle brackets: expected text<TAB><uri> <uri>'),
    (
        b"x" * 99,
        f'line starting "{"x" * 40}..." is too long: expected at most max_line=80 bytes',
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_malformed_line_is_named_or_skipped(read, line, message):
    content = b"x\t<a>\n\n" + line + b"\ny\t<c>\n"
    with pytest.raises(DataError) as caught:
        read(content, format="annif", max_line=80)
    assert str(caught.value) == f"train:3: {message}"
    data = read(content, format="annif", max_line=80, skip_bad_lines=True)
    assert data.labels.vocabulary == ["a", "c"]
    assert [*data.X] == ["x", "y"]
    assert data.bad_lines.first == [("train", 3, message)]
