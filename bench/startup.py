"""What starting costs: importing numpy, labeltree, and scikit-learn, and asking for help.

Run ``python -m bench.startup [--repeats 7]``.
"""

import argparse
import statistics
import subprocess
import sys
import time

IMPORTS = {
    "import numpy, scipy.sparse": "import numpy, scipy.sparse",
    "then an estimator of labeltree": "from labeltree import LabelTreeClassifier",
    "then scikit-learn, which it does without": "import sklearn.base",
}
STEP = """
start = time.perf_counter()
{}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def show(name, values):
    seconds, *memory = map(statistics.median, zip(*values, strict=True))
    best = min(values)[0]
    print(f"{name:<48} {seconds:.3f} s (best {best:.3f})", *(f"{m:.0f} MB" for m in memory))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    imports = {name: [] for name in IMPORTS}
    code = "import resource, time" + "".join(map(STEP.format, IMPORTS.values()))
    helps = {"--help": [], "train --help": [], "train --algorithm recall-tree --help": []}
    for _ in range(parser.parse_args().repeats):
        command = [sys.executable, "-c", code]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for values, line in zip(imports.values(), output.splitlines(), strict=True):
            values.append(tuple(map(float, line.split())))
        for arguments, seconds in helps.items():
            start = time.perf_counter()
            command = [sys.executable, "-m", "labeltree", *arguments.split()]
            subprocess.run(command, check=True, capture_output=True)
            seconds.append((time.perf_counter() - start,))
    for name, values in imports.items():
        show(name, values)
    for arguments, seconds in helps.items():
        show(f"labeltree {arguments}", seconds)


if __name__ == "__main__":
    main()
