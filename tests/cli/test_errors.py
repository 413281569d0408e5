"""Whatever a new user may try: one sentence that says what to do, exit code 2, nothing written."""

import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from labeltree.data import DataError

from .conftest import TREE, execute


@pytest.fixture
def refused_data(refused, tmp_path):
    def refused_data(name, *more, match, algorithm=TREE):
        before = sorted(os.listdir(tmp_path))
        arguments = ["train", tmp_path / name, "-m", tmp_path / "m", "--quiet", *algorithm, *more]
        refused(*arguments, match=match)
        assert sorted(os.listdir(tmp_path)) == before

    return refused_data


def test_data(refused_data, tmp_path):
    refused_data("no.svm", match="no.svm: there is no such file; check the name")
    refused_data("no*.svm", match="no file has a name like this")
    refused_data(".", match="this is a directory")
    refused_data("no.csv", match="no.csv: there is no such file")
    (tmp_path / "a.csv").write_text("a,b\n")
    refused_data("a.csv", match='a.csv:1: the text column "text" is not there: give text=')
    (tmp_path / "a.dat").write_text("a,b\n")
    refused_data("a.dat", match="the names do not tell one format; give --format")
    refused_data("a.csv", "--format", "tsv", match='a.csv:1: line "a,b" has no tab')
    (tmp_path / "folder.svm").mkdir()
    refused_data("folder.svm", match="this is a directory; name the files in it")
    (tmp_path / "empty.svm").touch()
    refused_data("empty.svm", match="empty.svm: no rows to learn from")
    (tmp_path / "a.svm").write_text("1 1:1\n1 12x:1\n")
    refused_data("a.svm", match='a.svm:2: feature index "12x" is not an integer')
    (tmp_path / "text.svm").write_text("call me ishmael\n")
    refused_data("text.svm", match="text.svm:1: ")
    (tmp_path / "bare.tsv").write_text("\tno label\n" * 3)
    refused_data("bare.tsv", match="none of the first 3 rows has a label to learn")
    (tmp_path / "cut.svm.gz").write_bytes(b"\x1f\x8b\x08\x00")
    refused_data("cut.svm.gz", match="gzip data is truncated or corrupt")
    (tmp_path / "late.svm").write_text("1 1:1\n" * 9000 + "1,2 1:1\n")
    refused_data("late.svm", match="for rows with sets of labels give --label-sets")
    (tmp_path / "sets.svm").write_text("1,2 1:1\n")
    recall_tree = ("--algorithm", "recall-tree")
    refused_data("sets.svm", match="rows have sets of labels", algorithm=recall_tree)
    (tmp_path / "some.tsv").write_text("a\tx\n\ty\n")
    match = "rows without a label, which recall-tree does not learn"
    refused_data("some.tsv", match=match, algorithm=recall_tree)


@pytest.mark.parametrize(
    ("option", "value", "match"),
    [
        ("--format", "docx", "unknown format"),
        ("--hash-bits", 9, "--hash-bits is for text, and the format is svmlight"),
        ("--char-ngrams", "x", "expected a range such as 3-5"),
        ("--loss", "huber", "'loss' parameter"),
        ("--bits", 99, "'bits' parameter"),
        ("--bits", "many", "--bits"),
        ("--algorithm", "oak", "--algorithm is 'oak', expected one of"),
        ("--scorer-step", 1, "no such option: --scorer-step"),  # of another algorithm
        ("--checkpoint-every", "often", "expected a duration such as 60s"),
        ("--holdout", 2, "--holdout is 2.0, expected a share"),
        ("--threads", 0, "n_jobs is 0"),
        ("--test", "no.svm", "no.svm: there is no such file"),
        ("--plot", "nowhere/curve.png", "there is no such folder"),
        ("--plot", "curve.docx", "expected a name ending in"),
        ("--resume", "no.labeltree", "there is no such file"),
    ],
)
def test_options_before_a_byte_is_read(refused_data, tmp_path, monkeypatch, option, value, match):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("this is not even svmlight")
    refused_data("a.svm", option, value, match=match)


def test_files_to_test_on_before_anything_is_learned(refused_data, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "empty.svm").touch()
    (tmp_path / "bare.svm").write_text(" 1:1\n")
    (tmp_path / "text.svm").write_text("call me ishmael\n")
    for name, match in {
        "no.svm": "no.svm: there is no such file",
        ".": "this is a directory",
        "empty.svm": "empty.svm: there are no rows to evaluate on; give labelled rows",
        "bare.svm": "bare.svm: no row has a label to evaluate on; give labelled rows",
        "text.svm": "text.svm:1: ",
    }.items():
        refused_data("a.svm", "--test", tmp_path / name, match=match)


def test_arguments_that_are_missing(refused, folder):
    refused("train", folder / "train.svm", match="--model is missing")
    refused("train", "-m", folder / "x", match="no data to learn from")
    refused("predict", match="missing argument 'MODEL'; see labeltree predict --help")
    refused("grow", match="no such command 'grow'")


def test_standard_input(refused, tmp_path):
    arguments = ["train", "-", "-m", tmp_path / "m"]
    refused(*arguments, "--format", "svmlight", "--passes", 2, match="can be read only once")
    refused(*arguments, match="give --format")


def test_models_that_are_none(refused, folder, tmp_path):
    (tmp_path / "other").write_text("no model")

    save_file({"w": np.zeros(3)}, tmp_path / "foreign", {"format": "pt"})
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for command in ("predict", "evaluate"):
        for name in ("other", "foreign", "empty"):
            refused(command, tmp_path / name, folder / "test.svm", match="not a labeltree")
        refused(command, tmp_path / "no", folder / "test.svm", match="there is no such file")
        refused(command, tmp_path / "folder", folder / "test.svm", match="this is a directory")
    refused("inspect", tmp_path / "other", match="not a labeltree")
    refused("train", "--resume", tmp_path / "other", match="not a labeltree")


def test_model_cut_short(refused, folder, model, tmp_path):
    (tmp_path / "cut").write_bytes(model.read_bytes()[:-100])
    refused("predict", tmp_path / "cut", folder / "test.svm", match="cut short or damaged")


def test_places_that_cannot_be_written(refused, folder, model, tmp_path):
    train = ["train", folder / "train.svm", "-m"]
    refused(*train, tmp_path / "nowhere" / "m", match="there is no such folder")
    refused(*train, tmp_path, match="this is not a file and cannot be written")
    refused(*train, "/proc/m", match="no file can be written in that folder")
    refused("predict", model, folder / "test.svm", "-o", "/proc/x", match="no file can be written")
    refused("evaluate", model, folder / "test.svm", "-o", "/proc/x", match="no file can be")
    refused("inspect", model, "--html", "/proc/x", match="no file can be written")
    refused("tune", folder / "train.svm", "-m", "/proc/x", match="no file can be written")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(refused, folder, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    m = tmp_path / "locked" / "m"
    refused("train", folder / "train.svm", "-m", m, match="no file can be written in that folder")


def test_disk_that_is_full(folder, tmp_path):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    m = tmp_path / "m"
    m.write_text("the old model")
    result = execute(
        *("train", folder / "train.svm", "-m", m, "--quiet", "--overwrite"),
        code=2,
        preexec_fn=small_files,
    )
    assert result.stderr.startswith(
        f"labeltree: {m}: the file would be larger than is allowed here"
    )
    assert result.stderr.count("\n") == 1
    assert m.read_text() == "the old model"
    assert os.listdir(tmp_path) == ["m"]


def test_resume(refused, cli, folder, model, tmp_path):
    refused("train", "--resume", model, match="its run is complete; give files")
    arguments = ["train", folder / "test.svm", "--resume", model, "-m", tmp_path / "m"]
    refused(*arguments, "--seed", 20, match="leave those options out with --resume")
    refused(*arguments, "--format", "vw", match="leave those options out with --resume")
    short = tmp_path / "a.svm"
    lines = (folder / "train.svm").read_text().splitlines(keepends=True)
    short.write_text("".join(lines))
    m = tmp_path / "m"
    cli("tune", short, "-m", m, "--trials", 2, "--budget", "0.001s", "--quiet")
    short.write_text("".join(lines[:500]))
    refused("train", "--resume", m, match="the run cannot go on where it was")
    refused(
        "train", "--resume", m, "--passes", 3, match="leave --passes, --holdout and --shuffle out"
    )
    short.unlink()
    refused("train", "--resume", m, match="the run cannot go on where it was")


def test_rows_that_do_not_fit_the_model(refused, model, tmp_path):
    (tmp_path / "wide.svm").write_text("1 99999999:1\n")
    refused("predict", model, tmp_path / "wide.svm", match="wide.svm:1: feature index")
    (tmp_path / "a.vw").write_text("1 | a b\n")
    arguments = ["predict", model, tmp_path / "a.vw", "--format", "vw"]
    refused(*arguments, match="would number their features differently")
    arguments = ["predict", model, tmp_path / "wide.svm", "--output-format", "xml"]
    refused(*arguments, match="--output-format is 'xml'")


def test_files_without_rows_cannot_be_predicted(refused, model, tmp_path):
    (tmp_path / "empty.svm").touch()
    arguments = ["predict", model, tmp_path / "empty.svm", "-o", tmp_path / "out"]
    refused(*arguments, match="empty.svm: no rows to predict")
    assert os.listdir(tmp_path) == ["empty.svm"]
    result = execute("predict", model, "-", input="")  # a pipe may well have nothing to ask
    assert (result.stdout, result.stderr) == ("", "")


def test_predictions_on_a_full_disk(folder, model, tmp_path):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    arguments = ["predict", model, folder / "test.svm", "-o", tmp_path / "out"]
    result = execute(*arguments, code=2, preexec_fn=small_files)
    assert result.stderr.startswith(f"labeltree: {tmp_path / 'out'}: the file would be larger")
    assert os.listdir(tmp_path) == []


def test_a_missing_file_is_told_before_what_reads_files_is_imported():
    code = (
        "import sys; from labeltree.cli.app import build\n"
        "try: build(['train'])(sys.argv[1:], standalone_mode=False)\n"
        "except FileNotFoundError as error: print(error.filename, 'sklearn' in sys.modules)"
    )
    arguments = ["train", "-m", "m", "-", "*.tsv", "nosuch.tsv"]
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "nosuch.tsv False\n"


def test_ctrl_c_while_starting():
    code = "import _thread, labeltree.cli as cli, builtins; real = builtins.__import__\n"
    code += "def stop(name, *more):\n    if name == 'typer': raise KeyboardInterrupt\n"
    code += "    return real(name, *more)\nbuiltins.__import__ = stop; cli.main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (130, "")


def test_bad_row_leaves_no_output(refused, model, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n1 x\n")
    refused("predict", model, tmp_path / "a.svm", "-o", tmp_path / "out", match="a.svm:2: ")
    assert os.listdir(tmp_path) == ["a.svm"]


def test_rows_without_labels_cannot_be_evaluated(refused, model, tmp_path):
    (tmp_path / "bare.svm").write_text(" 1:1\n 2:1\n")
    refused("evaluate", model, tmp_path / "bare.svm", match="no row has a label to compare with")
    (tmp_path / "empty.svm").touch()
    refused("evaluate", model, tmp_path / "empty.svm", match="no rows to evaluate on")


def test_inspect(refused, cli, folder, model, tmp_path):
    refused("inspect", model, "--example", "test.svm", match="expected FILE:LINE")
    refused("inspect", model, "--example", "no.svm:1", match="no.svm: there is no such file")
    refused("inspect", model, "--example", f"{folder / 'test.svm'}:9999", match="1,500 lines")
    (tmp_path / "blank.svm").write_text("\n1 1:1\n")
    refused("inspect", model, "--example", f"{tmp_path / 'blank.svm'}:1", match="holds no row")
    (tmp_path / "bad.svm").write_text("1 1:1\n1 x\n")
    refused("inspect", model, "--example", f"{tmp_path / 'bad.svm'}:2", match="bad.svm:2: ")
    m = tmp_path / "m"
    cli("train", folder / "train.svm", "-m", m, "--algorithm", "one-against-all", "--quiet")
    refused("inspect", m, "--tree", match="one-against-all has no tree to draw")


def test_tune(refused, tmp_path):
    (tmp_path / "empty.svm").touch()
    arguments = ["tune", tmp_path / "empty.svm", "-m", tmp_path / "m"]
    refused(*arguments, match="no rows to learn from")
    refused(*arguments, "--budget", "soon", match="--budget is 'soon', expected a duration")
    assert not (tmp_path / "m").exists()


def test_demo_folder_that_is_a_file(refused, tmp_path):
    (tmp_path / "f").touch()
    refused("demo", "--folder", tmp_path / "f", match="this is not a folder")


def test_library_errors_are_values(tmp_path):
    from labeltree.runs import train

    (tmp_path / "a.svm").write_text("1 x:1\n")
    with pytest.raises(DataError, match="not an integer"):
        train([str(tmp_path / "a.svm")], tmp_path / "m")
