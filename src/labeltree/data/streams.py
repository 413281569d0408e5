"""What all streams of rows have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType

from labeltree.data.errors import BadLines
from labeltree.data.formats import Format
from labeltree.data.rows import Label, Rows
from labeltree.packedlabels import as_integer

BATCH_BYTES = 1 << 25  # after which a batch ends, however few its rows
MOST_LABELS = 1 << 16  # that are remembered by a stream that need not keep them


class Stream(ABC):
    """An iterator over batches of rows, in bounded memory.

    Only the labels' names are kept for as long as the stream lives, unless `keep_labels` is False.
    Use it in a ``with`` block, or read it to its end, to close its file.

    Attributes
    ----------
    bad_lines : BadLines
        The lines skipped so far.
    vocabulary : list of int or str
        The labels met so far; all batches share this list.
    keep_labels : bool
        True at first. Set to False, the stream begins another vocabulary where a batch ends with
        more than 65,536 labels in it, so that memory is bounded however many labels come.
    integer_labels : bool
        False at first. Set to True before anything is read, labels of formats in which all are
        text are integers where they are written as such.
    """

    def __init__(self, format_: Format, batch_bytes: int) -> None:
        self.bad_lines = BadLines()
        self.vocabulary: list[Label] = []
        self.keep_labels = True
        self.integer_labels = False
        self._format = format_
        self._batch_bytes = batch_bytes
        self._lock = threading.Lock()  # the native reader must not be used by two threads at once
        self._closed = False

    @property
    def settings(self) -> dict[str, object]:
        """All that determines how a line becomes a row: JSON, or keywords for `stream`."""
        return self._format.settings()

    @property
    def is_text(self) -> bool:
        """Whether all rows are texts."""
        return self._format.is_text

    @property
    def has_text_labels(self) -> bool:
        """Whether all labels are strings, even those that are written as integers."""
        return self._format.has_text_labels

    def _named(self, label: Label) -> Label:
        """Return what a label is that the format has as text."""
        return as_integer(label) if self.integer_labels and self.has_text_labels else label

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The width of the matrix: fixed by the format or the options, else by the rows so far."""

    @property
    @abstractmethod
    def lines_read(self) -> int:
        """The number of lines read so far, bad ones too; for columnar files, of rows."""

    @property
    def fraction_read(self) -> float | None:
        """The share of the files' bytes read so far; None where their size is not known."""
        return None

    @abstractmethod
    def _read(self) -> Rows | None:
        """Return the next batch, or None at the end."""

    @abstractmethod
    def _forget_labels(self) -> None:
        """Begin to number labels from 0 again, for a vocabulary that is empty."""

    @abstractmethod
    def _close(self) -> None: ...

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Rows:
        with self._lock:
            if self._closed:
                raise StopIteration
            try:
                if not self.keep_labels and len(self.vocabulary) > MOST_LABELS:
                    self.vocabulary = []
                    self._forget_labels()
                rows = self._read()
            except BaseException:
                self._close_once()  # what was half read cannot be taken up again
                raise
            if rows is None:
                self._close_once()
                raise StopIteration
            return rows

    def close(self) -> None:
        """Close the file; the stream then has no more rows."""
        with self._lock:
            self._close_once()

    def _close_once(self) -> None:
        if not self._closed:
            self._closed = True
            self._close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._close_once()
