import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree.data import DataError, load
from tests.data.rows_check import assert_rows, label_lists, row_dicts
from tests.reference import text_formats

DEFAULTS = {
    "label_separator": None,
    "word_ngrams": 1,
    "char_ngrams": None,
    "lowercase": True,
    "hash_bits": 24,
    "normalize": "l2",
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"word_ngrams": 3},
        {"char_ngrams": (1, 4)},
        {"word_ngrams": 0, "char_ngrams": (3, 3)},
        {"lowercase": False},
        {"normalize": None, "hash_bits": 3},
        {"label_separator": ","},
        {"label_separator": " ", "word_ngrams": 2, "char_ngrams": (2, 16)},
    ],
)
@given(line=st.text(st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"])))
def test_agrees_with_the_obvious_parser(options, line):
    line = f"a,b c\tThe The naïve 猫 x_1-Y! {line}"
    data = load(io.BytesIO(line.encode()), format="tsv", **options)
    assert_rows(data, [text_formats.tsv(line, **DEFAULTS | options)], rtol=1e-6)


def test_labels_are_always_text_and_may_be_absent(read):
    data = read(b"1\ta b\n\n\ta b\n007\t\n\t\n", format="tsv")
    assert label_lists(data) == [["1"], [], ["007"], []]
    assert data.X.shape == (4, 2**24)


def test_text_may_hold_tabs(read):
    first, second = row_dicts(read(b"x\ta\tb\nx\ta b\n", format="tsv"))
    assert first == second


def test_rows_have_unit_length_by_default(read):
    data = read(b"x\ta a a b\nx\t\n", format="tsv")
    np.testing.assert_allclose(np.sqrt(data.X.multiply(data.X).sum(axis=1)).A1, [1, 0], rtol=1e-6)
    counts = read(b"x\ta a a b\n", format="tsv", normalize=None)
    assert sorted(counts.X.data) == [1, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"no tab here",
            'line "no tab here" has no tab: expected label<TAB>text; without a label '
            "it begins with the tab",
        ),
        (b"x\tcaf\xe9", 'text "caf\\xe9" is not valid UTF-8'),
        (b"x\t\xed\xa0\x80", 'text "\\xed\\xa0\\x80" is not valid UTF-8'),
        (b"x\t\xc0\xaf", 'text "\\xc0\\xaf" is not valid UTF-8'),
        (b"x\t\xf4\x90\x80\x80", 'text "\\xf4\\x90\\x80\\x80" is not valid UTF-8'),
        (b"caf\xe9\tx", 'label "caf\\xe9" is not valid UTF-8'),
        (b"a,,b\tx", 'label "" is empty: expected labels with one separator in between'),
    ],
)
def test_malformed_line_is_named(read, line, message):
    with pytest.raises(DataError) as caught:
        read(b"a\tb\n" + line + b"\n", format="tsv", label_separator=",")
    assert str(caught.value) == f"train:2: {message}"


@given(st.binary(min_size=1, max_size=6))
def test_utf8_is_judged_as_python_judges_it(text):
    text = text.replace(b"\n", b"").replace(b"\r", b"")
    line = io.BytesIO(b"x\t" + text)
    try:
        text.decode()
    except UnicodeDecodeError:
        with pytest.raises(DataError, match="not valid UTF-8"):
            load(line, format="tsv")
    else:
        assert len(load(line, format="tsv")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word_ngrams": 17}, "word_ngrams must be an integer from 0 to 16, received 17"),
        ({"word_ngrams": True}, "word_ngrams must be an integer from 0 to 16, received True"),
        ({"word_ngrams": 0}, "word_ngrams=0 leaves no features"),
        ({"char_ngrams": 3}, "char_ngrams must be None or a pair"),
        ({"char_ngrams": (3, 2)}, "the high end of char_ngrams must be an integer from 3 to 16"),
        ({"hash_bits": 33}, "hash_bits must be an integer from 1 to 32, received 33"),
        ({"normalize": "l1"}, 'normalize must be "l2" or None'),
        ({"label_separator": "::"}, "label_separator must be None or one ASCII character"),
        ({"label_separator": "\t"}, "label_separator must be None or one ASCII character"),
    ],
)
def test_options_are_checked(read, options, message):
    with pytest.raises(ValueError, match=message):
        read(b"a\tb\n", format="tsv", **options)
