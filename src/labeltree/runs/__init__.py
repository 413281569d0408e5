"""Runs over files: read, learned in passes, checkpointed, and gone on with exactly.

`train` is what ``labeltree train`` does; whoever wants to see how it goes passes an `Observer`.
"""

from labeltree.runs.observer import Observer, Row
from labeltree.runs.train import train

__all__ = ["Observer", "Row", "train"]
