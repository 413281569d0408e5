"""The formats and their options: the one place where options are checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

from labeltree._core import FeatureNames, ReaderLimits, TextReader
from labeltree.data.source import COMPRESSED_SUFFIXES, Path, Source, name_of

_MAX_FEATURES = 2**32


def check_int(name: str, value: object, low: int, high: int) -> None:
    """Raise unless the value is an int (and not a bool) in the range."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, received {value!r}")


@dataclass(frozen=True)
class Format:
    """How a line becomes a row. The fields are the options, and the settings a model saves."""

    name: ClassVar[str]
    has_names: ClassVar[bool] = False  # whether features are hashed names
    is_text: ClassVar[bool] = False  # whether rows are texts, with no features yet
    has_text_labels: ClassVar[bool] = False  # whether every label is a str, "1" as well
    has_label_column: ClassVar[bool] = (
        False  # whether `label` names it, or is None if there is none
    )

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


def vw_indices(names: Sequence[str], hash_bits: int) -> list[int]:
    """Return the numbers that features have in vw files, by ``name`` or ``namespace^name``."""
    lines = []
    for name in names:
        space, _, word = name.rpartition("^")
        if not re.fullmatch(r"[^\s|:]*\^[^\s|:]+", f"{space}^{word}"):
            raise ValueError(
                f"a feature is {name[:60]!r}, expected a name or namespace^name without spaces, "
                "colons and bars"
            )
        lines.append(f"|{space} {word}\n".encode())
    limits = ReaderLimits(max(1, len(lines)), 1 << 30, skip_bad_lines=False)
    reader = Vw(hash_bits).reader(limits, None)
    reader.start_file()
    reader.feed(b"".join(lines))
    reader.finish_file()
    return [int(index) for index in reader.take()[1]]


def check_separator(separator: str | None) -> None:
    """Raise unless the value can separate labels."""
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


@dataclass(frozen=True)
class Tsv(TextFormat):
    """``label<TAB>text``."""

    name = "tsv"
    is_text = True
    has_text_labels = True
    label_separator: str | None = None

    def __post_init__(self) -> None:
        check_separator(self.label_separator)

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:  # noqa: ARG002
        """Return a native reader for this format."""
        return TextReader.tsv(limits, self.label_separator)


@dataclass(frozen=True)
class FastText(TextFormat):
    """``__label__a __label__b some text``, as fastText has it."""

    name = "fasttext"
    is_text = True
    has_text_labels = True
    label_prefix: str = "__label__"

    def __post_init__(self) -> None:
        prefix = self.label_prefix
        if not isinstance(prefix, str) or not prefix.isprintable() or " " in prefix or not prefix:
            raise ValueError(
                f"label_prefix must be what labels begin with, without spaces, received {prefix!r}"
            )

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:  # noqa: ARG002
        """Return a native reader for this format."""
        return TextReader.fasttext(limits, self.label_prefix)


@dataclass(frozen=True)
class Annif(TextFormat):
    """``text<TAB><uri> <uri>``, Annif's corpus of short texts."""

    name = "annif"
    is_text = True
    has_text_labels = True

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:  # noqa: ARG002
        """Return a native reader for this format."""
        return TextReader.annif(limits)


@dataclass(frozen=True)
class Plain(TextFormat):
    """A text a line, without labels: for prediction."""

    name = "text"
    is_text = True

    def reader(self, limits: ReaderLimits, names: FeatureNames | None) -> TextReader:  # noqa: ARG002
        """Return a native reader for this format."""
        return TextReader.plain(limits)


@dataclass(frozen=True)
class Fields(Format):
    """Records with named fields, of which one or more hold text, and one the label or labels.

    `text` may name several fields, separated by commas, which are joined; `label_separator` is for
    several labels in one field.
    """

    is_text = True
    has_label_column = True
    text: str = "text"
    label: str | None = "label"
    weight: str | None = None
    label_separator: str | None = None

    def __post_init__(self) -> None:
        check_separator(self.label_separator)
        if not isinstance(self.text, str) or not all(self.text_fields):
            raise ValueError(f"text must name one or more fields, received {self.text!r}")
        for option in ("label", "weight"):
            value = getattr(self, option)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{option} must name a field or be None, received {value!r}")

    @property
    def text_fields(self) -> list[str]:
        """The names of the fields that are joined."""
        return [name.strip() for name in self.text.split(",")]


@dataclass(frozen=True)
class Csv(Fields):
    """Rows of cells with a header, quoted as in RFC 4180."""

    name = "csv"
    has_text_labels = True
    delimiter: str = ","

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            not isinstance(self.delimiter, str)
            or len(self.delimiter) != 1
            or self.delimiter in '"\r\n'
        ):
            raise ValueError(
                f"delimiter must be one character other than a quote, received {self.delimiter!r}"
            )


@dataclass(frozen=True)
class JsonLines(Fields):
    """An object a line; fields inside fields by a path with dots, as ``meta.title``."""

    name = "jsonl"
    label: str | None = "labels"


@dataclass(frozen=True)
class Log(JsonLines):
    """The log of a server, of texts or of numbered features, as its model has it."""

    name = "log"
    is_text = False
    weight: str | None = "weight"
    n_features: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_features is not None:
            check_int("n_features", self.n_features, 1, _MAX_FEATURES)


@dataclass(frozen=True)
class Columns(Format):
    """A columnar file: a label column, and text, lists of indices and values, or numbers.

    `label`, `weight`, `text`, `indices` and `values` are names of columns; `columns` those of the
    numeric features if there is neither text nor indices.
    """

    has_label_column = True
    n_features: int | None = None
    label: str | None = "label"
    weight: str | None = None
    text: str = "text"
    indices: str = "indices"
    values: str = "values"
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
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
    kind.name: kind
    for kind in (
        Svmlight,
        Xmc,
        Vw,
        Tsv,
        FastText,
        Csv,
        JsonLines,
        Log,
        Annif,
        Plain,
        Parquet,
        Arrow,
    )
}
_SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".xmc": "xmc",
    ".vw": "vw",
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".log": "log",
    ".fasttext": "fasttext",
    ".ft": "fasttext",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


def may_be_text(name: str) -> bool:
    """Tell whether rows of a format are texts, or can be."""
    kind = FORMATS[name]
    return kind.is_text or issubclass(kind, Columns | Log)


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
            line = source.first_line().removeprefix(b"\xef\xbb\xbf")
        finally:
            source.close()
        words = line.split()
        if len(words) == 3 and all(word.isdigit() for word in words):
            return "xmc"
        if line.startswith(b"__label__"):
            return "fasttext"
    raise ValueError(
        f"{name}: cannot tell the format from the name: "
        f"give format= one of {', '.join(FORMATS)}, or use an extension ({' '.join(_SUFFIXES)})"
    )
