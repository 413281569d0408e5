"""Each part of LabelTreeClassifier on and off, on a hold-out of the training files.

    python -m bench.ablation --data DIR --out docs/ablation.md --plot docs/ablation.svg

Learns 80 % of each training file and measures the other 20 %; the test files are not read. Page
and plot are written anew after each setting.
"""

import argparse
import os
import pathlib

import numpy as np

from bench.data import read, split
from bench.label_tree import DATA, fit_and_predict
from labeltree import plot

VARIANTS = {
    "default": {},
    "no index": {"index_length": 0},
    "no scorers": {"scorers": False},
    "no clustering": {"organize": False},
    "one tree": {"n_trees": 1},
    "three trees": {"n_trees": 3},
    "one pass": {"passes": 1},
    "beam=3": {"beam": 3},
    "beam=40": {"beam": 40},
    "candidates=5": {"candidates": 5},
    "candidates=20": {"candidates": 20},
    "min_gradient=0": {"min_gradient": 0.0},
    "adaptive update": {"update": "adaptive"},
    "dual update": {"update": "dual"},
    "stream": {"stream": True},
    "stream, replay=0": {"stream": True, "replay": 0},
    "stream, no clustering": {"stream": True, "organize": False},
}

SETTLED = {"update": "scorer_update_"}  # where a model tells what it chose, if by another name

INTRODUCTION = """# What each part of LabelTreeClassifier is worth

Written by `{command}`.

Each row changes one setting of the default; the other settings stay. Four fifths of each training
file are learned, chosen with a fixed seed, and the rest is measured; the test files play no part.
One thread, one seed: differences of a few tenths of a point may be chance, and times are those of
a shared machine.

Where a setting is what the default chooses for that data set, the cell says "same": only sparse
rows of unit length have an index, and with it one tree; the others have three. "No index" turns
one tree into three where there was an index. A dash stands where nothing was measured. "Stream" is
one pass of `partial_fit` in the order of the file, with rows that are learned again and without.
"""


def measure(parts, parameters, default):
    """Return precision@1, seconds of training, microseconds a predicted row, and the model.

    None in place of the figures where the parameters are what the default model chose.
    """
    settled = {SETTLED.get(name, f"{name}_"): value for name, value in parameters.items()}
    if default and all(getattr(default, name, None) == settled[name] for name in settled):
        return None, default
    precision, training, prediction, clf = fit_and_predict(*parts, **parameters)
    return (100 * precision[0], training, 1e6 * prediction / len(parts[3])), clf


def cell(runs, variant):
    if variant not in runs:
        return "-"
    run = runs[variant]
    return "same" if run is None else "{:.1f}, {:.1f} s, {:.0f} us".format(*run)


def write_page(path, picture, results):
    only = "" if list(results) == list(DATA) else f" --only {' '.join(results)}"
    lines = [
        INTRODUCTION.format(command=f"python -m bench.ablation --data DIR{only}"),
        "Precision@1 in percent, seconds of training, microseconds to predict a row:\n",
        f"| | {' | '.join(results)} |",
        "|---" * (len(results) + 1) + "|",
    ]
    for variant in VARIANTS:
        cells = " | ".join(cell(runs, variant) for runs in results.values())
        lines.append(f"| {variant} | {cells} |")
    lines.append(f"\n![Change of precision@1 against the default]({picture})")
    path.write_text("\n".join(lines) + "\n")


def write_plot(path, results):
    measured = set.union(*(set(runs) for runs in results.values()))
    variants = [variant for variant in VARIANTS if variant in measured and variant != "default"]
    places = np.arange(len(variants))
    with plot.style("both") as scheme:
        better, worse = scheme.lines[0], scheme.lines[1]
        columns = min(3, len(results))
        rows = -(-len(results) // columns)
        size = (2.3 * columns + 1.8, rows * (0.23 * len(variants) + 0.9))
        figure = plot.figure(rows, columns, size=size)
        for axis in figure.axes[len(results) :]:
            axis.remove()
        for i, (axis, (data, runs)) in enumerate(zip(figure.axes, results.items(), strict=True)):
            base = runs["default"][0]
            plot.axes(data, "", "", note=f"default {base:.1f}", ax=axis)
            changes = [(runs.get(variant) or runs["default"])[0] - base for variant in variants]
            colors = [better if change >= 0 else worse for change in changes]
            axis.barh(places, changes, 0.7, color=colors)
            axis.axvline(0, color=scheme.quiet, linewidth=0.8)
            for place, change in zip(places, changes, strict=True):
                if abs(change) >= 0.05:
                    axis.annotate(
                        f"{change:+.1f}".replace("-", "\N{MINUS SIGN}"),
                        (change, place),
                        (3 if change > 0 else -3, 0),
                        textcoords="offset points",
                        va="center",
                        ha="left" if change > 0 else "right",
                        fontsize=8,
                    )
            axis.margins(x=0.35, y=0.02)
            axis.invert_yaxis()
            axis.grid(visible=False)
            axis.set_xticks([])
            axis.set_yticks(places, [""] * len(variants) if i % columns else variants)
            axis.tick_params(axis="y", length=0)
            for spine in axis.spines.values():
                spine.set_visible(False)
        figure.supxlabel("precision@1, points above or below the default", fontsize=9)
        plot.write(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/ablation.md"))
    parser.add_argument("--plot", type=pathlib.Path, default=pathlib.Path("docs/ablation.svg"))
    arguments = parser.parse_args()
    picture = pathlib.Path(os.path.relpath(arguments.plot, arguments.out.parent)).as_posix()
    parts = {data: split(*read(arguments.data, data, "train")) for data in arguments.only}
    results = {data: {} for data in arguments.only}
    defaults = {}
    for variant, parameters in VARIANTS.items():
        for data, runs in results.items():
            runs[variant], clf = measure(parts[data], parameters, defaults.get(data))
            defaults.setdefault(data, clf)
            print(f"{data:<12} {variant:<16} {cell(runs, variant)}", flush=True)
        write_page(arguments.out, picture, results)
        write_plot(arguments.plot, results)


if __name__ == "__main__":
    main()
