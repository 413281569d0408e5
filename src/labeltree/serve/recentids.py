"""The ids of examples that were learned, so that a request that comes twice does no harm."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 17  # ids that are remembered, the oldest forgotten first
_SIZE = 16  # bytes that stand for an id


class RecentIds:
    """Tells whether an id was among the last ones."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: dict[bytes, None] = {}  # in the order in which they came

    def __contains__(self, name: str) -> bool:
        return _digest(name) in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, name: str) -> None:
        """Remember an id."""
        self._known[_digest(name)] = None
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def array(self) -> NDArray[np.uint8]:
        """Return them as a model file can hold them."""
        return np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, _SIZE)

    def restore(self, array: NDArray[np.uint8]) -> None:
        """Take the ids of an array, those that are known already aside."""
        if array.ndim != 2 or array.shape[1] != _SIZE or array.dtype != np.uint8:
            raise ValueError("the ids of the snapshot are none")
        for row in array[-self._most :]:
            self._known[row.tobytes()] = None


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=_SIZE).digest()
