import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree import TextFeatures
from labeltree.data import DataError, load
from tests.data.rows_check import assert_rows, label_lists
from tests.reference import text_formats


@pytest.mark.parametrize("separator", [None, ",", " "])
@given(line=st.text(st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"])))
def test_agrees_with_the_obvious_parser(separator, line):
    line = f"a,b c\tThe The naïve 猫 x_1-Y! {line}"
    data = load(io.BytesIO(line.encode()), format="tsv", label_separator=separator)
    assert_rows(data, [text_formats.tsv(line, separator)])


def test_labels_are_always_text_and_may_be_absent(read):
    data = read(b"1\ta b\n\n\ta b\n007\t\n\t\n", format="tsv")
    assert label_lists(data) == [["1"], [], ["007"], []]
    assert data.X.shape == (4,)
    assert list(data.X) == ["a b", "a b", "", ""]


def test_text_may_hold_tabs(read):
    data = read(b"x\ta\tb\nx\t\t\n", format="tsv")
    assert list(data.X) == ["a\tb", "\t"]
    tabs, spaces = TextFeatures().fit_transform([data.X[0], "a b"])
    assert (tabs != spaces).nnz == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"no tab here",
            'line "no tab here" has no tab: expected label<TAB>text, without a label '
            "<TAB>text; or --format text for plain texts",
        ),
        (
            'ä "日本" \u200b\\xe4'.encode(),
            'line "ä \\"日本\\" \\u200b\\\\xe4" has no tab: expected label<TAB>text, without '
            "a label <TAB>text; or --format text for plain texts",
        ),
        (
            ("日" * 14).encode(),  # which are cut within the last
            f'line "{"日" * 13}..." has no tab: expected label<TAB>text, without a label '
            "<TAB>text; or --format text for plain texts",
        ),
        (b"x\tcaf\xe9", 'text "caf\\xe9" is not valid UTF-8'),
        ("x\tä日本".encode() + b"\xff", 'text "ä日本\\xff" is not valid UTF-8'),
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
        assert list(load(line, format="tsv").X) == [text.decode()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_separator": "::"}, "label_separator must be None or one ASCII character"),
        ({"label_separator": "\t"}, "label_separator must be None or one ASCII character"),
    ],
)
def test_options_are_checked(read, options, message):
    with pytest.raises(ValueError, match=message):
        read(b"a\tb\n", format="tsv", **options)
