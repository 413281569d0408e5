"""What is written is on the disk, or it is not known to be."""

from __future__ import annotations

import os


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
