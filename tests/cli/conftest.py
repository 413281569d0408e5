"""The command line as a user drives it: the real executable, or its entry point in this process."""

import os
import subprocess
import sys
from typing import NamedTuple

import pytest
from sklearn.datasets import dump_svmlight_file

from labeltree import algorithms, modelfile
from labeltree.cli import main
from labeltree.datasets import make_multiclass

TREE = ("--algorithm", "probability-tree", "--arity", "2")  # one whose shape is easy to tell
COMMAND = [sys.executable, "-m", "labeltree"]
ENVIRONMENT = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}


class Result(NamedTuple):
    out: str
    err: str


@pytest.fixture
def cli(monkeypatch, capsys):
    """Run the command line in this process, which saves the imports."""

    def cli(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["labeltree", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        result = Result(*capsys.readouterr())
        assert stop.value.code == code, result.err
        return result

    return cli


@pytest.fixture
def refused(cli):
    """Run what must be refused with one sentence and exit code 2."""

    def refused(*arguments, match):
        message = cli(*arguments, code=2).err
        assert message.startswith("labeltree: ")
        assert message.count("\n") == 1, message
        assert match in message

    return refused


def execute(*arguments, code=0, **options):
    """Run the real executable to its end."""
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    result = subprocess.run(
        [*COMMAND, *map(str, arguments)], env=ENVIRONMENT, check=False, **options
    )
    assert result.returncode == code, result.stderr
    assert "Traceback" not in (result.stderr or "")
    return result


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with train.svm and test.svm, 1500 rows and 40 labels each."""
    folder = tmp_path_factory.mktemp("cli")
    for name, seed in [("train", 0), ("test", 1)]:
        X, y = make_multiclass(1500, 40, n_features=512, random_state=seed)
        dump_svmlight_file(X, y, str(folder / f"{name}.svm"))
    return folder


@pytest.fixture(scope="session")
def model(folder):
    """A probability tree of train.svm."""
    from labeltree.runs import train

    path = folder / "m.labeltree"
    params = {"bits": 18, "arity": 2, "random_state": 0}
    train([str(folder / "train.svm")], path, algorithm="probability-tree", passes=2, params=params)
    return path


def assert_same_model(one, other):
    """Compare two model files: every array, parameter and count, and where the run is."""
    (header, arrays), (header2, arrays2) = modelfile.read(one), modelfile.read(other)
    assert header == header2
    assert arrays.keys() == arrays2.keys()
    for name, array in arrays.items():
        assert array.tobytes() == arrays2[name].tobytes(), name


def small(algorithm):
    """Return parameters that make a model small, if the algorithm has such."""
    names = {parameter.name for parameter in algorithms.parameters(algorithm)}
    wanted = {"bits": 16, "max_labels": 64, "n_trees": 2}
    return {name: value for name, value in wanted.items() if name in names}


def write_pets(path, rows=200):
    """Write texts with sets of labels."""
    path.write_text(
        "".join(
            f"{'pet,' if i % 2 else ''}{'cat' if i % 4 < 2 else 'dog'}\t"
            f"it {'purrs' if i % 4 < 2 else 'barks'} {'at home' if i % 2 else 'outside'}\n"
            for i in range(rows)
        )
    )
    return path
