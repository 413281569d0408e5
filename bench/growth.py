"""Why the cost of an example grows with the labels: its instructions, and its misses in a cache.

    python -m bench.growth [--only NAME ...] [--sizes N ...] [--rows N] [--bits 26] [--jobs N]

The models, rows and batches are those of `bench.scaling --of labels`. Each model learns in a
process under `valgrind --tool=callgrind`, which executes instructions one by one, and models two
levels of a cache: `CORE`, that of one core, and `SHARED`, the last. Up to `--rows` examples are
counted, learned and then predicted, after others have filled the cache. This is some 5 times as
slow as bare until it counts, then some 100 times, whatever else runs beside: `--jobs` at a time.

Then the same is timed without valgrind, on a quiet machine please, and so is a loop over lines at
random places of tables as large as half of either level, and of the whole table (misses.cpp): 20
lines are asked for together, as a node asks for those of a row, the next when these are there. The
last column of the table is the time left over if each instruction takes as long as with the fewest
labels, for each miss more than there. The modelled cache fetches nothing ahead, and misses of the
table of pages are not counted.
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
    control("-i", "on")
    for seed, work in enumerate((lambda X, y: clf.partial_fit(X, y), lambda X, _: clf.predict(X))):
        for y in (after[:warm], after[warm : warm + counted]):
            X = rows(y, nnz=case.nnz, seed=(1, seed))
            control("--zero")
            work(X, y)
        control("--dump")
        after = np.roll(after, -warm - counted)  # what was learned just now is in the cache
    control("-i", "off")
    print(min(counted, labels - warm))


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


def cost_of_lines(bits):
    """Return nanoseconds of a line in tables half as large as each level, and in the whole one."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "misses")
        subprocess.run(["c++", "-O2", "-o", program, ROOT / "bench" / "misses.cpp"], check=True)
        sizes = [str(size) for size in (CORE // 2, SHARED // 2, 8 << bits)]
        out = subprocess.run(
            [program, str(TOGETHER), *sizes], check=True, text=True, stdout=subprocess.PIPE
        ).stdout
    return [float(line) for line in out.split()]


def table(counted, timed):
    """Return the lines of a table: counts, times, how they grow, and what the counts leave over."""
    lines = [
        "| | labels | instructions | misses | in the last level | µs | ns for each more miss |"
    ]
    lines.append("|---" * 7 + "|")
    for name, kind in dict.fromkeys((name, kind) for name, kind, _ in counted):
        points = {size: of for (n, k, size), of in counted.items() if (n, k) == (name, kind)}
        least = min(points)
        first, at_first = points[least], timed.get((name, kind, least), np.nan)
        for size, of in sorted(points.items()):
            spent = timed.get((name, kind, size), np.nan)
            cells = [
                f"{now:,.0f}" + (f" ({now / then:.2f})" if then >= 1 else "")
                for now, then in zip(of, first, strict=True)
            ]
            cells.append(f"{spent:.1f} ({spent / at_first:.2f})")
            left = 1e3 * (spent - at_first * of[0] / first[0])
            cells.append(f"{left / (of[1] - first[1]):.0f}" if size > least else "")
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
    near, shared, far = cost_of_lines(options.bits)
    print(f"ns a line: {near:.1f} near a core, {shared:.1f} in the last level, {far:.1f} beyond")
    print(*table(counted, timed), sep="\n")


if __name__ == "__main__":
    main()
