"""The results as a Markdown page and two pictures."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.peers import FIRST, NAMES, peer
from bench.runs import OK, Cell

Runs = list[dict[str, Any]]
Groups = dict[Cell, Runs]

# Heading, and the figure of one run in the unit of the heading.
FIGURES = {
    "P@1": lambda run: percent(run["precision@1"]),
    "P@3": lambda run: percent(run["precision@3"]),
    "P@5": lambda run: percent(run["precision@5"]),
    "reading, s": lambda run: run["read_train"],
    "training, s": lambda run: run["train"],
    "rows/s": lambda run: run["rows_test"] / run["predict"],
    "p50, us": lambda run: 1e6 * run["p50"],
    "p99, us": lambda run: 1e6 * run["p99"],
    "training, MB": lambda run: run["memory_train"] / 1e6,
    "prediction, MB": lambda run: run["memory_predict"] / 1e6,
    "model, MB": lambda run: run["model"] / 1e6,
}
# Heading, and the figures whose sum is compared; reading only with peers that start from text.
RATIOS = {
    "training": ("train", "read_train"),
    "batch": ("predict", "read_test"),
    "p50": ("p50", None),
    "p99": ("p99", None),
    "memory, training": ("memory_train", None),
    "memory, prediction": ("memory_predict", None),
    "model": ("model", None),
}

INTRODUCTION = """# labeltree beside its peers

Written by `python -m bench`. Repeats: {repeats}; passes, where they can be set: {passes}; 2^{bits}
weights for Vowpal Wabbit and for labeltree's same algorithms; other settings are the defaults of
each system. All runs took turns on one machine: {machine}.

A cell has the median over the repeats, and in brackets the least and the most. "reading" is the
time to bring the training file into memory; it is part of "training" for systems marked with *,
which learn from a text file, and of rows/s for those marked with +, which predict one. Memory is
the most that the process held, the Python interpreter included. P@3 and P@5 are left out where a
system gives one label a row.
"""

RATIO_INTRODUCTION = """
How many times labeltree's figure the peer's is: above 1, labeltree is quicker or smaller. The
ratio is made within each repeat; median, and least to most over the repeats. Where the peer's
time has reading a text file in it, so has labeltree's. "P@1" is labeltree's less the peer's, in
points.
"""


def percent(precision: float | None) -> float | None:
    return None if precision is None else 100 * precision


def number(value: float) -> str:
    """Return three digits or so."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def spread(values: list[float | None], show: Any = number) -> str:
    """Return the median and the range, or a dash."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    middle, least, most = map(show, (statistics.median(known), min(known), max(known)))
    return middle if least == most else f"{middle} ({least} to {most})"


def signed(value: float) -> str:
    return f"{value:+.1f}"


def table(heading: list[str], rows: list[list[str]]) -> list[str]:
    lines = [heading, ["---"] * len(heading), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def grouped(runs: Runs) -> Groups:
    """Return the runs that went well by what was run."""
    groups: Groups = defaultdict(list)
    for run in runs:
        if run["status"] == OK:
            groups[cell_of(run)].append(run)
    return dict(sorted(groups.items()))


def cell_of(run: dict[str, Any]) -> Cell:
    return Cell(*(run[name] for name in Cell._fields))


def system(cell: Cell) -> str:
    marks = peer(cell.peer).from_text
    return f"{cell.peer} {cell.algorithm}" + "*" * ("train" in marks) + "+" * ("predict" in marks)


def figures(groups: Groups, data: str) -> list[str]:
    """Return the table of one data set."""
    rows = []
    for cell, runs in groups.items():
        if cell.data == data:
            shown = [spread([figure(run) for run in runs]) for figure in FIGURES.values()]
            rows.append([system(cell), str(cell.threads), *shown])
    return table(["system", "threads", *FIGURES], rows)


def pairs(groups: Groups, cell: Cell) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each run of a peer with labeltree's of the same repeat."""
    other = Cell(cell.data, FIRST, peer(cell.peer).algorithms[cell.algorithm], cell.threads)
    ours = {run["repeat"]: run for run in groups.get(other, [])}
    return [(ours[run["repeat"]], run) for run in groups[cell] if run["repeat"] in ours]


def ratios(groups: Groups) -> list[list[str]]:
    """Return a row for each thing a peer ran and labeltree has a counterpart of."""
    rows = []
    for cell in groups:
        both = pairs(groups, cell)
        if cell.peer == FIRST or not both:
            continue
        found = peer(cell.peer)
        row = [cell.data, system(cell), found.algorithms[cell.algorithm], str(cell.threads)]
        gain = [100 * (ours["precision@1"] - theirs["precision@1"]) for ours, theirs in both]
        row.append(spread(list(gain), signed))
        for name, reading in RATIOS.values():
            keys = [name, reading] if name in found.from_text else [name]
            row.append(spread([sum(t[k] for k in keys) / sum(o[k] for k in keys) for o, t in both]))
        rows.append(row)
    return rows


def speedups(groups: Groups) -> list[list[str]]:
    """Return how much quicker each system is with more threads."""
    rows = []
    for cell in groups:
        alone = {run["repeat"]: run for run in groups.get(cell._replace(threads=1), [])}
        both = [(alone[r["repeat"]], r) for r in groups[cell] if r["repeat"] in alone]
        if cell.threads == 1 or not both:
            continue
        gain = [100 * (two["precision@1"] - one["precision@1"]) for one, two in both]
        times = [spread([one[k] / two[k] for one, two in both]) for k in ("train", "predict")]
        rows.append(
            [cell.data, system(cell), str(cell.threads), *times, spread(list(gain), signed)]
        )
    return rows


def not_measured(results: dict[str, Any]) -> list[str]:
    """Return what is missing from the tables, and why."""
    lines = [
        f"- {name} could not be installed: {found['reason']}"
        for name, found in results["peers"].items()
        if "reason" in found
    ]
    reasons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for run in results["runs"]:
        if run["status"] != OK:
            text = (
                run["reason"] if run["status"] == "refused" else f"{run['status']}: {run['reason']}"
            )
            key = (run["peer"], run["algorithm"], text)
            where = f"{run['data']} ({run['threads']})"
            if where not in reasons[key]:
                reasons[key].append(where)
    lines += [
        f"- {name} {algorithm}, on {', '.join(where)}: {text}"
        for (name, algorithm, text), where in reasons.items()
    ]
    return lines or ["Nothing: every run went well."]


def page(results: dict[str, Any], plots: dict[str, str]) -> str:
    """Return the report in Markdown."""
    groups = grouped(results["runs"])
    repeats = len({run["repeat"] for run in results["runs"]})
    versions = [
        f"{name} {found['version']}"
        for name, found in results["peers"].items()
        if "version" in found
    ]
    lines = [
        INTRODUCTION.format(repeats=repeats, machine=results["machine"], **results["settings"]),
        f"Versions: {', '.join(versions)}.\n",
        "## Ratios",
        RATIO_INTRODUCTION,
        *table(["data", "peer", "labeltree's", "threads", "P@1", *RATIOS], ratios(groups)),
    ]
    rows = speedups(groups)
    if rows:
        heading = ["data", "system", "threads", "training", "batch", "P@1"]
        lines += [
            "\n## More threads\n",
            "How many times quicker than with one; the change of P@1 in points.\n",
            *table(heading, rows),
        ]
    for data in dict.fromkeys(cell.data for cell in groups):
        lines += [f"\n## {data}\n", *figures(groups, data)]
    lines += ["\n## Not measured\n\nIn brackets the number of threads.\n", *not_measured(results)]
    lines += [f"\n![{title}]({path})" for title, path in plots.items()]
    return "\n".join(lines) + "\n"


def draw(groups: Groups, path: Path, title: str, seconds: Any) -> None:
    """Draw precision@1 against a time of each run's, one panel a data set.

    A point is the median over the repeats, its bars reach from the least to the most.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from labeltree import plot

    data_sets = list(dict.fromkeys(cell.data for cell in groups))
    systems = {(name, algorithm) for _, name, algorithm, _ in groups}
    kinds = list(peer(FIRST).algorithms)  # a marker each, also for a peer's counterpart
    ordered = [(name, a) for name in NAMES for a in peer(name).algorithms if (name, a) in systems]
    columns = min(3, len(data_sets))
    count = -(-len(data_sets) // columns)
    with plot.style("both") as scheme:
        figure = plot.figure(count, columns, size=(4.2 * columns + 2.5, 3.6 * count))
        for axis, data in zip(figure.axes, data_sets, strict=False):
            plot.axes(data, title, "precision@1, %", ax=axis)
            for name, algorithm in ordered:
                runs = groups.get(Cell(data, name, algorithm, 1), [])
                if runs:
                    times = [seconds(run) for run in runs]
                    right = [100 * run["precision@1"] for run in runs]
                    x, y = statistics.median(times), statistics.median(right)
                    axis.errorbar(
                        x,
                        y,
                        xerr=[[x - min(times)], [max(times) - x]],
                        yerr=[[y - min(right)], [max(right) - y]],
                        linestyle="none",
                        marker="os^Dv*P"[kinds.index(peer(name).algorithms[algorithm])],
                        color=scheme.lines[NAMES.index(name) % len(scheme.lines)],
                        fillstyle="full" if NAMES.index(name) < len(scheme.lines) else "none",
                        linewidth=1,
                        capsize=0,
                        label=f"{name} {algorithm}",
                    )
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.grid(visible=True)
        for axis in figure.axes[len(data_sets) :]:
            axis.remove()
        shown = [axis.get_legend_handles_labels() for axis in figure.axes]
        known = {label: handle for pair in shown for handle, label in zip(*pair, strict=True)}
        names = [f"{name} {algorithm}" for name, algorithm in ordered]
        legend = {name: known[name] for name in names}
        figure.legend(list(legend.values()), list(legend), loc="outside right upper", fontsize=8)
        plot.write(figure, path)


PLOTS = {
    "training": ("training, s", lambda run: run["train"]),
    "prediction": (
        "prediction of a row in a batch, us",
        lambda run: 1e6 * run["predict"] / run["rows_test"],
    ),
}


def write(results: dict[str, Any], out: Path) -> None:
    """Write ``report.md`` and the pictures beside the results."""
    groups = {cell: runs for cell, runs in grouped(results["runs"]).items() if cell.threads == 1}
    plots = {}
    for name, (title, seconds) in PLOTS.items():
        if groups:
            draw(groups, out / f"{name}.svg", f"{title}, one thread", seconds)
            plots[f"precision@1 against {title}"] = f"{name}.svg"
    (out / "report.md").write_text(page(results, plots))
