"""
The compiled core of labeltree. Private: use the classes and functions of labeltree.
"""

import enum
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


class Matrix:
    """Checked rows of features, borrowed from numpy arrays."""

    @staticmethod
    def sparse(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: int) -> Matrix: ...

    @staticmethod
    def dense(values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Matrix: ...

    @property
    def rows(self) -> int: ...

    @property
    def cols(self) -> int: ...

class LabelSets:
    """Checked label ids of each row."""

    def __init__(self, offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], id: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def rows(self) -> int: ...

class Loss(enum.Enum):
    logistic = 0

    squared = 1

    hinge = 2

class Update(enum.Enum):
    adaptive = 0

    sgd = 1

class Scale(enum.Enum):
    max = 0

    none = 1

class Layout(enum.Enum):
    dense = 0

    hashed = 1

class BankParams:
    """Settings of a bank of linear models."""

    def __init__(self, *, loss: Loss, update: Update, scale: Scale, layout: Layout, step: float, power: float, bits: int, features: int, min_gradient: float) -> None: ...

class Bank:
    """A bank of linear models on the same features."""

    def __init__(self, params: BankParams) -> None: ...

    def resize(self, models: int) -> None: ...

    def learn(self, model: int, X: Matrix, y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """
        Learn the rows in order; return the prediction made just before each update.
        """

    def predict(self, model: int, X: Matrix) -> NDArray[numpy.float32]: ...

    def zero(self, model: int) -> None: ...

    def copy(self, source: int, target: int) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...

class OneAgainstAll:
    """One linear model per label."""

    def __init__(self, params: BankParams) -> None: ...

    def resize(self, labels: int) -> None: ...

    @property
    def labels(self) -> int: ...

    @property
    def examples(self) -> int: ...

    @property
    def learned_labels(self) -> int: ...

    def learn(self, X: Matrix, y: LabelSets, weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, predicted: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def predict_topk(self, X: Matrix, k: int, threads: int, with_total: bool) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float32], NDArray[numpy.float64]]: ...

    def predict_margins(self, X: Matrix, threads: int) -> NDArray[numpy.float32]: ...

    def predict_above(self, X: Matrix, threshold: float, threads: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint32]]: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...
