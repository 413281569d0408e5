"""``labeltree train``."""

import gzip
import json
import os
import pty
import signal
import subprocess
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from labeltree import algorithms, load, modelfile
from labeltree.cli.display import Display
from labeltree.datasets import make_multiclass
from labeltree.runs import train, training
from labeltree.runs.run import Every, seconds

from .conftest import (
    COMMAND,
    ENVIRONMENT,
    TREE,
    assert_same_model,
    execute,
    small,
    write_pets,
)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A file that takes a while."""
    path = tmp_path_factory.mktemp("long") / "long.svm"
    X, y = make_multiclass(30_000, 1000, n_features=4096)
    dump_svmlight_file(X, y, str(path))
    return path


def test_table_has_rows_at_doubling_counts(cli, folder, tmp_path):
    err = cli("train", folder / "train.svm", "-m", tmp_path / "m", *TREE, "--bits", 18).err
    rows = [line.split() for line in err.splitlines()]
    assert rows[0] == ["examples", "error", "recent", "labels", "depth"]
    assert rows[1][0] == "1,024"
    assert rows[2][0] == "1,500"
    assert rows[2][3] == "40"
    assert int(rows[2][4]) >= 6
    assert 0 <= float(rows[2][2]) < float(rows[2][1]) < 0.7
    assert "1,500 examples, 40 labels, progressive error" in err
    clf = load(tmp_path / "m")
    assert clf.progress_.examples == 1500
    assert type(clf).__name__ == "ProbabilityTreeClassifier"
    assert (clf.arity, clf.bits) == (2, 18)


def test_quiet_shows_nothing(cli, folder, tmp_path):
    result = cli("train", folder / "train.svm", "-m", tmp_path / "m", "--quiet")
    assert result.out == result.err == ""
    default = algorithms.estimator_class(algorithms.DEFAULT_ALGORITHM)
    assert type(load(tmp_path / "m")) is default


def test_json_is_one_object_a_line(cli, folder, tmp_path):
    out = cli(
        *("train", folder / "train.svm", "-m", tmp_path / "m", "--json", "--holdout", 0.1),
        *("--passes", 2, "--test", folder / "test.svm"),
    ).out
    events = [json.loads(line) for line in out.splitlines()]
    names = [event["event"] for event in events]
    assert names == ["progress", "progress", "holdout", "holdout", "saved", "test"]
    assert events[1]["examples"] == 1350
    assert events[2]["examples"] == events[3]["examples"] == 150
    assert events[3]["error"] <= events[2]["error"] < 0.5
    assert events[4]["finished"] is True
    assert events[5]["metrics"]["error"]["value"] < 0.1


@pytest.mark.parametrize("algorithm", algorithms.names())
def test_every_algorithm_learns(cli, folder, tmp_path, algorithm):
    step = ("--step", 0.5)
    arguments = ["train", folder / "train.svm", "-m", tmp_path / "m", "--passes", 3, *step]
    cli(*arguments, "--algorithm", algorithm, "--seed", 3, "--quiet")
    clf = load(tmp_path / "m")
    assert algorithms.name_of(type(clf)) == algorithm
    assert clf.step == 0.5
    assert clf.random_state == 3
    assert clf.progress_.examples == 1500  # the first pass only


def test_several_files_patterns_and_compression(cli, folder, tmp_path):
    lines = (folder / "train.svm").read_bytes().splitlines(keepends=True)
    for i in range(3):
        with gzip.open(tmp_path / f"part-{i}.svm.gz", "wb") as file:
            file.writelines(lines[500 * i : 500 * (i + 1)])
    cli("train", tmp_path / "part-*.svm.gz", "-m", tmp_path / "parts", "--quiet")
    cli("train", folder / "train.svm", "-m", tmp_path / "whole", "--quiet")
    (header, parts), (_, whole) = (
        modelfile.read(tmp_path / "parts"),
        modelfile.read(tmp_path / "whole"),
    )
    assert all(np.array_equal(parts[name], whole[name]) for name in whole)
    assert len(header["notes"]["run"]["data"]) == 3


def test_text_with_label_sets(cli, tmp_path):
    data, m = write_pets(tmp_path / "pets.tsv"), tmp_path / "m"
    arguments = ["train", data, "-m", m, "--label-separator", ",", "--word-ngrams", 2]
    cli(*arguments, "--algorithm", "one-against-all", "--quiet")
    header = modelfile.read_header(m)
    assert header["text"]["word_ngrams"] == 2
    notes = header["notes"]
    assert notes["reader"] == {"format": "tsv", "label_separator": ","}
    counts = dict(zip(load(m).classes_, notes["label_counts"], strict=True))
    assert counts == {"cat": 100, "dog": 100, "pet": 100}


def test_skipping_bad_lines_reports_them(cli, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 x:1\n3 1:nan\n2 2:1\n")
    err = cli("train", tmp_path / "a.svm", "-m", tmp_path / "m", "--skip-bad-lines").err
    assert "2 bad lines skipped" in err
    assert 'a.svm:2: feature index "x" is not an integer' in err
    assert "2 examples" in err


def test_rows_without_a_label_are_counted(cli, tmp_path):
    data, m = tmp_path / "a.tsv", tmp_path / "m"
    data.write_text("cat\tit purrs\n\tit sings\ndog\tit barks\n" * 1000)
    said = "1,000 rows had no label: not among the examples\n"
    arguments = ["train", data, "-m", m, "--passes", 2]
    assert cli(*arguments).err.count(said) == 1
    assert load(m).progress_.examples == 2000
    with pytest.raises(RuntimeError):
        train([str(data)], m, checkpoint_every="1", observer=Stop(2, RuntimeError()), passes=2)
    assert 0 < modelfile.read_header(m)["notes"]["run"]["rows"] < 3000
    assert said in cli("train", "--resume", m).err
    data.write_text("cat\tit purrs\ndog\tit barks\n")
    assert "had no label" not in cli("train", data, "-m", m).err


def test_plot(cli, folder, tmp_path):
    plot = tmp_path / "curve.png"
    cli("train", folder / "train.svm", "-m", tmp_path / "m", "--plot", plot, "--quiet")
    assert plot.read_bytes().startswith(b"\x89PNG")


class Stop(Display):
    """Ends a run after some pieces, as a crash would."""

    def __init__(self, pieces, error):
        self.pieces, self.error = pieces, error

    def advance(self, *_):
        self.pieces -= 1
        if not self.pieces:
            raise self.error


@pytest.mark.parametrize("algorithm", algorithms.names())
@pytest.mark.parametrize("pieces", [2, 5])  # in the first pass, and in the second
def test_resumed_run_is_the_uninterrupted_run(tmp_path, algorithm, pieces):
    X, y = make_multiclass(3000, 60, n_features=512, random_state=2)
    data = [str(tmp_path / "a.svm")]
    dump_svmlight_file(X, y, data[0])
    options = {"algorithm": algorithm, "params": {"random_state": 0, **small(algorithm)}}
    options |= {"passes": 2, "holdout": 0.05}
    train(data, tmp_path / "whole", **options)
    killed = tmp_path / "killed"
    with pytest.raises(RuntimeError):
        train(
            data,
            killed,
            checkpoint_every="1k",
            observer=Stop(pieces, RuntimeError()),
            **options,
        )
    run = modelfile.read_header(killed)["notes"]["run"]
    assert 0 < run["rows"] < 3000
    train([], killed, resume=killed)
    assert_same_model(tmp_path / "whole", killed)


PASSES = 4  # so many that a run is still going when it is interrupted
OPTIONS = ["--bits", "18", "--passes", str(PASSES), "--algorithm", "lom-tree"]


@pytest.fixture(scope="module")
def whole(long):
    """The model of a run that nothing has interrupted."""
    path = long.parent / "whole"
    params = {"bits": 18, "random_state": 0}
    train([str(long)], path, algorithm="lom-tree", passes=PASSES, params=params, threads=1)
    return path


def test_kill_9_then_resume(cli, long, whole, tmp_path):
    killed = tmp_path / "killed"
    command = [*COMMAND, "train", long, "-m", killed, "--checkpoint-every", "1000", *OPTIONS]
    quiet = {"env": ENVIRONMENT, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        while not killed.exists():
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    run = modelfile.read_header(killed)["notes"]["run"]
    assert run["number"] == 0
    assert 0 < run["rows"] < 30_000
    (tmp_path / f".killed.{'0' * 32}.labeltree-partial").write_text("as if killed while writing")
    result = cli("train", "--resume", killed)
    assert f"after row {run['rows']:,}" in result.err
    assert_same_model(whole, killed)
    assert os.listdir(tmp_path) == ["killed"]


def test_ctrl_c_saves_and_says_where(cli, long, whole, tmp_path):
    m = tmp_path / "m"
    command = [*COMMAND, "train", long, "-m", m, *OPTIONS]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.split()[0] == "8,192":
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert f"saved to {m} (stopped; to go on: labeltree train --resume {m})" in rest
    assert load(m).progress_.examples >= 8192
    assert modelfile.read_header(m)["notes"]["run"]["number"] < PASSES
    cli("train", "--resume", m, "--quiet")  # from the middle of a batch
    assert_same_model(whole, m)


@pytest.mark.parametrize("portions", [30, 100])
def test_stop_in_the_middle_of_a_batch(folder, tmp_path, monkeypatch, portions):
    """A slow learner looks up every few rows."""
    data, options = [str(folder / "train.svm")], {"params": {"random_state": 0}, "passes": 2}
    train(data, tmp_path / "whole", **options)
    monkeypatch.setattr(training, "PORTION", 16)
    learn = training.Training._learn_portion
    calls = []

    def counted(self, rows, *more):
        learn(self, rows, *more)
        calls.append(len(rows))
        if len(calls) == portions:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training.Training, "_learn_portion", counted)
    m = tmp_path / "m"
    with pytest.raises(KeyboardInterrupt):
        train(data, m, **options)
    run = modelfile.read_header(m)["notes"]["run"]
    assert 1500 * run["number"] + run["rows"] == sum(calls)
    assert max(calls[1:]) == 16
    train([], m, resume=m)
    assert_same_model(tmp_path / "whole", m)


def test_resume_learns_other_data_from_the_start(cli, folder, tmp_path):
    m = tmp_path / "m"
    cli("train", folder / "train.svm", "-m", m, "--quiet")
    cli("train", folder / "test.svm", "--resume", m, "-m", tmp_path / "m2", "--quiet")
    assert load(tmp_path / "m2").progress_.examples == 3000
    assert sum(modelfile.read_header(tmp_path / "m2")["notes"]["label_counts"]) == 3000
    assert load(m).progress_.examples == 1500


def test_other_data_than_those_of_an_unfinished_run(cli, folder, tmp_path):
    m = tmp_path / "m"
    arguments = ["tune", folder / "train.svm", "-m", m, "--trials", 2, "--budget", "0.001s"]
    cli(*arguments, "--quiet")
    err = cli("train", folder / "test.svm", "--resume", m, "-m", tmp_path / "m2").err
    assert "from the start; " in err
    assert load(tmp_path / "m2").progress_.examples == 1024 + 1500
    relative = os.path.relpath(folder / "train.svm")
    assert "after row 1,024" in cli("train", relative, "--resume", m).err
    assert load(m).progress_.examples == 1500


def test_bad_lines_are_skipped_after_a_crash_too(tmp_path):
    X, y = make_multiclass(3000, 20, n_features=128)
    dump_svmlight_file(X, y, str(tmp_path / "good.svm"))
    lines = (tmp_path / "good.svm").read_text().splitlines(keepends=True)
    data = [str(tmp_path / "bad.svm")]
    (tmp_path / "bad.svm").write_text("".join([*lines[:500], "oops\n", *lines[500:], "oops\n"]))
    params = {"params": {"random_state": 0}, "skip_bad_lines": True}
    train(data, tmp_path / "whole", **params)
    stop = Stop(2, RuntimeError())
    with pytest.raises(RuntimeError):
        train(data, tmp_path / "m", checkpoint_every="1000", observer=stop, **params)
    train([], tmp_path / "m", resume=tmp_path / "m")
    assert_same_model(tmp_path / "whole", tmp_path / "m")


def test_standard_input_goes_on_where_it_was(folder, tmp_path):
    m = tmp_path / "m"
    lines = (folder / "train.svm").read_text().splitlines(keepends=True)
    options = ["-m", m, "--quiet"]
    first = ["--format", "svmlight", "--bits", "18"]
    execute("train", "-", *first, *options, input="".join(lines[:1200]))
    execute("train", "-", "--resume", m, *options, input="".join(lines[1200:]))
    params = {"random_state": 0, "bits": 18}
    train([str(folder / "train.svm")], tmp_path / "whole", params=params, threads=1)
    (_, arrays), (_, whole) = modelfile.read(m), modelfile.read(tmp_path / "whole")
    assert all(np.array_equal(arrays[name], whole[name]) for name in whole)


def test_progress_bar_on_a_terminal(folder, tmp_path):
    parent, child = pty.openpty()
    command = [*COMMAND, "train", folder / "train.svm", "-m", tmp_path / "m", "--passes", "3"]
    with subprocess.Popen(command, env={**ENVIRONMENT, "TERM": "xterm"}, stderr=child) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # so Linux tells the end
                break
            if not part:
                break
            shown += part
    os.close(parent)
    assert process.returncode == 0
    text = shown.decode()
    assert "\x1b[" in text  # moves the cursor
    assert "examples/s" in text
    assert "100%" in text
    assert "     1,024 " in text
    assert "saved to" in text


def test_durations_and_counts():
    assert seconds("90s", "--budget") == 90
    assert seconds("1.5h", "--budget") == 5400
    assert Every.parse("100k").examples == 100_000
    assert Every.parse("2M").examples == 2_000_000
    assert Every.parse("10m").seconds == 600
    every = Every.parse("100")
    assert [every.due(n) for n in (60, 60, 60, 60)] == [False, True, False, True]
    assert not Every.parse(None).due(10**9)
    timed = Every(seconds=0.0)
    assert not timed.due(0)  # there is nothing new to save
    assert timed.due(1)


def test_a_stream_of_many_labels_holds_so_many(cli, refused, tmp_path):
    (tmp_path / "a.svm").write_text(
        "".join(f"{i} {i % 50}:1 {60 + i % 7}:1\n" for i in range(3000))
    )
    m = tmp_path / "m"
    cli("train", tmp_path / "a.svm", "-m", m, "--quiet", "--bits", 16, "--max-labels", 100)
    assert 87 <= len(load(m).classes_) <= 100
    assert "2999" in cli("predict", m, tmp_path / "a.svm").out
    cli("inspect", m)
    assert "never learned" not in cli("evaluate", m, tmp_path / "a.svm").out  # that is not known
    bad = cli("train", tmp_path / "a.svm", "-m", m, "--max-labels", 0, code=2).err
    assert "'max_labels' parameter" in bad
    (tmp_path / "sets.svm").write_text("1 1:1\n1,2,3 2:1\n")
    refused(
        *("train", tmp_path / "sets.svm", "-m", m, "--max-labels", 2),
        match="sets.svm: row 2 has 3 labels, expected at most --max-labels, 2",
    )
    said = cli("train", tmp_path / "sets.svm", "-m", m, "--max-labels", 2, "--skip-bad-lines").err
    assert "1 row with more labels than --max-labels skipped" in said
    assert load(m).classes_.tolist() == [1]
