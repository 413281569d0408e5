"""What starting costs: importing labeltree after scikit-learn, and ``labeltree --help``.

Run ``python bench/startup.py [--repeats 7]``.
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
    print(f"{name:<36} {statistics.median(values):.3f} s (best {min(values):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    sklearn, labeltree, help_ = [], [], []
    for _ in range(parser.parse_args().repeats):
        command = [sys.executable, "-c", IMPORTS]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for values, seconds in zip((sklearn, labeltree), map(float, output.split()), strict=True):
            values.append(seconds)
        start = time.perf_counter()
        command = [sys.executable, "-m", "labeltree", "--help"]
        subprocess.run(command, check=True, capture_output=True)
        help_.append(time.perf_counter() - start)
    show("import sklearn", sklearn)
    show("then an estimator of labeltree", labeltree)
    show("labeltree --help, whole process", help_)


if __name__ == "__main__":
    main()
