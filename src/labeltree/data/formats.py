"""The formats and their options: the one place where options are checked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

from labeltree._core import FeatureNames, NgramOptions, ReaderLimits, TextReader
from labeltree.data.source import COMPRESSED_SUFFIXES, Path, Source, name_of

_MAX_FEATURES = 2**32
_MAX_NGRAM = 16  # each order adds as many features as a text has words, or characters


def check_int(name: str, value: object, low: int, high: int) -> None:
    """Raise unless the value is an int (and not a bool) in the range."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, received {value!r}")


@dataclass(frozen=True)
class Format:
    """How a line becomes a row. The fields are the options, and the settings a model saves."""

    name: ClassVar[str]
    has_names: ClassVar[bool] = False  # whether features are hashed names

    def settings(self) -> dict[str, object]:
        """Return what, given to `stream`, reads another file in the same way; fit for JSON."""
        options = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }
        return {"format": self.name, **options}


class TextFormat(Format):
    """A format of lines."""

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:
        """Return a native reader for this format, which keeps the features' names if asked to."""
        raise NotImplementedError


@dataclass(frozen=True)
class Svmlight(TextFormat):
    """``label[,label...] [qid:N] index:value ... [# comment]``."""

    name = "svmlight"
    n_features: int | None = None

    def __post_init__(self) -> None:
        if self.n_features is not None:
            check_int("n_features", self.n_features, 1, _MAX_FEATURES)

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:  # noqa: ARG002
        """Return a native reader for this format, whose features have no names."""
        return TextReader.svmlight(limits, self.n_features)


@dataclass(frozen=True)
class Xmc(Svmlight):
    """A header ``examples features labels``, then ``label[,label...] index:value ...``."""

    name = "xmc"

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:  # noqa: ARG002
        """Return a native reader for this format, whose features have no names."""
        return TextReader.xmc(limits, self.n_features)


@dataclass(frozen=True)
class Vw(TextFormat):
    """``[label[,label...]] [importance] [base] ['tag]|namespace[:scale] name[:value] ...``."""

    name = "vw"
    has_names = True
    hash_bits: int = 24

    def __post_init__(self) -> None:
        check_int("hash_bits", self.hash_bits, 1, 32)

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:
        """Return a native reader for this format, which keeps the features' names if asked to."""
        return TextReader.vw(limits, self.hash_bits, names)


@dataclass(frozen=True)
class TextOptions:
    """How text becomes features, wherever the text comes from."""

    word_ngrams: int = 1
    char_ngrams: tuple[int, int] | None = None
    lowercase: bool = True
    hash_bits: int = 24
    normalize: str | None = "l2"

    def __post_init__(self) -> None:
        check_int("word_ngrams", self.word_ngrams, 0, _MAX_NGRAM)
        check_int("hash_bits", self.hash_bits, 1, 32)
        if self.char_ngrams is not None:
            try:
                low, high = self.char_ngrams
            except (TypeError, ValueError):
                raise ValueError(
                    f"char_ngrams must be None or a pair (low, high), received {self.char_ngrams!r}"
                ) from None
            check_int("the low end of char_ngrams", low, 1, _MAX_NGRAM)
            check_int("the high end of char_ngrams", high, low, _MAX_NGRAM)
            object.__setattr__(self, "char_ngrams", (low, high))  # JSON made it a list
        elif self.word_ngrams == 0:
            raise ValueError("word_ngrams=0 leaves no features: expected char_ngrams=(low, high)")
        if self.normalize not in ("l2", None):
            raise ValueError(f'normalize must be "l2" or None, received {self.normalize!r}')

    def ngrams(self) -> NgramOptions:
        """Return the options as the core takes them."""
        return NgramOptions(
            self.word_ngrams,
            self.char_ngrams or (0, 0),
            bool(self.lowercase),
            self.hash_bits,
            self.normalize == "l2",
        )


@dataclass(frozen=True)
class Tsv(TextOptions, TextFormat):
    """``label<TAB>text``, the text hashed into words and n-grams."""

    name = "tsv"
    has_names = True
    label_separator: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        separator = self.label_separator
        if separator is not None and (
            not isinstance(separator, str)
            or len(separator) != 1
            or not separator.isascii()
            or separator in "\t\r\n\0"
        ):
            raise ValueError(
                "label_separator must be None or one ASCII character other than tab and newline, "
                f"received {separator!r}"
            )

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:
        """Return a native reader for this format, which keeps the features' names if asked to."""
        return TextReader.tsv(limits, self.label_separator, self.ngrams(), names)


@dataclass(frozen=True)
class Columns(TextOptions, Format):
    """A columnar file: a label column, and text, lists of indices and values, or numbers.

    `label`, `weight`, `text`, `indices` and `values` are names of columns; `columns` those of the
    numeric features if there is neither text nor indices.
    """

    n_features: int | None = None
    label: str | None = "label"
    weight: str | None = None
    text: str = "text"
    indices: str = "indices"
    values: str = "values"
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_features is not None:
            check_int("n_features", self.n_features, 1, _MAX_FEATURES)
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))


@dataclass(frozen=True)
class Parquet(Columns):
    """A Parquet file."""

    name = "parquet"


@dataclass(frozen=True)
class Arrow(Columns):
    """An Arrow IPC file (Feather version 2) or IPC stream."""

    name = "arrow"


FORMATS: dict[str, type[Format]] = {
    kind.name: kind for kind in (Svmlight, Xmc, Vw, Tsv, Parquet, Arrow)
}
_SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".xmc": "xmc",
    ".vw": "vw",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


def make_format(name: str, options: dict[str, object]) -> Format:
    """Return the format with its options, all of them checked."""
    kind = FORMATS.get(name)
    if kind is None:
        raise ValueError(f'unknown format "{name}": expected auto, {", ".join(FORMATS)}')
    known = [field.name for field in fields(kind)]
    for option in options:
        if option not in known:
            raise ValueError(
                f'format "{name}" has no option "{option}": expected {", ".join(known)}'
            )
    return kind(**options)


def detect_common_format(paths: Iterable[Path]) -> str:
    """Return the name of the one format that all files have."""
    formats = {detect_format(path) for path in paths}
    if len(formats) > 1:
        raise ValueError(f"expected files of one format, received {', '.join(sorted(formats))}")
    return formats.pop()


def detect_format(path: Path) -> str:
    """Return the name of a file's format, from its extension or else its first line."""
    name = name_of(path)
    stem, suffix = os.path.splitext(name)
    if suffix.lower() in COMPRESSED_SUFFIXES:
        suffix = os.path.splitext(stem)[1]
    found = _SUFFIXES.get(suffix.lower())
    if found is not None:
        return found
    if suffix.lower() == ".txt" and isinstance(path, str | os.PathLike):
        source = Source(path)
        try:
            words = source.first_line().split()
        finally:
            source.close()
        if len(words) == 3 and all(word.isdigit() for word in words):
            return "xmc"
    raise ValueError(
        f"{name}: cannot tell the format from the name: "
        f"give format= one of {', '.join(FORMATS)}, or use an extension ({' '.join(_SUFFIXES)})"
    )
