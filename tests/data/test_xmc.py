import os

import pytest

from labeltree.data import DataError, DataWarning, load, stream
from tests.data.rows_check import assert_rows


def test_header_gives_the_width(read):
    data = read(b"3 10 4\n0,3 1:0.5 9:2\n 2:1\n2\n", format="xmc")
    assert data.X.shape == (3, 10)
    assert_rows(data, [([0, 3], {1: 0.5, 9: 2}, 1), ([], {2: 1}, 1), ([2], {}, 1)])


def test_blank_lines_are_examples_until_the_count_is_reached(read):
    data = read(b"3 5 5\n\n1 1:1\n \n\n \n", format="xmc")
    assert_rows(data, [([], {}, 1), ([1], {1: 1}, 1), ([], {}, 1)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", 'train: expected the header "examples features labels", received an empty file'),
        (b"\n1 1:1\n", 'train:1: expected the header "examples features labels", received ""'),
        (b"1 2\n", 'train:1: expected the header "examples features labels", received "1 2"'),
        (
            b"1 2 3 4\n",
            'train:1: expected the header "examples features labels", received "1 2 3 4"',
        ),
        (b"1 2 -3\n", 'train:1: expected the header "examples features labels", received "1 2 -3"'),
        (
            b"1 4294967297 3\n",
            "train:1: header announces 4294967297 features: expected at most 2^32",
        ),
        (b"2 5 5\n1 1:1\n", "train: header announces 2 examples, received 1"),
        (
            b"1 5 5\n1 1:1\n2 2:2\n",
            'train:3: more examples than the header announces: expected 1, received "2 2:2"',
        ),
        (
            b"1 5 5\n1 5:1\n",
            'train:2: feature index "5" is out of range: expected less than n_features=5',
        ),
        (b"1 5 5\n5 1:1\n", 'train:2: label "5" is out of range: the header announces 5 labels'),
        (b"1 5 5\n-1 1:1\n", 'train:2: label "-1" is negative: expected 0 or more'),
        (b"1 5 5\ncat 1:1\n", 'train:2: label "cat" is not an integer'),
    ],
)
def test_malformed_file_is_named(read, content, message):
    with pytest.raises(DataError) as caught:
        read(content, format="xmc")
    assert str(caught.value) == message


def test_skipped_lines_count_as_examples(read):
    content = b"4 5 5\n1 1:1\n7 1:1\n" + b"x" * 200 + b"\n2 1:1\n"
    data = read(content, format="xmc", skip_bad_lines=True, max_line=100)
    assert data.y.tolist() == [1, 2]
    assert [bad.line for bad in data.bad_lines.first] == [3, 4]


def test_bad_header_cannot_be_skipped(read):
    with pytest.raises(DataError, match="expected the header"):
        read(b"1 1:1\n", format="xmc", skip_bad_lines=True)


def test_txt_with_a_header_is_xmc_and_without_is_unknown(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1 5 5\n1 1:1\n")
    assert load(path).settings["format"] == "xmc"
    path.write_bytes(b"1 1:1\n")
    with pytest.raises(
        ValueError,
        match="svmlight, xmc, vw, tsv, fasttext, csv, jsonl, log, annif, text, parquet, arrow",
    ):
        load(path)


def test_several_files_have_the_widest_header(tmp_path):
    for name, width in (("a.xmc", 5), ("b.xmc", 7)):
        (tmp_path / name).write_text(f"1 {width} 5\n{width - 3} 4:1\n")
    data = load([tmp_path / "a.xmc", tmp_path / "b.xmc"])
    assert data.X.shape == (2, 7)
    assert data.y.tolist() == [2, 4]


def test_width_is_known_in_the_first_batch(tmp_path):
    path = tmp_path / "a.xmc"
    path.write_text("2 9 9\n1 1:1\n2 2:1\n")
    with stream(path, batch_size=1) as rows:
        assert [batch.X.shape for batch in rows] == [(1, 9), (1, 9)]


def from_pipe(content):
    """Read bytes from a pipe, which may be the head of a file."""
    out, into = os.pipe()
    os.write(into, content)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        return load(file, format="xmc")


def test_head_of_a_file_in_a_pipe_is_read(tmp_path):
    for content in (b"3 5 5\n1 1:1\n2 2:1\n", b"3 5 5\n1 1:1\n2 2:1"):
        with pytest.warns(DataWarning, match="the header announces 1 examples more than came"):
            assert from_pipe(content).y.tolist() == [1, 2]
        (tmp_path / "a.xmc").write_bytes(content)
        with (
            pytest.raises(DataError, match="header announces 3 examples, received 2"),
            (tmp_path / "a.xmc").open("rb") as file,
        ):
            load(file, format="xmc")
    assert from_pipe(b"1 5 5\n1 1:1\n").y.tolist() == [1]
    with pytest.raises(DataError, match="received an empty file"):
        from_pipe(b"")
    with pytest.raises(DataError, match="more examples than the header announces"):
        from_pipe(b"1 5 5\n1 1:1\n2 2:1\n")


def test_head_of_a_file_in_a_named_pipe(tmp_path):
    path = tmp_path / "pipe.xmc"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    os.write(descriptor, b"9 5 5\n1 1:1\n")
    rows = stream(path)
    os.close(descriptor)
    with pytest.warns(DataWarning, match=r"pipe\.xmc: the header announces 8 examples"):
        assert [batch.y.tolist() for batch in rows] == [[1]]
