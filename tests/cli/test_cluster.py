"""``labeltree train --workers``."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from labeltree import load

pytest.importorskip("distributed")


def test_workers_of_a_scheduler_train_a_model_from_files(cli, tmp_path):
    from tests.dask.cluster import two_workers

    labels = np.arange(200) % 4
    for i in range(3):
        table = {"label": labels, "indices": [[4 * n + i, 20] for n in labels.tolist()]}
        table["values"] = [[1.0, 0.5]] * len(labels)
        pq.write_table(pa.table(table), tmp_path / f"part-{i}.parquet")
    model = tmp_path / "m.labeltree"
    arguments = ("train", tmp_path / "part-*.parquet", "-m", model)
    with two_workers() as (cluster, _):
        shown = cli(*arguments, "--dask", cluster.scheduler_address).err
    assert "3 files, 2 workers" in shown
    assert "%" not in shown  # there is no bar where there is no terminal
    X = sp.csr_matrix(([1.0, 0.5], [9, 20], [0, 2]), shape=(1, 21))
    assert load(model).predict(X).tolist() == [2]
    nobody = cli(*arguments, "--dask", "tcp://127.0.0.1:9", "--overwrite", code=2).err
    assert "tcp://127.0.0.1:9" in nobody


def test_workers_train_a_model_from_files(cli, refused, tmp_path):
    words = {"cat": "it purrs softly", "dog": "it barks loudly", "bird": "it sings songs"}
    for i in range(2):
        lines = "".join(f"{label}\t{text} {i}\n" for label, text in words.items())
        (tmp_path / f"part-{i}.tsv").write_text(lines * 10)
    model = tmp_path / "m.labeltree"
    arguments = ("train", tmp_path / "part-*.tsv", "-m", model)
    cli(*arguments, "--workers", "2", "--hash-bits", "16")
    clf = load(model)
    assert clf.features_.documents_ == 60
    assert clf.predict(["it barks"]).tolist() == ["dog"]
    out = cli("predict", model, tmp_path / "part-0.tsv").out
    assert out.split()[:3] == ["cat", "dog", "bird"]
    (tmp_path / "ids.tsv").write_text("".join(f"id{i}\tword {i}\n" for i in range(40)))
    ids = ("train", tmp_path / "ids.tsv", "-m", tmp_path / "ids.labeltree", "--workers", "1")
    assert "40 of the first 40 rows have a label that no other row has" in cli(*ids).err
    refused(*arguments, "--workers", "2", "--holdout", "0.1", match="--holdout is for a stream")
    refused(*arguments, "--workers", "2", "--dask", "tcp://x:1", match="give one")
    more = ("--algorithm", "recall-tree")
    refused(*arguments, "--workers", "2", *more, match="recall-tree cannot be trained by workers")


LINES = "".join(f"l{i % 50}\tword{i % 50} {i}\n" for i in range(2000))


def start(tmp_path, *options, second=LINES):
    """Train on two workers in a process, whose files are in a folder, until passes are made."""
    (tmp_path / "part-0.tsv").write_text(LINES)
    (tmp_path / "part-1.tsv").write_text(second)
    (tmp_path / "scratch").mkdir()
    command = [sys.executable, "-m", "labeltree", "train", str(tmp_path / "part-*.tsv"), *options]
    command += ["-m", str(tmp_path / "m.labeltree"), "--workers", "2", "--hash-bits", "16"]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as a terminal makes it
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_training_leaves_nothing_and_says_nothing(number, code, tmp_path):
    scratch = tmp_path / "scratch"
    with start(tmp_path, "--passes", "1000") as process:
        assert "2 workers" in process.stderr.readline()
        time.sleep(3)
        assert any(scratch.iterdir())
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # Ctrl-C reaches the workers, too
        else:
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, "", "")
    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "m.labeltree").exists()


def test_a_bad_line_is_told_in_one_sentence(tmp_path):
    with start(tmp_path, second="cat\tit purrs\nthis line has no tab\n") as process:
        out, err = process.communicate(timeout=60)
    shown, sentence = err.splitlines()
    assert (process.returncode, out) == (2, "")
    assert "2 workers" in shown
    assert "part-1.tsv:2: " in sentence
