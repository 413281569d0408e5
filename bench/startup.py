"""What starting costs: importing labeltree after scikit-learn, and asking for help.

Run ``python -m bench.startup [--repeats 7]``.
"""

import argparse
import statistics
import subprocess
import sys
import time

IMPORTS = """
import time
start = time.perf_counter()
import sklearn
middle = time.perf_counter()
from labeltree import OneAgainstAllClassifier
print(middle - start, time.perf_counter() - middle)
"""


def show(name, values):
    print(f"{name:<48} {statistics.median(values):.3f} s (best {min(values):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    sklearn, labeltree = [], []
    helps = {"--help": [], "train --help": [], "train --algorithm recall-tree --help": []}
    for _ in range(parser.parse_args().repeats):
        command = [sys.executable, "-c", IMPORTS]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for values, seconds in zip((sklearn, labeltree), map(float, output.split()), strict=True):
            values.append(seconds)
        for arguments, seconds in helps.items():
            start = time.perf_counter()
            command = [sys.executable, "-m", "labeltree", *arguments.split()]
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
    show("import sklearn", sklearn)
    show("then an estimator of labeltree", labeltree)
    for arguments, seconds in helps.items():
        show(f"labeltree {arguments}", seconds)


if __name__ == "__main__":
    main()
