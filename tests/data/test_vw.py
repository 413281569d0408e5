import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.data import DataError, load
from tests.data.rows_check import assert_rows, label_lists, row_dicts
from tests.reference import text_formats

LINES = [
    "1 |f a b:2.5 c",
    "1 2.0 |f a",
    "1 2.0 0.5 |f a",
    "1 0.5 'tag |f a",
    "1 0.5 tag|f a",
    "1 'tag|f a",
    "2,5,cat |f a",
    "|f a",
    "'tag |f a",
    "tag|f a",
    "1|f a",
    "-1 | a b",
    "3 |f:2 a b:3 |g:0.5 a b",
    "3 |f a |f a",
    "3 |",
    "3 |f",
    "3 |f  a   b ",
    "3 |f 12:1 héllo",
]


@pytest.mark.parametrize("line", LINES)
def test_agrees_with_the_obvious_parser(line):
    data = load(io.BytesIO(line.encode()), format="vw")
    assert_rows(data, [text_formats.vw(line, 24)])
    assert data.X.shape == (1, 2**24)


def test_tag_touching_the_bar_is_no_label(read):
    assert label_lists(read(b"1|f a\n1 |f a\n", format="vw")) == [[], [1]]


def test_namespaces_are_hashed_apart(read):
    (row,) = row_dicts(read(b"1 |f a |g a | a\n", format="vw"))
    assert len(row) == 3


def test_importance_is_the_weight(read):
    data = read(b"1 0 |f a\n1 |f a\n1 2.5 |f a\n", format="vw")
    assert data.weight.tolist() == [0, 1, 2.5]
    assert read(b"1 1 |f a\n", format="vw").weight is None


word = st.text("ab1é=", min_size=1, max_size=3)
number = st.floats(-9, 9, width=16).map(repr)
feature = st.one_of(word, st.tuples(word, number).map(":".join))
namespace = st.tuples(
    st.one_of(st.just(""), word, st.tuples(word, number).map(":".join)),
    st.lists(feature, max_size=4),
).map(lambda parts: f"{parts[0]} {' '.join(parts[1])}")
head = st.sampled_from(["", "1 ", "1,b 2 ", "x 0.5 1 'tag", "1 0 t"])


@given(head, st.lists(namespace, min_size=1, max_size=3), st.integers(1, 32))
def test_generated_lines_agree_with_the_obvious_parser(head, namespaces, hash_bits):
    line = head + "".join(f"|{text}" for text in namespaces)
    data = load(io.BytesIO(line.encode()), format="vw", hash_bits=hash_bits)
    assert_rows(data, [text_formats.vw(line, hash_bits)], rtol=1e-6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"1 f a",
            'line "1 f a" has no "|": expected [label] [importance] [\'tag]|namespace features',
        ),
        (
            b"1:0.5 |f a",
            'label "1:0.5" has a cost: expected label[,label...], '
            "cost-sensitive labels are not read",
        ),
        (b"1 x |f a", 'importance "x" is not a number'),
        (b"1 -1 |f a", 'importance "-1" is negative: expected 0 or more'),
        (b"1 inf |f a", 'importance "inf" is not finite'),
        (b"1 1 x |f a", 'base "x" is not a number'),
        (
            b"1 1 0 0 |f a",
            'token "0" is one too many before "|": expected label, importance, base and \'tag',
        ),
        (b"'t 1 |f a", 'tag "\'t" is not the last token before "|"'),
        (b"1 |f:x a", 'namespace scale "x" is not a number'),
        (b"1 |f a:", 'feature value "" is not a number'),
        (b"1 |f a:b", 'feature value "b" is not a number'),
        (b"1 |f a:nan", 'feature value "nan" is not finite'),
        (b"1 |f :5", 'feature ":5" has no name: expected name or name:value'),
        (b"1 |f:1e30 a:1e30", 'feature "a:1e30" times its namespace\'s scale is not finite'),
        (b"1,,2 |f a", 'label "" is empty: expected labels with one separator in between'),
    ],
)
def test_malformed_line_is_named(read, line, message):
    with pytest.raises(DataError) as caught:
        read(b"1 |f a\n\n" + line + b"\n", format="vw")
    assert str(caught.value) == f"train:3: {message}"
