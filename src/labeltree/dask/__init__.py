"""Training on a cluster: partitions of rows in front of the estimators, by Dask.

Knows the estimators only; these know nothing of it. docs/distributed.md says how each algorithm is
parallel.
"""

from labeltree.dask.estimators import (
    DaskClassifier,
    DaskLabelTreeClassifier,
    DaskLdSMClassifier,
    DaskOneAgainstAllClassifier,
)
from labeltree.dask.text import DaskTextClassifier

__all__ = [
    "DaskClassifier",
    "DaskLabelTreeClassifier",
    "DaskLdSMClassifier",
    "DaskOneAgainstAllClassifier",
    "DaskTextClassifier",
]
