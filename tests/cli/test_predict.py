"""``labeltree predict`` and ``labeltree evaluate``."""

import json
import statistics
import subprocess
import time

import numpy as np
import pytest

from labeltree import (
    LabelTreeClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
    RecallTreeClassifier,
    TextClassifier,
    load,
)
from labeltree.data import load as load_data
from labeltree.datasets import make_multiclass
from labeltree.metrics import reliability
from labeltree.runs import train

from .conftest import COMMAND, ENVIRONMENT, execute, write_pets


def test_predict_agrees_with_python(cli, folder, model, tmp_path):
    out = tmp_path / "out.tsv"
    cli("predict", model, folder / "test.svm", "-o", out, "--top", 3, "--scores")
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    data = load_data(folder / "test.svm", n_features=2**24)
    labels, scores = load(model).predict_topk(data.X, 3)
    assert [[int(row[0]), int(row[2]), int(row[4])] for row in rows] == labels.tolist()
    np.testing.assert_allclose([[float(row[i]) for i in (1, 3, 5)] for row in rows], scores, 1e-5)
    plain = cli("predict", model, folder / "test.svm").out.splitlines()
    assert plain == [row[0] for row in rows]


def test_formats(cli, folder, model):
    text = cli("predict", model, folder / "test.svm", "--top", 2, "--output-format", "jsonl").out
    entry = json.loads(text.splitlines()[0])
    assert list(entry) == ["labels"]
    arguments = ["predict", model, folder / "test.svm", "--top", 2, "--scores"]
    scored = json.loads(cli(*arguments, "--output-format", "jsonl").out.splitlines()[0])
    assert scored["labels"] == entry["labels"]
    assert scored["scores"][0] >= scored["scores"][1]
    line = cli(*arguments, "--output-format", "svmlight").out.splitlines()[0].split()
    assert line[0] == (folder / "test.svm").read_text().split()[0]  # the row's own label
    assert {int(cell.split(":")[0]) for cell in line[1:]} == set(entry["labels"])


def test_labels_that_are_words_are_no_svmlight(refused, cli, tmp_path):
    data, m = write_pets(tmp_path / "pets.tsv"), tmp_path / "m"
    arguments = ["train", data, "-m", m, "--label-separator", ",", "--quiet"]
    cli(*arguments, "--algorithm", "one-against-all")
    out = tmp_path / "out"
    refused(
        "predict",
        m,
        data,
        "--output-format",
        "svmlight",
        "-o",
        out,
        match="use --output-format tsv",
    )
    assert not out.exists()
    sets = {frozenset(line.split(",")) for line in cli("predict", m, data).out.splitlines()}
    assert sets == {frozenset(s) for s in ({"cat"}, {"dog"}, {"cat", "pet"}, {"dog", "pet"})}
    assert cli("predict", m, data, "--top", 1).out.splitlines()[0] in ("cat", "pet")


def test_labels_of_text_that_are_numbers_are_svmlight(refused, cli, tmp_path):
    """Labels of TSV are strs, however they look."""
    data, m = tmp_path / "a.tsv", tmp_path / "m"
    data.write_text("10\tit purrs\n9\tit barks\n" * 50)
    cli("train", data, "-m", m, "--quiet", "--bits", 18)
    svmlight = ["--output-format", "svmlight", "--top", 2]
    lines = cli("predict", m, data, *svmlight).out.splitlines()
    assert [cell.split(":")[0] for cell in lines[0].split()] == ["10", "9", "10"]  # 9 before 10
    for label in ("007", "-1", "1.5", "²"):
        data.write_text(f"{label}\tit purrs\n" * 10)
        cli("train", data, "-m", m, "--quiet", "--bits", 18)
        refused("predict", m, data, *svmlight, match=f"the label {label!r} is not written as an")


def test_rows_are_answered_as_they_come(folder, model):
    lines = (folder / "test.svm").read_text().splitlines(keepends=True)[:100]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    took = []
    with subprocess.Popen(
        [*COMMAND, "predict", model, "-"], env=ENVIRONMENT, bufsize=1, **pipes
    ) as process:
        answers = []
        for line in lines:
            start = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            answers.append(process.stdout.readline())
            took.append(time.perf_counter() - start)
        process.stdin.close()
    assert process.returncode == 0
    assert "".join(answers).splitlines() == predicted(model, folder)[:100]
    # 0.2 ms on an idle machine (bench/cli.py). On a busy one many lines take longer, not all.
    assert statistics.quantiles(took, n=10)[0] < 0.005


def predicted(model, folder):
    data = load_data(folder / "test.svm", n_features=2**24)
    return [str(label) for label in load(model).predict(data.X)]


def test_a_first_line_that_is_short_is_answered(model):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "predict", model, "-"], env=ENVIRONMENT, **pipes) as process:
        process.stdin.write(b"1 1:1\n")
        process.stdin.flush()
        assert process.stdout.readline().strip().isdigit()
        process.stdin.close()


def test_reader_that_goes_away_is_no_error(folder, model):
    command = " ".join(map(str, [*COMMAND, "predict", model, *[folder / "test.svm"] * 40]))
    result = subprocess.run(
        f"{command} | head -n 1", shell=True, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1


def test_full_disk_behind_standard_output(folder, model):
    with open("/dev/full", "w") as full:
        result = execute(
            *("predict", model, folder / "test.svm"),
            code=2,
            capture_output=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert result.stderr == "labeltree: the disk is full; free some space, or write elsewhere\n"


def test_evaluate(cli, folder, model, tmp_path):
    out = tmp_path / "measured.json"
    measured = json.loads(cli("evaluate", model, folder / "test.svm", "--json", "-o", out).out)
    assert json.loads(out.read_text()) == measured
    assert measured["examples"] == 1500
    error = measured["metrics"]["error"]
    assert error["low"] <= error["value"] < error["high"] < 0.05
    assert measured["metrics"]["precision@1"]["value"] == pytest.approx(1 - error["value"])
    assert 0 < measured["metrics"]["squared_loss"]["value"] < 0.5
    groups = measured["groups"]
    assert set(groups) == {"middle"}  # 40 labels of about 37 examples
    assert groups["middle"]["examples"] == 1500
    assert groups["middle"]["recall@1"]["value"] == pytest.approx(1 - error["value"])
    table = cli("evaluate", model, folder / "test.svm").out
    assert "95 % interval" in table
    assert "middle (20 to 100)" in table


def test_evaluate_tells_how_far_probabilities_can_be_trusted(cli, folder, model):
    calibration = json.loads(cli("evaluate", model, folder / "test.svm", "--json").out)[
        "calibration"
    ]
    data = load_data(folder / "test.svm", n_features=2**24)
    table = reliability(data.y, *load(model).predict_topk(data.X, 1))
    assert calibration["error"] == pytest.approx(table.error)
    assert calibration["bins"] == [pytest.approx(row._asdict()) for row in table.bins]
    assert sum(row["predictions"] for row in calibration["bins"]) == 1500
    lines = cli("evaluate", model, folder / "test.svm").out.splitlines()
    (line,) = [line for line in lines if line.startswith("calibration")]
    assert f"{table.error:.4f}" in line


def test_calibration_of_sets_is_that_of_the_five_best_labels(cli, folder, tmp_path):
    data = load_data(folder / "train.svm")
    sets = [[label, label % 3] for label in data.y]
    lines = [f"{a},{b} {i % 9}:1 {20 + a}:2\n" for i, (a, b) in enumerate(sets)]
    (tmp_path / "a.svm").write_text("".join(lines))
    cli("train", tmp_path / "a.svm", "-m", tmp_path / "m", "--quiet", "--bits", 16)
    out = cli("evaluate", tmp_path / "m", tmp_path / "a.svm", "--json").out
    bins = json.loads(out)["calibration"]["bins"]
    assert sum(row["predictions"] for row in bins) == pytest.approx(5 * 1500, rel=0.1)


@pytest.mark.parametrize(
    "clf",
    [
        OneAgainstAllClassifier(loss="hinge", random_state=0),
        RecallTreeClassifier(random_state=0),
        LOMTreeClassifier(random_state=0),
    ],
)
def test_scores_that_are_no_probabilities_are_not_judged_as_such(
    cli, refused, folder, tmp_path, clf
):
    data = load_data(folder / "train.svm")
    clf.fit(data.X, data.y).save(tmp_path / "m")
    arguments = ["evaluate", tmp_path / "m", folder / "test.svm"]
    assert "calibration" not in json.loads(cli(*arguments, "--json").out)
    assert "calibration" not in cli(*arguments).out
    refused(*arguments, "--plot", tmp_path / "a.svg", match="there is nothing to draw")
    assert not (tmp_path / "a.svg").exists()


def test_evaluate_draws_both_pictures_in_one_file(cli, refused, folder, model, tmp_path):
    arguments = ["evaluate", model, folder / "test.svm", "--plot"]
    assert "calibration" in cli(*arguments, tmp_path / "a.svg").out
    picture = (tmp_path / "a.svg").read_text()
    assert ">share of true labels found</text>" in picture
    assert ">share of predictions that are right</text>" in picture
    refused(*arguments, tmp_path / "a.docx", match="expected a name ending in")


def test_groups_by_frequency(cli, tmp_path):
    _, y = make_multiclass(600, 4, n_features=64)
    y[150:] = np.where(np.arange(450) < 420, 0, 3)
    y[:120] = 1
    lines = [f"{label} {i % 7}:1 {10 + label}:3\n" for i, label in enumerate(y)]
    (tmp_path / "a.svm").write_text("".join(lines))
    (tmp_path / "b.svm").write_text("".join([*lines, "99 3:1\n"]))
    m = tmp_path / "m"
    cli("train", tmp_path / "a.svm", "-m", m, "--quiet", "--bits", 18)
    groups = json.loads(cli("evaluate", m, tmp_path / "b.svm", "--json").out)["groups"]
    counts = np.bincount(y)
    assert groups["head"]["labels"] == (counts > 100).sum() == 2
    assert groups["head"]["examples"] == counts[counts > 100].sum()
    assert groups["never learned"] == {
        "learned": [0, 0],
        "labels": 1,
        "examples": 1,
        "recall@1": groups["never learned"]["recall@1"],
        "recall@4": groups["never learned"]["recall@4"],
    }
    assert groups["never learned"]["recall@1"]["value"] == 0


def test_model_that_was_trained_from_python(cli, folder, tmp_path):
    data = load_data(folder / "train.svm")
    OneAgainstAllClassifier(random_state=0).fit(data.X, data.y).save(tmp_path / "m")
    measured = json.loads(cli("evaluate", tmp_path / "m", folder / "train.svm", "--json").out)
    assert measured["metrics"]["error"]["value"] < 0.05
    assert measured["groups"] == {}


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """A folder with a model of texts."""
    folder = tmp_path_factory.mktemp("spoken")
    rows = "cat\tit purrs\ndog\tit barks\n" * 50
    (folder / "a.tsv").write_text(rows)
    options = {"params": {"bits": 16, "random_state": 0}, "text_options": {"hash_bits": 16}}
    train([str(folder / "a.tsv")], folder / "m", **options)
    return folder


def test_lines_of_plain_text(cli, spoken, tmp_path):
    (tmp_path / "q").write_text("it barks\n\nit PURRS\n")
    out = cli("predict", spoken / "m", tmp_path / "q", "--format", "text").out.splitlines()
    assert [out[0], out[2]] == ["dog", "cat"]
    assert len(out) == 3


def test_other_formats_and_columns_than_those_learned(cli, refused, spoken, tmp_path):
    (tmp_path / "q.csv").write_text("says;who\nit barks;dog\nit purrs;cat\n")
    arguments = [spoken / "m", tmp_path / "q.csv", "--text-column", "says", "--delimiter", ";"]
    assert cli("evaluate", *arguments, "--label-column", "who").out.startswith("2 examples")
    assert cli("predict", *arguments).out.splitlines() == ["dog", "cat"]
    (tmp_path / "q.jsonl").write_text('{"text": "it barks"}\n')
    assert cli("predict", spoken / "m", tmp_path / "q.jsonl").out == "dog\n"
    refused("predict", *arguments[:-2], match="give delimiter= (--delimiter)")


@pytest.fixture
def numbered(tmp_path):
    """A model of texts that was fitted in Python, on labels that are integers."""
    clf = TextClassifier(LabelTreeClassifier(bits=16, random_state=0), hash_bits=16)
    clf.fit(["it purrs", "it barks", "it sings"] * 20, [1, 2, 30] * 20).save(tmp_path / "m")
    return tmp_path / "m"


NUMBERED = {
    "tsv": "1\tit purrs\n2\tit barks\n07\tit sings\n",
    "csv": "text,label\nit purrs,1\nit barks,2\nit sings,07\n",
    "fasttext": "__label__1 it purrs\n__label__2 it barks\n__label__07 it sings\n",
}


@pytest.mark.parametrize("name", NUMBERED)
def test_integers_of_text_are_the_labels_of_a_model_that_has_integers(
    cli, numbered, tmp_path, name
):
    data = tmp_path / f"q.{name}"
    data.write_text(NUMBERED[name])
    measured = json.loads(cli("evaluate", numbered, data, "--format", name, "--json").out)
    assert measured["metrics"]["error"]["value"] == pytest.approx(1 / 3)
    grown = tmp_path / "grown"
    arguments = ["train", data, "--format", name, "--resume", numbered, "-m", grown, "--quiet"]
    cli(*arguments, "--passes", 2)
    assert load(grown).classes_.tolist() == [1, 2, 30, "07"]
    cli("train", data, "--resume", grown, "-m", grown, "--quiet")  # numbers beside a word now
    assert load(grown).classes_.tolist() == [1, 2, 30, "07"]


def test_a_model_that_has_texts_that_are_integers_keeps_them(cli, spoken, tmp_path):
    (tmp_path / "q.tsv").write_text("1\tit sings\n" * 5)
    for _ in range(2):
        cli("train", tmp_path / "q.tsv", "--resume", spoken / "m", "-m", tmp_path / "m", "--quiet")
    assert load(tmp_path / "m").classes_.tolist() == ["cat", "dog", "1"]


def test_labels_that_are_all_unknown_are_told(cli, refused, spoken, numbered, tmp_path):
    data = tmp_path / "q.tsv"
    data.write_text("Cat\tit purrs\nDog\tit barks\n")
    told = f"warning: none of the 2 labels of {data} is known to the model; the first is 'Cat', "
    result = cli("evaluate", spoken / "m", data)
    assert result.err.startswith(told + "and the first that it has learned 'cat'; check")
    assert result.err.count("\n") == 1
    data.write_text("Cat\tit purrs\ndog\tit barks\n")
    assert cli("evaluate", spoken / "m", data).err == ""
    refused(
        "evaluate", numbered, data, match="give labels of one type, numbers or strings, in both"
    )


def test_rows_whose_set_is_empty_are_counted(cli, tmp_path):
    data, model = tmp_path / "data.tsv", tmp_path / "m"
    lines = ["cat,pet\tit purrs\ndog\tit barks", "bird\tit sings"]
    data.write_text("\n".join(lines * 60) + "\n")
    arguments = ["--label-separator", ",", "--quiet", "--bits", 16, "--hash-bits", 16]
    cli("train", data, "-m", model, *arguments)
    assert cli("predict", model, data).err == ""
    (tmp_path / "q").write_text("it barks\nquite unheard of\n\n")
    arguments = ["predict", model, tmp_path / "q", "--format", "text"]
    for more in ([], ["--scores"]):
        result = cli(*arguments, *more)
        assert result.out.splitlines()[1:] == ["", ""]
        assert result.err == (
            "2 of 3 rows have no label above the threshold 0.5; --top 1 gives the best one in any "
            "case\n"
        )
    assert cli(*arguments, "--top", 1).err == ""


def test_rows_without_labels_are_left_out_of_an_evaluation(cli, spoken, tmp_path):
    (tmp_path / "q.tsv").write_text("dog\tit barks\n\tit barks\n")
    out = cli("evaluate", spoken / "m", tmp_path / "q.tsv").out
    assert out.splitlines()[:2] == ["1 examples", "1 rows without labels were left out"]
    assert "error              0.0000" in out


def test_a_resumed_model_keeps_its_algorithm(refused, spoken, tmp_path):
    arguments = ["train", spoken / "a.tsv", "--resume", spoken / "m", "-m", tmp_path / "m"]
    refused(*arguments, "--algorithm", "lom-tree", match="leave --algorithm out")


def test_scores_of_sets_are_those_of_the_labels_predicted(cli, tmp_path):
    data, model = tmp_path / "data.tsv", tmp_path / "m"
    lines = [f"cat,pet\tit purrs {i}\ndog\tit barks {i}" for i in range(60)]
    data.write_text("\n".join(lines) + "\n")
    cli("train", data, "-m", model, "--label-separator", ",", "--quiet")
    plain = [line.split(",") for line in cli("predict", model, data).out.splitlines()]
    scored = [line.split("\t") for line in cli("predict", model, data, "--scores").out.splitlines()]
    assert [sorted(row[::2]) for row in scored] == [sorted(row) for row in plain]
    assert {len(row) for row in plain} == {1, 2}
    assert all(float(score) >= 0.5 for row in scored for score in row[1::2])
