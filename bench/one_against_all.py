"""One-against-all against vowpalwabbit's, on glyph1000, in one run, interleaved.

    python bench/one_against_all.py --data DIR [--passes 3] [--repeats 1]

Both read the training file from disk, make the same number of passes over it with logistic loss
on one thread, and are then measured on the test file. vowpalwabbit runs in a virtual environment
of its own, made by this script, through its native file path with a cache.
"""

import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import venv

VW = """
import sys, time, json
import vowpalwabbit
train, test, folder, passes, labels = sys.argv[1:]
start = time.perf_counter()
vw = vowpalwabbit.Workspace(
    f"--quiet -d {train} --cache_file {folder}/cache -k --passes {passes} --holdout_off "
    f"--oaa {labels} --loss_function logistic -b 24 -f {folder}/model"
)
vw.finish()
seconds = time.perf_counter() - start
vw = vowpalwabbit.Workspace(f"--quiet -t -d {test} -i {folder}/model")
error = vw.get_sum_loss() / vw.get_weighted_examples()
vw.finish()
print(json.dumps({"seconds": seconds, "error": error}))
"""


def peer_python(folder):
    python = folder / "vowpalwabbit" / "bin" / "python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "vowpalwabbit"], check=True)
    return python


def write_vw(source, target):
    with gzip.open(source, "rt") as lines, open(target, "w") as out:
        next(lines)
        for line in lines:
            label, _, features = line.rstrip("\n").partition(" ")
            out.write(f"{int(label) + 1} | {features}\n")


def run_labeltree(train, test, passes):
    from labeltree import OneAgainstAllClassifier
    from labeltree.data import load

    start = time.perf_counter()
    data = load(train)
    clf = OneAgainstAllClassifier(passes=passes, random_state=0).fit(data.X.toarray(), data.y)
    seconds = time.perf_counter() - start
    data = load(test)
    return {"seconds": seconds, "error": 1 - clf.score(data.X.toarray(), data.y)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--peers", type=pathlib.Path, default=pathlib.Path("build/peers"))
    arguments = parser.parse_args()
    python = peer_python(arguments.peers.absolute())
    train, test = (arguments.data / f"glyph1000_{part}.txt.gz" for part in ("train", "test"))
    results = {"labeltree": [], "vowpalwabbit": []}
    with tempfile.TemporaryDirectory() as folder:
        vw_files = [f"{folder}/train.vw", f"{folder}/test.vw"]
        write_vw(train, vw_files[0])
        write_vw(test, vw_files[1])
        for _ in range(arguments.repeats):
            results["labeltree"].append(run_labeltree(train, test, arguments.passes))
            command = [python, "-c", VW, *vw_files, folder, str(arguments.passes), "1000"]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results["vowpalwabbit"].append(json.loads(output.splitlines()[-1]))
    seconds = {}
    for name, runs in results.items():
        seconds[name] = statistics.median(run["seconds"] for run in runs)
        errors = sorted(run["error"] for run in runs)
        print(f"{name:<14} {seconds[name]:8.1f} s   test error {errors[len(errors) // 2]:.4f}")
    print(f"vowpalwabbit takes {seconds['vowpalwabbit'] / seconds['labeltree']:.1f} times as long")


if __name__ == "__main__":
    sys.exit(main())
