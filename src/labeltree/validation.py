"""The one place where input becomes what the core takes, and where it is refused.

Numbers in arrays, lists and sparse matrices are checked here. All else is scikit-learn's to convert
or to refuse: data frames, whatever has ``__array__``, and what is wrong with the rest. It is
imported for that only, since it takes more memory than all that learning needs.
"""

from __future__ import annotations

import contextlib
import os
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.scikit_learn import scikit_learn
from labeltree.sparse import as_csr


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the rows of X and return them as CSR or C-ordered 32-bit floats.

    What has that form already is not copied; anything else costs a conversion, and CSR with
    duplicate entries a copy in which they are summed. The caller's arrays are never written to.
    """
    canonical = True
    if sp.issparse(X):
        X, canonical = as_csr(X, "X")
    elif _holds_text(X):
        raise ValueError(
            "X holds texts, expected numbers: for texts put TextFeatures before the estimator, as "
            "TextClassifier does"
        )
    rows = None if hasattr(estimator, "feature_names_in_") else _plain_rows(X)
    if rows is not None and (reset or rows.shape[1] == estimator.n_features_in_):
        if reset:
            estimator.n_features_in_ = rows.shape[1]
        X = rows
    else:
        X = scikit_learn("utils.validation").validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=np.float32, order="C"
        )
    if not canonical:  # which the matrix may not know of itself
        X = sp.csr_matrix((X.data, X.indices, X.indptr), X.shape, copy=True)
        X.sum_duplicates()
    return X


def _holds_text(X: Any) -> bool:
    """Tell whether X is a list or column of texts, by the first."""
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or isinstance(X, str | dict):
        return False
    return len(X) > 0 and isinstance(next(iter(X), None), str)


def _plain_rows(X: Any) -> Any | None:
    """Return rows of finite numbers as CSR or C-ordered 32-bit floats, None if they are no such."""
    if not sp.issparse(X):
        rows = _plain_numbers(X)
        return rows if rows is not None and rows.ndim == 2 and rows.size else None
    data = _plain_numbers(X.data) if 0 not in X.shape else None
    if data is None or data is X.data:
        return None if data is None else X
    return type(X)((data, X.indices, X.indptr), X.shape)


def _plain_numbers(values: Any) -> NDArray[np.float32] | None:
    """Return finite numbers as C-ordered 32-bit floats, None if they are anything else."""
    if isinstance(values, list | tuple):
        with contextlib.suppress(Exception):  # whatever is in the list: scikit-learn tells
            values = np.asarray(values)
    if type(values) not in (np.ndarray, np.memmap) or values.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.asarray(values, dtype=np.float32, order="C")
        # A sum of 64 bits is finite if and only if all numbers of 32 bits are, and takes no memory.
        is_finite = np.isfinite(numbers.sum(dtype=np.float64))
    return numbers if is_finite else None


def number_of_rows(X: Any) -> int:
    """Return how many rows X has, before it is looked at."""
    if sp.issparse(X) or (type(X) is np.ndarray and X.ndim):
        return int(X.shape[0])
    if isinstance(X, list | tuple):
        return len(X)
    return int(scikit_learn("utils.validation")._num_samples(X))


def as_matrix(rows: Any) -> _core.Matrix:
    """Hand checked rows to the core, which borrows them."""
    if not sp.issparse(rows):
        return _core.Matrix.dense(rows)
    indices = rows.indices
    if indices.dtype == np.int32:
        indices = indices.view(np.uint32)
    else:
        if rows.shape[1] > 2**32 and len(indices) and indices.max() >= 2**32:
            raise ValueError("X has a feature index outside 0 .. 2^32 - 1")
        indices = indices.astype(np.uint32)
    return _core.Matrix.sparse(
        rows.indptr.astype(np.int64),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(rows.data),
        rows.shape[1],
    )


def as_weights(sample_weight: Any, rows: int) -> NDArray[np.float32] | None:
    """Check one weight per row: finite and not negative. A scalar applies to all rows."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    weight = _plain_numbers(sample_weight)
    if weight is None or weight.ndim != 1 or not weight.size:
        weight = np.asarray(
            scikit_learn("utils.validation").check_array(
                sample_weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight"
            )
        )
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({rows},): one weight for each row"
        )
    if weight.min(initial=0.0) < 0:
        row = int(weight.argmin())
        raise ValueError(
            f"sample_weight[{row}] is {weight[row]}, expected a number that is not negative; "
            "weight 0 leaves a row out"
        )
    return weight


def as_row_numbers(row_numbers: Any, rows: int) -> NDArray[np.int64]:
    """Check one number from 0 a row, each once."""
    numbers = np.asarray(row_numbers)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"row_numbers has shape {numbers.shape} and type {numbers.dtype}, expected ({rows},) "
            "and integers: one for each row"
        )
    if rows and not 0 <= numbers.min() <= numbers.max() < 2**32:
        raise ValueError(
            f"row_numbers go from {numbers.min()} to {numbers.max()}, expected numbers from 0 to "
            "2^32 - 1"
        )
    numbers = np.ascontiguousarray(numbers, dtype=np.int64)
    if len(np.unique(numbers)) < rows:
        raise ValueError("row_numbers has a number twice, expected each row once in a call")
    return numbers


def as_threads(n_jobs: int | None, name: str = "n_jobs") -> int:
    """Return the number of threads: None is one, -1 all processors, -2 all but one."""
    if n_jobs is None or n_jobs == 1:
        return 1
    if n_jobs == 0:
        raise ValueError(
            f"{name} is 0, expected a number of threads, -1 for all processors, or None"
        )
    processors = os.cpu_count() or 1
    return min(n_jobs, processors) if n_jobs > 0 else max(1, processors + 1 + n_jobs)


def has_counts(rows: Any) -> bool:
    """Tell whether all entries of sparse rows are whole numbers from 0: counts, or flags."""
    data = rows.data
    return bool(len(data) > 0 and data.min() >= 0 and np.all(data == np.floor(data)))
