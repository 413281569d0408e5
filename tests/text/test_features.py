"""Texts to rows: what the core makes of them, and what it refuses."""

import copy
import pickle
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from labeltree import TextFeatures
from labeltree.data import Texts
from tests.reference import text_formats

TEXTS = [
    "It purrs, it PURRS!",
    "it barks",
    "",
    "fooBar snake_case x-1 e\u0301te\u0301 Straße STRASSE",
    "ฉันรักแมว 猫が好きです 我爱猫 cat猫cat",
    "😀 it 👩‍👩‍👧 purrs İstanbul ǅungla",
    "it purrs",
]
ALPHABET = "abAB1_- .éÉßıİǅΣς\u0301\u0e34กแ猫の々カｶー我한ລខမ😀\u200d٣ⅷ²\u00ad"
WORDS = ["it", "purrs", "barks", "It", "camelCase", "猫", "แมว"]
text = st.one_of(
    st.text(ALPHABET, max_size=25),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=15),
    st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join),
)
OPTIONS = [
    {},
    {"word_ngrams": 1, "hash_bits": 16},
    {"word_ngrams": 3, "lowercase": False},
    {"char_ngrams": (2, 4)},
    {"word_ngrams": 0, "char_ngrams": (3, 3), "hash_bits": 12},
    {"word_ngrams": 1, "char_ngrams": (1, 16), "hash_bits": 31},
    {"word_ngrams": 1, "hash_bits": 3},
    {"hash_bits": 3},
    {"idf": False},
    {"idf": False, "word_ngrams": 5, "hash_bits": 2},
    {"idf": False, "lowercase": False, "char_ngrams": (1, 2)},
]


def same(a, b):
    """Check that two matrices are equal bit for bit."""
    assert a.shape == b.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def counts(features):
    """Return what was counted, as plain numbers."""
    found = {name: array.tolist() for name, array in features._arrays().items()}
    return features.documents_, found


def check(X, rows):
    """Compare a matrix with dicts of the reference."""
    assert X.shape[0] == len(rows)
    assert X.dtype == np.float32
    for i, row in enumerate(rows):
        found = X[i]
        assert found.indices.tolist() == sorted(row)
        expected = [row[index] for index in found.indices.tolist()]
        np.testing.assert_allclose(found.data, expected, rtol=2e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=12)
@given(texts=st.lists(text, min_size=1, max_size=5))
def test_agrees_with_the_obvious_features(options, texts):
    features, reference = TextFeatures(**options), text_formats.TextFeatures(**options)
    texts = [*TEXTS, *texts, *texts[::2]]
    check(features.learn(texts), [reference.row(text, counted=True) for text in texts])
    texts = [*texts, " ".join(texts), "never seen"]
    check(features.transform(texts), [reference.row(text) for text in texts])
    if features.idf:
        places, found = features._arrays().values()
        expected = sorted(reference.counts.items())
        assert [*zip(places.tolist(), found.tolist(), strict=True)] == expected
        assert features.documents_ == reference.documents


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.booleans())
def test_words_are_those_that_unicode_has(text, lowercase):
    features = TextFeatures(word_ngrams=1, lowercase=lowercase, idf=False, keep_names=True)
    features.learn([text])
    expected = {gram for gram, _, _ in text_formats.grams(text, 1, lowercase=lowercase)}
    found = {name.removeprefix("chars^") for name in features.names_.values()}
    assert found == {gram for gram in expected if len(gram.encode()) < 50} | {
        name for name in found if len(name.encode()) >= 50
    }


def words_of(text, **options):
    features = TextFeatures(word_ngrams=1, idf=False, keep_names=True, **options)
    features.learn([text])
    return {*features.names_.values()}


def test_words():
    assert words_of("camelCase snake_case kebab-case a/b HTMLPage x1") == {
        *("camel", "case", "snake", "kebab", "a", "b", "htmlpage", "x1")
    }
    assert words_of("Straße ÄRGER ΣΊΣΥΦΟΣ e\u0301") == {"strasse", "ärger", "σίσυφοσ", "e\u0301"}
    assert words_of("猫が好き cat") == {"chars^猫が", "chars^が好", "chars^好き", "cat"}
    assert words_of("猫 cat犬 \U00020000") == {"chars^猫", "cat", "chars^犬", "chars^\U00020000"}
    assert words_of("Cat DOG", lowercase=False) == {"Cat", "DOG"}
    assert words_of("😀 — !? \u200b") == set()


def test_words_and_characters_have_names():
    features = TextFeatures(char_ngrams=(3, 3), hash_bits=20, keep_names=True)
    X = features.learn(["Héllo at", "Héllo at"])
    words, chars = ["héllo", "at", "héllo at"], [" hé", "hél", "éll", "llo", "lo ", " at", "at "]
    hashed = text_formats.hash_bytes
    expected = {hashed(word.encode(), 1) % 2**20: word for word in words}
    expected |= {hashed(gram.encode(), 2) % 2**20: f"chars^{gram}" for gram in chars}
    assert features.names_ == expected
    assert {*X[1].indices.tolist()} == expected.keys()


def test_rows_have_unit_length():
    for options in ({}, {"idf": False}):
        X = TextFeatures(**options).learn(TEXTS)
        lengths = np.sqrt(X.multiply(X).sum(axis=1)).A1
        np.testing.assert_allclose(lengths, [bool(text) for text in TEXTS], rtol=1e-6)


@settings(max_examples=20)
@given(st.lists(st.integers(0, len(TEXTS)), max_size=4))
def test_batches_do_not_matter_for_learn(cuts):
    whole, parts = (TextFeatures(keep_names=True, hash_bits=18) for _ in range(2))
    X = whole.learn(TEXTS)
    bounds = [0, *sorted(cuts), len(TEXTS)]
    for start, stop in pairwise(bounds):
        same(parts.learn(TEXTS[start:stop]), X[start:stop])
    assert counts(parts) == counts(whole)


def test_transform_changes_nothing():
    features = TextFeatures(keep_names=True).fit(TEXTS)
    before, X = counts(features), features.transform([*TEXTS, "never seen"])
    same(features.transform([*TEXTS, "never seen"]), X)
    assert counts(features) == before


def test_fit_counts_all_before_it_weighs():
    reference = text_formats.TextFeatures()
    for text in TEXTS:
        reference.row(text, counted=True)
    features = TextFeatures().fit(TEXTS)
    check(features.transform(TEXTS), [reference.row(text) for text in TEXTS])
    same(TextFeatures().fit_transform(TEXTS), features.transform(TEXTS))
    assert features.documents_ == len(TEXTS)
    same(features.fit(TEXTS[:2]).transform(TEXTS), TextFeatures().fit(TEXTS[:2]).transform(TEXTS))


def test_partial_fit_and_learn_count_alike():
    one, other = TextFeatures(), TextFeatures()
    for text in TEXTS:
        one.partial_fit([text])
    other.learn(TEXTS)
    assert counts(one) == counts(other) == counts(TextFeatures().fit(TEXTS))


def test_learn_counts_what_it_is_told_to():
    features, reference = TextFeatures(), text_formats.TextFeatures()
    counted = [i % 2 == 0 for i in range(len(TEXTS))]
    X = features.learn(TEXTS, counted)
    check(X, [reference.row(*pair) for pair in zip(TEXTS, counted, strict=True)])
    assert counts(features) == counts(TextFeatures().fit(TEXTS[::2]))
    with pytest.raises(ValueError, match="there must be a mark for each text"):
        features.learn(TEXTS, [True])


@settings(max_examples=10)
@given(st.lists(text, max_size=4), st.lists(text, min_size=1, max_size=4))
def test_forget_undoes_learn(before, more):
    features = TextFeatures()
    features.learn([*TEXTS, *before])
    known = counts(features)
    features.learn(more)
    features.forget(more)
    assert counts(features) == known


def test_merge_adds():
    one = TextFeatures(keep_names=True).fit(TEXTS[:3])
    other = TextFeatures(keep_names=True).fit(TEXTS[3:])
    before = counts(other)
    assert one.merge(other) is one
    assert counts(other) == before
    whole = TextFeatures().fit(TEXTS)
    documents, found = counts(one)
    assert (documents, found["places"], found["counts"]) == (
        counts(whole)[0],
        *counts(whole)[1].values(),
    )
    assert other.names_.items() <= one.names_.items()
    same(one.transform(TEXTS), whole.transform(TEXTS))
    fresh = TextFeatures().merge(whole)
    assert counts(fresh) == counts(whole)


def test_merge_refuses_features_that_are_made_in_another_way():
    with pytest.raises(ValueError, match="word_ngrams is 1 in the other, 2 here"):
        TextFeatures().merge(TextFeatures(word_ngrams=1).fit(TEXTS))
    with pytest.raises(NotFittedError):
        TextFeatures().merge(TextFeatures())


@pytest.mark.parametrize("options", [{}, {"idf": False}, {"keep_names": True, "hash_bits": 9}])
def test_copies_count_the_same_and_go_on_alike(options):
    features = TextFeatures(**options).fit(TEXTS)
    for made in (pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        assert counts(made) == counts(features)
        assert made.get_params() == features.get_params()
        same(made.transform(TEXTS), features.transform(TEXTS))
        before = counts(features)
        made.learn(TEXTS)
        assert counts(features) == before
    empty = pickle.loads(pickle.dumps(TextFeatures(**options)))
    assert empty.get_params() == TextFeatures(**options).get_params()


def test_clone_and_params():
    features = TextFeatures(word_ngrams=3, char_ngrams=(2, 3), hash_bits=12).fit(TEXTS)
    assert features.get_params() == {
        "word_ngrams": 3,
        "char_ngrams": (2, 3),
        "lowercase": True,
        "hash_bits": 12,
        "idf": True,
        "keep_names": False,
    }
    fresh = clone(features)
    assert fresh.get_params() == features.get_params()
    for call in (fresh.transform, fresh.forget):
        with pytest.raises(NotFittedError):
            call(TEXTS)
    assert features.set_params(hash_bits=5).fit(TEXTS).transform(TEXTS).shape == (len(TEXTS), 32)


def columns():
    """Return the texts as every kind of column, by a name."""
    pa = pytest.importorskip("pyarrow")
    array = pa.array(TEXTS)
    longer = pa.array(["before", *TEXTS, "after"])
    return {
        "tuple": tuple(TEXTS),
        "Texts": Texts.of(TEXTS),
        "Texts that are a slice": Texts.of(["before", *TEXTS, "after"])[1:-1],
        "objects": np.array(TEXTS, object),
        "numpy": np.array(TEXTS),
        "pandas of objects": pd.Series(TEXTS, dtype=object),
        "pandas of strings": pd.Series(TEXTS, dtype="string"),
        "pandas with an index": pd.Series(TEXTS, index=range(7, 7 + len(TEXTS))),
        "pandas of categories": pd.Series(TEXTS, dtype="category"),
        "arrow": array,
        "large": array.cast(pa.large_string()),
        "views": array.cast(pa.string_view()),
        "chunks": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]]),
        "dictionary": array.dictionary_encode(),
        "chunks of dictionaries": pa.chunked_array([TEXTS[:2], TEXTS[2:]]).dictionary_encode(),
        "slice": longer[1:-1],
        "slice of large": longer.cast(pa.large_string())[1:-1],
        "slice of a dictionary": longer.dictionary_encode()[1:-1],
        "slice of chunks": pa.chunked_array([longer[:4], longer[4:]])[1:-1],
    }


@pytest.mark.parametrize("kind", columns())
def test_every_column_of_texts_gives_the_same_rows(kind):
    column = columns()[kind]
    assert list(Texts.of(column)) == TEXTS
    expected, features = TextFeatures(), TextFeatures()
    same(features.learn(column), expected.learn(TEXTS))
    same(features.transform(column), expected.transform(TEXTS))
    assert counts(features) == counts(expected)


@pytest.mark.parametrize("empty", [[], np.array([], object), pd.Series([], dtype="string")])
def test_no_texts_have_no_rows(empty):
    assert TextFeatures().fit(empty).transform(empty).shape == (0, 2**24)


REFUSED = [
    ("it purrs", "X is one text, expected a list of texts: give"),
    (b"it purrs", "X is one text, expected a list of texts"),
    (7, "X is a int, expected a list or column of texts"),
    (None, "X is a NoneType, expected a list or column of texts"),
    ({"a": 1}, "X is a dict, expected a list or column of texts"),
    (
        ["a", None],
        "row 1 of X is None, of type NoneType: expected a str; leave rows without text out",
    ),
    (["a", float("nan")], "row 1 of X is nan, of type float: expected a str"),
    (["a", b"b"], "row 1 of X is b'b', of type bytes: expected a str"),
    (["a", ["b"]], "row 1 of X is ['b'], of type list: expected a str"),
    (
        ["a", "b\ud800"],
        "row 1 of X has '\\ud800' at 1, half of a character: expected text that UTF-8",
    ),
    (np.array(["a", None], object), "row 1 of X is None, of type NoneType"),
    (np.array([["a", "b"]]), "X has shape (1, 2), expected one column of texts: give the column"),
    (np.array("a"), "X has shape (), expected one column of texts"),
    (np.ones(2), "row 0 of X is 1.0, of type float: expected a str"),
    (pd.Series(["a", None], dtype="string"), "row 1 of X is null: expected a text"),
    (pd.Series(["a", None], dtype=object), "row 1 of X is null: expected a text"),
    (pd.Series([1.5, 2.5]), "X is a column of double, expected one of strings"),
    (
        pd.DataFrame({"a": ["x"], "b": ["y"]}),
        "X is a table with the columns a, b, expected the column of texts",
    ),
]


@pytest.mark.parametrize(("X", "message"), REFUSED, ids=lambda value: type(value).__name__)
def test_what_is_no_column_of_texts_is_refused(X, message):
    features = TextFeatures().fit(TEXTS)
    for call in (features.transform, features.learn, features.fit, features.partial_fit):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            call(X)
        assert str(caught.value).startswith(message)
        assert str(caught.value).isprintable()
    assert features.documents_ == len(TEXTS)


def test_arrow_columns_that_are_refused():
    pa = pytest.importorskip("pyarrow")
    for column, message in [
        (pa.array(["a", None, "b"]), "row 1 of X is null"),
        (pa.chunked_array([["a"], [None]]), "row 1 of X is null"),
        (pa.array(["a", None]).dictionary_encode(), "row 1 of X is null"),
        (pa.array([1, 2]), "X is a column of int64, expected one of strings"),
        (pa.array([b"a"]), "X is a column of binary, expected one of strings"),
        (pa.array([["a"]]), "X is a column of list"),
        (
            pa.table({"a": ["x"], "b": ["y"]}),
            "X is a table with the columns a, b, expected the column of texts",
        ),
    ]:
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            TextFeatures().learn(column)
        assert str(caught.value).startswith(message)


@given(st.binary(max_size=30))
def test_bytes_that_are_no_utf8_part_words(data):
    pa = pytest.importorskip("pyarrow")
    content = b"it " + data + b" purrs"
    offsets = pa.py_buffer(np.array([0, len(content)], np.int32))
    column = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(content)])
    features = TextFeatures(word_ngrams=1, hash_bits=18, keep_names=True)
    features.learn(column)
    assert {"it", "purrs"} <= {*features.names_.values()}
    text = content.decode(errors="replace")
    one, other = (TextFeatures(word_ngrams=1, hash_bits=18) for _ in range(2))
    same(one.learn(column), other.learn([text]))


def test_names_of_columns():
    features = TextFeatures(hash_bits=10, keep_names=True).fit(["it purrs", "it barks"])
    names = features.get_feature_names_out()
    assert names.shape == (1024,)
    assert {column: name for column, name in enumerate(names) if name} == features.names_
    assert {"it", "purrs", "barks"} <= {*names}
    columns = features.transform(["it purrs"]).indices
    assert {*names[columns]} <= {"it", "purrs", "it purrs"}
    plain = TextFeatures(hash_bits=10).fit(TEXTS)
    with pytest.raises(ValueError, match="names of features are kept with keep_names=True only"):
        plain.get_feature_names_out()
    with pytest.raises(AttributeError, match="names_ is known with keep_names=True"):
        _ = plain.names_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word_ngrams": 17}, "'word_ngrams' parameter of TextFeatures must be an int"),
        ({"word_ngrams": -1}, "'word_ngrams' parameter of TextFeatures must be an int"),
        ({"word_ngrams": 0}, "word_ngrams is 0 and char_ngrams None, which leaves no features"),
        ({"char_ngrams": 3}, "'char_ngrams' parameter of TextFeatures must be"),
        ({"char_ngrams": (3, 2)}, r"char_ngrams is \(3, 2\), expected None or two numbers"),
        ({"char_ngrams": (0, 2)}, r"char_ngrams is \(0, 2\), expected None or two numbers"),
        ({"char_ngrams": (3, 17)}, "expected None or two numbers from 1 to 16"),
        ({"char_ngrams": (3,)}, "expected None or two numbers from 1 to 16"),
        ({"char_ngrams": (1.5, 2)}, "expected None or two numbers from 1 to 16"),
        ({"hash_bits": 32}, "'hash_bits' parameter of TextFeatures must be an int"),
        ({"hash_bits": 0}, "'hash_bits' parameter of TextFeatures must be an int"),
        ({"lowercase": "no"}, "'lowercase' parameter of TextFeatures must be"),
    ],
)
def test_parameters_are_checked(options, message):
    for call in ("fit", "learn", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(TextFeatures(**options), call)(TEXTS)


def test_threads_transform_while_one_learns():
    features = TextFeatures(hash_bits=16).fit(TEXTS)
    known, failed = [text * 20 for text in TEXTS], []
    every = TextFeatures(hash_bits=16, idf=False).fit(known)  # which leaves nothing out
    columns = [row.indices.tolist() for row in every.transform(known)]

    def look():
        try:
            for _ in range(40):
                X = features.transform(known)
                assert all(
                    {*row.indices} <= {*found} for row, found in zip(X, columns, strict=True)
                )
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        features.learn(TEXTS)
    for thread in threads:
        thread.join()
    assert not failed
    assert features.documents_ == 41 * len(TEXTS)


def test_features_that_share_a_count_are_counted_once():
    features = TextFeatures(hash_bits=1)
    features.learn(["a b c d e"])
    assert features._core.counts()[1].tolist() == [1, 1]
    features.forget(["a b c d e"])
    assert features._core.counts()[1].tolist() == []


def test_only_what_was_counted_can_be_forgotten():
    features = TextFeatures(hash_bits=16).fit(["it purrs"])
    with pytest.raises(ValueError, match="was never counted"):
        features.forget(["it barks"])
    features.forget(["it purrs"])
    with pytest.raises(ValueError, match="was never counted"):
        features.forget([""])
    assert features.documents_ == 0


def test_document_counts_are_of_the_texts_that_have_a_feature():
    features = TextFeatures(keep_names=True, word_ngrams=1).fit(["a b", "a a c", "a"])
    columns = np.array(list(features.names_))
    counts = features.document_counts(columns)
    found = dict(zip(features.names_.values(), counts.tolist(), strict=True))
    assert found == {"a": 3, "b": 1, "c": 1}
    twin = columns[:1] ^ 2**23  # which shares the count
    assert features.document_counts(np.append(columns[:1], twin)).tolist() == [3, 0]
    assert features.document_counts(np.array([5])).tolist() == [0]
    without = TextFeatures(keep_names=True, idf=False).fit(["a b"])
    assert without.document_counts(columns).tolist() == [0, 0, 0]
