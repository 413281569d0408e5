"""Data sets with many labels that need no download: two real ones and a synthetic one."""

import hashlib
import os
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

_TOKEN = re.compile(r"[^\W\d]\w*|\d+|[^\w\s]")  # identifiers, integers, single symbols
_FUNCTION = re.compile(r"^(?=[ \t]*(?:async )?def )", re.MULTILINE)
_START = ""  # stands before the first token of a file; no token is empty
_NOT_LIBRARY = {"site-packages", "dist-packages", "__pycache__"}
_ROWS_AT_ONCE = 1 << 16  # bounds the temporary arrays of a whole data set


Batch = tuple[sparse.csr_matrix, npt.NDArray[np.object_]]
Windows = npt.NDArray[np.int32]


@overload
def stdlib_tokens(
    context: int = 6,
    limit: int | None = None,
    *,
    hash_bits: int = 24,
    batch_size: None = None,
) -> Batch: ...


@overload
def stdlib_tokens(
    context: int = 6, limit: int | None = None, *, hash_bits: int = 24, batch_size: int
) -> Iterator[Batch]: ...


def stdlib_tokens(
    context: int = 6,
    limit: int | None = None,
    *,
    hash_bits: int = 24,
    batch_size: int | None = None,
) -> Batch | Iterator[Batch]:
    """Turn the source of the running Python's standard library into next-token examples.

    Every token of every ``.py`` file, files in the order of their relative paths, is the label of
    one example; its features are the `context` tokens before it. Tokens are identifiers, integers
    and single symbols; white space separates them and is dropped. Context does not cross file
    borders: before the first token of a file stands a start mark.

    A token and its distance from the label are hashed together to one of 2^hash_bits columns, of
    value 1: the same token at the same distance is always the same column, on every machine, and
    at another distance a different one (but for rare collisions, whose ones add up).

    Parameters
    ----------
    context : int
        How many preceding tokens an example has.
    limit : int, optional
        Stop after this many examples; files beyond are not read.
    hash_bits : int
        Base-2 logarithm of the number of columns, from 1 to 30.
    batch_size : int, optional
        Yield batches of this many examples (the last may be smaller) and read files as they are
        needed; by default return all at once.

    Returns
    -------
    X : csr_matrix of float32, or an iterator over batches (X, y)
        One row an example, with sorted indices.
    y : object array of str
        The token that follows.

    Notes
    -----
    The data depend on the Python version and on what its packager left in: CPython 3.11.7 has 7.1
    million examples and 118 thousand labels with its own tests, 2.6 million and 52 thousand
    without.

    Examples
    --------
    >>> from labeltree.datasets import stdlib_tokens
    >>> X, y = stdlib_tokens(context=3, limit=1000)
    >>> X.shape, X.nnz
    ((1000, 16777216), 3000)
    >>> y[:6].tolist()
    ['"', '"', '"', 'Record', 'of', 'phased']
    >>> [len(labels) for X, labels in stdlib_tokens(limit=1000, batch_size=400)]
    [400, 400, 200]
    """
    _check_at_least("context", context, 1)
    _check_at_least("limit", 0 if limit is None else limit, 0)
    _check_at_least("batch_size", 1 if batch_size is None else batch_size, 1)
    if not 1 <= hash_bits <= 30:
        raise ValueError(f"hash_bits must be from 1 to 30, but is {hash_bits}; 24 is the default.")
    files = _library_files(_library_root())
    if batch_size is not None:
        return _token_batches(files, context, limit, hash_bits, batch_size)
    batches = list(_token_batches(files, context, limit, hash_bits, _ROWS_AT_ONCE))
    if not batches:
        return sparse.csr_matrix((0, 1 << hash_bits), dtype=np.float32), np.empty(0, dtype=object)
    rows, labels = zip(*batches, strict=True)
    return sparse.vstack(rows, format="csr"), np.concatenate(labels)


def token_contexts(texts: list[str], context: int = 6, *, hash_bits: int = 24) -> sparse.csr_matrix:
    """Turn pieces of source text into the features that `stdlib_tokens` gives the next token.

    Parameters
    ----------
    texts : list of str
        What stands before the token to be predicted; its last `context` tokens count, and start
        marks stand before a shorter text.
    context, hash_bits
        As for `stdlib_tokens`.

    Returns
    -------
    csr_matrix of float32
        One row a text.

    Examples
    --------
    >>> from labeltree.datasets import stdlib_tokens, token_contexts
    >>> X, y = stdlib_tokens(context=3, limit=5)
    >>> (token_contexts(['\"\"\"Record'], context=3) != X[4]).nnz
    0
    """
    vocabulary = _Vocabulary()
    windows = []
    for text in texts:
        tokens = [_START] * context + _TOKEN.findall(text)
        windows.append([vocabulary[token] for token in [*tokens[-context:], _START]])
    return _examples(np.array(windows, dtype=np.int32), vocabulary, hash_bits)[0]


def stdlib_functions(
    limit: int | None = None, *, random_state: int | None = 0
) -> tuple[list[str], list[str]]:
    """Return the functions of Python's standard library, and the modules they stand in.

    Tests of the library are left out. What there is depends on the Python that runs this.

    Parameters
    ----------
    limit : int, optional
        The number of functions; all, some tens of thousands, if not given.
    random_state : int or None
        Seed of their order; None keeps that of the files.

    Returns
    -------
    texts : list of str
        The source of each function, from its ``def`` to the next.
    labels : list of str
        The module of each, such as ``json.decoder``.

    Examples
    --------
    >>> from labeltree.datasets import stdlib_functions
    >>> texts, labels = stdlib_functions(100)
    >>> len(texts), len(labels), "def " in texts[0]
    (100, 100, True)
    """
    root = _library_root()
    texts: list[str] = []
    labels: list[str] = []
    for path in _library_files(root):
        inside = path.relative_to(root).with_suffix("").parts
        if {"test", "tests"} & {*inside}:
            continue
        source = path.read_text(encoding="utf-8", errors="replace")
        found = _FUNCTION.split(source)[1:]
        texts += found
        labels += [".".join(inside).removesuffix(".__init__")] * len(found)
    order = np.arange(len(texts))
    if random_state is not None:
        order = np.random.default_rng(random_state).permutation(len(texts))
    chosen = order[:limit].tolist()
    return [texts[i] for i in chosen], [labels[i] for i in chosen]


def make_multiclass(
    n: int,
    k: int,
    *,
    n_features: int = 1 << 16,
    nnz: int = 20,
    noise: float = 0.25,
    skew: float = 0.0,
    dense: bool = False,
    random_state: int = 0,
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Make `n` examples of up to `k` labels, learnable by linear models, for scaling runs.

    Every label has a signature of `nnz` features. An example has a random part of the signature
    of its label, the rest of its `nnz` features are drawn from all; its length is 1. Signatures
    are hashed from the label alone, so time and memory grow with n * nnz and never with
    k * n_features, and data sets of different `random_state` share them: one can train, another
    test.

    Parameters
    ----------
    n : int
        The number of examples.
    k : int
        The number of labels, 0 to k - 1. With few examples not every label occurs.
    n_features : int
        The number of columns; signatures also depend on it.
    nnz : int
        The number of features of an example, fewer where two fall together.
    noise : float
        The share of an example's features that is noise: at 0 all examples of a label are alike,
        at 1 there is nothing to learn.
    skew : float
        The probability of label l is proportional to (l + 1)^-skew: at 0 all are equally likely,
        1 is Zipf's law.
    dense : bool
        Return an array of n * n_features numbers in place of a sparse matrix.
    random_state : int
        Seed of the labels, of the parts of signatures and of the noise.

    Returns
    -------
    X : csr_matrix or array of float32, of shape (n, n_features)
        Rows of length 1; a sparse one has sorted indices.
    y : array of int64
        The labels.

    Examples
    --------
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(1000, 1_000_000, skew=1.0)
    >>> X.shape, X.nnz <= 20_000, bool(y.max() < 1_000_000)
    ((1000, 65536), True, True)
    """
    for name, value in (("n", n), ("k", k), ("n_features", n_features), ("nnz", nnz)):
        _check_at_least(name, value, 1)
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be between 0 and 1, but is {noise!r}; 0.25 is the default.")
    if not 0 <= skew < np.inf:
        raise ValueError(f"skew must not be negative, but is {skew!r}; pass 0 for equal labels.")
    rng = np.random.default_rng(random_state)
    y = _draw_labels(rng, n, k, skew)
    n_signal = nnz - round(noise * nnz)
    blocks = []
    for start in range(0, n, _ROWS_AT_ONCE):
        labels = y[start : start + _ROWS_AT_ONCE]
        # Random keys put each row's places in random order: the first ones are its part.
        places = rng.random((len(labels), nnz)).argsort(axis=1)[:, :n_signal]
        hashed = _mix(_mix(labels.astype(np.uint64))[:, np.newaxis] + places.astype(np.uint64))
        signal = hashed % np.uint64(n_features)
        other = rng.integers(0, n_features, (len(labels), nnz - n_signal))
        blocks.append(_counted(np.hstack([signal.astype(np.int64), other]), n_features))
    X = sparse.vstack(blocks, format="csr")
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return (X.toarray() if dense else X), y


def _draw_labels(rng: np.random.Generator, n: int, k: int, skew: float) -> npt.NDArray[np.int64]:
    if skew == 0:
        return rng.integers(0, k, n)
    cumulative = np.cumsum(np.arange(1, k + 1, dtype=np.float64) ** -skew)
    drawn: npt.NDArray[np.int64]
    drawn = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    return np.minimum(drawn, k - 1)  # rounding may reach the very end


def _library_root() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


def _library_files(root: Path) -> list[Path]:
    """List the library's own sources in the order of their relative paths."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in _NOT_LIBRARY]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    if not found:
        raise FileNotFoundError(
            f"{root}: expected the sources of Python's standard library, found no .py file; "
            "run a Python that is installed with its sources."
        )
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


class _Vocabulary(dict[str, int]):
    """The id of every token met so far, with its spelling and its hash, each computed once."""

    def __init__(self) -> None:
        self.spellings: list[str] = []
        self.hashes = np.empty(1 << 10, dtype=np.uint64)

    def __missing__(self, token: str) -> int:
        index = self[token] = len(self.spellings)
        self.spellings.append(token)
        if index == len(self.hashes):
            self.hashes = np.concatenate([self.hashes, np.empty_like(self.hashes)])
        # Not hash(): that differs from one process to the next.
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self.hashes[index] = int.from_bytes(digest, "little")
        return index


def _token_batches(
    files: list[Path], context: int, limit: int | None, hash_bits: int, batch_size: int
) -> Iterator[Batch]:
    vocabulary = _Vocabulary()
    pieces = _first(_file_windows(files, context, vocabulary), limit)
    for windows in _rebatch(pieces, batch_size):
        yield _examples(windows, vocabulary, hash_bits)


def _file_windows(files: list[Path], context: int, vocabulary: _Vocabulary) -> Iterator[Windows]:
    """Yield, for each file, one row a token: the ids of its context, then its own."""
    padding = [vocabulary[_START]] * context
    for path in files:
        tokens = _TOKEN.findall(path.read_text(encoding="utf-8", errors="replace"))
        if tokens:
            ids = np.array([*padding, *map(vocabulary.__getitem__, tokens)], dtype=np.int32)
            yield np.lib.stride_tricks.sliding_window_view(ids, context + 1)


def _first(pieces: Iterator[Windows], limit: int | None) -> Iterator[Windows]:
    """Pass on the first `limit` rows, and ask for no piece beyond them."""
    for piece in pieces:
        yield piece[:limit]
        if limit is not None:
            limit = max(0, limit - len(piece))
            if limit == 0:
                return


def _rebatch(pieces: Iterator[Windows], batch_size: int) -> Iterator[Windows]:
    """Cut pieces of any length into batches of one length."""
    waiting: list[Windows] = []
    n = 0
    for piece in pieces:
        waiting.append(piece)
        n += len(piece)
        if n >= batch_size:
            rows = np.concatenate(waiting)
            whole = n - n % batch_size
            for start in range(0, whole, batch_size):
                yield rows[start : start + batch_size]
            waiting, n = [rows[whole:]], n - whole
    if n:
        yield np.concatenate(waiting)


def _examples(windows: Windows, vocabulary: _Vocabulary, hash_bits: int) -> Batch:
    context = windows.shape[1] - 1
    distances = np.arange(context, 0, -1, dtype=np.uint64)
    hashed = _mix(vocabulary.hashes[windows[:, :-1]] + _mix(distances))
    columns = (hashed >> np.uint64(64 - hash_bits)).astype(np.int32)
    y = np.empty(len(windows), dtype=object)
    y[:] = [vocabulary.spellings[token] for token in windows[:, -1].tolist()]
    return _counted(columns, 1 << hash_bits), y


def _counted(columns: npt.NDArray[Any], n_columns: int) -> sparse.csr_matrix:
    """Make the CSR matrix that counts, row by row, how often each column is given."""
    n, width = columns.shape
    columns = np.sort(columns, axis=1)
    first = np.ones((n, width), dtype=np.bool_)
    first[:, 1:] = columns[:, 1:] != columns[:, :-1]
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=columns.size).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(first.sum(axis=1))])
    matrix = sparse.csr_matrix((counts, columns.ravel()[starts], indptr), shape=(n, n_columns))
    matrix.has_canonical_format = True
    return matrix


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix all 64 bits (splitmix64), so that near inputs give unrelated outputs."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def _check_at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} must be at least {least}, but is {value}; pass a larger number.")
