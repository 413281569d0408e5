"""The commands and their options. Nothing heavy is imported before a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from labeltree._version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Predict one label, or a set, out of thousands to millions.",
)

Data = Annotated[
    list[str], typer.Argument(help="Files to read, or - for standard input.", metavar="DATA...")
]
Model = Annotated[Path, typer.Argument(help="A model file.")]
Format = Annotated[
    str, typer.Option(help="auto, svmlight, xmc, vw, tsv, parquet or arrow; auto goes by name.")
]
SkipBadLines = Annotated[
    bool, typer.Option("--skip-bad-lines", help="Go on after malformed lines and report them.")
]
Threads = Annotated[int, typer.Option(help="Number of threads; -1 for all processors.")]


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Take options that go before the command."""
    if version:
        typer.echo(f"labeltree {__version__}")
        context.exit()


@app.command()
def train(
    data: Data,
    model: Annotated[Path, typer.Option("--model", "-m", help="Where to write the model.")],
    format: Format = "auto",  # noqa: A002
    features: Annotated[
        int | None, typer.Option(help="Number of features; svmlight files: 2^24 if not given.")
    ] = None,
    hash_bits: Annotated[int | None, typer.Option(help="vw, tsv: hash to 2^bits features.")] = None,
    word_ngrams: Annotated[int | None, typer.Option(help="tsv: words in a row, up to.")] = None,
    char_ngrams: Annotated[str | None, typer.Option(help="tsv: characters, as in 3-5.")] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="tsv: what separates the labels of a set.")
    ] = None,
    label_sets: Annotated[
        bool | None,
        typer.Option(help="Whether rows have sets of labels; otherwise the first batch tells."),
    ] = None,
    skip_bad_lines: SkipBadLines = False,
    passes: Annotated[int, typer.Option(help="How often to go through the data.", min=1)] = 1,
    loss: Annotated[str, typer.Option(help="logistic, squared or hinge.")] = "logistic",
    step: Annotated[float, typer.Option(help="Size of the steps.")] = 1.0,
    bits: Annotated[int, typer.Option(help="Size of the weight table: 2^bits.")] = 24,
    threads: Threads = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False,
) -> None:
    """Learn from files or a stream, and write a model."""
    from labeltree.cli.train import train

    options: dict[str, Any] = {
        "n_features": features,
        "hash_bits": hash_bits,
        "word_ngrams": word_ngrams,
        "char_ngrams": None if char_ngrams is None else _pair(char_ngrams),
        "label_separator": label_separator,
    }
    train(
        data,
        model,
        format=format,
        reader_options={name: value for name, value in options.items() if value is not None},
        skip_bad_lines=skip_bad_lines,
        label_sets=label_sets,
        passes=passes,
        params={"loss": loss, "step": step, "bits": bits, "n_jobs": threads},
        quiet=quiet,
    )


@app.command()
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; standard output if not given.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(help="Print this many labels a row, best first.", min=1),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Print each label's score.")] = False,
    format: Format = "auto",  # noqa: A002
    skip_bad_lines: SkipBadLines = False,
    threads: Threads = 1,
) -> None:
    """Predict the labels of each row, one line a row, in order."""
    from labeltree.cli.predict import predict

    predict(
        model,
        data,
        output,
        top=top,
        scores=scores,
        format=format,
        skip_bad_lines=skip_bad_lines,
        threads=threads,
    )


@app.command()
def evaluate(
    model: Model,
    data: Data,
    format: Format = "auto",  # noqa: A002
    skip_bad_lines: SkipBadLines = False,
    threads: Threads = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure a model on labelled rows."""
    from labeltree.cli.evaluate import evaluate, report

    measured = evaluate(model, data, format=format, skip_bad_lines=skip_bad_lines, threads=threads)
    typer.echo(report(measured, as_json=json), nl=False)


@app.command()
def demo(
    examples: Annotated[int, typer.Option(help="How many tokens to learn.", min=100)] = 30_000,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where to write the model, if at all.")
    ] = None,
) -> None:
    """Learn to predict the next token of Python's own standard library."""
    from labeltree.cli.demo import demo

    demo(examples, model)


def _pair(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise ValueError(
            f"--char-ngrams is {text!r}, expected a range such as 3-5, or one number"
        ) from None
