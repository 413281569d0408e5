import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from labeltree.data import DataError, load
from tests.data.rows_check import assert_rows, label_lists, row_dicts
from tests.reference import text_formats


def test_labels_features_comments_and_qid(read):
    data = read(
        b"# header\n"
        b"3 qid:7 1:0.5 4:-2 # about this row\n"
        b"\n"
        b"   \n"
        b"cat,dog 2:1e-3\n"
        b" 5:1\n"
        b"6:1 7:+.5\n"
        b"+1.0\n"
        b"C# 1:1#glued\n"
        b"qid:1 1:1\n"
    )
    assert label_lists(data) == [[3], ["cat", "dog"], [], [], [1], ["C#"], []]
    assert row_dicts(data)[:4] == [
        {1: 0.5, 4: -2},
        {2: np.float32(1e-3)},
        {5: 1},
        {6: 1, 7: 0.5},
    ]
    assert data.X.shape == (7, 8)
    assert data.X.dtype == np.float32
    assert data.weight is None


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("1", 1),
        ("+1", 1),
        ("1.0", 1),
        ("-1.", -1),
        ("-0", 0),
        ("007", "007"),
        ("1e3", "1e3"),
        ("0.5", "0.5"),
        ("+-1", "+-1"),
        (".0", ".0"),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", "9223372036854775808"),
        ("é", "é"),
    ],
)
def test_what_is_written_as_an_integer_is_an_int(read, token, label):
    assert label_lists(read(f"{token} 1:1\n".encode())) == [[label]]
    assert text_formats.typed_label(token) == label


def test_spellings_of_one_integer_are_one_label(read):
    data = read(b"1 1:1\n+1 1:1\n1.0 1:1\n")
    assert data.labels.vocabulary == [1]
    assert data.y.tolist() == [1, 1, 1]
    assert data.y.dtype == np.int64


def test_y_is_an_object_array_with_strings_and_a_list_with_label_sets(read):
    mixed = read(b"1 1:1\ncat 1:1\n")
    assert mixed.y.dtype == object
    assert mixed.y.tolist() == [1, "cat"]
    assert read(b"1,2 1:1\n 1:1\n").y == [[1, 2], []]


def test_repeated_labels_count_once(read):
    assert label_lists(read(b"1,2,1,1.0 1:1\n1 1:1\n")) == [[1, 2], [1]]


def test_rows_are_sorted_and_repeated_indices_summed(read):
    data = read(b"0 5:1 2:3 5:0.25 2:-3 9:1\n")
    assert row_dicts(data) == [{2: 0, 5: 1.25, 9: 1}]
    assert data.X.has_canonical_format


MALFORMED = [
    (b"1 12x:1", 'feature index "12x" is not an integer'),
    (b"1 :1", 'feature index "" is not an integer'),
    (b"1 1.5:1", 'feature index "1.5" is not an integer'),
    (b"1 +3:1", 'feature index "+3" is not an integer'),
    (b"1 -3:1", 'feature index "-3" is negative: expected 0 or more'),
    (
        b"1 4294967296:1",
        'feature index "4294967296" is too large: expected less than 2^32',
    ),
    (
        b"1 99999999999999999999999:1",
        'feature index "99999999999999999999999" is too large: expected less than 2^32',
    ),
    (b"1 5", 'feature "5" has no value: expected index:value'),
    (b" 1 2:3", 'feature "1" has no value: expected index:value'),
    (b"1 5:", 'feature value "" is not a number'),
    (b"1 5:abc", 'feature value "abc" is not a number'),
    (b"1 5:1:2", 'feature value "1:2" is not a number'),
    (b"1 5:--1", 'feature value "--1" is not a number'),
    (b"1 5:+-1", 'feature value "+-1" is not a number'),
    (b"1 5:-", 'feature value "-" is not a number'),
    (b"1 5:.", 'feature value "." is not a number'),
    (b"1 5:0x10", 'feature value "0x10" is not a number'),
    (b"1 5:1_0", 'feature value "1_0" is not a number'),
    (b"1 5:1,5", 'feature value "1,5" is not a number'),
    (b"1 5:nan", 'feature value "nan" is not finite'),
    (b"1 5:-inf", 'feature value "-inf" is not finite'),
    (b"1 5:Infinity", 'feature value "Infinity" is not finite'),
    (
        b"1 5:1e400",
        'feature value "1e400" does not fit a 32-bit float: expected at most 3.4e38 in magnitude',
    ),
    (
        b"1 5:-1e39",
        'feature value "-1e39" does not fit a 32-bit float: expected at most 3.4e38 in magnitude',
    ),
    (
        b"1 5:3e38 5:3e38",
        'feature index "5" is repeated: expected values whose sum fits a 32-bit float',
    ),
    (b"1,,2 5:1", 'label "" is empty: expected labels with one separator in between'),
    (b"1, 5:1", 'label "" is empty: expected labels with one separator in between'),
    (b"\xff 5:1", 'label "\\xff" is not valid UTF-8'),
    (b"1 qid:x 5:1", 'qid "x" is not an integer'),
    (b"1 5:1 qid:1", 'feature index "qid" is not an integer'),
    (b"1 5:1 \x00", 'feature "\\x00" has no value: expected index:value'),
    (b'1 "\\:1', 'feature index "\\"\\\\" is not an integer'),
    (b"1 " + b"x" * 60, f'feature "{"x" * 40}..." has no value: expected index:value'),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED)
def test_malformed_line_is_named(read, line, message):
    with pytest.raises(DataError) as caught:
        read(b"1 1:1\n2 2:2\n" + line + b"\n3 3:3\n")
    assert str(caught.value) == f"train:3: {message}"
    assert (caught.value.path, caught.value.line) == ("train", 3)


@pytest.mark.parametrize(("line", "message"), MALFORMED)
def test_malformed_line_leaves_no_trace_when_skipped(read, line, message):
    data = read(b"1 1:1\n" + line + b"\n3 3:3\n", skip_bad_lines=True)
    assert_rows(data, [([1], {1: 1}, 1), ([3], {3: 3}, 1)])
    assert data.labels.vocabulary == [1, 3]
    assert data.X.shape == (2, 4)
    assert data.bad_lines.count == 1
    assert data.bad_lines.first == [("train", 2, message)]


def test_largest_index_is_read(read):
    data = read(b"1 0:1 4294967295:2\n")
    assert data.X.shape == (1, 2**32)
    assert row_dicts(data) == [{0: 1, 2**32 - 1: 2}]


def test_index_beyond_n_features_is_an_error(read):
    assert read(b"1 9:1\n", n_features=10).X.shape == (1, 10)
    with pytest.raises(DataError) as caught:
        read(b"1 10:1\n", n_features=10)
    assert str(caught.value) == (
        'train:1: feature index "10" is out of range: expected less than n_features=10'
    )


def assert_reads_like_numpy(literal):
    with np.errstate(over="ignore"):
        expected = np.float32(literal)
    line = f"0 1:{literal}\n".encode()
    if np.isfinite(expected):
        found = load(io.BytesIO(line), format="svmlight").X.data
        assert found.tobytes() == np.array([expected]).tobytes(), literal
    else:
        with pytest.raises(DataError, match="does not fit"):
            load(io.BytesIO(line), format="svmlight")


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_shortest_float_literals_read_exactly(value):
    assert_reads_like_numpy(repr(value))
    assert_reads_like_numpy(f"{value:.9g}")


LITERAL = r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?"


@given(st.from_regex(LITERAL, fullmatch=True, alphabet="+-.0123456789eE"))
def test_any_float_literal_reads_as_numpy_reads_it(literal):
    assert_reads_like_numpy(literal)


@pytest.mark.parametrize(
    "literal",
    [
        "1e-400",
        "-1e-400",
        "0." + "0" * 400 + "1",
        "1" + "0" * 400 + "e-400",
        "1e-99999999999999999999",
        "0e99999999999999999999",
        "0e400",
        "1e99999999999999999999",
        "1" + "0" * 400,
        "1e-45",
        "7e-46",
        "3.4028235e38",
        "3.4028236e38",
        "9007199254740993",
        "999999999999999999",
        "0.000000000000000001",
        "16777217",
        "1.17549435e-38",
    ],
)
def test_extreme_float_literals_read_as_numpy_reads_them(literal):
    assert_reads_like_numpy(literal)


label_token = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(-5, 5).map("{}.0".format),
    st.text("abcé#_-.", min_size=1, max_size=4).filter(lambda text: not text.startswith("#")),
)
feature_token = st.tuples(
    st.integers(0, 2**32 - 1) | st.integers(0, 5), st.floats(-100, 100, width=16)
)


@given(
    st.lists(
        st.tuples(
            st.lists(label_token, max_size=3),
            st.lists(feature_token, max_size=6),
            st.sampled_from(["", " ", " # note: 1:2", " \t"]),
        ),
        min_size=1,
    )
)
def test_agrees_with_the_obvious_parser(rows):
    lines = [
        ",".join(labels) + " " + " ".join(f"{i}:{v!r}" for i, v in features) + end
        for labels, features, end in rows
    ]
    lines = [line for line in lines if line.partition(" #")[0].strip()]
    content = "\n".join(lines).encode()
    data = load(io.BytesIO(content), format="svmlight")
    assert_rows(data, [text_formats.svmlight(line) for line in lines], rtol=1e-6)


@pytest.mark.parametrize("zero_based", [True, False])
def test_agrees_with_sklearn(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30)) * (rng.random((200, 30)) < 0.3)
    y = rng.integers(-3, 4, 200)
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made up", query_id=y)
    theirs, their_y = load_svmlight_file(str(path), dtype=np.float32, zero_based=True)
    ours = load(path)
    np.testing.assert_array_equal(ours.X.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.X.indices, theirs.indices)
    np.testing.assert_array_equal(ours.X.data, theirs.data)
    assert ours.X.shape == theirs.shape
    np.testing.assert_array_equal(ours.y, their_y)


def test_agrees_with_sklearn_on_label_sets(tmp_path):
    path = tmp_path / "a.svm"
    dump_svmlight_file(
        np.eye(3), np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]]), str(path), multilabel=True
    )
    _, their_y = load_svmlight_file(str(path), multilabel=True)
    assert load(path).y == [[int(label) for label in row] for row in their_y]
