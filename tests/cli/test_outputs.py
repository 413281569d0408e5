"""Nothing that a command reads is overwritten by it, whatever name it goes by."""

import os
import shutil
import sys

import pytest

from labeltree import load, modelfile

USED = "the command uses this file"


@pytest.fixture
def place(folder, model, tmp_path):
    """A folder with a model and data of its own."""
    shutil.copy(model, tmp_path / "m")
    lines = (folder / "train.svm").read_text().splitlines(keepends=True)
    (tmp_path / "c.svm").write_text("".join(lines[:50]))
    (tmp_path / "d.svm").write_text("".join(lines[50:80]))
    return tmp_path


@pytest.fixture
def harmless(refused, place, monkeypatch):
    """Run what must be refused without a byte changed."""
    monkeypatch.chdir(place)

    def harmless(*arguments, match=USED):
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        refused(*arguments, match=match)
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before

    return harmless


@pytest.mark.parametrize(
    "command",
    [
        "train c.svm -m c.svm",
        "train c.svm -m c.svm --overwrite",
        "train c.svm d.svm -m ./d.svm",
        "train c.svm --test d.svm -m d.svm",
        "train c.svm -m n --plot c.svm",
        "train c.svm --resume m -m c.svm",
        "train *.svm -m c.svm",
        "tune c.svm -m c.svm --overwrite",
        "predict m c.svm -o c.svm",
        "predict m c.svm -o m",
        "evaluate m c.svm -o c.svm",
        "evaluate m c.svm -o ./m",
        "compile m -o m",
        "inspect m --dot m",
        "inspect m --html m",
        "inspect m --dot t --html t",
        "inspect m --example c.svm:1 --html c.svm",
    ],
)
def test_output_that_is_an_input(harmless, command):
    match = "expected a name ending in" if "--plot" in command else USED
    harmless(*command.split(), match=match)


def test_plot_over_the_data_or_the_model(harmless, place):
    (place / "c.svm").rename(place / "c.png")
    harmless("train", "c.png", "--format", "svmlight", "-m", "n", "--plot", "c.png")
    harmless("train", "c.png", "--format", "svmlight", "-m", "n.png", "--plot", "n.png")
    (place / "m").rename(place / "m.png")
    harmless("train", "d.svm", "--resume", "m.png", "-m", "n", "--plot", "m.png")
    harmless("evaluate", "m.png", "d.svm", "--plot", "m.png")
    harmless("evaluate", "m.png", "d.svm", "-o", "o.png", "--plot", "o.png")


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_links_are_the_file_they_link_to(harmless, place, link):
    link(place / "c.svm", place / "alias")
    harmless("train", "c.svm", "-m", "alias", match="as c.svm already")
    harmless("predict", "m", "c.svm", "-o", "alias")
    link(place / "m", place / "alias2")
    harmless("compile", "m", "-o", "alias2")


def test_file_behind_standard_input(harmless, place, monkeypatch):
    with open(place / "c.svm") as file:
        monkeypatch.setattr(sys, "stdin", file)
        for command in ("train - --format svmlight -m c.svm --overwrite", "predict m - -o c.svm"):
            harmless(*command.split(), match="as standard input already")


def test_data_of_the_run_that_goes_on(harmless, cli, place):
    lines = (place / "c.svm").read_text() * 30
    (place / "long.svm").write_text(lines)
    cli("tune", "long.svm", "-m", "m", "--trials", 2, "--budget", "0.001s", "--quiet")
    harmless("train", "--resume", "m", "-m", "long.svm", "--overwrite", "--quiet")
    cli("train", "--resume", "m", "--quiet")  # a model that goes on is not destroyed


def test_model_over_a_file_that_is_none(harmless, cli, place):
    for command in (["train", "c.svm", "-m"], ["tune", "c.svm", "-m"], ["compile", "m", "-o"]):
        harmless(
            *command, "d.svm", match="is no labeltree model; name another, or give --overwrite"
        )
        (place / "empty").touch()  # as mktemp makes them
        cli(*command, "empty", *(["--trials", 2, "--quiet"] if command[0] == "tune" else []))
        cli(*command, "empty", *(["--trials", 2, "--quiet"] if command[0] == "tune" else []))
        (place / "empty").unlink()
    cli("train", "c.svm", "-m", "d.svm", "--overwrite", "--quiet")
    assert load(place / "d.svm").progress_.examples == 50
    (place / "m").write_bytes((place / "m").read_bytes()[:-10])  # a model, though damaged
    cli("train", "c.svm", "-m", "m", "--quiet")
    assert modelfile.read_header(place / "m")["notes"]["run"]["number"] == 1
