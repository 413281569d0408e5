import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labeltree.labels import Targets, Vocabulary

labels = st.one_of(st.integers(-(2**60), 2**60), st.text(max_size=3))


@given(st.lists(labels))
def test_ids_are_dense_and_never_change(stream):
    vocabulary = Vocabulary()
    seen = {}
    for label in stream:
        vocabulary.add([label], lambda ids, new: ids.update({new[0]: len(ids)}))
        seen.setdefault(label, len(seen))
        assert vocabulary.ids(list(seen)).tolist() == list(seen.values())
    assert vocabulary.tolist() == list(seen)
    assert vocabulary.array.tolist() == list(seen)


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
    pd = pytest.importorskip("pandas")
    ids = [2**53 + i for i in range(4)]
    assert classes(pd.Series(ids, dtype="Int64")) == ids
    assert classes(pd.Series([True, False], dtype="boolean")) == [True, False]
    assert classes(pd.Series(["u", "v"], dtype="category")) == ["u", "v"]
    with pytest.raises(ValueError, match="Unknown label type"):
        classes(pd.Series([1, None], dtype="Int64"))


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
