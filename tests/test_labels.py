from collections import UserList

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labeltree.labels import Targets, Vocabulary
from tests.tree.test_label_tree import make_core

labels = st.one_of(st.integers(-(2**60), 2**60), st.text(max_size=3))


@given(st.lists(labels))
def test_ids_are_dense_and_never_change(stream):
    vocabulary, learner = Vocabulary(), make_core(0, 4)
    seen = {}
    for label in stream:
        vocabulary.add([label], learner.add_labels)
        seen.setdefault(label, len(seen))
        assert vocabulary.ids(list(seen)).tolist() == list(seen.values())
    assert vocabulary.tolist() == list(seen)
    assert vocabulary.array.tolist() == list(seen)


any_label = st.one_of(labels, st.booleans(), st.sampled_from([1.0, 0.0, 2**70, "\ud800", "", -5]))


@pytest.mark.parametrize("kind", [st.integers(-9, 9), st.text(max_size=2), any_label])
@given(data=st.data())
def test_a_vocabulary_is_a_dictionary_of_less_memory(kind, data):
    """Whatever it holds, equal labels have one id, and labels stay what they were."""
    stream = data.draw(st.lists(kind, max_size=30))
    vocabulary, learner, known = Vocabulary(), make_core(0, 4), {}
    for label in stream:
        vocabulary.add([label], learner.add_labels)
        known.setdefault(label, len(known))
    asked = data.draw(st.lists(any_label, max_size=10)) + stream
    assert vocabulary.ids(asked).tolist() == [known.get(label, -1) for label in asked]
    assert [label in vocabulary for label in asked] == [label in known for label in asked]
    held = list(known)
    for copy in (vocabulary, vocabulary.copy(), Vocabulary(vocabulary.packed())):
        assert [(type(one), one) for one in copy.tolist()] == [(type(one), one) for one in held]
    some = data.draw(st.sets(st.integers(0, len(held) - 1))) if held else set()
    left = vocabulary.without(np.array(sorted(some), np.uint32))
    assert left.tolist() == [label for i, label in enumerate(held) if i not in some]
    assert vocabulary.pick(sorted(some)) == [held[i] for i in sorted(some)]
    assert vocabulary.take(np.array(sorted(some), int)).tolist() == [held[i] for i in sorted(some)]


def test_labels_are_added_together_with_the_learner_or_not_at_all():
    vocabulary, learner = Vocabulary(["a", "b"]), make_core(1, 4)
    with pytest.raises(ValueError, match="2 ids, but the model has 1"):
        vocabulary.add(["c"], learner.add_labels)
    assert vocabulary.tolist() == ["a", "b"]
    learner.resize(2)
    vocabulary.add(["c", "a"], learner.add_labels)
    assert vocabulary.ids(["a", "b", "c", "d"]).tolist() == [0, 1, 2, -1]
    assert learner.labels == 3


@given(st.lists(st.lists(labels, max_size=4), min_size=1))
def test_label_sets_keep_every_label_once(sets):
    targets = Targets.parse(sets)
    vocabulary = Vocabulary(targets.by_appearance())
    ids = targets.ids(vocabulary)
    names = vocabulary.tolist()
    for row, expected in enumerate(sets):
        received = [names[i] for i in ids[targets.offset[row] : targets.offset[row + 1]]]
        assert received == list(dict.fromkeys(expected))
    flat = [label for row in sets for label in row]
    assert names == list(dict.fromkeys(flat))


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([1, 2, 1], "class"),
        (np.array(["a", "b"]), "class"),
        (np.array([[1], [2]])[:, 0], "class"),
        ([[1], [1, 2], []], "sets"),
        ([{1}, (1, 2)], "sets"),
        (np.array([[0, 1], [1, 1]]), "indicator"),
        (sp.csr_matrix([[0, 1], [1, 1]]), "sparse indicator"),
    ],
)
def test_form_of_y_tells_the_task(y, kind):
    assert Targets.parse(y).kind == kind


def test_labels_stay_what_they_are():
    def classes(y):
        return Vocabulary(Targets.parse(y).by_appearance()).array.tolist()

    assert classes([1, "a", 1, "b"]) == [1, "a", "b"]
    large = [2**63, 2**63 + 1, -1, 5]
    assert classes(large) == large
    assert classes(np.array(large, dtype=object)) == large
    assert classes(np.array(["x", "y"])) == ["x", "y"]
    assert classes([np.array(1), np.int64(2)]) == [1, 2]
    ids = [2**53 + i for i in range(4)]
    assert classes(pd.Series(ids, dtype="Int64")) == ids
    assert classes(pd.Series([True, False], dtype="boolean")) == [True, False]
    assert classes(pd.Series(["u", "v"], dtype="category")) == ["u", "v"]


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", None, None],
        ["a", "b", float("nan")],
        [1, 2, np.float64("nan")],
        [["a"], ["b"], ["c", None]],
        np.array([1, 2, np.nan]),
        np.array([1, 2, np.nan, np.inf], np.float16),
        np.array(["a", "b", None], object),
        pd.Series(["a", "b", None]),
        pd.Series(["a", "b", None], dtype=object),
        pd.Series(["a", "b", None], dtype="string"),
        pd.Series(["a", "b", None], dtype="category"),
        pd.Series([1, 2, None]),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, pd.NaT], dtype=object),
        pa.array(["a", "b", None]),
        pa.array([1, 2, None]),
        pa.chunked_array([["a", "b"], [None]]),
    ],
)
def test_a_label_that_is_missing_is_refused_with_its_row(y):
    with pytest.raises(ValueError, match=r"row 2 of y has .* for a label, .* leave rows without"):
        Targets.parse(y)


def test_a_label_of_another_type_is_refused_with_its_row():
    with pytest.raises(ValueError, match=r"the label 0\.5 of row 1 is a float"):
        Targets.parse([1, 0.5])
    with pytest.raises(ValueError, match=r"the label b'a' of row 1 is a bytes"):
        Targets.parse([[1], [2, b"a"]])


class Stream:
    """A column that has Arrow's interface only."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_stream__(self, schema=None):
        return pa.chunked_array(self.column).__arrow_c_stream__(schema)


class Array:
    """One in one piece."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, schema=None):
        return self.column.__arrow_c_array__(schema)


SINGLE = ["b", "a", "b"]
SETS = [["b", "a"], [], ["c"]]


@pytest.mark.parametrize("values", [SINGLE, SETS, [3, 1, 3]], ids=["strs", "sets", "ints"])
def test_columns_are_read_as_lists_are(values):
    expected = Targets.parse(values)
    array = pa.array(values)
    # A sequence and no more, as columns of Hugging Face's datasets are, and Arrow's.
    columns = [UserList(values), array, pa.chunked_array([array]), Stream([array]), Array(array)]
    if values is SINGLE:
        columns += [array.cast(pa.large_string()), Array(array.cast(pa.large_string()))]
        columns += [array.cast(pa.string_view()), array.dictionary_encode()]
    for column in columns:
        targets = Targets.parse(column)
        assert targets.kind == expected.kind
        assert targets.distinct == expected.distinct
        assert targets.index.tolist() == expected.index.tolist()
        assert targets.offset.tolist() == expected.offset.tolist()


def test_single_labels_are_sorted_and_found():
    targets = Targets.parse(["b", "a", "c", "a"])
    assert targets.distinct == ["a", "b", "c"]
    assert targets.by_appearance() == ["b", "a", "c"]
    assert targets.ids(Vocabulary(["c", "b", "a"])).tolist() == [1, 2, 0, 2]


def test_wrong_predictions_of_single_labels_and_sets():
    single = Targets.parse([5, 6, 7])
    ids = single.ids(Vocabulary([5, 6, 7]))
    rows = np.array([2, 0, 1])
    assert single.wrong(ids, rows, np.array([2, 2, 1], np.uint32)).tolist() == [False, True, False]
    sets = Targets.parse([[5, 6], [], [7]])
    ids = sets.ids(Vocabulary([5, 6, 7]))
    predicted = np.array([0, 1, 2], np.uint32)
    assert sets.wrong(ids, rows, predicted).tolist() == [True, False]  # row 1 has no labels


def test_matrix_that_is_no_indicator():
    with pytest.raises(ValueError, match="a matrix with the entry 3, expected an indicator"):
        Targets.parse(np.array([[0, 3], [1, 0]]))


def test_matrix_of_strings():
    with pytest.raises(ValueError, match="for sets of labels pass a list of lists"):
        Targets.parse(np.array([["a", "b"], ["c", "d"]]))


def test_mixed_rows_of_labels_and_sets():
    with pytest.raises(ValueError, match=r"y\[1\] is 2, expected a list of labels"):
        Targets.parse([[1], 2])


def test_an_indicator_of_columns_without_end_is_refused():
    wide = sp.csr_matrix(([1], [5], [0, 1]), shape=(1, 2**40))
    with pytest.raises(ValueError, match="indicator of 1,099,511,627,776 columns"):
        Targets.parse(wide)


@pytest.mark.parametrize(
    ("known", "given", "other"),
    [
        ([1, 2], ["a", "2"], 2),
        (["1", "2"], [3, 2], "2"),
        ([1, "a"], ["1"], 1),
        ([1, "a"], ["b", 7, "7"], 7),
        ([True], ["1"], 1),
        (["-3"], [-3.0], "-3"),
    ],
)
def test_a_label_in_another_form_is_refused(known, given, other):
    with pytest.raises(ValueError, match=r"would be .* convert them") as refused:
        Vocabulary(known).require_one_form(given)
    assert repr(other) in str(refused.value)


@pytest.mark.parametrize(
    ("known", "given"),
    [
        ([], [1, "a"]),
        ([1, 2], [3, "a", "01", "+1", "1.0", "-0", "x1", ""]),
        ([1, "1"], ["1", 1]),  # of a model that has both already
        ([1, "1"], [2]),
        ([2**63 - 1], [str(2**63)]),
        ([2**63], [str(2**63)]),  # which no reader makes an integer
        (["a"], ["1", "b"]),
    ],
)
def test_labels_that_are_not_written_alike_may_be_mixed(known, given):
    Vocabulary(known).require_one_form(given)
