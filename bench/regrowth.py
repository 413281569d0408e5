"""What trees that are grown anew cost a stream, and how long any one row waits for it.

    python -m bench.regrowth [--labels 100000] [--features 64] [--rows 130000]

Learns dense rows one at a time, each label once before any comes twice, with and without trees
grown anew (`organize`), and prints the time of all rows, of the slowest, and how many took more
than 50 ms; by the clock, and by the processor's time, which does not count what else runs.
"""

import argparse
import time

import numpy as np

from labeltree import LabelTreeClassifier

REPLAY = 256  # megabytes: the rows of 10^5 labels fit


def seconds_of_rows(centres, labels, *, organize, seed=0):
    """Learn a row of each label in turn; return how long each took, by clock and processor."""
    rng = np.random.default_rng(seed)
    clf = LabelTreeClassifier(organize=organize, replay=REPLAY, random_state=0)
    seconds = np.zeros((2, len(labels)))
    for i, label in enumerate(labels):
        noise = rng.normal(scale=0.5, size=(1, centres.shape[1]))
        row = (centres[label] + noise).astype(np.float32)
        start = time.perf_counter(), time.process_time()
        clf.partial_fit(row, labels[i : i + 1])
        seconds[:, i] = time.perf_counter() - start[0], time.process_time() - start[1]
    return seconds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--rows", type=int, default=130_000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(args.labels, args.features))
    again = rng.integers(0, args.labels, max(0, args.rows - args.labels))
    labels = np.concatenate([rng.permutation(args.labels), again])[: args.rows]
    print(
        "| trees grown anew | time of | all rows, s | median, ms | 99.9 %, ms | slowest, ms "
        "| above 50 ms |"
    )
    print("|---|---|---|---|---|---|---|")
    for organize in (True, False):
        both = 1000 * seconds_of_rows(centres, labels, organize=organize)
        for name, ms in zip(("clock", "processor"), both, strict=True):
            print(
                f"| {'yes' if organize else 'no'} | {name} | {ms.sum() / 1000:.0f} "
                f"| {np.median(ms):.2f} | {np.quantile(ms, 0.999):.1f} | {ms.max():.0f} "
                f"| {(ms > 50).sum()} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
