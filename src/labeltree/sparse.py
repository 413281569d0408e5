"""Sparse matrices: checked before anybody relies on what they say of themselves."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core

_INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


def as_csr(matrix: Any, name: str) -> tuple[Any, bool]:
    """Return a sparse matrix as CSR, and whether each row has its columns in order and once.

    scipy and scikit-learn trust the arrays of a matrix, and crash if one of them leads out of
    another; here they are read once before. A CSR matrix that holds good is returned as it is.

    Raises
    ------
    ValueError
        If the arrays do not fit together; it says which.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_matrix([[0, 1], [2, 0]])
    >>> as_csr(X, "X")[0] is X
    True
    >>> X.indices[0] = 7
    >>> as_csr(X, "X")
    Traceback (most recent call last):
    ...
    ValueError: X is a CSR matrix whose arrays do not fit together: index 7 at position 0 is not \
from 0 to 1; make it anew from its entries
    """
    if len(matrix.shape) != 2 or not all(
        isinstance(size, int | np.integer) and 0 <= size < 2**63 for size in matrix.shape
    ):
        raise ValueError(
            f"{name} is a sparse array of shape {matrix.shape}, expected two dimensions, rows and "
            "columns, each a number from 0"
        )
    try:
        if matrix.format == "csr":
            return _checked_csr(matrix)
        return _checked_csr(_CONVERSIONS[matrix.format](matrix))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is a {matrix.format.upper()} matrix whose arrays do not fit together: "
            f"{error}; make it anew from its entries"
        ) from error


def _checked_csr(X: Any) -> tuple[Any, bool]:
    indptr, indices, data = X.indptr, X.indices, X.data
    rows, cols = X.shape
    try:
        canonical = _core.check_compressed(indptr, indices, rows, cols)
        if type(data) is np.ndarray and data.shape == indices.shape == (indptr[-1],):
            return X, canonical
    except TypeError:  # other integers, or no arrays at all
        pass
    indptr, indices, data = _compressed(X, rows, cols, ndim=1)
    X = sp.csr_matrix((data, indices, indptr), X.shape)
    return X, _core.check_compressed(X.indptr, X.indices, rows, cols)


def _compressed(
    X: Any, major: int, minor: int, *, ndim: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return `indptr`, `indices` and `data`, checked, without entries beyond the last row."""
    indptr, indices = _integers(X.indptr, "indptr"), _integers(X.indices, "indices")
    data = np.asarray(X.data)
    if indptr.dtype != indices.dtype:
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    if data.ndim != ndim or len(data) != len(indices):
        raise ValueError(f"data has the shape {data.shape}, but there are {len(indices)} indices")
    _core.check_compressed(indptr, indices, major, minor)
    return indptr, indices[: indptr[-1]], data[: indptr[-1]]


def _integers(values: Any, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} is an array of shape {array.shape} and type {array.dtype}, expected integers "
            "in one dimension"
        )
    if array.dtype not in _INDEX_TYPES:
        array = array.astype(np.int64)  # a number beyond becomes negative, and is refused
    return np.ascontiguousarray(array)


def _from_csc(X: Any) -> Any:
    rows, cols = X.shape
    indptr, indices, data = _compressed(X, cols, rows, ndim=1)
    return sp.csc_matrix((data, indices, indptr), X.shape).tocsr()


def _from_bsr(X: Any) -> Any:
    blocks = np.asarray(X.data).shape[1:]
    if len(blocks) != 2 or 0 in blocks or X.shape[0] % blocks[0] or X.shape[1] % blocks[1]:
        raise ValueError(f"data has blocks of shape {blocks} for a matrix of shape {X.shape}")
    indptr, indices, data = _compressed(X, X.shape[0] // blocks[0], X.shape[1] // blocks[1], ndim=3)
    return sp.bsr_matrix((data, indices, indptr), X.shape, blocksize=blocks).tocsr()


def _from_coo(X: Any) -> Any:
    row, col = _integers(X.row, "row"), _integers(X.col, "col")
    data = np.asarray(X.data)
    if not row.shape == col.shape == data.shape:
        raise ValueError(f"there are {len(row)} rows, {len(col)} columns and {data.shape} values")
    for values, size, which in ((row, X.shape[0], "row"), (col, X.shape[1], "column")):
        if len(values) and not 0 <= values.min() <= values.max() < size:
            raise ValueError(
                f"a {which} is numbered {values.min()} or {values.max()}, expected numbers from 0 "
                f"to {size - 1}"
            )
    return sp.coo_matrix((data, (row, col)), X.shape).tocsr()


def _from_lil(X: Any) -> Any:
    sizes = [len(row) for row in X.rows]
    if sizes != [len(row) for row in X.data]:
        raise ValueError("rows and data have lists of different lengths")
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    indices = _integers(list(chain.from_iterable(X.rows)) or np.empty(0, np.int64), "rows")
    data = np.array(list(chain.from_iterable(X.data)), X.dtype)
    _core.check_compressed(indptr, indices.astype(np.int64), *X.shape)
    return sp.csr_matrix((data, indices, indptr), X.shape)


def _from_dia(X: Any) -> Any:
    offsets = _integers(X.offsets, "offsets")
    return sp.dia_matrix((np.asarray(X.data), offsets), X.shape).tocsr()


_CONVERSIONS = {
    "csc": _from_csc,
    "bsr": _from_bsr,
    "coo": _from_coo,
    "lil": _from_lil,
    "dok": lambda X: _from_coo(X.tocoo()),
    "dia": _from_dia,
}
