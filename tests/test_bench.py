"""The benchmark's own logic, with what the tests' environment has."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as command
from bench import data, environments, million, newlabels, report, runs, scaling, synthetic, treepage
from bench.environments import Environment
from bench.peers import (
    NAMES,
    fasttext,
    labeltree,
    napkinxc,
    omikuji,
    peer,
    scikit_learn,
    vowpalwabbit,
)
from bench.peers.base import Task, best_columns, padded
from bench.prepared import Part, Shape

SETTINGS = runs.Settings(passes=2, bits=18)
HERE = Environment(Path(sys.executable), "")


def write_toy(folder, rows=(120, 60), labels=6):
    """Write rows that tell their one label apart, in the benchmark's file format."""
    rng = np.random.default_rng(0)
    for part, count in zip(("train", "test"), rows, strict=True):
        with gzip.open(folder / f"toy_{part}.txt.gz", "wt") as file:
            file.write(f"{count} 20 {labels}\n")
            for row in range(count):
                label = row % labels
                file.write(f"{label} {label}:1 {10 + rng.integers(10)}:0.5\n")


@pytest.fixture
def toy(tmp_path):
    write_toy(tmp_path)
    data.prepare(tmp_path, "toy", tmp_path / "toy")
    return tmp_path / "toy"


def test_one_command_writes_a_report_and_says_what_could_not_be_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(scikit_learn.Learner, "installs", ())
    monkeypatch.setattr(labeltree.Learner, "algorithms", {"one_against_all": "one_against_all"})
    monkeypatch.setattr(napkinxc.Learner, "installs", (("no-such-package",),))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    write_toy(tmp_path)
    out = tmp_path / "report"
    arguments = [
        *("--data", str(tmp_path), "--out", str(out), "--data-sets", "toy"),
        *("--peers", "labeltree,scikit_learn,napkinxc", "--threads", "1", "--repeats", "1"),
        *("--environments", str(tmp_path / "environments")),
    ]
    command.main(arguments)

    results = json.loads((out / "results.json").read_text())
    assert "no-such-package" in results["peers"]["napkinxc"]["reason"]
    assert {run["peer"]: run["status"] for run in results["runs"]} == {
        "labeltree": "ok",
        "scikit_learn": "ok",
    }
    for run in results["runs"]:
        assert run["precision@1"] == 1.0
        assert run["precision@5"] == pytest.approx(0.2)
        assert 0 < run["p50"] <= run["p99"]
        assert 0 < run["train"] < 1  # without imports
        assert run["model"] > 0
        assert min(run["memory_train"], run["memory_predict"]) > 10e6
    page = (out / "report.md").read_text()
    assert "napkinxc could not be installed: pip install no-such-package failed" in page
    assert "| toy | scikit_learn sgd | one_against_all | 1 | +0.0 |" in page
    assert (out / "training.svg").stat().st_size > 1000
    assert (out / "prediction.svg").stat().st_size > 1000

    with pytest.raises(SystemExit):  # results are not overwritten by chance
        command.main(arguments)
    with pytest.raises(SystemExit, match="passes"):
        command.main([*arguments, "--resume", "--passes", "1"])
    monkeypatch.setattr(runs, "make_run", lambda *_: pytest.fail("a run was repeated"))
    command.main([*arguments, "--resume", "--peers", "labeltree"])
    assert json.loads((out / "results.json").read_text()) == results


def test_prepared_data_are_what_the_files_hold(toy):
    shape = Shape.read(toy)
    assert shape == Shape(labels=6, features=20, sets=False, dense=False)
    part = Part.read(toy, "train")
    assert part.label_sets() == [[row % 6] for row in range(120)]
    X, y = data.read(toy.parent, "toy", "train")
    np.testing.assert_array_equal(part.csr().toarray(), X.toarray())
    np.testing.assert_array_equal(part.label, y)
    assert (toy / "test.txt").read_text().splitlines()[0] == "60 20 6"


def test_rows_of_unit_length_keep_their_directions_and_empty_rows_stay_empty():
    part = Part(
        offset=np.array([0, 2, 2, 3]),
        column=np.array([0, 2, 1], dtype=np.int32),
        value=np.array([3, 4, 0.5], dtype=np.float32),
        label_offset=np.array([0, 1, 1, 2]),
        label=np.array([0, 1], dtype=np.int32),
        shape=Shape(labels=2, features=3, sets=True, dense=False),
    )
    np.testing.assert_allclose(
        part.unit().csr().toarray(), [[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]], rtol=1e-6
    )
    assert list(omikuji.lines(part)) == [
        "3 3 2\n",
        "0 0:0.6 2:0.8\n",
        " \n",
        "1 1:1\n",
    ]


def test_text_of_the_peers_that_learn_from_text(toy):
    part = Part.read(toy, "train")
    column = part.pairs(1)[1][0]
    assert list(vowpalwabbit.lines(part))[1] == f"2 | 1:1 {column}:0.5\n"
    assert list(fasttext.lines(part))[1] == f"__label__1 w1 w{column}\n"


def test_every_repeat_makes_every_run_once_and_peers_take_turns():
    plan = list(runs.schedule(["a", "b"], ["labeltree", "vowpalwabbit"], [1, 2], 3))
    cells = {cell for _, cell in plan}
    assert len(plan) == len(set(plan)) == 3 * len(cells)
    assert len(cells) == 2 * 2 * (6 + 3)
    assert [cell.peer for _, cell in plan[:4]] == ["labeltree", "vowpalwabbit"] * 2
    starts = [next(cell for repeat, cell in plan if repeat == number) for number in range(3)]
    assert len(set(starts)) == 3


def test_runs_that_are_there_or_were_too_slow_are_not_made_again():
    cell = runs.Cell("a", "river", "logistic", 1)
    late = {**cell._asdict(), "repeat": 0, "status": runs.LATE, "limit": 10.0}
    assert runs.already([late], 1, cell, 10.0)
    assert not runs.already([late], 0, cell, 20.0)
    well = {**cell._asdict(), "repeat": 0, "status": runs.OK}
    assert runs.already([well], 0, cell, 10.0)
    assert not runs.already([well], 1, cell, 10.0)
    assert not runs.already([{**well, "status": runs.FAILED}], 0, cell, 10.0)


def test_a_peer_that_cannot_do_the_data_says_why(toy):
    run = runs.make_run(runs.Cell("toy", "labeltree", "ldsm", 1), SETTINGS, toy, HERE, 60.0)
    assert run == {"status": "refused", "reason": "is made for sets of labels"}
    sets = Shape(labels=6, features=20, sets=True, dense=False)
    assert vowpalwabbit.Learner.refuses(Task("recall_tree", 1, 3, 24, sets))
    assert vowpalwabbit.Learner.refuses(Task("one_against_all", 2, 3, 24, sets))
    assert vowpalwabbit.Learner.refuses(Task("one_against_all", 1, 3, 24, sets)) is None


def test_a_run_that_fails_or_takes_too_long_is_a_result(toy):
    cell = runs.Cell("toy", "labeltree", "label_tree", 1)
    run = runs.make_run(cell, SETTINGS, toy, HERE, 0.05)
    assert run["status"] == runs.LATE
    assert run["reason"] == "did not end in 0.05 s, in phase train"
    bad = cell._replace(algorithm="no_such_algorithm")
    run = runs.make_run(bad, SETTINGS, toy, HERE, 60.0)
    assert run["status"] == runs.FAILED
    assert "no_such_algorithm" in run["reason"]


def test_what_a_killed_process_started_ends_too(tmp_path):
    script = f"(sleep 1; touch {tmp_path}/late) & wait"
    with pytest.raises(subprocess.TimeoutExpired):
        runs.run_process(["bash", "-c", script], 1, 0.2)
    with pytest.raises(subprocess.TimeoutExpired):
        runs.run_process(["sleep", "5"], 1, 1.2)
    assert not (tmp_path / "late").exists()


def test_an_installation_that_cannot_be_imported_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(napkinxc.Learner, "installs", ())  # it is not in this environment
    with pytest.raises(environments.CannotInstallError, match="cannot be imported"):
        environments.environment("napkinxc", tmp_path)


def made_run(repeat=0, **changes):
    run = {
        **runs.Cell("toy", "labeltree", "one_against_all", 1)._asdict(),
        "repeat": repeat,
        "status": runs.OK,
        "rows_test": 100,
        "rows_train": 200,
        "precision@1": 0.5,
        "precision@3": None,
        "precision@5": None,
        "read_train": 1.0,
        "train": 1.0,
        "read_test": 3.0,
        "predict": 1.0,
        "p50": 1e-4,
        "p99": 1e-3,
        "memory_train": 1e8,
        "memory_predict": 1e8,
        "model": 1e6,
    }
    return {**run, **changes}


def test_ratios_are_made_within_repeats_and_count_reading_where_the_peer_reads():
    vw = {"peer": "vowpalwabbit", "read_train": 0.0, "read_test": 0.0, "precision@1": 0.4}
    sgd = {"peer": "scikit_learn", "algorithm": "sgd", "precision@1": 0.5}
    groups = report.grouped(
        [
            made_run(0),
            made_run(1, train=3.0),
            made_run(0, **vw, train=20.0, predict=40.0),
            made_run(1, **vw, train=20.0, predict=40.0),
            made_run(1, **sgd, train=6.0),
        ]
    )
    sgd_row, vw_row = report.ratios(groups)
    assert vw_row[1:7] == [
        *("vowpalwabbit one_against_all*+", "one_against_all", "1", "+10.0"),
        *("7.50 (5.00 to 10.0)", "10.0"),  # 20 / (1 + 1) and 20 / (1 + 3); 40 / (3 + 1)
    ]
    assert sgd_row[4:7] == ["+0.0", "2.00", "1.00"]


def test_more_threads_are_compared_with_one():
    groups = report.grouped([made_run(), made_run(threads=2, train=0.5, predict=0.8)])
    system = "labeltree one_against_all"
    assert report.speedups(groups) == [["toy", system, "2", "2.00", "1.25", "+0.0"]]


def test_what_was_not_measured_is_listed_once_with_its_reason():
    late = {"status": runs.LATE, "reason": "did not end in 5 s, in phase train"}
    lines = report.not_measured(
        {
            "peers": {"river": {"reason": "no wheel"}, "labeltree": {"version": "0"}},
            "runs": [made_run(0, **late), made_run(1, **late), made_run(0, threads=2, **late)],
        }
    )
    assert lines == [
        "- river could not be installed: no wheel",
        "- labeltree one_against_all, on toy (1), toy (2): "
        "time limit: did not end in 5 s, in phase train",
    ]


def test_best_columns_are_ordered_and_padded():
    assert best_columns(np.array([[0.1, 0.9, 0.5]])).tolist() == [[1, 2, 0, -1, -1]]
    assert padded([[3], []], 2).tolist() == [[3, -1], [-1, -1]]


@pytest.mark.parametrize("name", NAMES)
def test_each_algorithm_has_a_counterpart_of_labeltree(name):
    assert set(peer(name).algorithms.values()) <= set(labeltree.ESTIMATORS)


def test_synthetic_rows_have_the_features_asked_for_and_tell_their_label():
    labels = np.arange(200) % 10
    X, again = (synthetic.rows(labels, nnz=12, n_features=4096) for _ in range(2))
    assert X.shape == (200, 4096)
    assert (np.diff(X.indptr) == 12).all()
    assert (np.diff(X.indices.reshape(200, 12)) > 0).all()
    np.testing.assert_array_equal(X.indices, again.indices)
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-6)
    overlap = (X @ X.T).toarray()
    same = labels[:, np.newaxis] == labels
    np.fill_diagonal(same, False)
    assert overlap[same].mean() > 0.5
    assert overlap[labels[:, np.newaxis] != labels].mean() < 0.05


def test_growth_is_fitted_through_all_sizes():
    sizes = np.array([1, 10, 100])
    assert scaling.exponent(sizes, 3 * sizes**0.5) == pytest.approx(0.5)
    assert scaling.exponent(sizes, [1, 4, 1]) == pytest.approx(0)


@pytest.mark.parametrize(
    ("quantity", "sizes"),
    [
        ("labels", (100, 400)),
        ("features", (4, 16)),
        ("depth", (2, 4)),
        ("candidates", (2, 8)),
    ],
)
def test_scaling_tells_the_cost_at_each_size_and_its_growth(quantity, sizes, tmp_path, capsys):
    plot = tmp_path / "plot.png"
    names = ["RecallTreeClassifier", "LabelTreeClassifier"]
    names[1:] = ["RandomTreeClassifier"] if quantity == "depth" else names[1:]
    scaling.main(
        [
            *("--of", quantity, "--only", *names, "--sizes", *map(str, sizes)),
            *("--rows", "200", "--bits", "18", "--plot", str(plot)),
        ]
    )
    lines, table = (part.splitlines() for part in capsys.readouterr().out.split("\n\n"))
    assert [line.split()[0] for line in lines] == [*names, *names]
    for line, size in zip(lines, np.repeat(sizes, 2), strict=True):
        words = line.split()
        assert float(words[1]) == pytest.approx(size)
        assert words[2:4] == [quantity, "learning"]
        assert min(float(words[i]) for i in (4, 7, 9, 12)) > 0
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert cells[0] == [quantity, *map(str, sizes), "exponent"]
    assert [row[0] for row in cells[2:]] == [
        f"{name}, {cost}" for name in names for cost in ("learning", "prediction", "memory")
    ]
    for row in cells[2:]:
        exponent, fold = row[-1].removesuffix("-fold)").split(" (")
        ratio = sizes[1] / sizes[0]
        assert ratio ** float(exponent) == pytest.approx(float(fold), rel=0.02, abs=0.01)
    assert plot.stat().st_size > 1000


def test_depth_is_bounded_at_the_same_labels_where_a_setting_does_that():
    shallow, deep = (scaling.depth_case("RecallTreeClassifier", depth) for depth in (2, 8))
    assert shallow.labels == deep.labels
    assert scaling.depth_case("RandomTreeClassifier", 8).labels == 256


def test_million_tells_memory_along_the_stream_and_of_the_mapped_model(capfd):
    million.main(["--labels", "1000", "--bits", "18", "--rows", "200", "--repeats", "1"])
    lines = capfd.readouterr().out.splitlines()
    stream, (compiled, mapped) = lines[:-2], lines[-2:]
    assert [line.split()[1] for line in stream] == (
        ["100", "200", "500", "1,000", "1,250", "1,500", "2,000"]
    )
    assert [line.split()[3] for line in stream[2:]] == ["500", *["1,000"] * 4]
    assert all(float(line.split()[7]) > 10 for line in stream)
    assert "compiled in" in compiled
    assert float(mapped.split()[3]) > 0
    assert float(mapped.split(", ")[-1].split()[0]) > 50  # percent right, of 1000 labels


def test_new_labels_cost_little_each(capfd):
    newlabels.main(["--labels", "20000", "--bits", "16", "--kind", "int", "text", "--replay", "0"])
    out = capfd.readouterr().out
    for report_ in out.split("labels, replay 0")[1:]:
        cost = {
            line.rsplit(maxsplit=1)[0].strip(): float(line.split()[-1])
            for line in report_.splitlines()
            if line.startswith("    ") and "rows" not in line
        }
        assert cost["models"] < 5
        assert cost["counts"] == 8
        assert cost["trees"] < 25
        assert 160 < cost["index"] - 8 < 320  # a posting a feature, and what a feature costs once
        assert cost["vocabulary"] < 40


def test_memory_of_new_labels_is_bounded(capfd):
    newlabels.main(["--labels", "30000", "--bits", "16", "--replay", "0", "--max-labels", "1000"])
    assert "labels at the end" in (out := capfd.readouterr().out)
    assert int(out.split(" s, ")[1].split()[0].replace(",", "")) <= 1000


def test_the_page_of_a_tree_is_measured(capsys):
    treepage.main(["--labels", "500"])
    first, *in_browser = capsys.readouterr().out.splitlines()
    assert re.search(r"500 leaves, .*: written in \d+\.\d s, 0\.\d MB", first)
    assert all(re.fullmatch(r"usable after [\d,]+ ms, unfolding .*", line) for line in in_browser)
