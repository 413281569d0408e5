"""Rows in blocks, in memory or in files."""

import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree.dask import rows as module
from labeltree.dask.rows import Rows, deal, gather, numbered
from labeltree.dask.shard import Shard
from labeltree.dask.tally import Tally


def shard(begin, end, form="array"):
    """Return rows whose only feature, label and weight tell which they are."""
    number = np.arange(begin, end)
    X = sp.csr_matrix(number[:, np.newaxis].astype(np.float32) + 1)
    y = {"array": number, "list": [f"label {i}" for i in number], "sets": [[i, 5] for i in number]}
    return Shard(X, y[form], number.astype(np.float32))


def numbers(blocks):
    return [int(value) - 1 for block in blocks for value in block.X.toarray().ravel()]


def consistent(block, form):
    expected = [shard(i, i + 1, form) for i in numbers([block])]
    assert list(block.y) == [one.y[0] for one in expected]
    assert block.weight.tolist() == [one.weight[0] for one in expected]


@pytest.mark.parametrize("form", ["array", "list", "sets"])
def test_rows_are_the_same_in_a_file_and_elsewhere(form, tmp_path):
    for folder in (None, str(tmp_path)):
        rows = Rows(folder)
        for ends in [(0, 3), (3, 3), (3, 10)]:
            rows.append(shard(*ends, form))
        assert (len(rows), rows.blocks) == (10, 2)
        assert os.listdir(tmp_path) == []  # the file has no name, and goes with the rows
        for same in (rows, rows, pickle.loads(pickle.dumps(rows))):
            assert numbers(same) == list(range(10))
            for block in same:
                consistent(block, form)
        assert [block.first for block in numbered(rows, None)] == [0, 3]
        assert rows.__sizeof__() - 1000 == (rows.nbytes if folder is None else 0)


@pytest.mark.parametrize("form", ["array", "list", "sets"])
@pytest.mark.parametrize("mixed", [False, True])
def test_many_rows_are_put_into_blocks(form, mixed, tmp_path, monkeypatch):
    parts = [shard(i * 100, (i + 1) * 100, form) for i in range(10)]
    parts.insert(3, shard(0, 0, form))
    one = gather(parts, None, mixed)
    assert one.blocks == 1
    assert numbers(one) == list(range(1000))
    monkeypatch.setattr(module, "BLOCK", parts[0].nbytes * 3)
    monkeypatch.setattr(module, "local_folder", lambda: str(tmp_path))
    many = gather(parts, 7, mixed)
    assert many.blocks == 4
    assert {block.X.shape[1] for block in many} == {7}
    for block in many:
        consistent(Shard(block.X[:, :1], block.y, block.weight), form)
    found = numbers(Shard(block.X[:, :1], None, None) for block in many)
    assert sorted(found) == list(range(1000))
    if mixed:
        assert all(block.weight.min() < 100 and block.weight.max() >= 900 for block in many)
    else:
        assert found == list(range(1000))
    orders = [[block.first for block in numbered(many, [0, number])] for number in range(5)]
    assert len({tuple(order) for order in orders}) > 1
    assert {tuple(sorted(order)) for order in orders} == {
        tuple(np.cumsum([0, *(len(block) for block in many)])[:-1])
    }
    assert not len(gather([shard(0, 0), Rows(None)], None, mixed))


def test_rows_of_a_rare_label_are_dealt_to_one_hand():
    y = np.array([0] * 40 + [1, 2, 3, 4, 5] * 2 + [1])
    X = sp.csr_matrix(np.arange(len(y), dtype=np.float32)[:, np.newaxis] + 1)
    parts = [Shard(X[:45], y[:45], None), Shard(X[45:], y[45:], None), shard(0, 0)]
    tally = Tally.total([Tally.of(parts[:1]), Tally.of(parts[1:])])
    assert (tally.rows, tally.labels) == (51, [0, 1, 2, 3, 4, 5])
    assert tally.counts.tolist() == [40, 3, 2, 2, 2, 2]
    hands = [list(rows) for rows in deal(parts, tally, 2)]
    assert sorted(numbers(hands[0] + hands[1])) == list(range(51))
    given = [np.concatenate([block.y for block in hand]) for hand in hands]
    assert not set(given[0][given[0] > 0]) & set(given[1][given[1] > 0])
    assert [int((own == 0).sum()) for own in given] == [20, 20]  # everybody has the frequent one


def test_rows_are_dealt_if_a_shard_has_few_of_most_labels():
    few, many = (Tally(rows, list(range(100)), np.full(100, rows // 100)) for rows in (700, 900))
    assert (few.is_dealt(1), few.is_dealt(2), many.is_dealt(2), many.is_dealt(4)) == (
        False,
        True,
        False,
        True,
    )
    sets = Tally.of([shard(0, 5, "sets")])
    assert (sets.rows, sets.labels) == (5, [])
    assert not sets.is_dealt(4)
    assert not Tally.total([sets, few]).is_dealt(4)
