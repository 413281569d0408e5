"""Names of features that are kept while files are read."""

import io
import threading

import numpy as np
import pytest

from labeltree.data import FeatureNames, load, stream


def read(text, names, **options):
    return load(io.BytesIO(text), names=names, **options)


def test_namespaces_of_vowpal_wabbit_text():
    names = FeatureNames()
    read(b"1 |f:2 a:3 b |g a | a \xff\n", names, format="vw")
    assert [*names.to_dict().values()] == ["f^a", "f^b", "g^a", "a", "�"]


def test_the_first_name_of_a_feature_stays():
    names = FeatureNames()
    read(b"1 | a b c\n", names, format="vw", hash_bits=1)
    assert len(names) == 2
    assert "a" in names.to_dict().values()


def test_memory_is_bounded():
    names = FeatureNames(limit=3)
    long = "é" * 40
    read(f"1 |n {long} a b c d\n".encode(), names, format="vw")
    assert [*names.to_dict().values()] == ["n^" + "é" * 31, "n^a", "n^b"]


def test_bad_lines_leave_no_names():
    names = FeatureNames()
    read(b"1 | a\n1 | b c:x\n1 | d\n", names, format="vw", skip_bad_lines=True)
    assert [*names.to_dict().values()] == ["a", "d"]


def test_names_change_no_row():
    text = b"1 |f a b:2 |g a\n2 |f c\n"
    one, other = load(io.BytesIO(text), format="vw"), read(text, FeatureNames(), format="vw")
    assert (one.X != other.X).nnz == 0


@pytest.mark.parametrize(
    "format_", ["svmlight", "xmc", "tsv", "fasttext", "csv", "jsonl", "annif", "parquet"]
)
def test_formats_without_names(format_):
    with pytest.raises(ValueError, match=r"has no names of features to keep: expected vw$"):
        stream(io.BytesIO(), format=format_, names=FeatureNames())


def test_arrays_give_the_names_back():
    names, copy = FeatureNames(), FeatureNames()
    read("1 |f a é\n".encode(), names, format="vw")
    copy.extend(*names.arrays())
    assert copy.to_dict() == names.to_dict()
    indices, text = names.arrays()
    for bad in [(indices[:1], text), (indices, text[:-1]), (indices, text[:0])]:
        with pytest.raises(ValueError, match="there are more"):
            copy.extend(*bad)
    empty = FeatureNames()
    empty.extend(*FeatureNames().arrays())
    assert len(empty) == 0


def test_names_may_be_looked_at_while_they_come():
    names = FeatureNames()
    text = b"".join(b"1 | a%d b%d\n" % (i, i) for i in range(50_000))
    reader = threading.Thread(target=read, args=(text, names), kwargs={"format": "vw"})
    reader.start()
    while reader.is_alive():
        indices, found = names.arrays()
        assert np.count_nonzero(found == ord("\n")) == len(indices)
    reader.join()
    assert len(names) > 90_000
