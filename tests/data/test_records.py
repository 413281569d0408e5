"""CSV and JSON lines."""

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.data import DataError, Texts, lines, load, stream
from tests.data.rows_check import assert_same, label_lists


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_csv(read):
    data = read(b"id,label,text\n1,cat,it purrs\n2,,it sings\n3,dog,\n", format="csv")
    assert isinstance(data.X, Texts)
    assert [*data.X] == ["it purrs", "it sings", ""]
    assert label_lists(data) == [["cat"], [], ["dog"]]
    assert data.weight is None
    assert data.n_features == 0


def test_jsonl(read):
    content = jsonl(
        {"text": "it purrs", "labels": ["cat", 7, "cat"]},
        {"text": "it barks", "label": "dog"},
        {"text": "", "labels": -3, "more": None},
        {"text": "it sings", "labels": None},
        {"text": "it", "labels": ["", "a"]},
    )
    data = read(content, format="jsonl")
    assert [*data.X] == ["it purrs", "it barks", "", "it sings", "it"]
    assert label_lists(data) == [["cat", 7], ["dog"], [-3], [], ["a"]]
    assert data.labels.vocabulary == ["cat", 7, "dog", -3, "a"]


cell = st.text(st.sampled_from('ab,;"\n\r\té猫 '), max_size=6)


@given(st.lists(st.tuples(cell, cell, cell), max_size=5), st.sampled_from(",;\t|é"))
def test_csv_is_what_python_writes(rows, delimiter):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "x", "label"), *rows])
    content = io.BytesIO(text.getvalue().encode())
    data = load(content, format="csv", delimiter=delimiter)
    assert [*data.X] == [text for text, _, _ in rows]
    assert label_lists(data) == [[label] if label else [] for _, _, label in rows]


field = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)


@given(st.lists(st.tuples(field, st.lists(field.filter(bool) | st.integers(-9, 9)))), st.booleans())
def test_jsonl_is_what_python_writes(rows, ascii_only):
    written = [
        json.dumps({"text": text, "labels": labels}, ensure_ascii=ascii_only)
        for text, labels in rows
    ]
    data = load(io.BytesIO("\n".join(written).encode()), format="jsonl")
    assert [*data.X] == [text for text, _ in rows]
    assert label_lists(data) == [[*dict.fromkeys(labels)] for _, labels in rows]


def test_quotes_newlines_and_delimiters_in_cells(read):
    content = b'text,label\r\n"it ""purrs"",\r\nand\n\nsleeps","a,b"\r\nit barks,dog\r\n'
    data = read(content, format="csv")
    assert [*data.X] == ['it "purrs",\r\nand\n\nsleeps', "it barks"]
    assert data.y.tolist() == ["a,b", "dog"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " ", "é"])
def test_other_delimiters(read, delimiter):
    content = f'text{delimiter}label\n"it, purrs"{delimiter}cat\n'.encode()
    data = read(content, format="csv", delimiter=delimiter)
    assert ([*data.X], data.y.tolist()) == (["it, purrs"], ["cat"])


CONTENTS = {
    "csv": b"text,label\nit purrs,cat\n\nit barks,dog\n",
    "jsonl": b'{"text": "it purrs", "label": "cat"}\n\n{"text": "it barks", "labels": ["dog"]}\n',
}


@pytest.mark.parametrize("format_", CONTENTS)
def test_byte_order_mark_carriage_returns_and_gzip(read, tmp_path, format_):
    plain = read(CONTENTS[format_], format=format_)
    assert label_lists(plain) == [["cat"], ["dog"]]
    windows = b"\xef\xbb\xbf" + CONTENTS[format_].replace(b"\n", b"\r\n")
    assert_same(read(windows, format=format_), plain)
    assert_same(read(CONTENTS[format_].rstrip(), format=format_), plain)
    path = tmp_path / f"a.{format_}.gz"
    path.write_bytes(gzip.compress(windows))
    assert_same(load(path), plain)
    assert load(path).settings["format"] == format_


@pytest.mark.parametrize("format_", CONTENTS)
def test_three_files_one_after_the_other(tmp_path, format_):
    paths = [tmp_path / f"{i}.{format_}" for i in range(3)]
    for path in paths:
        path.write_bytes(b"\xef\xbb\xbf" + CONTENTS[format_])
    with stream(paths, batch_size=4) as rows:
        batches = list(rows)
        assert rows.lines_read == 3 * CONTENTS[format_].count(b"\n")
        assert rows.fraction_read == 1
        assert rows.vocabulary == ["cat", "dog"]
    assert [len(batch) for batch in batches] == [4, 2]
    assert [text for batch in batches for text in batch.X] == ["it purrs", "it barks"] * 3


def test_files_may_have_their_columns_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\none,a\n")
    (tmp_path / "b.csv").write_text("id,label,text\n1,b,two\n")
    data = load([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert ([*data.X], data.y.tolist()) == (["one", "two"], ["a", "b"])


def test_several_text_fields_are_joined(read):
    content = b"title,body,label\nA cat,it purrs,cat\n,it barks,dog\nA bird,,bird\n,,x\n"
    data = read(content, format="csv", text="title, body")
    assert [*data.X] == ["A cat it purrs", "it barks", "A bird", ""]
    content = jsonl(
        {"title": "A cat", "meta": {"body": "it purrs"}}, {"title": "", "meta.body": "x"}
    )
    data = read(content, format="jsonl", text="title,meta.body")
    assert [*data.X] == ["A cat it purrs", "x"]


def test_fields_inside_fields(read):
    content = jsonl(
        {"doc": {"text": {"en": "it purrs"}}, "about": {"tags": ["a", "b"]}, "x": {"w": 2}},
        {"doc": {"text": {"en": "it barks"}}, "about": 3, "x": {"w": "0.5"}},
        {"doc.text.en": "it sings", "x": {"w": 1}},
    )
    data = read(content, format="jsonl", text="doc.text.en", label="about.tags", weight="x.w")
    assert [*data.X] == ["it purrs", "it barks", "it sings"]
    assert label_lists(data) == [["a", "b"], [], []]
    assert data.weight.tolist() == [2, 0.5, 1]


def test_label_separator(read):
    content = b"text,label\nx,a; b;;a\ny,;\nz,c\n"
    assert label_lists(read(content, format="csv")) == [["a; b;;a"], [";"], ["c"]]
    data = read(content, format="csv", label_separator=";")
    assert label_lists(data) == [["a", "b"], [], ["c"]]
    content = jsonl({"text": "x", "label": "a|b|a"}, {"text": "y", "labels": ["a|b"]})
    data = read(content, format="jsonl", label_separator="|")
    assert label_lists(data) == [["a", "b"], ["a|b"]]


def test_labels_can_be_declared_absent(read):
    assert read(b"text\nx\n", format="csv", label=None).y == [[]]
    assert read(b'{"text": "x", "labels": ["a"]}\n', format="jsonl", label=None).y == [[]]


def test_weights(read):
    data = read(b"text,label,w\nx,a,2\ny,b,0\nz,c,1e-3\n", format="csv", weight="w")
    assert data.weight.tolist() == pytest.approx([2, 0, 1e-3])
    assert read(b"text,label,w\nx,a,1\n", format="csv", weight="w").weight is None


@pytest.mark.parametrize(
    "content", [b"", b"text,label\n", b"text,label", b"\n\n", b"text,label\n\n"]
)
def test_a_header_only_has_no_rows(read, content):
    data = read(content, format="csv")
    assert len(data) == 0
    assert data.y.tolist() == []


BAD_CELLS = [
    (b"only one", "the row has 1 cells, expected 3 as in the header"),
    (b"a,b,c,d", "the row has 4 cells, expected 3 as in the header"),
    (b'"a"b,c,1', "the row is not CSV: ',' expected after '\"'"),
    (b"caf\xe9,b,1", 'a cell is not valid UTF-8: "caf\\xe9"'),
    ("é\u200b日本,".encode() + b"\xff,1", 'a cell is not valid UTF-8: "\\xff"'),
    ("x,é\u200b日本".encode() + b"\xff,1", 'a cell is not valid UTF-8: "é\\u200b日本\\xff"'),
    (b"a,b,x", "the weight is 'x', expected a finite number of 0 or more"),
    (b"a,b,", "the weight is '', expected a finite number of 0 or more"),
    (b"a,b,-1", "the weight is '-1', expected a finite number of 0 or more"),
    (b"a,b,nan", "the weight is 'nan', expected a finite number of 0 or more"),
    (b"a,b,1e39", "the weight is '1e39', expected a finite number of 0 or more"),
    (
        b"x" * 200,
        f"line starting '{'x' * 60}' is too long: expected at most max_line=99 bytes",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD_CELLS)
def test_bad_rows_of_csv_are_named_or_skipped(read, line, message):
    content = b'text,label,w\n"x\ny",a,1\n\n' + line + b"\nz,c,2\n"
    options = {"format": "csv", "weight": "w", "max_line": 99}
    with pytest.raises(DataError) as caught:
        read(content, **options)
    assert str(caught.value) == f"train:5: {message}"
    data = read(content, **options, skip_bad_lines=True)
    assert [*data.X] == ["x\ny", "z"]
    assert data.labels.vocabulary == ["a", "c"]
    assert data.weight.tolist() == [1, 2]
    assert data.bad_lines.first == [("train", 5, message)]
    assert data.bad_lines.count == 1


def test_a_quote_that_nothing_closes(read):
    content = b'text,label\nx,a\n"y,b\nz,c\n'
    message = "a quote opens in this row, and none closes it (lines 3 to 4)"
    with pytest.raises(DataError) as caught:
        read(content, format="csv")
    assert str(caught.value) == f"train:3: {message}"
    data = read(content, format="csv", skip_bad_lines=True)
    assert [*data.X] == ["x"]
    assert data.bad_lines.first == [("train", 3, message)]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            b"a,label\nx,y\n",
            {},
            'the text column "text" is not there: give text= (--text-column) one',
        ),
        (
            b"text,a\nx,y\n",
            {},
            'the label column "label" is not there: give label= (--label-column) ',
        ),
        (b"text,label\nx,y\n", {"weight": "w"}, 'the weight column "w" is not there: give weight='),
        (b"text,label\nx,y\n", {"text": "text,b"}, 'the text column "b" is not there'),
        (b"text,label,text\nx,y,z\n", {}, 'the text column "text" is there twice'),
        (b'text,"label\nx,y\n', {}, "the header cannot be read: a quote opens in this row"),
        (b"text,l\xe9\nx,y\n", {}, "the header cannot be read: a cell is not valid UTF-8"),
    ],
)
def test_bad_headers_cannot_be_skipped(read, content, options, message):
    for skip in (False, True):
        with pytest.raises(DataError) as caught:
            read(b"\n" + content, format="csv", skip_bad_lines=skip, **options)
        assert str(caught.value).startswith(f"train:2: {message}")


def test_a_file_without_a_header_is_told_to_need_one(read):
    with pytest.raises(DataError) as caught:
        read("猫が鳴く,cat\nit barks,dog\n".encode(), format="csv")
    assert str(caught.value) == (
        'train:1: the text column "text" is not there: give text= (--text-column) one of 猫が鳴く, '
        "cat; if this line is a row already, put a header above it, such as text,label"
    )


BAD_OBJECTS = [
    (b"x", "the line is no JSON: Expecting value: line 1 column 1 (char 0)"),
    (b'{"text": "x"', "the line is no JSON: "),
    (b'{"text": "x"} {}', "the line is no JSON: Extra data"),
    (b"7", "the line is 7, expected an object with fields"),
    (b'["text"]', "the line is ['text'], expected an object with fields"),
    (b'{"body": "x"}', 'the text field "text" is missing or null: the line has body'),
    (b'{"text": null, "a": 1}', 'the text field "text" is missing or null: the line has text, a'),
    (b'{"text": 7}', 'the text field "text" is 7, expected a string'),
    (b'{"text": ["x"]}', "the text field \"text\" is ['x'], expected a string"),
    (b'{"text": "\\ud800"}', 'the text field "text" has half of a character'),
    (b'{"text": "x", "label": "\\udfff"}', "the label '\\udfff' has half of a character"),
    (b'{"text": "x", "labels": [0.5]}', "the label is 0.5, expected a string or an integer"),
    (b'{"text": "x", "labels": true}', "the label is True, expected a string or an integer"),
    (b'{"text": "x", "labels": [null]}', "the label is None, expected a string or an integer"),
    (
        b'{"text": "x", "labels": {"a": 1}}',
        "the label is {'a': 1}, expected a string or an integer",
    ),
    (b'{"text": "x", "label": 9223372036854775808}', "the label is 9223372036854775808, expected"),
    (b'{"text": "x", "w": null}', "the weight is None, expected a finite number of 0 or more"),
    (b'{"text": "x", "w": true}', "the weight is True, expected a finite number of 0 or more"),
    (b'{"text": "x", "w": NaN}', "the weight is nan, expected a finite number of 0 or more"),
    (b'{"text": "caf\xe9"}', 'byte 14 is not valid UTF-8: "{"text": "caf\\xe9"}\\n"'),
    (
        '{"text": "日本'.encode() + b'\xff"}',
        'byte 17 is not valid UTF-8: "{"text": "日本\\xff"}\\n',
    ),
    (b'{"text": "' + b"x" * 200 + b'"}', 'line starting \'{"text": "xxx'),
    (b"[" * 100_000, "the line is no JSON: nested too deeply"),
]


@pytest.mark.parametrize(("line", "message"), BAD_OBJECTS)
def test_bad_lines_of_json_are_named_or_skipped(read, line, message):
    content = b'{"text": "x", "label": "a", "w": 1}\n\n' + line
    content += b'\n{"text": "z", "label": "c", "w": 2}\n'
    options = {"format": "jsonl", "max_line": 150 if len(line) < 300 else 1 << 20}
    if b'"w"' in line:
        options["weight"] = "w"
    with pytest.raises(DataError) as caught:
        read(content, **options)
    assert str(caught.value).startswith(f"train:3: {message}")
    data = read(content, **options, skip_bad_lines=True)
    assert [*data.X] == ["x", "z"]
    assert data.labels.vocabulary == ["a", "c"]
    assert [(bad.path, bad.line) for bad in data.bad_lines.first] == [("train", 3)]
    assert data.bad_lines.first[0].message.startswith(message)


def test_bad_lines_are_counted_and_the_first_hundred_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n{}\n' * 150)
    with stream(path, skip_bad_lines=True, batch_size=7) as rows:
        assert sum(len(batch) for batch in rows) == 150
    assert rows.bad_lines.count == 150
    assert [bad.line for bad in rows.bad_lines.first] == list(range(2, 201, 2))


MIXED = {
    "csv": 'text,label\r\n"it ""purrs""\n é",cat\r\n\r\none\nx,"a\nb"\n猫,"z',
    "jsonl": '{"text": "é\\n", "label": "cat"}\r\n\r\n{}\n{"text": "猫", "labels": [1, "é"]}\n[',
}


@pytest.mark.parametrize("format_", MIXED)
def test_chunk_borders_do_not_matter(monkeypatch, read, format_):
    content = MIXED[format_].encode()
    whole = read(content, format=format_, skip_bad_lines=True)
    assert len(whole) == 2
    assert whole.bad_lines.count == 2
    for size in range(1, 20):
        monkeypatch.setattr(lines, "CHUNK", size)
        data = read(content, format=format_, skip_bad_lines=True)
        assert_same(data, whole)
        assert data.bad_lines == whole.bad_lines


def test_after_an_error_the_stream_is_over():
    rows = stream(io.BytesIO(b"text,label\nx,a\ny\nz,c\n"), format="csv", batch_size=1)
    assert len(next(rows)) == 1
    with pytest.raises(DataError):
        next(rows)
    assert list(rows) == []


def test_missing_files_are_named_before_anything_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nx,a\n")
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        stream([tmp_path / "a.csv", tmp_path / "none.csv"])


def test_a_line_may_have_max_line_bytes():
    line = b'{"text":"x"}\n'
    assert len(load(io.BytesIO(line), format="jsonl", max_line=len(line) - 1)) == 1
    with pytest.raises(DataError, match="is too long"):
        load(io.BytesIO(line), format="jsonl", max_line=len(line) - 2)


def test_what_is_skipped_is_told_in_one_line():
    content = b'{"a\\nb":1}\n'
    data = load(io.BytesIO(content), format="jsonl", skip_bad_lines=True)
    assert [bad.message.isprintable() for bad in data.bad_lines.first] == [True]


def test_rows_behind_a_bad_quoted_row_are_read():
    content = b'text,label\n"a\n\xe9\nb",c\nz,d\n'
    data = load(io.BytesIO(content), format="csv", skip_bad_lines=True)
    assert list(data.X) == ["z"]
    assert [(bad.line, bad.message) for bad in data.bad_lines.first] == [
        (2, 'a cell is not valid UTF-8: "a\\n\\xe9\\nb"')
    ]


@pytest.mark.parametrize("format_", ["csv", "jsonl", "tsv", "fasttext", "annif"])
def test_an_empty_file_has_no_texts(format_):
    data = load(io.BytesIO(b""), format=format_)
    assert isinstance(data.X, Texts)
    assert len(data) == 0


def test_label_prefix_must_be_text():
    with pytest.raises(ValueError, match="label_prefix must be"):
        load(io.BytesIO(b"a"), format="fasttext", label_prefix="\ud800")


def test_a_quote_that_nothing_closes_takes_max_line_bytes_at_most():
    content = b"text,label\n" + b'"open,x\n' + b"row,y\n" * 1000
    data = load(io.BytesIO(content), format="csv", skip_bad_lines=True, max_line=300)
    assert 900 < len(data) < 1000
    assert "(lines 2 to " in data.bad_lines.first[0].message


@pytest.mark.parametrize("options", [{"label": 3}, {"weight": {}}, {"text": 1}])
def test_names_of_fields_are_text(options):
    with pytest.raises(ValueError, match="must name"):
        load(io.BytesIO(b"{}"), format="jsonl", **options)
