"""Files in, rows out: batch by batch, or whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from labeltree._core import FeatureNames, ReaderLimits
from labeltree.data.errors import BadLines
from labeltree.data.formats import (
    Columns,
    Fields,
    TextFormat,
    check_int,
    detect_common_format,
    make_format,
)
from labeltree.data.records import RecordStream
from labeltree.data.rows import Rows, concatenate
from labeltree.data.source import Path
from labeltree.data.streams import BATCH_BYTES, Stream
from labeltree.data.text import TextStream
from labeltree.data.texts import Texts

MAX_LINE = 1 << 24
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Rows):
    """All rows of one or more files, as `Rows`, and how they were read.

    Attributes
    ----------
    bad_lines : BadLines
        The lines that were skipped.
    settings : dict
        What makes `stream` and `load` read other files in the same way.
    """

    bad_lines: BadLines
    settings: dict[str, object]

    @property
    def n_features(self) -> int:
        """The number of columns of `X`; 0 of texts."""
        return 0 if isinstance(self.X, Texts) else int(self.X.shape[1])


def stream(
    path: Path | Iterable[Path],
    *,
    format: str = "auto",  # noqa: A002
    batch_size: int = 8192,
    skip_bad_lines: bool = False,
    n_features: int | None = None,
    max_line: int = MAX_LINE,
    eager: bool = False,
    names: FeatureNames | None = None,
    **options: object,
) -> Stream:
    r"""Read rows batch by batch, in memory bounded by a batch, a chunk and the longest line.

    Parameters
    ----------
    path : str, path-like, binary file object, or several of them
        ``"-"`` is standard input. gzip, bzip2, xz and zstd are recognised by their first bytes.
    format : str, default "auto"
        ``"svmlight"``, ``"xmc"``, ``"vw"``, ``"parquet"``, ``"arrow"``, or one of text: ``"tsv"``,
        ``"fasttext"``, ``"csv"``, ``"jsonl"``, ``"annif"``, or ``"text"``, which has no labels.
        "auto" goes by the extension, and for
        ``.txt`` by whether the first line is an XMC header or begins with ``__label__``.
    batch_size : int, default 8192
        The most rows in a batch; it has fewer if they take 32 MiB of the file.
    skip_bad_lines : bool, default False
        Whether to go on after a malformed line; `Stream.bad_lines` then tells how many there were
        and which. What makes a file as a whole unreadable is an error all the same.
    n_features : int, optional
        The width of the matrix; an index beyond it is a bad line. Otherwise the width is that of
        the XMC header, 2^hash_bits for hashed features, or the largest index so far plus one.
    max_line : int, default 16 MiB
        The longest line, in bytes; a longer one is a bad line and is not kept in memory.
    eager : bool, default False
        Whether to return the rows that have arrived rather than wait until a batch is full; for
        text formats from a pipe.
    names : FeatureNames, optional
        Where to keep the names of hashed features, for vw. It may be shared by several streams,
        and looked at while they are read.
    **options
        vw: `hash_bits`. tsv: `label_separator`. fasttext: `label_prefix`. csv and jsonl: the names
        `label`, `text` (or several, with commas between them), `weight`; `label_separator`; csv:
        `delimiter`. parquet and arrow: the names `label`, `weight`, `text`, `indices`, `values`,
        `columns`.

    Returns
    -------
    Stream
        An iterator over `Rows`, whose `X` is a matrix, or for formats of text a `Texts`.

    Raises
    ------
    DataError
        If a line, or the file, is malformed. It tells the file, the line, what was expected and
        what was received.

    Examples
    --------
    >>> import io
    >>> from labeltree.data import stream
    >>> text = io.BytesIO(b"cat 1:0.5 7:2\ndog 3:1\ncat,pet 1:1\n")
    >>> for rows in stream(text, format="svmlight", batch_size=2):
    ...     print(rows.X.shape, rows.y)
    (2, 8) ['cat' 'dog']
    (1, 8) [['cat', 'pet']]
    """
    paths = [cast(Path, path)] if _is_path(path) else _checked(cast(Iterable[Path], path))
    if not paths:
        raise ValueError("expected at least one file, received none")
    check_int("batch_size", batch_size, 1, _NO_LIMIT)
    check_int("max_line", max_line, 1, 1 << 30)
    if format == "auto":
        format = detect_common_format(paths)  # noqa: A001
    if n_features is not None:
        options["n_features"] = n_features
    kind = make_format(format, options)
    if names is not None and not kind.has_names:
        raise ValueError(f'format "{format}" has no names of features to keep: expected vw')
    skip = bool(skip_bad_lines)
    most = _NO_LIMIT if batch_size == _NO_LIMIT else BATCH_BYTES
    if isinstance(kind, TextFormat):
        limits = ReaderLimits(batch_size, max_line, skip)
        return TextStream(paths, kind, limits, names, eager=eager, batch_bytes=most)
    if isinstance(kind, Fields):
        return RecordStream(
            paths,
            kind,
            batch_size,
            max_line,
            skip_bad_lines=skip,
            eager=eager,
            batch_bytes=most,
        )
    assert isinstance(kind, Columns)
    from labeltree.data.columns import ColumnStream  # needs pyarrow, which is an extra

    return ColumnStream(paths, kind, batch_size, skip_bad_lines=skip, batch_bytes=most)


def _is_path(path: object) -> bool:
    return isinstance(path, str | os.PathLike) or hasattr(path, "read")


def _checked(paths: Iterable[Path]) -> list[Path]:
    """Return several paths; raise for what is no path, such as the rows of a table."""
    checked = []
    for path in paths:
        if not _is_path(path):
            raise ValueError(
                f"expected files, received a {type(paths).__name__} with a {type(path).__name__}: "
                "columns of a table are given to a classifier as they are, as X and y"
            )
        checked.append(path)
    return checked


def load(
    path: Path | Iterable[Path],
    *,
    format: str = "auto",  # noqa: A002
    skip_bad_lines: bool = False,
    n_features: int | None = None,
    max_line: int = MAX_LINE,
    names: FeatureNames | None = None,
    **options: object,
) -> Dataset:
    r"""Read one or more files whole.

    Parameters
    ----------
    path, format, skip_bad_lines, n_features, max_line, names, **options
        As for `stream`.

    Returns
    -------
    Dataset
        With the matrix or texts `X`, the labels `y` and the importance weights `weight`.

    Raises
    ------
    DataError
        If a line, or a file, is malformed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from labeltree.data import load
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "pets.tsv")
    >>> _ = path.write_text("cat\tit purrs\ndog\tit barks\n")
    >>> data = load(path)
    >>> list(data.X), data.y.tolist()
    (['it purrs', 'it barks'], ['cat', 'dog'])
    >>> folder.cleanup()
    """
    with stream(
        path,
        format=format,
        batch_size=_NO_LIMIT,
        skip_bad_lines=skip_bad_lines,
        n_features=n_features,
        max_line=max_line,
        eager=False,
        names=names,
        **options,
    ) as rows:
        whole = concatenate(list(rows), rows.n_features)
        if not len(whole) and rows.is_text:
            whole = replace(whole, X=Texts.of([]))
        return Dataset(whole.X, whole.labels, whole.weight, rows.bad_lines, rows.settings)
