"""``labeltree tune`` and ``labeltree demo``."""

import json
import shlex

import pytest

from labeltree import load, modelfile
from labeltree.cli import algorithms, demo
from labeltree.cli.tune import settings

from .conftest import small
from .test_train import assert_same_model


@pytest.mark.parametrize("algorithm", algorithms.names())
def test_settings_are_valid_and_differ(algorithm):
    fixed = small(algorithm)
    found = settings(algorithm, fixed, 8, seed=0)
    assert found[0] == fixed
    assert len({json.dumps(setting, sort_keys=True) for setting in found}) == len(found) == 8
    for setting in found:
        algorithms.estimator_class(algorithm)(**setting)._validate_params()
        assert fixed.items() <= setting.items()
    assert settings(algorithm, {}, 5, seed=1) == settings(algorithm, {}, 5, seed=1)


def test_tune_saves_the_best_and_how_to_train_it_again(cli, folder, tmp_path):
    m = tmp_path / "best"
    arguments = ["tune", folder / "train.svm", "-m", m, "--trials", 4, "--budget", "5m", "--json"]
    out = cli(*arguments, "--bits", 18, "--features", 600, "--algorithm", "recall-tree").out
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["event"] for event in events][-1] == "best"
    best = events[-1]
    rows = events[-2]["rows"]
    assert [row["state"] for row in rows].count("best") == 1
    assert best["error"] == min(row["error"] for row in rows if row["examples"] == 1500)
    assert best["complete"] is True
    clf = load(m)
    assert clf.progress_.error == best["error"]
    command = shlex.split(best["command"])
    assert command[:2] == ["labeltree", "train"]
    again = tmp_path / "again"
    command[command.index("-m") + 1] = str(again)
    cli(*command[1:], "--quiet")
    header, arrays = modelfile.read(m)
    header2, arrays2 = modelfile.read(again)
    assert header["fixed"] == header2["fixed"]
    assert header["progress"] == header2["progress"]
    assert all(arrays[name].tobytes() == arrays2[name].tobytes() for name in arrays)


def test_budget_that_ends_first_leaves_a_run_to_go_on_with(cli, folder, tmp_path):
    m = tmp_path / "best"
    arguments = ["tune", folder / "train.svm", "-m", m, "--trials", 2, "--budget", "0.001s"]
    err = cli(*arguments, "--bits", 18).err
    assert "labeltree train --resume" in err
    rows = modelfile.read_header(m)["notes"]["run"]["rows"]
    assert rows == 1024
    cli("train", "--resume", m, "--quiet")
    assert load(m).progress_.examples == 1500


def test_demo(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = cli("demo", "--examples", 2500, "--seed", 1).out
    assert "return self." in out
    assert "2,500" in out
    assert f"{demo.BASELINE} stopped after 1,000 examples" in out
    model = tmp_path / "labeltree-demo" / "demo.labeltree"
    assert load(model).n_labels_ > 100
    assert (tmp_path / "labeltree-demo" / "curves.png").exists()
    following = out.splitlines()[-1].removeprefix("Next: labeltree ")
    assert "examples" in cli(*following.split()).out
    first = modelfile.read(model)
    cli("demo", "--examples", 2500, "--seed", 1, "--folder", "again")
    second = modelfile.read(tmp_path / "again" / "demo.labeltree")
    assert first[0] == second[0]
    assert_same_model(model, tmp_path / "again" / "demo.labeltree")
