"""The command line, driven as a user drives it: the real executable on real files."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from labeltree import load, modelfile
from labeltree.cli import main
from labeltree.datasets import make_multiclass


def run(*arguments, stdin=None, code=0):
    result = subprocess.run(
        [sys.executable, "-m", "labeltree", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
    )
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    for name, seed in [("train", 0), ("test", 1)]:
        X, y = make_multiclass(1500, 40, n_features=512, random_state=seed)
        dump_svmlight_file(X, y, str(folder / f"{name}.svm"))
    return folder


@pytest.fixture(scope="module")
def model(folder):
    run("train", folder / "train.svm", "-m", folder / "m.labeltree", "--passes", 2)
    return folder / "m.labeltree"


def test_train_prints_progressive_validation(folder):
    result = run("train", folder / "train.svm", "-m", folder / "one.labeltree")
    rows = [line.split() for line in result.stderr.splitlines()]
    assert rows[0] == ["examples", "labels", "error", "recent"]
    assert rows[1][:2] == ["1,024", "40"]
    assert 0 < float(rows[1][2]) < 0.5
    assert "1,500 examples, 40 labels, progressive error" in result.stderr
    assert load(folder / "one.labeltree").progress_.examples == 1500
    assert (
        run("train", folder / "train.svm", "-m", folder / "one.labeltree", "--quiet").stderr == ""
    )


def test_several_passes_count_progress_once(model):
    assert load(model).progress_.examples == 1500


def test_predict_agrees_with_python(folder, model, tmp_path):
    out = tmp_path / "out.tsv"
    run("predict", model, folder / "test.svm", "-o", out, "--top", 3, "--scores")
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    _, y = make_multiclass(1500, 40, n_features=512, random_state=1)
    assert len(rows) == 1500
    assert len(rows[0]) == 6
    assert np.mean(np.array([int(row[0]) for row in rows]) == y) > 0.95
    assert all(float(row[1]) >= float(row[3]) >= float(row[5]) for row in rows)
    plain = run("predict", model, folder / "test.svm").stdout.splitlines()
    assert plain == [row[0] for row in rows]


def test_predict_reads_standard_input(folder, model):
    lines = (folder / "test.svm").read_text().splitlines(keepends=True)[:5]
    expected = run("predict", model, folder / "test.svm").stdout.splitlines()[:5]
    assert run("predict", model, "-", stdin="".join(lines)).stdout.splitlines() == expected


def test_evaluate(folder, model):
    measured = json.loads(run("evaluate", model, folder / "test.svm", "--json").stdout)
    assert measured["examples"] == 1500
    assert measured["error_low"] <= measured["error"] < measured["error_high"] < 0.05
    assert measured["precision@1"] == pytest.approx(1 - measured["error"])
    table = run("evaluate", model, folder / "test.svm").stdout
    assert "95 % interval" in table
    assert "ndcg@5" in table


def test_text_with_label_sets(tmp_path):
    text = "".join(
        f"{'pet,' if i % 2 else ''}{'cat' if i % 4 < 2 else 'dog'}\t"
        f"it {'purrs' if i % 4 < 2 else 'barks'} {'at home' if i % 2 else 'outside'}\n"
        for i in range(200)
    )
    (tmp_path / "pets.tsv").write_text(text)
    m = tmp_path / "m"
    run("train", tmp_path / "pets.tsv", "-m", m, "--label-separator", ",", "--word-ngrams", 2)
    assert modelfile.read_header(m)["notes"]["reader"]["word_ngrams"] == 2
    result = run("predict", m, "-", stdin="\tit purrs at home\n\tit barks outside\n")
    assert [set(line.split(",")) for line in result.stdout.splitlines()] == [
        {"pet", "cat"},
        {"dog"},
    ]
    assert run("predict", m, "-", "--top", 1, stdin="\tit barks outside\n").stdout == "dog\n"


def test_skipping_bad_lines_reports_them(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 x:1\n3 1:nan\n2 2:1\n")
    result = run("train", tmp_path / "a.svm", "-m", tmp_path / "m", "--skip-bad-lines")
    assert "2 bad lines skipped" in result.stderr
    assert 'a.svm:2: feature index "x" is not an integer' in result.stderr
    assert "2 examples" in result.stderr


def test_ctrl_c_saves_what_was_learned(tmp_path):
    X, y = make_multiclass(20_000, 3000)
    dump_svmlight_file(X, y, str(tmp_path / "long.svm"))
    command = [sys.executable, "-m", "labeltree", "train", "long.svm", "-m", "m", "--passes", "99"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    with process:
        for line in process.stderr:
            if "8,192" in line:
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "saved to m" in rest
    assert load(tmp_path / "m").progress_.examples >= 8192


class TestBadInput:
    """One sentence that says what to do, exit code 2, nothing written."""

    @pytest.fixture
    def refused(self, monkeypatch, capsys):
        """Run the command line in this process, which saves a start per case."""

        def refused(*arguments, match):
            monkeypatch.setattr(sys, "argv", ["labeltree", *map(str, arguments)])
            with pytest.raises(SystemExit) as stop:
                main()
            assert stop.value.code == 2
            message = capsys.readouterr().err
            assert message.startswith("labeltree: ")
            assert message.count("\n") == 1
            assert match in message

        return refused

    @pytest.fixture
    def refused_data(self, refused, tmp_path):
        def refused_data(name, *more, match):
            refused("train", tmp_path / name, "-m", tmp_path / "m", "--quiet", *more, match=match)
            assert not (tmp_path / "m").exists()

        return refused_data

    def test_data(self, refused_data, tmp_path):
        refused_data("no.svm", match="no.svm: No such file or directory")
        refused_data(".", match="give format=")
        (tmp_path / "folder.svm").mkdir()
        refused_data("folder.svm", match="Is a directory")
        (tmp_path / "empty.svm").touch()
        refused_data("empty.svm", match="empty.svm: no rows to learn from")
        (tmp_path / "a.svm").write_text("1 1:1\n1 12x:1\n")
        refused_data("a.svm", match='a.svm:2: feature index "12x" is not an integer')
        (tmp_path / "sets.svm").write_text("1 1:1\n" * 9000 + "1,2 1:1\n")
        refused_data("sets.svm", match="for rows with sets of labels give --label-sets")

    @pytest.mark.parametrize(
        ("option", "value", "match"),
        [
            ("--format", "docx", "unknown format"),
            ("--hash-bits", 9, 'format "svmlight" has no option "hash_bits"'),
            ("--char-ngrams", "x", "expected a range such as 3-5"),
            ("--loss", "huber", "'loss' parameter"),
            ("--bits", 99, "'bits' parameter"),
        ],
    )
    def test_options(self, refused_data, tmp_path, option, value, match):
        (tmp_path / "a.svm").write_text("this is not even svmlight")
        refused_data("a.svm", option, value, match=match)

    def test_standard_input_twice(self, refused, tmp_path):
        arguments = ["train", "-", "--format", "svmlight", "--passes", 2, "-m", tmp_path / "m"]
        refused(*arguments, match="standard input can be read only once")

    def test_model(self, refused, folder, tmp_path):
        (tmp_path / "other").write_text("no model")
        for command in ("predict", "evaluate"):
            refused(command, tmp_path / "other", folder / "test.svm", match="not a labeltree")
            refused(command, tmp_path / "no", folder / "test.svm", match="No such file")
        nowhere = tmp_path / "nowhere" / "m"
        refused("train", folder / "train.svm", "-m", nowhere, match="there is no such folder")
        refused("train", folder / "train.svm", "-m", tmp_path, match="cannot be written")

    def test_rows_that_do_not_fit_the_model(self, refused, model, tmp_path):
        (tmp_path / "wide.svm").write_text("1 99999999:1\n")
        refused("predict", model, tmp_path / "wide.svm", match="wide.svm:1: feature index")

    def test_rows_in_another_format(self, refused, model, tmp_path):
        (tmp_path / "a.vw").write_text("1 | a b\n")
        arguments = ["predict", model, tmp_path / "a.vw", "--format", "vw"]
        refused(*arguments, match="would number their features differently")

    def test_bad_row_leaves_no_output(self, refused, model, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n1 x\n")
        refused("predict", model, tmp_path / "a.svm", "-o", tmp_path / "out", match="a.svm:2: ")
        assert not (tmp_path / "out").exists()

    def test_options_that_do_not_exist(self, folder):
        assert "No such option" in run("train", folder / "train.svm", "--colour", code=2).stderr


def test_demo_runs(tmp_path):
    result = run("demo", "--examples", 2000, "-m", tmp_path / "demo.labeltree")
    assert "2,000 examples" in result.stdout
    assert "Error on the 400 tokens that follow" in result.stdout
    assert load(tmp_path / "demo.labeltree").n_labels_ > 100


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from labeltree.cli.app import app\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'safetensors', 'labeltree._core'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
