"""What `labeltree train` costs besides learning, and how fast `labeltree predict` answers a pipe.

Writes a gzip-compressed text file of next-token examples of the standard library, trains on it
from the command line, and compares the time of the whole process with the time that the core
spends learning. Then asks a running `labeltree predict` line by line. Run
``python -m bench.cli [--examples 1000000] [--words 20] [--algorithm NAME]``.
"""

import argparse
import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from labeltree.datasets import stdlib_tokens

# The command line in a process whose learner tells how long it was asked to learn.
TIMED = """
import sys, time
start = time.perf_counter()
from labeltree.algorithms import estimator_class
from labeltree.cli.train import train
from pathlib import Path

algorithm, data, model = sys.argv[1:]
estimator = estimator_class(algorithm)
spent = {"learn": 0.0, "partial_fit": 0.0}

class Timed:
    def __init__(self, learner):
        self.__dict__["learner"] = learner
    def __getattr__(self, name):
        return getattr(self.learner, name)
    def learn(self, *arguments):
        start = time.perf_counter()
        try:
            return self.learner.learn(*arguments)
        finally:
            spent["learn"] += time.perf_counter() - start

make, partial_fit = estimator._make_learner, estimator.partial_fit
estimator._make_learner = lambda self: Timed(make(self))
def timed(self, *arguments, **options):
    start = time.perf_counter()
    try:
        return partial_fit(self, *arguments, **options)
    finally:
        spent["partial_fit"] += time.perf_counter() - start
estimator.partial_fit = timed
begin = time.perf_counter()
train([data], Path(model), algorithm=algorithm, params={"random_state": 0})
end = time.perf_counter()
print(begin - start, end - begin, spent["partial_fit"], spent["learn"])
"""


def write_text(path, examples, context):
    """Write a label and its features as words, a line an example."""
    with gzip.open(path, "wt", compresslevel=6) as file:
        for X, y in stdlib_tokens(context, examples, batch_size=8192):
            words = [f"w{column:x}" for column in X.indices.tolist()]
            for i, label in enumerate(y):
                row = words[X.indptr[i] : X.indptr[i + 1]]
                file.write(f"{label}\t{' '.join(row)}\n")


def time_training(folder, algorithm):
    command = [sys.executable, "-c", TIMED, algorithm, folder / "tokens.tsv.gz", folder / "m"]
    start = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    whole = time.perf_counter() - start
    imports, training, partial_fit, learn = map(float, output.split())
    print(f"{algorithm}: {whole:.1f} s for the whole process, {imports:.1f} s of it imports")
    for name, seconds in [("partial_fit", partial_fit), ("the core's learn", learn)]:
        print(
            f"  {name:<18} {seconds:6.2f} s; outside it {1 - seconds / training:.1%} of train()'s "
            f"{training:.2f} s, {1 - seconds / whole:.1%} of the process"
        )


def time_pipe(folder, lines=2000):
    with gzip.open(folder / "tokens.tsv.gz", "rt") as file:
        rows = [next(file) for _ in range(lines)]
    command = [sys.executable, "-m", "labeltree", "predict", folder / "m", "-", "--top", "5"]
    took = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for row in rows:
            begin = time.perf_counter()
            process.stdin.write(row)
            process.stdin.flush()
            process.stdout.readline()
            took.append(time.perf_counter() - begin)
        process.stdin.close()
    took, first = took[1:], took[0]
    print(f"predict on a pipe: first answer after {first:.2f} s; then per line, in milliseconds:")
    cuts = [1e3 * cut for cut in statistics.quantiles(took, n=100)]
    print(f"  median {cuts[49]:.2f}, 95 % below {cuts[94]:.2f}, most {1e3 * max(took):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--algorithm", default="probability-tree")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "tokens.tsv.gz", options.examples, options.words)
        size = os.path.getsize(folder / "tokens.tsv.gz") / 1e6
        print(f"{options.examples:,} examples of {options.words} words, {size:.1f} MB")
        time_training(folder, options.algorithm)
        time_pipe(folder)


if __name__ == "__main__":
    main()
