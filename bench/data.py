"""The data sets of the benchmarks: where they are read, split and prepared for the peers."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from bench.prepared import PARTS, Part, Shape
from labeltree.data import load

SINGLE = ("maintainer", "glyph1000", "hypernym")  # one label a row
SETS = ("bibtex", "delicious", "debtags")  # a set of labels a row


def read(folder: Path, name: str, part: str) -> tuple[Any, Any]:
    """Return the rows, dense if more than half of their entries are stored, and the labels."""
    data = load(folder / f"{name}_{part}.txt.gz")
    return (data.X.toarray() if is_dense(data.X) else data.X), data.y


def is_dense(X: Any) -> bool:
    return 2 * X.nnz > X.shape[0] * X.shape[1]


def split(X: Any, y: Any) -> list[Any]:
    """Return the rows and labels of four fifths, and those of the rest."""
    order = np.random.default_rng(0).permutation(len(y))
    parts = np.sort(order[: len(y) * 4 // 5]), np.sort(order[len(y) * 4 // 5 :])
    choose = (lambda p: y[p]) if isinstance(y, np.ndarray) else (lambda p: [y[i] for i in p])
    return [take for part in parts for take in (X[part], choose(part))]


def missing(folder: Path, names: list[str]) -> list[Path]:
    """Return the files of data sets that are not in the folder."""
    files = [folder / f"{name}_{part}.txt.gz" for name in names for part in PARTS]
    return [file for file in files if not file.exists()]


def prepare(source: Path, name: str, folder: Path) -> Shape:
    """Write a data set as the peers read it: arrays, and the same text without compression."""
    shutil.rmtree(folder, ignore_errors=True)  # also what peers made of older files
    folder.mkdir(parents=True)
    read = {part: load(source / f"{name}_{part}.txt.gz") for part in PARTS}
    labels = {part: [np.atleast_1d(labels) for labels in data.y] for part, data in read.items()}
    flat = {part: np.concatenate(sets).astype(np.int32) for part, sets in labels.items()}
    shape = Shape(
        labels=1 + int(max(ids.max() for ids in flat.values())),
        features=max(data.X.shape[1] for data in read.values()),
        sets=not isinstance(read["train"].y, np.ndarray),
        dense=is_dense(read["train"].X),
    )
    shape.write(folder)
    for part, data in read.items():
        sizes = [len(labels) for labels in labels[part]]
        Part(
            offset=data.X.indptr.astype(np.int64),
            column=data.X.indices.astype(np.int32),
            value=data.X.data.astype(np.float32),
            label_offset=np.concatenate([[0], np.cumsum(sizes)]),
            label=flat[part],
            shape=shape,
        ).write(folder, part)
        with (
            gzip.open(source / f"{name}_{part}.txt.gz") as packed,
            open(folder / f"{part}.txt", "wb") as plain,
        ):
            shutil.copyfileobj(packed, plain)
    return shape
