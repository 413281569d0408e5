"""What is in a file of one worker is in a file of the next."""

import os
import pathlib

import numpy as np

from labeltree.dask import memory
from labeltree.dask.memory import local_folder
from labeltree.dask.parcel import Parcel
from labeltree.dask.rows import Rows
from labeltree.dask.shard import Shard
from labeltree.merging.tablewriter import in_files, is_mapped

NUMBERS = np.arange(1_000_000, dtype=np.float32)
ROWS = Shard(NUMBERS[:, np.newaxis], np.arange(1_000_000), None)


def pages_of_files():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("RssFile:")[1].split()[0]) * 1024


def make(in_file):
    arrays = {"numbers": NUMBERS, "none": np.zeros(0)}
    return Parcel(in_files(arrays, local_folder(), most=0) if in_file else arrays)


def make_rows():
    rows = Rows(local_folder())
    rows.append(ROWS)
    return rows


def look(parcel):
    found = parcel.arrays["numbers"]
    return is_mapped(found), found[-1], parcel.__sizeof__(), os.listdir(local_folder())


def look_at_rows(rows):
    return rows._file is not None, [len(block) for block in rows], rows.__sizeof__()


def on(client, worker, function, *args):
    workers = [sorted(client.nthreads())[worker]]
    return client.submit(function, *args, workers=workers, pure=False)


def test_arrays_in_a_file_are_in_a_file_of_the_worker_that_gets_them(client):
    sizes = {True: 1000, False: 1000 + NUMBERS.nbytes}
    for in_file in (True, False):
        parcel = on(client, 0, make, in_file)
        for worker in (0, 1):
            mapped, total, size, files = on(client, worker, look, parcel).result()
            assert (mapped, total, size) == (in_file, NUMBERS[-1], sizes[in_file])
            assert not [name for name in files if name.startswith("labeltree-")]  # without a name


def test_rows_in_a_file_are_in_a_file_of_the_worker_that_gets_them(client):
    rows = on(client, 0, make_rows)
    for worker in (0, 1):
        assert on(client, worker, look_at_rows, rows).result() == (True, [len(NUMBERS)], 1000)


def test_what_is_sent_of_a_file_leaves_memory(client):
    parcel = on(client, 0, make, True)
    before = on(client, 0, pages_of_files).result()
    assert on(client, 1, look, parcel).result()[0]
    assert on(client, 0, pages_of_files).result() < before + NUMBERS.nbytes // 2


def test_there_is_no_folder_without_a_worker(tmp_path, monkeypatch):
    gone = type("Worker", (), {"local_directory": str(tmp_path / "gone")})()
    here = type("Worker", (), {"local_directory": str(tmp_path)})()
    for workers, folder in [([], None), ([gone], None), ([gone, here], str(tmp_path))]:
        monkeypatch.setattr(memory.distributed.Worker, "_instances", workers)
        assert local_folder() == folder
