"""Rows of a stream in another order, which depends on a seed and on nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltree.data import Rows, Stream
from labeltree.data.rows import concatenate

_BATCH = 8192  # rows given out at a time


class Numbered(NamedTuple):
    """Rows, and which of the stream's they are, counted from 0."""

    rows: Rows
    numbers: NDArray[np.int64]


class Shuffle(NamedTuple):
    """How a pass over the rows is shuffled."""

    rows: int  # that trade places
    key: tuple[int, ...]  # what the order depends on


def numbered(batches: Iterable[Rows]) -> Iterator[Numbered]:
    """Yield batches as they are."""
    begin = 0
    for batch in batches:
        yield Numbered(batch, np.arange(begin, begin + len(batch)))
        begin += len(batch)


def shuffled(stream: Stream, how: Shuffle) -> Iterator[Numbered]:
    """Yield the rows, each block of consecutive ones in a random order.

    A block's order depends on the key and on where it begins, so that a run can go on from any
    row by passing over those before it.
    """
    size, key = how
    waiting: list[Rows] = []
    count = begin = 0
    for batch in stream:
        while count + len(batch) >= size:
            rest = size - count
            yield from _block(stream, [*waiting, batch[:rest]], begin, key)
            waiting, count, begin, batch = [], 0, begin + size, batch[rest:]
        if len(batch):
            waiting.append(batch)
            count += len(batch)
    if waiting:
        yield from _block(stream, waiting, begin, key)


def _block(
    stream: Stream, parts: list[Rows], begin: int, key: tuple[int, ...]
) -> Iterator[Numbered]:
    block = concatenate(parts, stream.n_features)
    order = np.random.default_rng([*key, begin]).permutation(len(block))
    for start in range(0, len(block), _BATCH):
        chosen = order[start : start + _BATCH]
        yield Numbered(block.take(chosen), begin + chosen)
