"""Streams of texts from records with named fields: CSV and JSON lines.

Python's own parsers read them: what they take is a small part of the time that learning does.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from labeltree.data.errors import BadLine, DataError, one_line
from labeltree.data.formats import Csv, Fields, JsonLines, Log
from labeltree.data.lines import LineError, Lines, around
from labeltree.data.rows import Label, Labels, Rows, build_csr
from labeltree.data.source import Path, Source, fraction_of, name_of, size_of
from labeltree.data.streams import Stream
from labeltree.data.texts import Texts

_SHOWN = 60  # characters of a value in a message


class Record(NamedTuple):
    """What a row is made of: a text, or features."""

    text: str | None
    labels: list[Label]
    weight: float
    indices: Sequence[int] = ()
    values: Sequence[float] = ()


class RecordStream(Stream):
    """The texts of CSV or JSON lines files, one after the other."""

    def __init__(
        self,
        paths: Sequence[Path],
        format_: Fields,
        batch_size: int,
        max_line: int,
        *,
        skip_bad_lines: bool,
        eager: bool,
        batch_bytes: int,
    ) -> None:
        super().__init__(format_, batch_bytes)
        self._fields = format_
        self._batch_size = batch_size
        self._max_line = max_line
        self._skip = skip_bad_lines
        self._eager = eager
        self._ids: dict[Label, int] = {}
        self._width = 0
        self._sizes = [size_of(path) for path in paths]
        self._finished = 0  # bytes of the files that were read to their end
        self._lines_before = 0
        self._source: Source | None = None
        self._lines: Lines | None = None
        for path in paths:  # a missing file is better known before hours of reading
            if isinstance(path, str | os.PathLike) and name_of(path) != "-":
                os.stat(path)
        self._records = self._all_records(list(paths))

    @property
    def n_features(self) -> int:
        """The width of the matrix; texts have no features yet."""
        given = self._fields.n_features if isinstance(self._fields, Log) else None
        return given or self._width

    @property
    def lines_read(self) -> int:
        """The number of lines read so far."""
        return self._lines_before + (0 if self._lines is None else self._lines.number)

    @property
    def fraction_read(self) -> float | None:
        """The share of the files' bytes read so far; None where their size is not known."""
        return fraction_of(self._sizes, self._finished, self._source)

    def _forget_labels(self) -> None:
        self._ids = {}

    def _close(self) -> None:
        if self._source is not None:
            self._source.close()
        self._records = iter(())

    def _read(self) -> Rows | None:
        batch: list[Record] = []
        size = 0  # of their texts
        for record in self._records:
            if record is not None:
                batch.append(record)
                size += len(record.text or "") + 8 * len(record.indices)
            if len(batch) >= self._batch_size or size >= self._batch_bytes:
                break
            waits = self._lines is not None and not self._lines.at_hand
            if batch and self._eager and waits:
                break
        return self._rows(batch) if batch else None

    def _rows(self, batch: list[Record]) -> Rows:
        ids = [self._id(label) for record in batch for label in record.labels]
        sizes = [len(record.labels) for record in batch]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        weight = np.array([record.weight for record in batch], np.float32)
        return Rows(
            X=self._matrix(batch) if isinstance(self._fields, Log) else _texts(batch),
            labels=Labels(offsets, np.array(ids, np.uint32), self.vocabulary),
            weight=None if (weight == 1).all() else weight,
        )

    def _matrix(self, batch: list[Record]) -> Any:
        """Return the features of a batch, or its texts if it has these."""
        if all(record.text is not None for record in batch):
            return _texts(batch)
        if any(record.text is not None for record in batch):
            raise DataError("has texts and numbered features, expected one of them", "the log")
        sizes = [len(record.indices) for record in batch]
        indices = np.array([i for record in batch for i in record.indices], np.uint32)
        values = np.array([value for record in batch for value in record.values], np.float32)
        self._width = max(self._width, 1 + int(indices.max(initial=0)))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return build_csr(offsets, indices, values, self.n_features)

    def _id(self, label: Label) -> int:
        label = self._named(label)
        known = self._ids.setdefault(label, len(self.vocabulary))
        if known == len(self.vocabulary):
            self.vocabulary.append(label)
        return known

    def _all_records(self, paths: list[Path]) -> Iterator[Record | None]:
        """Yield the records of all files, and None for a line that holds none."""
        for number, path in enumerate(paths):
            self._source = Source(path)
            errors = "surrogateescape" if isinstance(self._fields, Csv) else "strict"
            self._lines = Lines(self._source, self._max_line, errors)
            name = self._source.name
            records: Iterator[Record | BadLine | None]
            if isinstance(self._fields, Csv):
                records = csv_records(self._lines, self._fields, name, self._max_line)
            else:
                records = json_records(self._lines, self._fields, name)
            for found in records:
                if isinstance(found, BadLine):
                    if not self._skip:
                        raise DataError(found.message, name, found.line)
                    self.bad_lines.add([found._replace(message=one_line(found.message))], 1)
                    yield None
                else:
                    yield found
            self._source.close()
            self._finished += self._sizes[number] or 0
            self._lines_before += self._lines.number
            self._lines = self._source = None


def _texts(batch: list[Record]) -> Texts:
    return Texts.of([record.text or "" for record in batch])


def csv_records(
    lines: Lines, fields: Csv, name: str, max_line: int
) -> Iterator[Record | BadLine | None]:
    """Yield the rows of a CSV file, and what is wrong with lines that hold none."""
    csv.field_size_limit(max(csv.field_size_limit(), max_line))
    reader = csv.reader(lines, delimiter=fields.delimiter, strict=True)
    header: list[str] | None = None
    while True:
        line = lines.number + 1
        lines.begin_record()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, LineError) as error:
            if header is None:
                words = f"the header cannot be read: {_csv_words(error)}"
                raise DataError(words, name, line) from error
            more = f" (lines {line:,} to {lines.number:,})" if lines.number > line else ""
            yield BadLine(name, line, _csv_words(error) + more)
            continue
        if not cells:  # a blank line
            yield None
            continue
        if header is None:
            header = cells
            try:
                _check_utf8(header)
            except LineError as error:
                raise DataError(f"the header cannot be read: {error}", name, line) from error
            _check_header(header, fields, name, line)
            yield None
            continue
        try:
            _check_utf8(cells)
            if len(cells) != len(header):
                raise LineError(
                    f"the row has {len(cells)} cells, expected {len(header)} as in the header"
                )
            record = dict(zip(header, cells, strict=True))
            labels = _split(record[fields.label], fields) if fields.label else []
            texts = [record[field] for field in fields.text_fields]
            weight = 1.0 if fields.weight is None else _weight(record[fields.weight])
            yield Record(" ".join(filter(None, texts)), labels, weight)
        except LineError as error:
            yield BadLine(name, line, str(error))


def _check_utf8(cells: list[str]) -> None:
    for cell in cells:
        try:
            cell.encode()
        except UnicodeEncodeError as error:
            raise LineError(f"a cell is not valid UTF-8: {around(cell, error.start)}") from None


def _csv_words(error: Exception) -> str:
    text = str(error)
    if isinstance(error, LineError):
        return text
    if "unexpected end" in text or "field larger" in text:
        return "a quote opens in this row, and none closes it"
    return f"the row is not CSV: {text}"


def _check_header(header: list[str], fields: Csv, name: str, line: int) -> None:
    shown = ", ".join(header)[:500]
    hint = "; if this line is a row already, put a header above it, such as text,label"
    if len(header) == 1:
        hint += "; if cells are not separated by a comma, give delimiter= (--delimiter)"
    for option, column in (
        *(("text", field) for field in fields.text_fields),
        ("label", fields.label),
        ("weight", fields.weight),
    ):
        if column is not None and header.count(column) != 1:
            lacks = "there twice" if column in header else "not there"
            raise DataError(
                f'the {option} column "{column}" is {lacks}: give {option}= (--{option}-column) '
                f"one of {shown}{hint}",
                name,
                line,
            )


def json_records(lines: Lines, fields: Fields, name: str) -> Iterator[Record | BadLine | None]:
    """Yield the objects of a file of JSON lines, and what is wrong with lines that hold none."""
    while True:
        lines.begin_record()
        try:
            line = next(lines)
        except StopIteration:
            return
        except LineError as error:
            yield BadLine(name, lines.number, str(error))
            continue
        if not line.strip():
            yield None
            continue
        try:
            yield _json_record(line, fields)
        except LineError as error:
            yield BadLine(name, lines.number, str(error))


def _json_record(line: str, fields: Fields) -> Record:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        words = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise LineError(f"the line is no JSON: {words}") from None
    if not isinstance(record, dict):
        raise LineError(f"the line is {_shown(record)}, expected an object with fields")
    labels, weight = _json_target(record, fields)
    if isinstance(fields, Log) and "indices" in record:
        return Record(None, labels, weight, *_json_features(record, fields.n_features))
    texts = []
    for field in fields.text_fields:
        text = _field(record, field)
        if text is None:
            known = ", ".join(map(str, record))[:300]
            raise LineError(f'the text field "{field}" is missing or null: the line has {known}')
        if not isinstance(text, str):
            raise LineError(f'the text field "{field}" is {_shown(text)}, expected a string')
        try:
            text.encode()
        except UnicodeEncodeError:
            raise LineError(f'the text field "{field}" has half of a character') from None
        texts.append(text)
    return Record(" ".join(filter(None, texts)), labels, weight)


def _json_target(record: dict[str, Any], fields: Fields) -> tuple[list[Label], float]:
    """Return the labels of a record, and its weight."""
    found = None
    if fields.label is not None:
        found = _field(record, fields.label)
        if found is None and fields.label == JsonLines.label:
            found = _field(record, "label")
    labels = _json_labels(found, fields)
    weight = 1.0 if fields.weight is None else _weight(_field(record, fields.weight))
    return labels, weight


def _json_features(record: dict[str, Any], n_features: int | None) -> tuple[list[int], list[float]]:
    """Return the numbers of features, which ascend, and their values."""
    indices, values = record["indices"], record.get("values")
    if not isinstance(indices, list) or not isinstance(values, list) or len(indices) != len(values):
        raise LineError("indices and values are not two lists of one length")
    before = -1
    for index in indices:
        if type(index) is not int or not before < index < (n_features or 1 << 32):
            raise LineError(
                f"a feature is {_shown(index)}, expected numbers that ascend"
                + (f", below {n_features:,}" if n_features else "")
            )
        before = index
    for value in values:
        if type(value) not in (int, float) or not -3e38 <= value <= 3e38:
            raise LineError(f"a value is {_shown(value)}, expected a finite number")
    return indices, values


def _field(record: dict[str, Any], path: str) -> Any:
    """Return a field by its name, or by the path to it; None if there is none."""
    if path in record:
        return record[path]
    found: Any = record
    for name in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def _json_labels(found: Any, fields: Fields) -> list[Label]:
    if found is None:
        return []
    if isinstance(found, str):
        return _split(found, fields)
    labels = found if isinstance(found, list) else [found]
    for label in labels:
        good = isinstance(label, str | int) and not isinstance(label, bool)
        if not good or (isinstance(label, int) and not -(2**63) <= label < 2**63):
            raise LineError(f"the label is {_shown(label)}, expected a string or an integer")
        if isinstance(label, str):
            _check_label(label)
    return list(dict.fromkeys(label for label in labels if label != ""))


def _split(cell: str, fields: Fields) -> list[Label]:
    """Return the labels in a cell, each once."""
    _check_label(cell)
    if fields.label_separator is None:
        return [cell] if cell else []
    parts = [part.strip() for part in cell.split(fields.label_separator)]
    return list(dict.fromkeys(part for part in parts if part))


def _check_label(label: str) -> None:
    try:
        label.encode()
    except UnicodeEncodeError:
        raise LineError(f"the label {_shown(label)} has half of a character") from None


def _weight(value: Any) -> float:
    try:
        weight = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not 0 <= weight <= 3e38:
        raise LineError(f"the weight is {_shown(value)}, expected a finite number of 0 or more")
    return weight


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
