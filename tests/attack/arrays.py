"""Matrices that lie, labels and weights of all forms, into every estimator.

What is wrong is refused by a ValueError or TypeError, and a refused call changes nothing.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.attack.cases import repeat, trying
from tests.attack.models import fingerprint, make_estimator, problem

WIDTH = 64
NUMBERS = [0, 1, -1, 2, 7, 63, 64, 65, 127, 128, 2**15, 2**31 - 1, -(2**31), 2**31, 2**40, -(2**62)]
VALUES = [0.0, 1.0, -1.0, 1e-45, 1e38, -1e38, 1e39, 1e300, np.inf, -np.inf, np.nan]


def lie(X: Any, random: random.Random) -> Any:
    """Return a CSR matrix whose arrays do not fit each other."""
    X = sp.csr_matrix(X, copy=True)
    for _ in range(random.choice((1, 1, 2, 5))):
        name = random.choice(("indptr", "indices", "data"))
        array = getattr(X, name)
        match random.randrange(6):
            case 0 if len(array):
                numbers = VALUES if name == "data" else NUMBERS
                with np.errstate(over="ignore"):
                    array[random.randrange(len(array))] = np.array(random.choice(numbers)).astype(
                        array.dtype
                    )
            case 1:
                array = array[: random.randrange(len(array) + 1)].copy()
            case 2:
                array = np.concatenate([array, array[: random.randrange(len(array) + 1)]])
            case 3:
                array = array[::-1].copy()
            case 4:
                types = (np.int64, np.int32, np.uint32, np.float64, np.int8, np.float32)
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    array = array.astype(random.choice(types))
            case _:
                array = np.repeat(array, 2)[1:]
        setattr(X, name, array)
    if random.random() < 0.3:
        X.has_sorted_indices = X.has_canonical_format = True
    if random.random() < 0.1:
        X._shape = (random.choice((0, 1, X.shape[0], X.shape[0] + 1)), random.choice(NUMBERS[1:]))
    return X


def rows_of(random: random.Random) -> Any:
    """Return rows in any form, right or wrong."""
    X, _ = problem(random.choice((1, 2, 8, 30)), 5, random.randrange(50))
    match random.randrange(14):
        case 0 | 1 | 2:
            return X
        case 3:
            return X.toarray()
        case 4 | 5 | 6 | 7:
            return lie(X, random)
        case 8:
            return random.choice((sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.lil_matrix))(X)
        case 9:
            dense = X.toarray().astype(random.choice((np.float64, np.float16, object)))
            dense[random.randrange(len(dense)), random.randrange(WIDTH)] = random.choice(VALUES)
            return dense
        case 10:
            return np.asfortranarray(X.toarray())[:: random.choice((1, -1, 2))]
        case 11:
            shape = random.choice(((0, WIDTH), (3, 0), (2, WIDTH + 1), (WIDTH,), (1, 2, WIDTH), ()))
            return np.ones(shape)
        case 12:
            return random.choice((None, "X", [[1.0] * WIDTH, [1.0]], [["a"] * WIDTH], 5, [], {}))
        case _:
            wide = random.choice((2**16, 2**31, 2**33, 2**40))
            return sp.csr_matrix(([1.0], [random.choice((0, 5))], [0, 1]), shape=(1, wide))


def count(X: Any) -> int:
    """Return how many rows there seem to be."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return len(X) if hasattr(X, "__len__") else 1
    return min(shape[0], 1000) if len(shape) else 1


def labels_of(rows: int, random: random.Random) -> Any:
    """Return labels in any form, right or wrong."""
    rows += random.choice((0, 0, 0, 0, 0, 0, 1, -1))
    rows = max(rows, 0)
    ids = [random.randrange(12) for _ in range(rows)]
    match random.randrange(12):
        case 0 | 1 | 2:
            return np.array(ids, random.choice((np.int64, np.uint8, np.int32)))
        case 3:
            return [f"label {i}" for i in ids]
        case 4:
            return [[i, (i * 7) % 12] if i else [] for i in ids]
        case 5:
            indicator = np.zeros((rows, 12), random.choice((np.int64, bool, np.float64)))
            indicator[range(rows), ids] = 1
            return indicator
        case 6 | 7:
            indicator = sp.csr_matrix((np.ones(rows, np.int64), (range(rows), ids)), (rows, 12))
            return lie(indicator, random) if random.random() < 0.7 else indicator
        case 8:
            odd = (None, 0.5, float("nan"), 2**70, -(2**63), b"x", (1,), "", "\0", True, [1], {})
            mixed: list[Any] = list(ids)
            if mixed:
                mixed[random.randrange(rows)] = random.choice(odd)
            return mixed
        case 9:
            return np.array(ids, float) + random.choice((0, 0.5, np.nan, 1e300))
        case 10:
            return random.choice((None, 5, "label", np.zeros((rows, 2, 2)), {}, iter(ids), [[[]]]))
        case _:
            return np.array([str(i) for i in ids], random.choice((object, "U5", "S5")))


def weights_of(rows: int, random: random.Random) -> Any:
    """Return weights in any form, right or wrong."""
    match random.randrange(8):
        case 0 | 1 | 2 | 3:
            return None
        case 4:
            return [random.random() for _ in range(rows)]
        case 5:
            weights = np.ones(rows, random.choice((np.float32, np.float64, np.int8)))
            if rows and weights.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    weights[random.randrange(rows)] = random.choice(VALUES)
            return weights
        case 6:
            return np.ones(rows + random.choice((-1, 1, 5))) if rows else np.ones(3)
        case _:
            return random.choice(("a", 1.0, np.ones((rows, 1)), [None] * rows, ["a"] * rows, 0))


def call(clf: Any, random: random.Random) -> None:
    """Make one call."""
    X = rows_of(random)
    rows = count(X)
    match random.randrange(8):
        case 0 | 1 | 2:
            classes = labels_of(5, random) if random.random() < 0.1 else None
            y, weight = labels_of(rows, random), weights_of(rows, random)
            clf.partial_fit(X, y, classes=classes, sample_weight=weight)
        case 3:
            clf.fit(X, labels_of(rows, random), sample_weight=weights_of(rows, random))
        case 4:
            clf.predict(X)
        case 5:
            clf.predict_topk(X, random.choice((1, 3, 100, 0, -1, 2**40, 1.5, "k", None)))
        case 6:
            clf.score(X, labels_of(rows, random), sample_weight=weights_of(rows, random))
        case _:
            one = (random.choice(NUMBERS), random.choice(VALUES))
            pair = np.array([one[0]]), np.array([one[1]])
            x = random.choice((X, {one[0]: one[1]}, pair, (pair[0], []), {}, {"a": 1}, None, "x"))
            clf.predict_one(x, k=random.choice((None, 2, 0)))


def case(random: random.Random, counts: Counter[str]) -> None:
    """Make a dozen calls to one estimator."""
    clf = make_estimator(random)
    if random.random() < 0.8:
        clf.partial_fit(*problem(40, 10, 1))
    for _ in range(12):
        before = fingerprint(clf)
        trying(repr((clf, random.getstate()[1][-1])).encode())
        counts["calls"] += 1
        refused = None
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                call(clf, random)
        except (ValueError, TypeError) as error:
            refused = str(error)
        except MemoryError:  # of a matrix so wide that dense weights have no room
            refused = "no memory"
        if refused is None:
            continue
        counts["refused"] += 1
        for word in ("std::", "incompatible function", "Invoked with types", "nanobind"):
            assert word not in refused, f"an error of the inside: {refused}"
        assert fingerprint(clf) == before, f"a refused call has changed the model: {refused}"


def attack(seconds: float, seed: int) -> dict[str, int]:
    """Call estimators with what is wrong for so many seconds; return how often."""
    return repeat(seconds, seed, case)
