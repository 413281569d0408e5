"""Streams of rows from columnar files, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from labeltree.data.errors import BadLine, DataError
from labeltree.data.formats import Columns
from labeltree.data.rows import Label, Labels, Rows
from labeltree.data.source import Path, name_of
from labeltree.data.streams import Stream
from labeltree.data.texts import Texts, from_arrow_column

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    raise ImportError(
        "reading Parquet and Arrow files needs pyarrow: pip install 'labeltree[parquet]'"
    ) from error

Problems = dict[int, str]  # what is wrong with a row, by its number in the batch


@contextmanager
def _arrow_errors(name: str) -> Iterator[None]:
    """Turn what pyarrow says of a bad file into a DataError that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not the data
        text = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
        text = text[:500] or "it would take more memory than there is"
        raise DataError(f"cannot be read by pyarrow: {text}", name) from error


def _record_batches(path: Path, kind: str, batch_size: int, batch_bytes: int) -> Iterator[Any]:
    """Yield the record batches of a file, at most `batch_size` rows or about so many bytes each."""
    name = name_of(path)
    if name == "-":
        raise DataError(f"{kind} cannot be read from standard input: expected a file", name)
    file: Any = path
    if not hasattr(path, "read"):
        file = open(path, "rb")  # noqa: SIM115
    try:
        with _arrow_errors(name):
            if kind == "parquet":
                parquet = pq.ParquetFile(file)
                rows = _rows_in(batch_bytes, parquet.metadata.num_rows, _size_of(parquet.metadata))
                batches = parquet.iter_batches(min(batch_size, 1 << 16, rows))
            else:
                batches = _ipc_batches(file)
            for batch in batches:
                batch.validate(full=True)  # offsets that point outside would crash later
                rows = min(batch_size, _rows_in(batch_bytes, batch.num_rows, batch.nbytes))
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)
    finally:
        if file is not path:
            file.close()


def _rows_in(batch_bytes: int, rows: int, size: int) -> int:
    """Return how many of so many rows, of that size together, a batch may have."""
    return max(1, batch_bytes * rows // max(1, size))


def _size_of(metadata: Any) -> int:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return sum(group.total_byte_size for group in groups)


def _ipc_batches(file: Any) -> Iterator[Any]:
    try:
        reader = pa.ipc.open_file(file)
    except pa.ArrowInvalid:  # no magic at its end: a stream, not a file
        file.seek(0)
        yield from pa.ipc.open_stream(file)
        return
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)


class ColumnStream(Stream):
    """The rows of Parquet or Arrow files, one after the other."""

    def __init__(
        self,
        paths: Sequence[Path],
        format_: Columns,
        batch_size: int,
        *,
        skip_bad_lines: bool,
        batch_bytes: int,
    ) -> None:
        super().__init__(format_, batch_bytes)
        self._columns = format_
        self._skip = skip_bad_lines
        self._ids: dict[Label, int] = {}
        self._width = 0
        self._rows = 0
        self._row = 0  # of the current file
        for path in paths:  # a missing file is better known before hours of reading
            if not hasattr(path, "read") and name_of(path) != "-":
                open(path, "rb").close()
        self._batches = self._all_batches(paths, batch_size)

    def _all_batches(self, paths: Sequence[Path], batch_size: int) -> Iterator[tuple[str, Any]]:
        for path in paths:
            self._row = 0
            kind = self._columns.name
            for batch in _record_batches(path, kind, batch_size, self._batch_bytes):
                yield name_of(path), batch

    @property
    def n_features(self) -> int:
        """The width of the matrix so far."""
        return self._columns.n_features or self._width

    @property
    def lines_read(self) -> int:
        """The number of rows read so far."""
        return self._rows

    def _forget_labels(self) -> None:
        self._ids = {}

    def _close(self) -> None:
        self._batches = iter(())

    def _read(self) -> Rows | None:
        for name, batch in self._batches:
            with _arrow_errors(name):
                rows = self._parse(name, batch)
            if len(rows):
                return rows
        return None

    def _parse(self, name: str, batch: Any) -> Rows:
        matrix, problems = self._features(name, batch)
        weight, weight_problems = self._weight(name, batch)
        good = self._reject(name, batch.num_rows, weight_problems | problems)
        self._row += batch.num_rows
        self._rows += batch.num_rows
        if not good.all():
            batch = batch.filter(pa.array(good))
            matrix = matrix[np.flatnonzero(good)]
            weight = None if weight is None else weight[good]
        if not isinstance(matrix, Texts):
            self._width = max(self._width, matrix.shape[1])
            matrix.resize((matrix.shape[0], self.n_features))
        return Rows(
            X=matrix,
            labels=self._labels(name, batch),
            weight=None if weight is None or (weight == 1).all() else weight,
        )

    def _reject(self, name: str, rows: int, problems: Problems) -> NDArray[np.bool_]:
        """Raise for the first bad row, or note all of them; return which rows are good."""
        bad = [BadLine(name, self._row + row + 1, problems[row]) for row in sorted(problems)]
        if bad and not self._skip:
            raise DataError(bad[0].message, name, bad[0].line)
        self.bad_lines.add(bad, len(bad))
        good = np.ones(rows, dtype=bool)
        good[list(problems)] = False
        return good

    def _features(self, name: str, batch: Any) -> tuple[Any, Problems]:
        """Return the matrix of a batch, or its texts; rows with a problem may hold anything."""
        options, names = self._columns, batch.schema.names
        if options.columns is None and options.text in names:
            column = _plain(batch.column(options.text))
            if not _is_text(column.type):
                raise DataError(
                    f'text column "{options.text}" has type {column.type}: expected strings', name
                )
            nulls = np.flatnonzero(_nulls(column)).tolist()
            return from_arrow_column(column.fill_null("")), dict.fromkeys(nulls, "text is null")
        if options.columns is None and options.indices in names:
            for role in (options.indices, options.values):
                if role not in names or not _is_numbers(batch.schema.field(role).type):
                    raise DataError(f'column "{role}" of lists of numbers is missing', name)
            return _sparse_columns(
                batch.column(options.indices), batch.column(options.values), options.n_features
            )
        if options.columns is None:
            used = (options.label, options.weight)
            columns = tuple(
                f.name for f in batch.schema if f.name not in used and _is_number(f.type)
            )
            # Saved with the settings: another file may have its columns in another order.
            self._columns = self._format = options = replace(options, columns=columns)
        columns = options.columns or ()
        if not columns or not all(
            c in names and _is_number(batch.schema.field(c).type) for c in columns
        ):
            wanted = ", ".join(columns) or f"{options.text}, {options.indices} or numbers"
            raise DataError(
                f"feature columns are missing: expected {wanted}, received {', '.join(names)}", name
            )
        return _dense_columns([batch.column(c) for c in columns], columns)

    def _weight(self, name: str, batch: Any) -> tuple[Any, Problems]:
        column = self._columns.weight
        if column is None:
            return None, {}
        if column not in batch.schema.names or not _is_number(batch.schema.field(column).type):
            raise DataError(f'weight column "{column}" of numbers is missing', name)
        weight = _floats(batch.column(column))
        bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
        return weight, {
            row: f'weight "{weight[row]}" is not a finite number of 0 or more'
            for row in bad.tolist()
        }

    def _labels(self, name: str, batch: Any) -> Labels:
        label, rows = self._columns.label, batch.num_rows
        if label is None:
            return Labels(np.zeros(rows + 1, np.int64), np.empty(0, np.uint32), self.vocabulary)
        if label not in batch.schema.names:
            raise DataError(
                f'label column "{label}" is missing: give label= one of '
                f"{', '.join(batch.schema.names)}, or label=None if there are no labels",
                name,
            )
        column = batch.column(label)
        row_of = np.arange(rows)
        if _is_list(column.type):
            row_of = np.repeat(row_of, _lengths(column))
            column = column.flatten()
        column = _plain(column)
        if pa.types.is_integer(column.type):
            column = column.cast(pa.int64())  # fails for what no label can be
        elif not _is_text(column.type):
            raise DataError(
                f'label column "{label}" has type {column.type}: '
                "expected integers, strings or lists of them",
                name,
            )
        encoded = column.dictionary_encode()
        table = np.array([*map(self._id, encoded.dictionary.to_pylist()), -1], dtype=np.int64)
        ids = table[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        row_of, ids = row_of[ids >= 0], ids[ids >= 0]
        # Each label once per row, in the order in which they came.
        first = np.sort(np.unique(row_of << 32 | ids, return_index=True)[1])
        counts = np.bincount(row_of[first], minlength=rows)
        return Labels(_offsets(counts), ids[first].astype(np.uint32), self.vocabulary)

    def _id(self, label: Label) -> int:
        """Return the id of a label, -1 for the empty label, which is none."""
        if label == "":
            return -1
        known = self._ids.setdefault(label, len(self.vocabulary))
        if known == len(self.vocabulary):
            self.vocabulary.append(label)
        return known


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_numbers(kind: Any) -> bool:
    return _is_list(kind) and _is_number(kind.value_type)


def _plain(column: Any) -> Any:
    """Return a column without a dictionary, and strings one after the other."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if str(column.type) == "string_view" else column


def _lengths(column: Any) -> NDArray[np.int64]:
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, dtype=np.int64)


def _offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _nulls(column: Any) -> NDArray[np.bool_]:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _floats(column: Any) -> NDArray[np.float32]:
    """Return a column as float32; what is null, or does not fit, is not finite."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    wide = column.cast(pa.float64(), safe=False).fill_null(float("nan"))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(wide.to_numpy(zero_copy_only=False), dtype=np.float32)


def _sparse_columns(
    index_column: Any, value_column: Any, n_features: int | None
) -> tuple[Any, Problems]:
    lengths, value_lengths = _lengths(index_column), _lengths(value_column)
    broken = (lengths != value_lengths) | _nulls(index_column) | _nulls(value_column)
    problems = {
        row: f"{lengths[row]} indices and {value_lengths[row]} values: expected as many of both"
        for row in np.flatnonzero(broken).tolist()
    }
    lengths[broken] = 0
    whole = pa.array(~broken)
    indices = index_column.filter(whole).flatten().cast(pa.int64()).fill_null(-1)
    indices = np.array(indices.to_numpy(zero_copy_only=False))
    values = np.array(_floats(value_column.filter(whole).flatten()))
    row_of = np.repeat(np.arange(len(lengths)), lengths)

    limit = n_features or 2**32
    bad = (indices < 0) | (indices >= limit) | ~np.isfinite(values)
    for at in np.flatnonzero(bad).tolist():
        problems.setdefault(
            int(row_of[at]),
            f'feature "{indices[at]}:{values[at]}" is bad: '
            f"expected an index from 0 to {limit - 1} and a finite value",
        )
    good = ~np.isin(row_of, list(problems))
    indices, values = indices[good], values[good]
    lengths = np.bincount(row_of[good], minlength=len(lengths))
    width = n_features or int(indices.max(initial=-1)) + 1
    matrix = csr_matrix((values, indices, _offsets(lengths)), shape=(len(lengths), width))
    matrix.sum_duplicates()
    for at in np.flatnonzero(~np.isfinite(matrix.data)).tolist():
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        problems.setdefault(
            row,
            f'feature index "{matrix.indices[at]}" is repeated: expected values with a finite sum',
        )
    return matrix, problems


def _dense_columns(columns: list[Any], names: Sequence[str]) -> tuple[Any, Problems]:
    dense = np.stack([_floats(column) for column in columns], axis=1)
    problems: Problems = {}
    for row, column in np.argwhere(~np.isfinite(dense)).tolist():
        problems.setdefault(
            row, f'column "{names[column]}" is "{dense[row, column]}": expected a finite number'
        )
    return csr_matrix(dense), problems
