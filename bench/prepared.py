"""A data set as the peers get it: one ``.npz`` file a part, which numpy alone can read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "test")


@dataclass(frozen=True)
class Shape:
    """What must be known of a data set to tell whether a peer can learn it."""

    labels: int
    features: int
    sets: bool  # whether a row has a set of labels, or one
    dense: bool  # whether rows are handed over as a dense array

    def write(self, folder: Path) -> None:
        """Keep the shape beside the parts."""
        (folder / "shape.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Shape:
        """Return what `write` kept."""
        return cls(**json.loads((folder / "shape.json").read_text()))


@dataclass(frozen=True)
class Part:
    """Rows in CSR form with sorted columns, and the ids of their labels, from 0."""

    offset: NDArray[np.int64]  # rows + 1
    column: NDArray[np.int32]
    value: NDArray[np.float32]
    label_offset: NDArray[np.int64]  # rows + 1
    label: NDArray[np.int32]
    shape: Shape

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offset) - 1

    def write(self, folder: Path, part: str) -> None:
        """Write ``PART.npz``."""
        arrays = {name: value for name, value in vars(self).items() if name != "shape"}
        np.savez(folder / f"{part}.npz", **arrays)

    @classmethod
    def read(cls, folder: Path, part: str) -> Part:
        """Return what `write` wrote."""
        with np.load(folder / f"{part}.npz") as arrays:
            return cls(**arrays, shape=Shape.read(folder))

    def unit(self) -> Part:
        """Return the rows at unit length, as peers want them that do not scale rows themselves."""
        row = np.repeat(np.arange(len(self)), np.diff(self.offset))
        squares = np.bincount(row, self.value.astype(np.float64) ** 2, minlength=len(self))
        length = np.sqrt(np.where(squares > 0, squares, 1.0))
        return replace(self, value=(self.value / length[row]).astype(np.float32))

    def csr(self) -> Any:
        """Return the rows as a matrix of scipy."""
        import scipy.sparse as sp

        return sp.csr_matrix(
            (self.value, self.column, self.offset), shape=(len(self), self.shape.features)
        )

    def matrix(self) -> Any:
        """Return the rows dense if the data set is, else as `csr`."""
        return self.csr().toarray() if self.shape.dense else self.csr()

    def indicator(self) -> Any:
        """Return the labels as a matrix of scipy, rows x labels."""
        import scipy.sparse as sp

        ones = np.ones(len(self.label), dtype=np.float32)
        return sp.csr_matrix(
            (ones, self.label, self.label_offset), shape=(len(self), self.shape.labels)
        )

    def label_sets(self) -> list[list[int]]:
        """Return the labels as a list a row."""
        return [
            self.label[begin:end].tolist()
            for begin, end in zip(self.label_offset[:-1], self.label_offset[1:], strict=True)
        ]

    def pairs(self, row: int) -> list[tuple[int, float]]:
        """Return the columns and values of a row."""
        stored = slice(self.offset[row], self.offset[row + 1])
        return list(zip(self.column[stored].tolist(), self.value[stored].tolist(), strict=True))
