"""Predictions of rows that are partitions: as lazy as they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labeltree.dask.compat import array, delayed
from labeltree.dask.partitions import is_lazy
from labeltree.data.texts import Texts


def predict(model: Any, X: Any) -> Any:
    """Return predictions: at once of rows that are here, else a collection like X."""
    if not is_lazy(X):
        return model.predict(X)
    if isinstance(X, array.Array):
        blocks, sizes = _blocks_of(X)
        shared = delayed(model, pure=True)
        columns = len(model.classes_)
        found = [delayed(predict_block)(shared, block) for block in blocks]
        if not model.label_form_.endswith("indicator"):
            return array.concatenate(
                [_lazy(f, (n,), _dtype(model)) for f, n in zip(found, sizes, strict=True)]
            )
        return array.concatenate(
            [_lazy(f, (n, columns), np.int64) for f, n in zip(found, sizes, strict=True)]
        )
    if hasattr(X, "dask") and hasattr(X, "map_partitions") and hasattr(X, "npartitions"):
        if hasattr(X, "_meta"):
            return X.map_partitions(predict_series, model, meta=(None, object))
        return X.map_partitions(predict_bag, model)
    raise ValueError(f"X is a {type(X).__name__}, expected a dask array, series or bag")


def predict_topk(model: Any, X: Any, k: int) -> tuple[Any, Any]:
    """Return the best labels and their scores: two lazy arrays of lazy rows."""
    if not is_lazy(X):
        found: tuple[Any, Any] = model.predict_topk(X, k)
        return found
    shared = delayed(model, pure=True)
    blocks, sizes = _blocks_of(X)
    k = min(k, model.n_labels_)
    each = [delayed(topk_block, nout=2)(shared, block, k) for block in blocks]
    labels = [_lazy(one[0], (n, k), _dtype(model)) for one, n in zip(each, sizes, strict=True)]
    scores = [_lazy(one[1], (n, k), np.float32) for one, n in zip(each, sizes, strict=True)]
    return array.concatenate(labels), array.concatenate(scores)


def _blocks_of(X: Any) -> tuple[list[Any], list[float]]:
    if isinstance(X, array.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel()), list(X.chunks[0])
    blocks = list(X.to_delayed())
    return blocks, [math.nan] * len(blocks)


def _lazy(value: Any, shape: tuple[float, ...], dtype: Any) -> Any:
    return array.from_delayed(value, shape=shape, dtype=dtype)


def _dtype(model: Any) -> Any:
    return object if model.multilabel_ else model.classes_.dtype


def predict_block(model: Any, rows: Any) -> Any:
    """Predict a block of rows; sets become an array of lists."""
    rows = _texts(rows)
    predicted = model.predict(rows) if rows.shape[0] else []
    if isinstance(predicted, list):
        sets = np.empty(len(predicted), dtype=object)
        sets[:] = predicted
        return sets if model.multilabel_ else sets.astype(model.classes_.dtype)
    return predicted.toarray() if hasattr(predicted, "toarray") else predicted


def topk_block(model: Any, rows: Any, k: int) -> tuple[Any, Any]:
    """Predict the best labels of a block of rows."""
    rows = _texts(rows)
    if not rows.shape[0]:
        return np.empty((0, k), dtype=_dtype(model)), np.empty((0, k), dtype=np.float32)
    labels, scores = model.predict_topk(rows, k)
    return labels.astype(_dtype(model)), scores


def predict_series(texts: Any, model: Any) -> Any:
    """Predict a partition of a column of texts."""
    import pandas as pd

    return pd.Series(list(predict_block(model, texts)), index=texts.index, dtype=object)


def predict_bag(texts: Any, model: Any) -> list[Any]:
    """Predict a partition of a bag of texts."""
    return list(predict_block(model, list(texts)))


def _texts(rows: Any) -> Any:
    """Return rows that tell how many they are."""
    return rows if hasattr(rows, "shape") and len(rows.shape) == 2 else Texts.of(rows)
