"""More rows than a worker has memory for twice: files in, a model out, on workers with a limit.

    python -m bench.manyrows --files DIR [--rows 10000000] [--labels 100000] [--bits 24]

Writes rows of `make_multiclass` into 100 Parquet files, where there are none yet (1.2 GB for 10^7
rows), and lets workers of one thread and 3 GB each read and learn them. Told are seconds, the most
memory a worker ever had, bytes written to disk because memory was short, bytes that went through
the loopback device, and precision on 20,000 other rows.
"""

import argparse
import pathlib
import time

import distributed
import pyarrow as pa
import pyarrow.parquet as pq
from dask.utils import format_bytes

from bench.distributed import precision, sent_here
from labeltree.dask import DaskLabelTreeClassifier
from labeltree.datasets import make_multiclass

FILES = 100
TEST = 20_000


def write_files(folder, rows, labels):
    """Write the rows, each file with its own seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(FILES):
        path = folder / f"part-{i:03}.parquet"
        if path.exists():
            continue
        X, y = make_multiclass(rows // FILES, labels, random_state=i + 1)
        table = {
            "label": pa.array(y),
            "indices": pa.ListArray.from_arrays(X.indptr, X.indices),
            "values": pa.ListArray.from_arrays(X.indptr, X.data),
        }
        pq.write_table(pa.table(table), path)


def memory_of(dask_worker):
    """Return the most memory that the process of a worker had, and the bytes it has spilled."""
    status = pathlib.Path("/proc/self/status").read_text()
    most = int(status.split("VmHWM:")[1].split()[0]) * 1024
    spilled = sum(
        count
        for key, count in dask_worker.digests_total.items()
        if "disk-write" in key and "bytes" in key
    )
    return most, spilled


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--passes", type=int)
    parser.add_argument("--bits", type=int, help="of the hashed table; 26 by default")
    options = parser.parse_args()
    folder = options.files / f"{options.rows}-{options.labels}"
    write_files(folder, options.rows, options.labels)
    X, y = make_multiclass(TEST, options.labels, random_state=0)
    with (
        distributed.LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=options.memory,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(options.workers)
        before = sent_here()
        start = time.perf_counter()
        clf = DaskLabelTreeClassifier(
            random_state=0, passes=options.passes, bits=options.bits, client=client
        )
        clf.fit(str(folder / "part-*.parquet"))
        seconds = time.perf_counter() - start
        local = clf.to_local()
        print(f"{seconds:.0f} s, {format_bytes(sent_here() - before)} sent, ", end="")
        print(f"a model of {format_bytes(local.contents().arrays['weights'].nbytes)}")
        for worker, (most, spilled) in sorted(client.run(memory_of).items()):
            print(f"{worker}: {format_bytes(most)} at most, {format_bytes(spilled)} spilled")
        print(f"precision@1/3/5: {precision(local, X, y)}")


if __name__ == "__main__":
    main()
