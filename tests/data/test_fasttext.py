import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.data import DataError, load
from tests.data.rows_check import assert_rows, label_lists
from tests.reference import text_formats

piece = st.sampled_from(["__label__a", "__label__b,c", "__label", "label__", " ", "  ", "\t", "é"])
token = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=4)


@given(st.lists(piece | token, max_size=9).map(" ".join))
def test_agrees_with_the_obvious_parser(line):
    line = f"x {line}"
    if "__label__" in line.replace("\t", " ").split(" "):  # a label without a name
        return
    data = load(io.BytesIO(line.encode()), format="fasttext")
    assert_rows(data, [text_formats.fasttext(line)])


def test_labels_stand_anywhere_and_may_be_absent(read):
    content = b"__label__a __label__b it purrs\nit __label__a barks\nit sings\n__label__a\n"
    data = read(content, format="fasttext")
    assert label_lists(data) == [["a", "b"], ["a"], [], ["a"]]
    assert [text.split() for text in data.X] == [
        ["it", "purrs"],
        ["it", "barks"],
        ["it", "sings"],
        [],
    ]
    assert data.labels.vocabulary == ["a", "b"]


def test_labels_are_always_text_and_count_once(read):
    data = read(b"__label__1 __label__007 __label__1 x\n", format="fasttext")
    assert label_lists(data) == [["1", "007"]]


def test_blank_lines_byte_order_mark_and_carriage_returns(read):
    data = read(b"\xef\xbb\xbf__label__a x\r\n\r\n  \t\n\n__label__b y\r\n", format="fasttext")
    assert label_lists(data) == [["a"], ["b"]]
    assert [*data.X] == [" x", " y"]


def test_other_prefixes(read):
    data = read(b"#cat #dog it __label__purrs\n", format="fasttext", label_prefix="#")
    assert label_lists(data) == [["cat", "dog"]]
    assert data.X[0].split() == ["it", "__label__purrs"]
    assert data.settings == {"format": "fasttext", "label_prefix": "#"}


def test_the_format_is_known_by_name_and_by_the_first_line(tmp_path):
    for name in ("a.ft", "a.fasttext", "a.txt", "a.txt.gz"):
        path = tmp_path / name
        content = b"__label__a it purrs\n"
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        data = load(path)
        assert data.settings["format"] == "fasttext"
        assert data.y.tolist() == ["a"]


BAD = [
    (b"__label__a caf\xe9", 'line "__label__a caf\\xe9" is not valid UTF-8'),
    (b"__label__\xff x", 'line "__label__\\xff x" is not valid UTF-8'),
    (b"__label__ x", 'label "" is empty: expected labels with one separator in between'),
    (
        b"__label__b " + b"x" * 90,
        'line starting "__label__b xxxxxxxxxxxxxxxxxxxxxxxxxxxxx..." is too long: expected at most '
        "max_line=80 bytes",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_malformed_line_is_named_or_skipped(read, line, message):
    content = b"__label__a x\n\n" + line + b"\n__label__c y\n"
    with pytest.raises(DataError) as caught:
        read(content, format="fasttext", max_line=80)
    assert str(caught.value) == f"train:3: {message}"
    data = read(content, format="fasttext", max_line=80, skip_bad_lines=True)
    assert data.labels.vocabulary == ["a", "c"]
    assert [*data.X] == [" x", " y"]
    assert data.bad_lines.first == [("train", 3, message)]


def test_files_one_after_the_other(tmp_path):
    paths = [tmp_path / f"{i}.ft" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text(f"__label__{i % 2} text {i}\n__label__ bad", "utf-8")
    data = load(paths, skip_bad_lines=True)
    assert data.y.tolist() == ["0", "1", "0"]
    assert [*data.X] == [" text 0", " text 1", " text 2"]
    assert [(bad.path, bad.line) for bad in data.bad_lines.first] == [(str(p), 2) for p in paths]
