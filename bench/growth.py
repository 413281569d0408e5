"""Why the cost of an example grows with the labels: its instructions, and its misses in a cache.

    python -m bench.growth [--only NAME ...] [--sizes N ...] [--rows N] [--bits 26] [--jobs N]

The models, rows and batches are those of `bench.scaling --of labels`. Each model learns in a
process under `valgrind --tool=callgrind`, which executes instructions one by one, and models two
levels of a cache: `CORE`, that of one core, and `SHARED`, the last. Up to `--rows` examples are
counted, learned and then predicted, after others have filled the cache. This is some 5 times as
slow as bare until it counts, then some 100 times, whatever else runs beside: `--jobs` at a time.

Then the same is timed without valgrind, on a quiet machine please, and so is a loop over lines at
random places of tables as large as half of either level, and of the whole table (misses.cpp): 20
lines are asked for together, as a node asks for those of a row, the next when these are there. "By
the model" is the time that results from that cost of a miss in either level, and from as much time
for an instruction as with the fewest labels. Misses of the table of pages are not in it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bench.environments import ROOT
from bench.scaling import LEARNED_AT_ONCE, SWEEPS, TREES, in_batches, measure
from bench.synthetic import rows
from labeltree.estimators import ESTIMATORS

CORE, SHARED = 1 << 20, 32 << 20  # bytes of the cache of a core, and of the last level
WAYS, LINE = 16, 64
WARM = 2000  # examples before those that are counted
TOGETHER = 20  # lines that are read at once
KINDS = ("learning", "prediction")


def control(*command):
    """Tell valgrind, which runs this process, what to do."""
    subprocess.run(
        ["callgrind_control", *command, str(os.getpid())], check=True, stdout=subprocess.DEVNULL
    )


def be_counted(name, labels, counted, bits):
    """Learn an example of each label; then have those of some more counted, each kind apart."""
    case = SWEEPS["labels"].case(name, labels)
    clf = ESTIMATORS[name](bits=bits, random_state=0, **case.parameters)
    for X, y in in_batches(
        np.random.default_rng(0).permutation(labels), LEARNED_AT_ONCE, case.nnz, 0
    ):
        clf.partial_fit(X, y)
    after = np.random.default_rng(1).permutation(labels)
    warm = min(WARM, labels // 2)
    parts = (after[:warm], 1), (after[warm : warm + counted], 2)
    first, second = ((rows(y, nnz=case.nnz, seed=seed), y) for y, seed in parts)
    control("-i", "on")
    for work in (lambda rows: clf.partial_fit(*rows), lambda rows: clf.predict(rows[0])):
        work(first)
        control("--zero")
        work(second)
        control("--dump")
    control("-i", "off")
    print(len(second[1]))


def counts(name, labels, examples, bits):
    """Return instructions and misses in both levels an example, for each kind."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes"),
            *(f"--D1={CORE},{WAYS},{LINE}", f"--LL={SHARED},{WAYS},{LINE}"),
            f"--callgrind-out-file={folder}/counts",
            *(sys.executable, "-m", "bench.growth", "--be-counted", name),
            *("--sizes", str(labels), "--rows", str(examples), "--bits", str(bits)),
        ]
        out = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout
        examples = int(out.split()[-1])
        return {
            kind: totals(Path(folder, f"counts.{number}")) / examples
            for number, kind in enumerate(KINDS, start=1)
        }


def totals(path):
    """Return instructions, misses in the first level, and in the last, that a file tells of."""
    lines = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line)
    of = dict(zip(lines["events"].split(), map(int, lines["summary"].split()), strict=True))
    first, last = ((of[f"{level}mr"] + of[f"{level}mw"]) for level in ("D1", "DL"))
    return np.array([of["Ir"], first, last], dtype=float)


def cost_of_misses(bits):
    """Return nanoseconds of a miss in the first level, and what one in the last costs besides."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "misses")
        subprocess.run(["c++", "-O2", "-o", program, ROOT / "bench" / "misses.cpp"], check=True)
        sizes = [CORE // 2, SHARED // 2, 8 << bits]
        out = subprocess.run(
            [program, str(TOGETHER), *map(str, sizes)],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        ).stdout
    return np.diff([float(line) for line in out.split()])


def table(counted, timed, misses):
    """Return the lines of a table: counts, times, what the counts explain, and how all grow."""
    lines = ["| | labels | instructions | misses | in the last level | µs | by the model |"]
    lines.append("|---" * 7 + "|")
    for name, kind in dict.fromkeys((name, kind) for name, kind, _ in counted):
        points = {size: of for (n, k, size), of in counted.items() if (n, k) == (name, kind)}
        least = min(points)
        per_instruction = None
        for size, of in sorted(points.items()):
            missed = 1e-3 * np.dot(misses, of[1:])
            spent = timed.get((name, kind, size), np.nan)
            if size == least:
                per_instruction, first = (spent - missed) / of[0], (spent, of)
            model = per_instruction * of[0] + missed
            growth = [
                now / then for now, then in zip((*of, spent), (*first[1], first[0]), strict=True)
            ]
            cells = [
                f"{value:,.0f} ({times:.2f})" for value, times in zip(of, growth, strict=False)
            ]
            cells += [f"{us:.1f} ({us / first[0]:.2f})" for us in (spent, model)]
            lines.append(f"| {name}, {kind} | {size:,} | {' | '.join(cells)} |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=TREES, default=TREES)
    parser.add_argument("--sizes", nargs="+", type=int, default=SWEEPS["labels"].sizes)
    parser.add_argument("--rows", type=int, default=2000, help="examples counted, at most")
    parser.add_argument("--timed", type=int, default=10_000, help="examples timed")
    parser.add_argument("--bits", type=int, default=26)
    parser.add_argument("--jobs", type=int, default=1, help="models counted at a time")
    parser.add_argument("--be-counted", choices=TREES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.be_counted:
        be_counted(options.be_counted, options.sizes[0], options.rows, options.bits)
        return
    cases = [(name, size) for name in options.only for size in options.sizes]
    counted, timed = {}, {}
    with ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda case: counts(*case, options.rows, options.bits), cases)
        for (name, size), of in zip(cases, found, strict=True):
            for kind in KINDS:
                counted[name, kind, size] = of[kind]
                print(name, kind, size, of[kind].round().tolist(), flush=True)
    for name, size in cases if options.timed else []:
        costs = measure(name, SWEEPS["labels"].case(name, size), options.timed, options.bits)
        timed |= {(name, kind, size): cost for kind, cost in zip(KINDS, costs, strict=False)}
    misses = cost_of_misses(options.bits)
    print(f"{misses[0]:.1f} ns a miss in the first level, {misses[1]:.1f} more in the last")
    print(*table(counted, timed, misses), sep="\n")


if __name__ == "__main__":
    main()
