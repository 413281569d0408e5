"""What is shown of data is short, however much there is."""

import numpy as np

import labeltree
from labeltree.data import load, stream


def test_loaded_data_are_shown_in_a_line(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"label-{i % 700}\tit is {i}\n" for i in range(2000)))
    data = load(path)
    assert repr(data) == "<Dataset: 2,000 rows, of text, 700 labels>"
    assert repr(data.X) == "<2,000 texts of 18,890 bytes>"
    assert repr(data.labels) == "<2,000 labels of 2,000 rows, 700 in the vocabulary>"
    with stream(path, batch_size=100) as rows:
        assert repr(next(rows)) == "<Rows: 100 rows, of text, 100 labels>"
    path = tmp_path / "a.vw"
    path.write_text("".join(f"label-{i % 700} | it is {i}\n" for i in range(2000)))
    data = load(path, hash_bits=18)
    assert repr(data) == (
        f"<Dataset: 2,000 rows, 262,144 features, {data.X.nnz:,} values, 700 labels>"
    )
    with stream(path, hash_bits=18, batch_size=100) as rows:
        assert repr(next(rows)).startswith("<Rows: 100 rows, 262,144 features, ")


def test_chosen_rows_keep_their_labels_and_weights(read):
    data = read(b"a 2 |x one\n |x two\na,b 3 |x three\nc |x four\n", format="vw")
    chosen = data.take([3, 0, 2])
    assert chosen.sets == [["c"], ["a"], ["a", "b"]]
    assert chosen.weight.tolist() == [1, 2, 3]
    assert abs(chosen.X - data.X[[3, 0, 2]]).nnz == 0
    assert len(data.take([])) == 0


def test_chosen_rows_keep_their_texts(read):
    data = read("a\tone\n\t\nb\tthré\nc\tfour\n".encode(), format="tsv")
    chosen = data.take(np.array([3, 0, 2, 2]))
    assert chosen.sets == [["c"], ["a"], ["b"], ["b"]]
    assert list(chosen.X) == ["four", "one", "thré", "thré"]
    assert len(data.take(np.empty(0, np.intp))) == 0


def test_the_package_offers_what_there_is_to_use():
    offered = dir(labeltree)
    assert {*labeltree.__all__, "data", "datasets", "metrics", "runs"} == {*offered}
    assert not {"Any", "TYPE_CHECKING"} & {*offered}
    assert all(hasattr(labeltree, name) for name in offered)
