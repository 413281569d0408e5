"""How fast files are read: against scikit-learn's svmlight loader, and in MB/s per format.

    python -m bench.reading [--data DIR] [--repeats N]

DIR may hold `hypernym_train.txt.gz` (or another `*_train.txt.gz` in the Extreme Classification
format), which is then used instead of a synthetic file.
"""

import argparse
import gzip
import pathlib
import statistics
import tempfile
import time

import numpy as np
from sklearn.datasets import load_svmlight_file

from labeltree.data import load, stream


def synthetic_rows(n_rows=30_000, n_features=100_000, per_row=60, n_labels=1_000):
    rng = np.random.default_rng(0)
    for _ in range(n_rows):
        indices = np.unique(rng.zipf(1.3, per_row) % n_features)
        values = rng.random(len(indices))
        yield f"{rng.integers(n_labels)}", indices, values


def real_rows(path):
    with gzip.open(path, "rt") as file:
        next(file)
        for line in file:
            labels, _, features = line.rstrip("\n").partition(" ")
            pairs = [pair.split(":") for pair in features.split()]
            # One label, because scikit-learn needs to be told of label sets.
            label = labels.partition(",")[0] or "0"
            yield label, [int(i) for i, _ in pairs], [float(v) for _, v in pairs]


def write_files(rows, folder):
    paths = {name: folder / f"bench.{name}" for name in ("svm", "xmc", "vw", "tsv")}
    rows = list(rows)
    width = 1 + max(max(indices, default=0) for _, indices, _ in rows)
    n_labels = 1 + max(int(label) for label, _, _ in rows)
    with (
        open(paths["svm"], "w") as svm,
        open(paths["xmc"], "w") as xmc,
        open(paths["vw"], "w") as vw,
        open(paths["tsv"], "w") as tsv,
    ):
        xmc.write(f"{len(rows)} {width} {n_labels}\n")
        for label, indices, values in rows:
            pairs = [f"{i}:{v:.6g}" for i, v in zip(indices, values, strict=True)]
            sparse = f"{label} {' '.join(pairs)}\n"
            svm.write(sparse)
            xmc.write(sparse)
            vw.write(f"{label} |f {' '.join(pairs)}\n")
            tsv.write(f"{label}\t{' '.join(f'word{i}' for i in indices)}\n")
    paths["svm.gz"] = folder / "bench.svm.gz"
    paths["svm.gz"].write_bytes(gzip.compress(paths["svm"].read_bytes(), 1))
    return paths


def seconds(read):
    start = time.perf_counter()
    read()
    return time.perf_counter() - start


def read_in_batches(path):
    with stream(path) as batches:
        for _ in batches:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, help="a folder with *_train.txt.gz")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()

    rows = synthetic_rows()
    if args.data is not None:
        found = sorted(args.data.glob("*_train.txt.gz"))
        if not found:
            parser.error(f"{args.data} has no *_train.txt.gz")
        chosen = next((path for path in found if path.name.startswith("hypernym")), found[0])
        print(f"data: {chosen.name}")
        rows = real_rows(chosen)

    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(rows, pathlib.Path(folder))
        size = paths["svm"].stat().st_size / 1e6

        ours, theirs = load(paths["svm"]), load_svmlight_file(str(paths["svm"]), zero_based=True)
        np.testing.assert_array_equal(ours.X.indices, theirs[0].indices)
        np.testing.assert_array_equal(ours.X.data, theirs[0].data.astype(np.float32))
        np.testing.assert_array_equal(ours.y, theirs[1])

        # Interleaved, so that whatever else the machine does slows both alike.
        times = [
            (
                seconds(lambda: load(paths["svm"]).y),
                seconds(lambda: load_svmlight_file(str(paths["svm"]))),
            )
            for _ in range(args.repeats)
        ]
        ratios = [b / a for a, b in times]
        print(f"svmlight into CSR and labels, {size:.1f} MB, {args.repeats} repeats, one thread")
        for name, column in (("labeltree", 0), ("scikit-learn", 1)):
            best = min(pair[column] for pair in times)
            print(f"  {name:13s} {best * 1e3:8.1f} ms {size / best:8.1f} MB/s")
        print(
            f"  ratio         {statistics.median(ratios):8.1f} "
            f"(median; {min(ratios):.1f} to {max(ratios):.1f})"
        )

        print("MB/s of text, best of repeats     whole  batches")
        for name, path in paths.items():
            text_size = size if name == "svm.gz" else path.stat().st_size / 1e6
            whole = min(seconds(lambda: load(path)) for _ in range(args.repeats))  # noqa: B023
            batches = min(
                seconds(lambda: read_in_batches(path))  # noqa: B023
                for _ in range(args.repeats)
            )
            print(f"  {name:28s} {text_size / whole:8.1f} {text_size / batches:8.1f}")


if __name__ == "__main__":
    main()
