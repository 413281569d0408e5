"""Streams of rows from text formats."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from labeltree._core import FeatureNames, ReaderLimits
from labeltree.data.errors import BadLine, DataError, DataWarning, unescape
from labeltree.data.formats import TextFormat
from labeltree.data.rows import Labels, Rows, build_csr
from labeltree.data.source import CHUNK, Path, Source, fraction_of, size_of
from labeltree.data.streams import Stream
from labeltree.data.texts import Texts


class TextStream(Stream):
    """The rows of text files, one after the other, parsed by the core."""

    def __init__(
        self,
        paths: Sequence[Path],
        format_: TextFormat,
        limits: ReaderLimits,
        names: FeatureNames | None,
        *,
        eager: bool,
        batch_bytes: int,
    ) -> None:
        super().__init__(format_, batch_bytes)
        self._eager = eager
        self._sizes = [size_of(path) for path in paths]
        self._finished = 0  # bytes of the files that were read to their end
        self._source: Source | None = None
        self._reader = format_.reader(limits, names)
        self._chunk = memoryview(bytearray(CHUNK))
        self._start = self._end = 0  # the part of the chunk that is still to be parsed
        self._paths = list(paths)
        self._open_next()

    @property
    def n_features(self) -> int:
        """The width of the matrix so far."""
        return self._reader.n_features

    @property
    def lines_read(self) -> int:
        """The number of lines read so far."""
        return self._reader.lines

    @property
    def fraction_read(self) -> float | None:
        """The share of the files' bytes read so far; None where their size is not known."""
        return fraction_of(self._sizes, self._finished, self._source)

    def _open_next(self) -> None:
        self._source = Source(self._paths.pop(0)) if self._paths else None
        if self._source is not None:
            self._reader.start_file()

    def _read(self) -> Rows | None:
        size = 0  # of what was read for this batch
        while self._source is not None and not self._reader.full:
            if size >= self._batch_bytes and self._reader.rows:
                break
            if self._start == self._end:
                if self._eager and self._reader.rows:
                    break  # to read on might mean to wait
                self._start, self._end = 0, self._source.readinto(self._chunk)
            if self._end > 0:
                size -= self._start
                self._start = self._reader.feed(self._chunk[: self._end], self._start)
                size += self._start
            else:
                self._reader.finish_file(cut=self._source.is_pipe)
            self._check(self._source.name)
            if self._end == 0 and self._reader.missing:
                name = "standard input" if self._source.name == "-" else self._source.name
                warnings.warn(
                    f"{name}: the header announces {self._reader.missing:,} examples more than "
                    "came; those that came are read",
                    DataWarning,
                    stacklevel=4,
                )
            if self._end == 0:
                self._finished += self._sizes[-len(self._paths) - 1] or 0
                self._source.close()
                self._open_next()
        return self._take() if self._reader.rows else None

    def _check(self, name: str) -> None:
        """Raise the reader's error, or note which lines it has skipped."""
        if self._reader.error is not None:
            line, message = self._reader.error
            raise DataError(unescape(message), name, line or None)
        new = self._reader.bad_count - self.bad_lines.count
        if new:
            found = self._reader.take_bad_lines()
            bad = [BadLine(name, line, unescape(message)) for line, message in found]
            self.bad_lines.add(bad, new)

    def _take(self) -> Rows:
        new = self._reader.new_labels(len(self.vocabulary))
        self.vocabulary.extend(map(self._named, new))
        X: Any
        if self._format.is_text:
            data, ends, label_offsets, label_ids, weight = self._reader.take_texts()
            X = Texts(data, ends)
        else:
            offsets, indices, values, label_offsets, label_ids, weight = self._reader.take()
            X = build_csr(offsets, indices, values, self.n_features)
        return Rows(
            X=X,
            labels=Labels(label_offsets, label_ids, self.vocabulary),
            weight=None if (weight == 1).all() else weight,
        )

    def _forget_labels(self) -> None:
        self._reader.forget_labels()

    def _close(self) -> None:
        if self._source is not None:
            self._source.close()
