"""Rows that take memory a block at a time: in a file of the worker, if they are many."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from labeltree.dask.memory import local_folder
from labeltree.dask.shard import Shard, put_together
from labeltree.dask.tally import Tally
from labeltree.estimators.sharding import Block

BLOCK = 2**26  # bytes of rows that are in memory together


class Rows:
    """Blocks of rows, one after the other, in memory or in a file that is gone with them.

    Parameters
    ----------
    folder : str, optional
        Where the file is to be; without it rows stay in memory.
    """

    def __init__(self, folder: str | None) -> None:
        self._file: Any = None
        if folder is not None:
            self._file = tempfile.TemporaryFile(dir=folder, prefix="labeltree-")  # noqa: SIM115
        self._here: list[Shard] = []
        self._ends = [0]  # of blocks in the file
        self._firsts = [0]  # numbers of the first rows of blocks
        self.nbytes = 0

    def append(self, block: Shard) -> None:
        """Put rows behind those that are there."""
        if not len(block):
            return
        self._firsts.append(len(self) + len(block))
        self.nbytes += block.nbytes
        if self._file is None:
            self._here.append(block)
        else:
            pickle.dump(block, self._file, protocol=5)
            self._file.flush()
            self._ends.append(self._file.tell())

    def __del__(self) -> None:
        if self.__dict__.get("_file") is not None:
            self._file.close()

    def __len__(self) -> int:
        return self._firsts[-1]

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self._firsts) - 1

    def block(self, i: int) -> tuple[Shard, int]:
        """Return a block, and the number of its first row."""
        if self._file is None:
            return self._here[i], self._firsts[i]
        begin, end = self._ends[i : i + 2]
        return pickle.loads(os.pread(self._file.fileno(), end - begin, begin)), self._firsts[i]

    def __iter__(self) -> Iterator[Shard]:
        for i in range(self.blocks):
            yield self.block(i)[0]

    def __sizeof__(self) -> int:
        """Return about how many bytes it takes, by which workers are told what they hold."""
        return 1000 + (self.nbytes if self._file is None else 0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what the same rows are made of where a worker gets those of another."""
        return _rows, (list(self), self._file is not None)


def _rows(blocks: Sequence[Shard], in_file: bool) -> Rows:
    rows = Rows(local_folder() if in_file else None)
    for block in blocks:
        rows.append(block)
    return rows


def gather(parts: Sequence[Shard | Rows], width: int | None, mixed: bool) -> Rows:
    """Put the rows of several parts into blocks.

    Parameters
    ----------
    parts : sequence of Shard or Rows
        Some may be empty.
    width : int, optional
        How many features there are in all parts, where files do not tell.
    mixed : bool
        Whether rows of all parts are to be in each block, if there are several: they are learned
        block by block.

    Returns
    -------
    Rows
        In one block, or in a file, if they are many.
    """
    count = -(-sum(part.nbytes for part in parts) // BLOCK)
    if count <= 1:
        rows = Rows(None)
        some = [block for block in _blocks(parts) if len(block)]
        if some:
            rows.append(put_together(some, width))
        return rows
    folder = local_folder()
    blocks = _mixed(parts, count, folder) if mixed else _in_order(parts)
    rows = Rows(folder)
    for block in blocks:
        rows.append(put_together(list(block), width))
    return rows


def _blocks(parts: Iterable[Shard | Rows]) -> Iterator[Shard]:
    for part in parts:
        if isinstance(part, Shard):
            yield part
        else:
            yield from part


def _mixed(parts: Sequence[Shard | Rows], count: int, folder: str | None) -> list[Rows]:
    """Return blocks of rows that come from everywhere."""
    rng = np.random.default_rng(count)
    found = [Rows(folder) for _ in range(count)]
    for part in _blocks(parts):
        place = rng.integers(0, count, len(part))
        for i, rows in enumerate(found):
            rows.append(part.take(np.flatnonzero(place == i)))
    return found


def _in_order(parts: Sequence[Shard | Rows]) -> Iterator[list[Shard]]:
    block: list[Shard] = []
    for part in _blocks(parts):
        block.append(part)
        if sum(one.nbytes for one in block) >= BLOCK:
            yield block
            block = []
    if block:
        yield block


def deal(parts: Sequence[Shard], tally: Tally, hands: int) -> list[Rows]:
    """Deal rows out to several hands by their labels, as a tally of all of them tells."""
    large = sum(part.nbytes for part in parts) > BLOCK
    dealt = [Rows(local_folder() if large else None) for _ in range(hands)]
    for part in parts:
        hand = tally.hands(part, hands)
        for i, rows in enumerate(dealt):
            rows.append(part.take(np.flatnonzero(hand == i)))
    return dealt


def numbered(rows: Rows, seed: Sequence[int] | None) -> Iterator[Block]:
    """Return the blocks of rows with the numbers of their first, in an order that a seed gives."""
    order = np.arange(rows.blocks)
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    for i in order.tolist():
        block, first = rows.block(i)
        yield Block(block.X, block.y, block.weight, first)
