"""``labeltree tune`` and ``labeltree demo``."""

import json
import shlex
from types import SimpleNamespace

import numpy as np
import pytest

from labeltree import algorithms, load, modelfile
from labeltree.cli import demo, tune
from labeltree.cli.settings import settings, settings_of_text

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


@pytest.mark.parametrize("algorithm", algorithms.names())
def test_only_what_can_matter_is_tried(algorithm):
    tried = {name for setting in settings(algorithm, {}, 30, seed=0) for name in setting}
    assert not tried & {"learn_jobs", "threshold", "organize", "bits"}
    assert tried


def test_n_grams_of_text_are_tried(cli, tmp_path):
    """Labels that only parts of words tell apart."""
    assert [s.text for s in settings_of_text("label-tree", {}, 3, 0)] == [
        {},
        {"word_ngrams": 1},
        {"char_ngrams": (3, 5)},
    ]
    data, m = tmp_path / "a.tsv", tmp_path / "m"
    random = np.random.default_rng(0)
    words = random.integers(0, 1000, (1500, 2))
    data.write_text("".join(f"{a % 9}\tkind{a % 9}no{a} and {b}\n" for a, b in words.tolist()))
    arguments = ["tune", data, "-m", m, "--trials", 4, "--json", "--bits", 18]
    events = [json.loads(line) for line in cli(*arguments).out.splitlines()]
    rows, best = events[-2]["rows"], events[-1]
    assert rows[0]["parameters"] == "--bits 18"
    assert rows[1]["parameters"] == "--word-ngrams 1 --bits 18"
    assert rows[2]["parameters"] == "--char-ngrams 3-5 --bits 18"
    assert "char_ngrams" in best["parameters"]
    assert best["error"] < 0.5 * rows[0]["error"]
    assert rows[0]["examples"] == max(row["examples"] for row in rows)  # the defaults stay
    command = shlex.split(best["command"])
    again = tmp_path / "again"
    command[command.index("-m") + 1] = str(again)
    cli(*command[1:], "--quiet")
    assert len({str(modelfile.read_header(path)["text"]) for path in (m, again)}) == 1
    assert load(again).progress_ == load(m).progress_
    arguments += ["--word-ngrams", 1]  # as it was given
    rows = json.loads(cli(*arguments).out.splitlines()[-2])["rows"]
    assert not any("ngrams" in row["parameters"] for row in rows)


def test_the_defaults_stay_to_the_end():
    def trial(number, error):
        progress = SimpleNamespace(error=error)
        clf = SimpleNamespace(progress_=progress, _learner=None)
        training = SimpleNamespace(clf=clf)
        return tune.Trial(number, {}, training)

    trials = [trial(0, 0.9), *(trial(i, 0.1 * i) for i in range(1, 8))]
    running = tune._better_half(trials)
    assert [t.number for t in running] == [0, 1, 2, 3]
    assert [t.number for t in tune._better_half(running)] == [0, 1]
    assert [t.state for t in trials].count("dropped") == 6
    assert [t.number for t in tune._better_half([trial(i, i) for i in range(5)])] == [0, 1, 2]


def test_tune_says_what_train_says_of_the_data(cli, tmp_path):
    rows = [f"{i // 400}\tword{i % 50} other{i % 7}\n" for i in range(1600)]
    (tmp_path / "a.tsv").write_text("".join(["label\ttext\n", *rows]))
    arguments = ["tune", tmp_path / "a.tsv", "-m", tmp_path / "m", "--trials", 2, "--bits", 18]
    err = cli(*arguments).err
    assert err.count("the first label is 'label'") == 1
    assert err.count("of the rows have the label of the row before them") == 1


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
    assert "send an email message" in out
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
