"""Tables that are written row by row, in memory or in a file."""

import gc
import os
import pathlib
import pickle

import numpy as np
import pytest

from labeltree.merging import tablewriter, weighttable
from labeltree.merging.tablewriter import TableWriter, in_files, is_mapped, let_arrays_go, let_go
from labeltree.merging.weighttable import WeightTable


def rows(numbers):
    number = np.array(numbers, np.uint64)
    return number, np.repeat(number.astype(np.float32), 4) + 0.5


def written(blocks, folder):
    writer = TableWriter(2, True, folder)
    for block in blocks:
        writer.write(*rows(block))
    return writer.table()


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("blocks", [[], [[3]], [[1, 5], [9]]])
def test_a_table_is_the_same_in_a_file_as_in_memory(blocks, tmp_path, monkeypatch):
    expected = written(blocks, None)
    assert expected.number.tolist() == [number for block in blocks for number in block]
    assert not is_mapped(written(blocks, str(tmp_path)).value)  # it is small
    monkeypatch.setattr(tablewriter, "MOST_IN_MEMORY", 0)
    before = descriptors()
    found = written(blocks, str(tmp_path))
    assert is_mapped(found.value) == bool(blocks)
    assert os.listdir(tmp_path) == []  # its files have no name
    for _ in range(2):  # also after its pages were given back
        np.testing.assert_array_equal(found.number, expected.number)
        np.testing.assert_array_equal(found.value, expected.value)
        let_go(found, *found.ranges([4, 10]))
    copy = pickle.loads(pickle.dumps(found))
    assert not is_mapped(copy.value)
    np.testing.assert_array_equal(copy.value, expected.value)
    del found
    gc.collect()
    assert descriptors() == before  # they go with the table


def test_what_was_read_of_a_file_leaves_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(tablewriter, "MOST_IN_MEMORY", 0)
    table = written([range(1_000_000)], str(tmp_path))
    gc.collect()

    def of_files():
        status = pathlib.Path("/proc/self/status").read_text()
        return int(status.split("RssFile:")[1].split()[0])

    before = of_files()
    assert table.value.sum() > 0
    read = of_files()
    let_go(table)
    assert read - before > 10_000  # kB, of 16,000
    assert of_files() - before < 2_000


def test_arrays_are_the_same_in_files(tmp_path, monkeypatch):
    arrays = {"a": np.arange(5, dtype=np.uint32), "b": np.zeros(0, np.float32)}
    assert in_files(arrays, None) is arrays
    assert in_files(arrays, str(tmp_path)) is arrays  # they are small
    monkeypatch.setattr(tablewriter, "MOST_IN_MEMORY", 0)
    assert in_files(arrays, None) is arrays
    found = in_files(arrays, str(tmp_path))
    assert os.listdir(tmp_path) == []
    assert not found["a"].flags.writeable  # a file
    for _ in range(2):
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
        let_arrays_go(found.values())


@pytest.mark.parametrize("piece", [1, 100, 10_000])
def test_tables_are_cut_at_the_same_numbers(piece, monkeypatch):
    monkeypatch.setattr(weighttable, "_PIECE", piece)
    rng = np.random.default_rng(0)
    numbers = [np.flatnonzero(rng.random(500) < share) for share in (0.5, 0.1, 0.0)]
    tables = [WeightTable(*rows(number), 2, True) for number in numbers]
    last = -1
    seen = [[], [], []]
    for first, others in tables[0].pieces(tables[1:]):
        both = [*first.number.tolist(), *(n for one in others for n in one.number.tolist())]
        assert min(both) > last
        last = max(both)
        assert len(first.number) <= max(1, piece // 16)
        seen[0] += first.number.tolist()
        for one in others:
            seen[1] += one.number.tolist()
    assert seen == [number.tolist() for number in numbers]


def test_a_file_in_a_folder_that_is_gone_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tablewriter, "MOST_IN_MEMORY", 0)
    with pytest.raises(FileNotFoundError):
        written([[1]], str(tmp_path / "gone"))
