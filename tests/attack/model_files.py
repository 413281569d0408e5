"""Model files that lie: headers and arrays are changed, and the checksum is made right again."""

from __future__ import annotations

import copy
import itertools
import json
import random
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from labeltree import LabelTreeClassifier, LdSMClassifier, TextClassifier, load, modelfile
from labeltree.estimators import ESTIMATORS, classifier_of
from labeltree.modelfile import ModelFileError

LONGEST = 10.0  # seconds of work for one file
MOST_MEMORY = 2**31  # bytes, for files below a megabyte

Model = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]

_NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 8, 10, 26, 34, 35, 255, 1000, 2**16, 2**20, 2**28, 2**31, 2**32 - 1),
    *(2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.5, 1e-30, 1e30, 1e300),
]
_VALUES: list[Any] = [
    *_NUMBERS,
    *(
        None,
        True,
        False,
        "",
        "none",
        "idf",
        "dual",
        "dense",
        "lines",
        "hashed",
        "²",
        "\ud800",
        [],
        [1],
        {},
    ),
    *([[[[]]]], {"a": 1}, "x" * 1000),
]
_EXTREMES = {
    "f": [0.0, -0.0, 1.0, -1.0, 1e-38, 1e30, 3e38, -3e38, np.inf, -np.inf, np.nan],
    "u": [0, 1, 2, 7, 8, 255, 2**16 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1],
    "i": [0, 1, -1, 2, 2**31, 2**63 - 1, -(2**63)],
}


def attack(seconds: float, seed: int, least: int = 1) -> dict[str, int]:
    """Load changed files for about so long, and `least` of them at least.

    AssertionError tells the seed of the first fault.
    """
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        mock.patch("os.fsync"),  # which would take most of the time
    ):
        warnings.simplefilter("ignore")
        originals = models(Path(folder))
        number = 0
        while time.monotonic() < end or number < least:
            attack_once(originals, Path(folder) / "lie", seed + number, counts)
            number += 1
    return dict(counts)


def attack_once(originals: list[Model], path: Path, seed: int, counts: Counter[str]) -> None:
    """Change one model, load it and use it."""
    random_ = random.Random(seed)
    header, arrays = random_.choice(originals)
    header, arrays = mutate(random_, header, arrays)
    mmap = random_.random() < 0.5
    start = time.process_time()
    try:
        write(path, header, arrays)
        try:
            model = load(path, mmap=mmap)
        except ModelFileError as error:
            _require("incompatible function" not in str(error), f"it says {error}", seed)
            counts["refused"] += 1
        except ValueError as error:
            _require(mmap and "only a compiled model" in str(error), f"it says {error!r}", seed)
            counts["refused"] += 1
        else:
            counts["loaded"] += 1
            use(model, random_, path.with_name("saved"), counts, mapped=mmap)
    except AssertionError:
        raise
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    elapsed = time.process_time() - start
    _require(elapsed < LONGEST, f"it takes {elapsed:.1f} s", seed)
    used = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _require(used < MOST_MEMORY, f"memory has come to {used / 1e9:.1f} GB", seed)


def use(
    model: Any, random_: random.Random, path: Path, counts: Counter[str], *, mapped: bool
) -> None:
    """Do all that one does with a model: nothing but ValueError may come of it."""

    def save() -> None:
        model.save(path)
        if not mapped:  # else nobody has read labels and weights
            load(path)

    width = model.n_features_in_
    columns = np.array([0, width // 2, width - 1])
    X = sp.csr_matrix((np.ones(6, np.float32), np.tile(columns, 2), [0, 3, 6]), shape=(2, width))
    X.sum_duplicates()
    x: Any = {0: 1.0}
    if isinstance(model, TextClassifier):
        X, x = ["it purrs", "word12 word13 and no other"], "it purrs"

    def learn() -> None:
        labels = model.classes_.tolist()[:1] or [0]
        new = -5 if isinstance(labels[0], int) else "new"
        if model.multilabel_ and classifier_of(model)._kind != "sets":
            y: Any = np.eye(2, max(2, len(model.classes_)), dtype=int)
        else:
            y = [[labels[0]], [new]] if model.multilabel_ else [labels[0], new]
        model.partial_fit(X, y)

    def compiled() -> None:
        if not model.compiled_ and not isinstance(classifier_of(model), LdSMClassifier):
            small = model.compile(keep=random_.choice([1, 0.999, 0.5]))
            small.predict(X)
            small.save(path)
            if path.stat().st_size < 2**24:  # one bit for each line of a large table
                load(path, mmap=True).predict_topk(X, k=3)

    uses: list[tuple[str, Callable[[], Any]]] = [
        ("predict", lambda: model.predict(X)),
        ("predict_topk", lambda: model.predict_topk(X, k=3)),
        ("predict_one", lambda: model.predict_one(x)),
        ("tree_", lambda: model.tree_.to_html() if hasattr(model, "tree_") else None),
        ("compile", compiled),
        ("save", save),
        ("partial_fit", learn),
        ("predict_again", lambda: model.predict_topk(X, k=3)),
        ("progress_", lambda: (model.progress_.error, model.progress_.history)),
    ]
    for name, call in uses:
        try:
            call()
            counts[name] += 1
        except ModelFileError:  # of what it saved itself
            raise
        except ValueError:
            counts[f"{name} refused"] += 1


def mutate(
    random_: random.Random, header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]
) -> Model:
    """Change a few things of a model."""
    header, arrays = copy.deepcopy(header), dict(arrays)
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        if random_.random() < 0.5:
            _mutate_header(random_, header)
        else:
            _mutate_array(random_, arrays)
    return header, arrays


def _mutate_header(random_: random.Random, header: dict[str, Any]) -> None:
    places: list[tuple[dict[str, Any], str]] = [(header, name) for name in header]
    for part in ("params", "fixed", "settled", "settled", "progress", "text"):
        inner = header.get(part)
        if isinstance(inner, dict):
            places += [(inner, name) for name in inner]
    holder, name = random_.choice(places)
    if random_.random() < 0.1:
        del holder[name]
    else:
        holder[name] = random_.choice(_NUMBERS if random_.random() < 0.6 else _VALUES)
        fixed, parameter = header.get("fixed"), name.removesuffix("_")
        if holder is header.get("settled") and isinstance(fixed, dict) and parameter in fixed:
            fixed[parameter] = holder[name]


def _mutate_array(random_: random.Random, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    name = random_.choice(sorted(arrays))
    array = arrays[name].copy()
    kind = random_.randrange(6)
    if kind == 0:
        del arrays[name]
        return
    if kind == 1:
        array = array[: random_.randrange(len(array) + 1)]
    elif kind == 2:
        array = np.concatenate([array, array[:3]])
    elif kind == 3:
        array = array.astype(random_.choice(["u1", "u2", "u4", "u8", "i8", "f4", "f8"]))
    elif len(array):
        kinds = _EXTREMES[array.dtype.kind]
        for _ in range(random_.choice([1, 1, 3, len(array)])):
            value = np.array(random_.choice(kinds), dtype="f8" if array.dtype.kind == "f" else "O")
            with np.errstate(all="ignore"):
                if array.dtype.kind != "f":
                    value = np.array(int(value) % 2 ** (8 * array.dtype.itemsize), dtype="u8")
                array[random_.randrange(len(array))] = value.astype(array.dtype)
    arrays[name] = array


def write(path: Path, header: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write a model file, whatever the header is, with a checksum that is right."""
    text = header if isinstance(header, str) else json.dumps(header)
    metadata = {
        "labeltree": str(modelfile.FORMAT),
        "header": text,
        "checksum": modelfile._checksum(text, arrays),
    }
    modelfile._write_safetensors(path, arrays, metadata)


def models(folder: Path) -> list[Model]:
    """Return small models of all estimators and layouts, as their files hold them."""
    found = []
    for model in trained():
        model.save(folder / "m")
        found.append(modelfile.read(folder / "m"))
    return found


def trained() -> Iterator[Any]:
    """Train small models of all estimators and layouts, and compile them."""
    generator = np.random.default_rng(0)
    dense = generator.normal(size=(60, 6)).astype(np.float32)
    sparse = normalize(sp.random(60, 30, 0.2, format="csr", random_state=0, dtype=np.float32))
    numbers = generator.integers(0, 7, 60)
    words = [f"label {number}" for number in numbers]
    mixed = [number if number % 2 else str(number) for number in numbers.tolist()]
    sets = [[int(number), int(number) % 3 + 10] for number in numbers]
    streams = itertools.cycle([False, True])
    for estimator in ESTIMATORS.values():
        tasks: list[tuple[Any, Any, dict[str, Any]]] = [
            (dense, numbers, {}),
            (sparse, words, {"layout": "hashed", "bits": 10}),
            (sparse, mixed, {"layout": "dense"}),
        ]
        if estimator._takes_sets:
            tasks.append((sparse, sets, {}))
        for X, y, settings in tasks:
            is_forest = estimator is LdSMClassifier
            if is_forest:
                settings = {"n_trees": 2, "recent_rows": 20, "split_rows": 10}
            clf = estimator(random_state=0, **settings)
            yield clf.partial_fit(X, y) if next(streams) else clf.fit(X, y)
            if not is_forest:
                yield clf.compile()
        clf = TextClassifier(estimator(random_state=0), hash_bits=10, keep_names=next(streams))
        texts = [f"word{number} word{number + 1} and others" for number in numbers]
        yield clf.partial_fit(texts, words) if not estimator._takes_sets else clf.fit(texts, sets)
    halfway = LabelTreeClassifier(random_state=0)  # in a second pass of the dual update
    halfway.begin_pass(again=False, more=True)
    halfway.partial_fit(np.round(4 * sparse), sets)
    halfway.begin_pass(again=True, more=True)
    yield halfway.partial_fit(np.round(4 * sparse[:30]), sets[:30])


def _require(condition: bool, otherwise: str, seed: int) -> None:
    if not condition:
        raise AssertionError(f"seed {seed}: {otherwise}")


if __name__ == "__main__":
    seconds, seed, *least = sys.argv[1:]
    print(json.dumps(attack(float(seconds), int(seed), *map(int, least))))
