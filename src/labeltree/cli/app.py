"""The commands and their options. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from labeltree import algorithms
from labeltree._version import __version__
from labeltree.cli.options import (
    Algorithm,
    CharNgrams,
    Data,
    Delimiter,
    Features,
    Format,
    HashBits,
    Json,
    LabelColumn,
    LabelSeparator,
    LabelSets,
    Model,
    OptionalData,
    Overwrite,
    Quiet,
    Seed,
    Shuffle,
    SkipBadLines,
    TextColumn,
    TextIdf,
    Threads,
    WeightColumn,
    WordNgrams,
    reader_options,
    require_files,
    text_options,
)


def build(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line; some commands have the options of the algorithm asked for."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # help comes in half the time
        help="Predict one label, or a set, out of thousands to millions.",
    )
    app.callback(invoke_without_command=True)(top)
    algorithm = _chosen(arguments) if {"train", "tune", "serve"} & {*arguments} else None
    app.command()(_with_parameters(train, algorithm))
    app.command()(predict)
    app.command()(evaluate)
    app.command(name="inspect")(inspect_)
    app.command(name="compile")(compile_)
    app.command()(merge)
    app.command()(_with_parameters(tune, algorithm))
    app.command()(_with_parameters(serve, algorithm))
    app.command()(demo)
    return app


def help_text(arguments: Sequence[str]) -> str:
    """Return the help on a command, without typer's parser, which takes as long as all the rest."""
    command: Any = typer.main.get_command(build(arguments))
    context = typer.Context(command, info_name="labeltree")
    for argument in arguments:
        if argument in command.commands:
            command = command.commands[argument]
            context = typer.Context(command, info_name=argument, parent=context)
            break
    return str(command.get_help(context))


def _chosen(arguments: Sequence[str]) -> str:
    """Return the algorithm that the arguments name."""
    chosen = algorithms.DEFAULT_ALGORITHM
    for argument, following in pairwise([*arguments, ""]):
        if argument == "--algorithm":
            chosen = following
        elif argument.startswith("--algorithm="):
            chosen = argument.partition("=")[2]
    return algorithms.check(chosen)


def _with_parameters(command: Callable[..., None], algorithm: str | None) -> Callable[..., None]:
    """Give a command the parameters of an algorithm as options, in place of ``parameters``.

    An option that is not given is None, and the estimator's own default holds.
    """
    signature = inspect.signature(command, eval_str=True)
    kept = [p for p in signature.parameters.values() if p.name != "parameters"]
    known = algorithms.parameters(algorithm) if algorithm else []
    options = [
        inspect.Parameter(
            p.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                p.kind | None,
                typer.Option(
                    p.option + (f"/--no-{p.option[2:]}" if p.kind is bool else ""),
                    help=p.help + _default_of(p),
                    metavar=f"[{'|'.join(p.choices)}]" if p.choices else None,
                    show_default=False,
                ),
            ],
        )
        for p in known
    ]

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        given = {p.name: p.value(values.pop(p.name)) for p in known}
        command(**values, parameters={k: v for k, v in given.items() if v is not None})

    del wrapped.__wrapped__  # whose signature would be looked up
    wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*kept, *options]
    )
    wrapped.__annotations__ = {p.name: p.annotation for p in (*kept, *options)}
    if algorithm:
        wrapped.__doc__ = f"{command.__doc__}\n\n{algorithm}: {algorithms.summary(algorithm)}"
    return wrapped


def _default_of(parameter: algorithms.Parameter) -> str:
    if parameter.default is None:
        return ""
    value = parameter.default
    if isinstance(value, bool):
        value = ("" if value else "no-") + parameter.option[2:]
    return f" [default: {value}]"


def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Take options that go before the command."""
    if version:
        typer.echo(f"labeltree {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def train(
    *,
    data: OptionalData = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Where to write the model; else where --resume is."),
    ] = None,
    algorithm: Algorithm = algorithms.DEFAULT_ALGORITHM,
    format: Format = "auto",  # noqa: A002
    features: Features = None,
    hash_bits: HashBits = None,
    word_ngrams: WordNgrams = None,
    char_ngrams: CharNgrams = None,
    text_idf: TextIdf = None,
    label_separator: LabelSeparator = None,
    label_column: LabelColumn = None,
    text_column: TextColumn = None,
    weight_column: WeightColumn = None,
    delimiter: Delimiter = None,
    label_sets: LabelSets = None,
    skip_bad_lines: SkipBadLines = False,
    keep_names: Annotated[
        bool,
        typer.Option("--keep-names", help="vw, text: keep the features' names, for inspect."),
    ] = False,
    passes: Annotated[
        int | None, typer.Option(help="How often to go through the data; once if not given.", min=1)
    ] = None,
    holdout: Annotated[
        float, typer.Option(help="Share of the rows to predict but never learn, as 0.1.")
    ] = 0.0,
    shuffle: Shuffle = None,
    test: Annotated[
        list[str] | None, typer.Option(help="A file to evaluate the model on at the end.")
    ] = None,
    checkpoint_every: Annotated[
        str | None, typer.Option(help="Save while learning: 60s, 10m, or 100k, 2M examples.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="A model or checkpoint to go on with, exactly where it was."),
    ] = None,
    rounded: Annotated[
        bool,
        typer.Option(
            "--rounded",
            help="Write weights with 16 bits: they take half the size, and are resumed as well, "
            "but not bit for bit. Say so again with --resume.",
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the learning curve to this file, such as curve.png.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of everything random; 0 if not given.")
    ] = None,
    threads: Threads = 1,
    workers: Annotated[
        int | None,
        typer.Option(help="Train by fit, on so many processes of this machine.", min=1),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Train by fit, on the workers of a scheduler, as tcp://host:8786."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
    parameters: dict[str, Any],
) -> None:
    """Learn from files or a stream, and write a model."""
    if workers is None and dask is None:  # whose files may be elsewhere
        require_files([*(data or []), *(test or [])])
    from labeltree.cli.display import make_display
    from labeltree.cli.train import train_and_report

    if resume is None or seed is not None:
        parameters = {"random_state": seed or 0, **parameters}
    reading = reader_options(
        features, label_separator, label_column, text_column, weight_column, delimiter
    )
    texts = text_options(hash_bits, word_ngrams, char_ngrams, text_idf)
    if workers is not None or dask is not None:
        from labeltree.cli.cluster import train_on_workers

        streaming = {
            "--resume": resume,
            "--holdout": holdout,
            "--shuffle": shuffle,
            "--checkpoint-every": checkpoint_every,
            "--keep-names": keep_names,
            "--plot": plot,
            "--rounded": rounded,
            "--label-sets": label_sets,
        }
        for option, value in streaming.items():
            if value:
                raise ValueError(
                    f"{option} is for a stream, not for workers; leave out this, or --workers and "
                    "--dask"
                )
        if workers is not None and dask is not None:
            raise ValueError("--workers starts processes here, --dask names others: give one")
        train_on_workers(
            data or [],
            _required(model, "--model"),
            workers=workers,
            address=dask,
            test=test or [],
            algorithm=algorithm,
            params=parameters,
            format=format,
            reader_options=reading,
            text_options=texts,
            skip_bad_lines=skip_bad_lines,
            passes=passes,
            overwrite=overwrite,
            display=make_display(quiet=quiet, as_json=json),
        )
        return
    train_and_report(
        data or [],
        _required(model or resume, "--model"),
        test=test or [],
        plot=plot,
        algorithm=algorithm,
        params=parameters,
        format=format,
        reader_options=reading,
        text_options=texts,
        skip_bad_lines=skip_bad_lines,
        label_sets=label_sets,
        keep_names=keep_names,
        passes=passes,
        holdout=holdout,
        shuffle=shuffle,
        checkpoint_every=checkpoint_every,
        resume=resume,
        rounded=rounded,
        threads=threads,
        overwrite=overwrite,
        display=make_display(quiet=quiet, as_json=json),
    )


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
    output_format: Annotated[
        str, typer.Option(help="Of the predictions: tsv, jsonl or svmlight.")
    ] = "tsv",
    format: Format = "auto",  # noqa: A002
    text_column: TextColumn = None,
    delimiter: Delimiter = None,
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
        output_format=output_format,
        format=format,
        reader_options=reader_options(None, None, None, text_column, None, delimiter),
        skip_bad_lines=skip_bad_lines,
        threads=threads,
    )


def evaluate(
    model: Model,
    data: Data,
    format: Format = "auto",  # noqa: A002
    label_separator: LabelSeparator = None,
    label_column: LabelColumn = None,
    text_column: TextColumn = None,
    delimiter: Delimiter = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write JSON to this file too.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw results by label frequency, and calibration, such as to a.png."),
    ] = None,
    skip_bad_lines: SkipBadLines = False,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Measure a model on labelled rows."""
    from labeltree.cli.evaluate import evaluate_and_report

    evaluate_and_report(
        model,
        data,
        output=output,
        plot=plot,
        as_json=json,
        format=format,
        reader_options=reader_options(
            None, label_separator, label_column, text_column, None, delimiter
        ),
        skip_bad_lines=skip_bad_lines,
        threads=threads,
    )


def inspect_(
    model: Model,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the top of the tree.")] = False,
    depth: Annotated[
        int | None, typer.Option(help="How deep to draw; 4 on a terminal, 12 in files.", min=0)
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(help="Show how a row is predicted, and why.", metavar="FILE:LINE"),
    ] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the tree in Graphviz's language.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with a tree that unfolds.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what a model is: its size, parameters, labels and tree."""
    from labeltree.cli.inspect import inspect

    typer.echo(
        inspect(model, tree=tree, depth=depth, example=example, dot=dot, html=html, as_json=json),
        nl=False,
    )


def compile_(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")],
    keep: Annotated[
        float,
        typer.Option(
            help="The share to keep of all that weights matter; 1 keeps them all, in two bytes "
            "instead of one."
        ),
    ] = 0.999,
    overwrite: Overwrite = False,
) -> None:
    """Make a smaller model that only predicts."""
    from labeltree.cli.compile import compile_model

    typer.echo(compile_model(model, output, keep=keep, overwrite=overwrite), nl=False)


def merge(
    models: Annotated[list[Path], typer.Argument(help="Models of one configuration.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")],
    base: Annotated[
        Path | None, typer.Option(help="The model from which all of them went on.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Make one model of several that were trained on different rows."""
    from labeltree.cli.merge import merge_models

    typer.echo(merge_models(models, output, base=base, overwrite=overwrite), nl=False)


def tune(
    *,
    data: Data,
    model: Annotated[Path, typer.Option("--model", "-m", help="Where to write the best model.")],
    algorithm: Algorithm = algorithms.DEFAULT_ALGORITHM,
    budget: Annotated[str, typer.Option(help="How long to try: 90s, 10m, 1h.")] = "10m",
    trials: Annotated[int, typer.Option(help="How many settings to start with.", min=2)] = 8,
    format: Format = "auto",  # noqa: A002
    features: Features = None,
    hash_bits: HashBits = None,
    word_ngrams: WordNgrams = None,
    char_ngrams: CharNgrams = None,
    text_idf: TextIdf = None,
    label_separator: LabelSeparator = None,
    label_column: LabelColumn = None,
    text_column: TextColumn = None,
    weight_column: WeightColumn = None,
    delimiter: Delimiter = None,
    label_sets: LabelSets = None,
    skip_bad_lines: SkipBadLines = False,
    shuffle: Shuffle = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
    parameters: dict[str, Any],
) -> None:
    """Find good parameters by successive halving on progressive validation.

    Parameters that are given are kept as they are.
    """
    from labeltree.cli.display import make_table
    from labeltree.cli.tune import tune

    tune(
        data,
        model,
        algorithm=algorithm,
        fixed=parameters,
        budget=budget,
        trials=trials,
        format=format,
        reader_options=reader_options(
            features, label_separator, label_column, text_column, weight_column, delimiter
        ),
        text_options=text_options(hash_bits, word_ngrams, char_ngrams, text_idf),
        label_sets=label_sets,
        skip_bad_lines=skip_bad_lines,
        shuffle=shuffle,
        seed=seed,
        overwrite=overwrite,
        table=make_table(quiet=quiet, as_json=json),
    )


def serve(
    *,
    model: Annotated[
        Path | None,
        typer.Argument(help="A model file; a new model if it is not there.", metavar="MODEL"),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None, typer.Option(help="What requests must carry.", envvar="LABELTREE_TOKEN")
    ] = None,
    learn_token: Annotated[
        str | None,
        typer.Option(
            help="What those that learn must carry, if it is another.",
            envvar="LABELTREE_LEARN_TOKEN",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let everybody in, from everywhere.")
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Learn nothing.")] = False,
    log: Annotated[
        Path | None, typer.Option(help="The folder of the log; MODEL.log if not given.")
    ] = None,
    snapshot_every: Annotated[
        str, typer.Option(help="Save the model: every 60s, 10m, or 100k, 2M examples.")
    ] = "10m",
    sync_ms: Annotated[
        float, typer.Option(help="How long to wait for others to be written with.", min=0, max=1000)
    ] = 5.0,
    grace: Annotated[float, typer.Option(help="Seconds to finish in after SIGTERM.", min=1)] = 30.0,
    algorithm: Algorithm = algorithms.DEFAULT_ALGORITHM,
    text: Annotated[
        bool, typer.Option(help="A new model: learns from text, or from numbered features.")
    ] = True,
    hash_bits: HashBits = None,
    word_ngrams: WordNgrams = None,
    char_ngrams: CharNgrams = None,
    text_idf: TextIdf = None,
    label_sets: LabelSets = None,
    seed: Seed = 0,
    parameters: dict[str, Any],
) -> None:
    """Learn and answer over HTTP. Options of the algorithm are for a new model."""
    try:
        from labeltree.cli.serve import serve_model
    except ModuleNotFoundError as error:
        raise ImportError(
            f"serve needs {error.name}, which is not installed: pip install 'labeltree[serve]'"
        ) from error

    serve_model(
        model,
        host=host,
        port=port,
        token=token,
        learn_token=learn_token,
        insecure=insecure,
        read_only=read_only,
        log=log,
        snapshot_every=snapshot_every,
        sync_ms=sync_ms,
        grace=grace,
        algorithm=algorithm,
        params={"random_state": seed, **parameters},
        text=text,
        text_options=text_options(hash_bits, word_ngrams, char_ngrams, text_idf),
        label_sets=label_sets,
    )


def demo(
    examples: Annotated[int, typer.Option(help="How many texts to learn.", min=2000)] = 50_000,
    folder: Annotated[Path, typer.Option(help="Where to write the model and the plot.")] = Path(
        "labeltree-demo"
    ),
    seed: Seed = 0,
) -> None:
    """Learn from text: in which module of Python's own library a function stands."""
    from labeltree.cli.demo import demo

    demo(examples, folder, seed=seed)


def _required(value: Path | None, option: str) -> Path:
    if value is None:
        raise ValueError(f"{option} is missing: say where to write the model, as in -m m.labeltree")
    return value
