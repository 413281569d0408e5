"""The options that several commands have."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from labeltree import algorithms

Data = Annotated[
    list[str],
    typer.Argument(help="Files, patterns, or - for standard input.", metavar="DATA..."),
]
OptionalData = Annotated[
    list[str] | None,
    typer.Argument(help="Files, patterns, or - for standard input.", metavar="DATA..."),
]
Model = Annotated[Path, typer.Argument(help="A model file.", metavar="MODEL")]
FORMATS = (
    "auto, svmlight, xmc, vw, tsv, csv, jsonl, log, fasttext, annif, text, parquet or arrow; "
    "auto goes by name."
)
Format = Annotated[str, typer.Option(help=f"Of the data: {FORMATS}")]
Algorithm = Annotated[
    str,
    typer.Option(
        help=f"One of {', '.join(algorithms.names())}. With --help, lists its parameters.",
        metavar="NAME",
    ),
]
Shuffle = Annotated[
    int | None,
    typer.Option(help="Shuffle so many consecutive rows at a time.", metavar="ROWS", min=2),
]
SkipBadLines = Annotated[
    bool, typer.Option("--skip-bad-lines", help="Go on after malformed lines and report them.")
]
Threads = Annotated[int, typer.Option(help="Number of threads; -1 for all processors.")]
Features = Annotated[
    int | None, typer.Option(help="Number of features; svmlight files: 2^24 if not given.")
]
HashBits = Annotated[int | None, typer.Option(help="vw, text: hash to 2^bits features.")]
WordNgrams = Annotated[int | None, typer.Option(help="Text: words in a row, up to. [default: 2]")]
CharNgrams = Annotated[str | None, typer.Option(help="Text: characters of words, as in 3-5.")]
TextIdf = Annotated[
    bool | None, typer.Option(help="Text: whether rare words weigh more. [default: text-idf]")
]
LabelSeparator = Annotated[
    str | None, typer.Option(help="tsv, csv, jsonl: what separates the labels of a set.")
]
LabelColumn = Annotated[
    str | None, typer.Option(help="csv, jsonl, parquet, arrow: the column or field of the label.")
]
TextColumn = Annotated[
    str | None,
    typer.Option(help="csv, jsonl, parquet, arrow: that of the text; several as title,body."),
]
WeightColumn = Annotated[
    str | None, typer.Option(help="csv, jsonl, parquet, arrow: that of the importance.")
]
Delimiter = Annotated[str | None, typer.Option(help="csv: what separates cells, if not a comma.")]
LabelSets = Annotated[
    bool | None,
    typer.Option(help="Whether rows have sets of labels; otherwise the first rows tell."),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a file even if it is no model.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show only what was asked for, as by --test.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]


def reader_options(
    features: int | None,
    label_separator: str | None,
    label_column: str | None,
    text_column: str | None,
    weight_column: str | None,
    delimiter: str | None,
) -> dict[str, Any]:
    """Return those of the options that were given, as `labeltree.data.stream` takes them."""
    options = {
        "n_features": features,
        "label_separator": label_separator,
        "label": label_column,
        "text": text_column,
        "weight": weight_column,
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
    }
    return {name: value for name, value in options.items() if value is not None}


def require_files(names: Sequence[str]) -> None:
    """Raise if a file is not there, before the second that it takes to import what reads it."""
    for name in names:
        if name != "-" and not glob.has_magic(name):
            os.stat(name)


def text_options(
    hash_bits: int | None, word_ngrams: int | None, char_ngrams: str | None, idf: bool | None
) -> dict[str, Any]:
    """Return those of the options that were given, as `labeltree.TextFeatures` takes them."""
    options = {
        "hash_bits": hash_bits,
        "word_ngrams": word_ngrams,
        "char_ngrams": None if char_ngrams is None else _pair(char_ngrams),
        "idf": idf,
    }
    return {name: value for name, value in options.items() if value is not None}


def _pair(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise ValueError(
            f"--char-ngrams is {text!r}, expected a range such as 3-5, or one number"
        ) from None
