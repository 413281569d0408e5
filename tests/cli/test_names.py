"""``labeltree train --keep-names`` and what ``inspect --example`` makes of it."""

import json
import signal
import subprocess
import time

import numpy as np
import pytest

from labeltree import load, modelfile
from labeltree.runs import train

from .conftest import COMMAND, ENVIRONMENT, TREE, assert_same_model, execute

SOUNDS = {"cat": "purrs", "dog": "barks", "owl": "hoots"}


def write_sounds(path, rows):
    """Write texts of which one word tells the label."""
    words = np.random.default_rng(0).integers(300, size=(rows, 4))
    with path.open("w") as file:
        for i, others in enumerate(words.tolist()):
            label = [*SOUNDS][i % 3]
            text = " ".join(f"w{word}" for word in others)
            file.write(f"{label}\tit {SOUNDS[label]} {text}\n")
    return path


def names_in(model):
    _, arrays = modelfile.read(model)
    return arrays["text.names"].tobytes().decode().split("\n")[:-1]


@pytest.fixture
def left_out(cli):
    def left_out(model, data):
        found = cli("inspect", model, "--example", f"{data}:1", "--json").out
        return json.loads(found)["example"]["left_out"]

    return left_out


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """A folder with texts, and models of them with and without names."""
    folder = tmp_path_factory.mktemp("sounds")
    data = write_sounds(folder / "train.tsv", 1500)
    options = {"algorithm": "probability-tree", "params": {"arity": 2, "random_state": 0}}
    options["text_options"] = {"word_ngrams": 2, "hash_bits": 22}
    train([str(data)], folder / "named", keep_names=True, **options)
    train([str(data)], folder / "plain", **options)
    return folder


def test_features_are_shown_by_name(left_out, sounds):
    (sounds / "new.tsv").write_text("dog\tThat BARKS\n")
    (sounds / "known.tsv").write_text("dog\tIt BARKS\n")
    found = left_out(sounds / "named", sounds / "new.tsv")
    assert found[0][0] == "barks"
    assert found[0][1] < -0.1
    assert [name for name, _, _ in found[1:]] == ["that (not met in training)"]
    pairs = left_out(sounds / "named", sounds / "known.tsv")
    assert {name for name, _, _ in pairs} == {"it", "barks", "it barks"}
    tokens = left_out(sounds / "plain", sounds / "new.tsv")
    assert {token for token, _, _ in tokens} == {"That", "BARKS"}
    text = execute("inspect", sounds / "named", "--example", f"{sounds / 'new.tsv'}:1").stdout
    assert "  that (not met in training)" in text


def test_names_are_those_of_training(cli, sounds):
    names = names_in(sounds / "named")
    assert names[:2] == ["it", "purrs"]
    assert "it purrs" in names
    assert len({f"w{i}" for i in range(300)} - {*names}) < 5  # but for collisions
    facts = json.loads(cli("inspect", sounds / "named", "--json").out)
    assert facts["names kept"] == len(names)
    assert "names kept" not in cli("inspect", sounds / "plain").out


def test_names_change_nothing_else(sounds):
    header, arrays = modelfile.read(sounds / "named")
    plain_header, plain_arrays = modelfile.read(sounds / "plain")
    header["text"]["keep_names"] = False
    assert header == plain_header
    assert arrays.keys() - plain_arrays.keys() == {"text.name_features", "text.names"}
    for name, array in plain_arrays.items():
        assert array.tobytes() == arrays[name].tobytes(), name
    assert load(sounds / "named").n_labels_ == 3


def test_a_feature_hashed_as_another(cli, left_out, tmp_path):
    (tmp_path / "a.vw").write_text("1 |f a b c d e\n2 |f b\n" * 20)
    arguments = ["train", tmp_path / "a.vw", "-m", tmp_path / "m", "--keep-names", "--quiet"]
    cli(*arguments, "--hash-bits", 1, *TREE)
    (tmp_path / "new.vw").write_text("|g a b c d e\n")
    found = {name for name, _, _ in left_out(tmp_path / "m", tmp_path / "new.vw")}
    assert len(found) == 2
    assert all(" (hashed as f^" in name for name in found)


def test_kill_9_then_resume_keeps_names(cli, tmp_path):
    data = write_sounds(tmp_path / "long.tsv", 30_000)
    options = [data, "--keep-names", "--quiet", "--passes", "2", "--hash-bits", "18"]
    cli("train", *options, "-m", tmp_path / "whole", "--word-ngrams", "3", *TREE)
    killed = tmp_path / "killed"
    command = [*COMMAND, "train", *options, "-m", killed, "--word-ngrams", "3", *TREE]
    with subprocess.Popen([*command, "--checkpoint-every", "1000"], env=ENVIRONMENT) as process:
        while not killed.exists():
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert 0 < len(names_in(killed)) < len(names_in(tmp_path / "whole"))
    cli("train", "--resume", killed, "--quiet")  # which needs no option again
    assert_same_model(tmp_path / "whole", killed)


def test_resume_learns_more_names(cli, sounds, tmp_path):
    (tmp_path / "more.tsv").write_text("cow\tit moos\n" * 5)
    more = ["train", tmp_path / "more.tsv", "-m", tmp_path / "m", "--quiet"]
    cli(*more, "--resume", sounds / "named", "--keep-names")
    before = names_in(sounds / "named")
    assert names_in(tmp_path / "m") == [*before, "moos", "it moos"]
    cli(*more, "--resume", sounds / "plain")
    assert "text.names" not in modelfile.read(tmp_path / "m")[1]


def test_refusals(refused, sounds, folder, tmp_path):
    data, m = sounds / "train.tsv", tmp_path / "m"
    arguments = ["train", data, "-m", m, "--resume", sounds / "plain", "--keep-names"]
    refused(*arguments, match="the model was trained without --keep-names")
    arguments = ["train", folder / "train.svm", "-m", m, "--keep-names"]
    refused(*arguments, match="--keep-names is for text and vw")
    assert not m.exists()
