import io
import json
import os
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.data import DataError, load, loading, stream, streams, text
from labeltree.data.rows import concatenate
from labeltree.data.source import CHUNK
from tests.data.rows_check import assert_same, label_lists

FORMATS = {
    "svmlight": b"1 1:1\r\n\r\ncat,2 2:2 3:3 # x\n# y\n 7:1\nx",
    "xmc": b"3 9 9\r\n1,2 1:1\n\n3 8:0.5",
    "vw": b"1 2 'x|f a b:2\r\n\n|g c\ncat |f a",
    "tsv": "a\tthe cat\r\n\nb\tnaïve 猫\n\tx".encode(),
    "fasttext": "__label__a the cat\r\n\n__label__b __label__c naïve 猫\nx".encode(),
    "annif": "the cat\t<a>\r\n\nnaïve 猫\t<b> <c>\nx\t".encode(),
    "csv": 'text,label\r\n"the\r\n""cat""",a\r\n\nnaïve 猫,b\n"x,y",'.encode(),
    "jsonl": '{"text": "the cat", "labels": ["a"]}\r\n\n'
    '{"text": "naïve 猫", "labels": ["b", 7]}\n{"text": "x"}'.encode(),
}


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, content, step=1):
        self._content = io.BytesIO(content)
        self._step = step

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._content.readinto(memoryview(buffer)[: self._step])


@pytest.mark.parametrize("format_", FORMATS)
@given(step=st.integers(1, 9))
def test_chunk_borders_do_not_matter(format_, step):
    content = FORMATS[format_]
    whole = load(io.BytesIO(content), format=format_)
    assert_same(load(Trickle(content, step), format=format_), whole)


def test_lines_across_large_chunks_are_whole(tmp_path):
    rng = np.random.default_rng(0)
    rows = [np.unique(rng.integers(0, 10**6, 50)) for _ in range(8000)]
    path = tmp_path / "a.svm"
    path.write_text("".join(f"7 {' '.join(f'{i}:{i}' for i in row)}\n" for row in rows))
    assert path.stat().st_size > 4 * CHUNK
    X = load(path).X
    np.testing.assert_array_equal(X.indices, np.concatenate(rows))
    np.testing.assert_array_equal(X.data, np.concatenate(rows).astype(np.float32))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_batches_joined_are_the_whole(format_, batch_size):
    content = FORMATS[format_]
    whole = load(io.BytesIO(content), format=format_)
    with stream(io.BytesIO(content), format=format_, batch_size=batch_size) as rows:
        batches = list(rows)
        assert rows.lines_read == content.count(b"\n") + 1
        assert rows.n_features == whole.n_features
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert [labels for batch in batches for labels in label_lists(batch)] == label_lists(whole)
    joined = concatenate(batches, rows.n_features)
    assert_same(joined, whole)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_batch_ends_after_so_many_bytes(monkeypatch, format_):
    content = FORMATS[format_]
    whole = load(io.BytesIO(content), format=format_)
    monkeypatch.setattr(loading, "BATCH_BYTES", 1)
    with stream(Trickle(content, 3), format=format_) as rows:
        batches = list(rows)
    assert [len(batch) for batch in batches] == [1] * len(whole)
    assert_same(concatenate(batches, rows.n_features), whole)
    with stream(Trickle(content, 3), format=format_, skip_bad_lines=True, batch_size=2) as rows:
        assert [len(batch) for batch in rows] == [1] * len(whole)


@pytest.mark.parametrize("format_", ["tsv", "csv", "jsonl"])
def test_long_rows_take_bounded_memory(format_):
    row = {"tsv": b"a\t%b\n", "csv": b"%b,a\n", "jsonl": b'{"text": "%b", "label": "a"}\n'}
    content = b"text,label\n" * (format_ == "csv") + row[format_] % (b"x" * 2**20) * 100
    sizes = [len(batch) for batch in stream(io.BytesIO(content), format=format_)]
    assert sum(sizes) == 100
    assert max(sizes) <= 33


def test_ids_mean_the_same_label_in_each_batch():
    content = b"b 1:1\na 1:1\nb 1:1\nc 1:1\n"
    with stream(io.BytesIO(content), format="svmlight", batch_size=1) as rows:
        ids = [batch.labels.ids.tolist() for batch in rows]
    assert ids == [[0], [1], [0], [2]]
    assert rows.vocabulary == ["b", "a", "c"]


@pytest.mark.parametrize("format_", ["svmlight", "csv", "arrow"])
def test_labels_that_need_not_be_kept_are_numbered_anew(monkeypatch, format_):
    monkeypatch.setattr(streams, "MOST_LABELS", 2)
    labels = ["a", "b", "a", "c", "d", "b", "e", "a"]
    if format_ == "arrow":
        pa = pytest.importorskip("pyarrow")
        sink = io.BytesIO()
        table = pa.table({"label": labels, "x": [1.0] * len(labels)})
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
        content = sink.getvalue()
    else:
        line = {"svmlight": "{} 1:1\n", "csv": "{},x\n"}[format_]
        head = "label,text\n" if format_ == "csv" else ""
        content = (head + "".join(line.format(label) for label in labels)).encode()
    with stream(io.BytesIO(content), format=format_, batch_size=2) as rows:
        rows.keep_labels = False
        batches = list(rows)
    assert [label for batch in batches for label in batch.y.tolist()] == labels
    assert [len(batch.labels.vocabulary) for batch in batches] == [3, 3, 4, 4]
    assert concatenate(batches, rows.n_features).y.tolist() == labels


def test_width_grows_unless_given():
    content = b"1 3:1\n1 1:1\n1 9:1\n"
    for given_width, widths in ((None, [4, 4, 10]), (20, [20] * 3)):
        source = io.BytesIO(content)
        with stream(source, format="svmlight", batch_size=1, n_features=given_width) as rows:
            assert [batch.X.shape[1] for batch in rows] == widths


@pytest.mark.parametrize("format_", ["svmlight", "vw", "tsv", "fasttext", "annif", "csv", "jsonl"])
@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n", b"\xef\xbb\xbf", b"\r\n"])
def test_empty_file_has_no_rows(format_, content):
    data = load(io.BytesIO(content), format=format_)
    assert len(data) == data.X.shape[0] == 0
    assert len(data.y) == 0
    with stream(io.BytesIO(content), format=format_) as rows:
        assert list(rows) == []


def test_byte_order_mark_is_no_part_of_the_first_label():
    content = b"\xef\xbb\xbf1 1:1\n\xef\xbb\xbf 1:1\n"
    assert label_lists(load(io.BytesIO(content), format="svmlight")) == [[1], ["\ufeff"]]


def test_a_line_that_is_too_long_is_bad_and_not_more():
    content = b"1 1:1\n2 2:" + b"0" * 50 + b"\n3 3:3\n"
    for source in (io.BytesIO(content), Trickle(content)):
        data = load(source, format="svmlight", max_line=40, skip_bad_lines=True)
        assert data.y.tolist() == [1, 3]
        ((_, line, message),) = data.bad_lines.first
        assert line == 2
        assert message.startswith('line starting "2 2:000')
        assert message.endswith("is too long: expected at most max_line=40 bytes")
    longest = max(map(len, content.split(b"\n")))
    assert len(load(io.BytesIO(content), format="svmlight", max_line=longest)) == 3


def test_bad_lines_are_counted_and_the_first_hundred_kept(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n2 x:1\n" * 150)
    with stream(path, skip_bad_lines=True, batch_size=7) as rows:
        assert sum(len(batch) for batch in rows) == 150
    assert rows.bad_lines.count == 150
    assert [bad.line for bad in rows.bad_lines.first] == list(range(2, 201, 2))
    assert str(rows.bad_lines).splitlines()[:2] == [
        "150 bad lines skipped:",
        f'  {path}:2: feature index "x" is not an integer',
    ]
    assert str(rows.bad_lines).endswith("and 50 more")


def test_bad_lines_name_their_own_file(tmp_path):
    for name in ("a.svm", "b.svm"):
        (tmp_path / name).write_text("1 1:1\nx\n1 y\n")
    paths = [tmp_path / "a.svm", tmp_path / "b.svm"]
    data = load(paths, skip_bad_lines=True)
    assert [(bad.path, bad.line) for bad in data.bad_lines.first] == [(str(p), 3) for p in paths]
    assert data.y.tolist() == [1, "x", 1, "x"]


def test_after_an_error_the_stream_is_over():
    rows = stream(io.BytesIO(b"1 1:1\nx x\n1 1:1\n"), format="svmlight", batch_size=1)
    assert len(next(rows)) == 1
    with pytest.raises(DataError):
        next(rows)
    assert list(rows) == []


def test_closed_stream_has_no_rows(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n")
    rows = stream(path)
    rows.close()
    rows.close()
    assert list(rows) == []


@pytest.mark.parametrize(
    ("format_", "options"),
    [
        ("svmlight", {"n_features": 9}),
        ("vw", {"hash_bits": 5}),
        ("tsv", {"label_separator": ","}),
        ("fasttext", {"label_prefix": "__label"}),
        ("annif", {}),
        ("csv", {"text": "label,text", "label": "text", "weight": None, "label_separator": " "}),
        ("jsonl", {"text": "text", "label": None}),
    ],
)
def test_settings_survive_json_and_read_alike(format_, options):
    content = FORMATS[format_]
    first = load(io.BytesIO(content), format=format_, **options)
    settings = json.loads(json.dumps(first.settings))
    second = load(io.BytesIO(content), **settings)
    assert_same(first, second)
    assert second.settings == first.settings


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(DataError("is odd", "a.svm", 3)))
    assert (str(error), error.path, error.line) == ("a.svm:3: is odd", "a.svm", 3)


def test_threads_may_share_a_stream():
    content = b"".join(b"%d 1:1\n" % i for i in range(20000))
    rows = stream(io.BytesIO(content), format="svmlight", batch_size=10)
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.extend(y for batch in rows for y in batch.y))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(20000))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"path": "a.xls"},
            ValueError,
            "cannot tell the format from the name: give format= one of",
        ),
        ({"path": "-"}, ValueError, "cannot tell the format"),
        ({"format": "xls"}, ValueError, 'unknown format "xls": expected auto, svmlight, xmc'),
        ({"batch_size": 0}, ValueError, "batch_size must be an integer from 1"),
        ({"max_line": 2**31}, ValueError, "max_line must be an integer from 1"),
        ({"n_features": 0}, ValueError, "n_features must be an integer from 1"),
        ({"n_features": 2**32 + 1}, ValueError, "n_features must be an integer from 1"),
        ({"hash_bits": 3}, ValueError, 'format "svmlight" has no option "hash_bits"'),
        ({"path": "a.vw", "n_features": 3}, ValueError, 'format "vw" has no option "n_features"'),
        ({"path": "a.tsv", "n_features": 3}, ValueError, 'format "tsv" has no option "n_features"'),
        ({"path": "a.tsv", "hash_bits": 3}, ValueError, 'format "tsv" has no option "hash_bits"'),
        ({"path": "a.csv", "word_ngrams": 2}, ValueError, 'format "csv" has no option'),
        (
            {"path": "a.ft", "label_prefix": ""},
            ValueError,
            "label_prefix must be what labels begin",
        ),
        ({"path": "a.ft", "label_prefix": "a b"}, ValueError, "without spaces, received 'a b'"),
        ({"path": "a.csv", "delimiter": "::"}, ValueError, "delimiter must be one character"),
        ({"path": "a.csv", "delimiter": '"'}, ValueError, "other than a quote, received"),
        (
            {"path": "a.csv", "text": ""},
            ValueError,
            "text must name one or more fields, received ''",
        ),
        ({"path": "a.csv", "text": "a,,b"}, ValueError, "text must name one or more fields"),
        ({"path": "a.jsonl", "text": None}, ValueError, "text must name one or more fields"),
        ({"path": "a.jsonl", "label_separator": "::"}, ValueError, "label_separator must be None"),
        ({"path": "a.jsonl", "delimiter": ";"}, ValueError, 'has no option "delimiter"'),
        ({"path": []}, ValueError, "expected at least one file, received none"),
        ({"path": ["a.vw", "b.svm"]}, ValueError, "expected files of one format"),
        (
            {"path": [{"text": "it purrs"}]},
            ValueError,
            "expected files, received a list with a dict: columns of a table are given to a",
        ),
    ],
)
def test_arguments_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        stream(**{"path": "a.svm"} | arguments)


@given(st.integers(0, 9), st.integers(0, 12))
def test_consecutive_rows_are_a_slice(start, stop):
    text = b"".join(b"%d 2 |f a:%d b\n" % (i, i + 1) for i in range(9)) + b"|f c\n"
    rows = next(iter(stream(io.BytesIO(text), format="vw", hash_bits=10)))
    part = rows[start:stop]
    assert len(part) == len(range(10)[start:stop])
    assert part.sets == rows.sets[start:stop]
    assert (rows.X[start:stop] != part.X).nnz == 0
    np.testing.assert_array_equal(part.weight, rows.weight[start:stop])


@given(st.integers(-9, 9), st.integers(-9, 12))
def test_consecutive_texts_are_a_slice(start, stop):
    text = "".join(f"{i}\t{'é' * i}\n" for i in range(9)) + "\t\n"
    rows = next(iter(stream(io.BytesIO(text.encode()), format="tsv")))
    part = rows[start:stop]
    assert len(part) == len(part.X) == len(range(10)[start:stop])
    assert part.sets == rows.sets[start:stop]
    assert list(part.X) == list(rows.X)[start:stop]


def test_slices_have_no_step():
    rows = next(iter(stream(io.BytesIO(b"1 1:1\n2 1:1\n"), format="svmlight")))
    with pytest.raises(ValueError, match="without a step"):
        rows[::2]


def test_eager_streams_give_what_has_arrived():
    lines = [b"1 1:1\n", b"2 2:1\n", b"3 3:1\n"]
    given = Trickle(b"".join(lines), step=len(lines[0]))
    assert [rows.y.tolist() for rows in stream(given, format="svmlight", eager=True)] == [
        [1],
        [2],
        [3],
    ]
    given = Trickle(b"".join(lines), step=len(lines[0]))
    assert [rows.y.tolist() for rows in stream(given, format="svmlight")] == [[1, 2, 3]]


EAGER = {
    "tsv": [b"a\tone\n", b"b\ttwo\n"],
    "fasttext": [b"__label__a one\n", b"__label__b two\n"],
    "annif": [b"one\t<a>\n", b"two\t<b>\n"],
    "csv": [b"text,label\none,a\n", b'"two",b\n'],
    "jsonl": [b'{"text": "one", "label": "a"}\n', b'{"text": "two", "label": "b"}\n'],
}


@pytest.mark.parametrize("format_", EAGER)
def test_texts_come_as_soon_as_a_pipe_has_them(format_):
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as pipe, open(writing, "wb", buffering=0) as end:
        first, second = EAGER[format_]
        end.write(first)
        rows = stream(pipe, format=format_, eager=True)
        batch = next(rows)
        assert [text.strip() for text in batch.X] == ["one"]
        assert batch.y.tolist() == ["a"]
        end.write(second)
        batch = next(rows)
        assert [text.strip() for text in batch.X] == ["two"]
        assert batch.y.tolist() == ["b"]
        end.close()
        assert list(rows) == []


def test_fraction_read_grows_to_one(tmp_path):
    paths = [tmp_path / "a.svm", tmp_path / "b.svm"]
    paths[0].write_bytes(b"1 1:1\n" * 400_000)  # more than two chunks
    paths[1].write_bytes(b"2 1:1\n" * 100_000)
    rows = stream(paths, batch_size=50_000)
    fractions = [rows.fraction_read for _ in rows]
    assert fractions == sorted(fractions)
    assert 0.3 < fractions[0] < 0.5
    assert fractions[-1] == 1
    assert stream(io.BytesIO(b"1 1:1\n"), format="svmlight").fraction_read is None


@pytest.mark.parametrize("max_line", [1, 16, 39, 40, 41, 64])
def test_what_is_said_of_a_long_line_does_not_depend_on_the_pieces(monkeypatch, max_line):
    said = set()
    for size in (1, 7, 50, 1000):
        monkeypatch.setattr(text, "CHUNK", size)
        with pytest.raises(DataError) as error:
            load(io.BytesIO(b"1 " + b"7:1 " * 30), format="svmlight", max_line=max_line)
        said.add(str(error.value))
    assert len(said) == 1
