import json
import subprocess
import sys

import numpy as np
import pytest

from labeltree.data import DataError, Texts, load, loading, stream
from tests.data.rows_check import assert_same, label_lists, row_dicts

pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402


def write(path, **columns):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, str(path))
    else:
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    return path


@pytest.fixture(params=["a.parquet", "a.feather", "a.arrow"])
def path(tmp_path, request):
    return tmp_path / request.param


def test_text_reads_like_tsv(path, tmp_path):
    texts = ["The cat", "", "naïve 猫 naïve", "a b c"]
    tsv = tmp_path / "a.tsv"
    tsv.write_text("".join(f"x\t{text}\n" for text in texts))
    write(path, label=["x"] * 4, text=texts)
    data = load(path)
    assert isinstance(data.X, Texts)
    assert list(data.X) == texts
    assert_same(data, load(tsv))
    with stream(path, batch_size=3) as rows:
        assert [text for batch in rows for text in batch.X] == texts
        assert rows.n_features == 0


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_text_columns_of_every_type(path, kind):
    texts = ["it purrs", "", "naïve 猫", "it purrs"]
    write(path, label=[1, 2, 3, 1], body=pa.array(texts).cast(kind))
    data = load(path, text="body")
    assert list(data.X) == texts
    assert data.y.tolist() == [1, 2, 3, 1]
    write(path, label=pa.array(texts).cast(kind), text=texts)
    assert label_lists(load(path)) == [["it purrs"], [], ["naïve 猫"], ["it purrs"]]


def test_text_that_is_no_utf8_is_refused(path):
    lengths = pa.py_buffer(np.array([0, 2, 4], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, lengths, pa.py_buffer(b"ab\xff\xfe")])
    write(path, label=[1, 2], text=broken)
    with pytest.raises(DataError, match=r"cannot be read by pyarrow: .*UTF8") as caught:
        load(path)
    assert caught.value.path == str(path)


def test_lists_of_indices_and_values(path):
    write(path, label=[3, 1, 3], indices=[[5, 1, 5], [], [2]], values=[[1.0, 2.0, 0.5], [], [-1.0]])
    data = load(path)
    assert row_dicts(data) == [{1: 2, 5: 1.5}, {}, {2: -1}]
    assert data.X.shape == (3, 6)
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [3, 1, 3]
    assert load(path, n_features=9).X.shape == (3, 9)


def test_numeric_columns_are_features_in_order(path):
    write(path, b=[1, 2], label=["x", "y"], a=[0.5, 0.0], flag=[True, False], when=["u", "v"])
    data = load(path)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0.5, 1], [2, 0, 0]])
    assert data.settings["columns"] == ["b", "a", "flag"]


def test_columns_are_found_by_name_in_another_file(path):
    write(path, b=[1], label=["x"], a=[2])
    settings = json.loads(json.dumps(load(path).settings))
    write(path, a=[2], extra=[9], b=[1], label=["x"])
    np.testing.assert_array_equal(load(path, **settings).X.toarray(), [[1, 2]])
    write(path, a=[2], label=["x"])
    with pytest.raises(
        DataError, match="feature columns are missing: expected b, a, received a, label"
    ):
        load(path, **settings)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([1, None, -2], [[1], [], [-2]]),
        (["b", "", None], [["b"], [], []]),
        ([[2, 1, 2], [], None], [[2, 1], [], []]),
        ([["x", None, "y"], ["y"], []], [["x", "y"], ["y"], []]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), [["b"], ["a"], ["b"]]),
        (pa.array([1, 2, 3], pa.uint8()), [[1], [2], [3]]),
    ],
)
def test_labels(path, column, labels):
    write(path, label=column, x=[1, 2, 3])
    data = load(path)
    assert label_lists(data) == labels
    assert label_lists(load([path, path])) == labels * 2


def test_batches_joined_are_the_whole(path):
    write(path, label=[1, 2, 1, 3, 1], indices=[[i] for i in range(5)], values=[[1.0]] * 5)
    whole = load(path)
    with stream(path, batch_size=2) as rows:
        batches = list(rows)
        assert rows.lines_read == 5
        assert rows.n_features == 5
    assert max(map(len, batches)) == 2
    assert [labels for batch in batches for labels in label_lists(batch)] == label_lists(whole)
    assert [row for batch in batches for row in row_dicts(batch)] == row_dicts(whole)


def test_a_batch_ends_after_so_many_bytes(path, monkeypatch):
    texts = ["it purrs", "it barks" * 100, "", "it sings", "it"]
    write(path, label=[1, 2, 1, 3, 1], text=texts)
    monkeypatch.setattr(loading, "BATCH_BYTES", 1)
    with stream(path) as rows:
        batches = list(rows)
    assert [len(batch) for batch in batches] == [1] * 5
    assert [text for batch in batches for text in batch.X] == texts == list(load(path).X)
    assert [labels for batch in batches for labels in label_lists(batch)] == label_lists(load(path))


def test_weight_column(path):
    write(path, label=[1, 2], x=[1, 2], w=[0.5, 1])
    data = load(path, weight="w")
    assert data.weight.tolist() == [0.5, 1]
    assert data.X.shape == (2, 1)
    with pytest.raises(DataError, match=r'weight "-1\.0" is not a finite number of 0 or more'):
        load(write(path, label=[1], x=[1], w=[-1]), weight="w")


BAD_ROWS = [
    (
        {"indices": [[1], [-1], [3]], "values": [[1.0]] * 3},
        'feature "-1:1.0" is bad: expected an index from 0 to 4294967295 and a finite value',
    ),
    (
        {"indices": [[1], [2**32], [3]], "values": [[1.0]] * 3},
        'feature "4294967296:1.0" is bad: '
        "expected an index from 0 to 4294967295 and a finite value",
    ),
    (
        {"indices": [[1], [2], [3]], "values": [[1.0], [float("nan")], [1.0]]},
        'feature "2:nan" is bad: expected an index from 0 to 4294967295 and a finite value',
    ),
    (
        {"indices": [[1], [2], [3]], "values": [[1.0], [1e39], [1.0]]},
        'feature "2:inf" is bad: expected an index from 0 to 4294967295 and a finite value',
    ),
    (
        {"indices": [[1], [2, 9], [3]], "values": [[1.0], [1.0], [1.0]]},
        "2 indices and 1 values: expected as many of both",
    ),
    (
        {"indices": [[1], None, [3]], "values": [[1.0], [1.0], [1.0]]},
        "0 indices and 1 values: expected as many of both",
    ),
    (
        {"indices": [[1], [2, 2], [3]], "values": [[1.0], [3e38, 3e38], [1.0]]},
        'feature index "2" is repeated: expected values with a finite sum',
    ),
    ({"text": ["a", None, "c"]}, "text is null"),
    ({"u": [1, 2, 3], "v": [1.0, None, 3.0]}, 'column "v" is "nan": expected a finite number'),
]


@pytest.mark.parametrize(("columns", "message"), BAD_ROWS)
def test_bad_row_is_named_or_skipped(path, columns, message):
    write(path, label=["a", "b", "c"], **columns)
    with pytest.raises(DataError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:2: {message}"
    data = load(path, skip_bad_lines=True)
    assert data.labels.vocabulary == ["a", "c"]
    assert data.bad_lines.first == [(str(path), 2, message)]
    assert data.X.shape[0] == 2
    if "text" in columns:
        assert list(data.X) == ["a", "c"]
    if "indices" in columns:
        assert row_dicts(data) == [{1: 1}, {3: 1}]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1]}, 'label column "label" is missing: give label= one of x, or label=None'),
        ({"x": [1], "label": [0.5]}, 'label column "label" has type double: expected integers'),
        ({"label": [1]}, "feature columns are missing: expected text, indices or numbers"),
        ({"label": [1], "indices": [[1]]}, 'column "values" of lists of numbers is missing'),
        ({"label": [1], "text": [1]}, 'text column "text" has type int64: expected strings'),
        ({"label": pa.array([2**63], pa.uint64()), "x": [1]}, "cannot be read by pyarrow"),
    ],
)
def test_bad_columns_are_named(path, columns, message):
    write(path, **columns)
    with pytest.raises(DataError) as caught:
        load(path)
    assert message in str(caught.value)
    assert caught.value.path == str(path)


def test_labels_can_be_declared_absent(path):
    data = load(write(path, x=[1, 2]), label=None)
    assert data.y == [[], []]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"garbage" * 100])
def test_garbage_is_named(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read by pyarrow"):
        load(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        stream(tmp_path / "none.parquet")


def test_empty_table_has_no_rows(path):
    write(path, label=pa.array([], pa.int64()), x=pa.array([], pa.float32()))
    assert len(load(path)) == 0


def test_without_pyarrow_the_extra_is_named(tmp_path):
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from labeltree.data import stream\n"
        "try:\n    stream(sys.argv[1])\n"
        "except ImportError as error:\n    print(error)\n"
    )
    path = write(tmp_path / "a.parquet", label=[1], x=[1])
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, check=True, timeout=60
    )
    assert b"pip install 'labeltree[parquet]'" in done.stdout


def test_a_damaged_file_is_refused_in_one_line(path):
    write(path, label=["x"] * 20, text=["it purrs"] * 20)
    content = path.read_bytes()
    said = []
    for at in range(0, len(content), len(content) // 60):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            load(path)
        except DataError as error:
            said.append(str(error))
    assert len(said) > 5
    assert all(message.isprintable() for message in said)


def test_bad_rows_do_not_make_the_matrix_wider(path):
    write(path, label=[1, 1], indices=[[], [7]], values=[[], [float("inf")]])
    assert load(path, skip_bad_lines=True).X.shape == (1, 0)


def test_names_that_cannot_be_printed_are_told_all_the_same():
    error = DataError("label column is missing: give one of a\x00\nb", "x.parquet", 3)
    assert str(error) == "x.parquet:3: label column is missing: give one of a\\x00\\nb"
