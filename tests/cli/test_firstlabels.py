"""What is said of labels that were probably read in another way than was meant."""

import json

import numpy as np
import pytest

from labeltree.runs.firstlabels import ROWS


@pytest.fixture
def said(cli, tmp_path):
    """Return what is said of the labels of a file, whose texts are numbered."""

    def said(labels, *options, name="a.tsv", command="train"):
        rows = [(label, f"text {i}") for i, label in enumerate(labels)]
        path = tmp_path / name
        if name.endswith("tsv"):
            path.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
        elif name.endswith("csv"):
            path.write_text("label,text\n" + "".join(f'"{a}",{b}\n' for a, b in rows))
        else:
            lines = [json.dumps({"labels": label, "text": text}) for label, text in rows]
            path.write_text("\n".join(lines))
        options = ("--algorithm", "lom-tree", "--bits", 10, "--hash-bits", 10, *options)
        err = cli(command, path, "-m", tmp_path / "m", *options).err
        return [line for line in err.splitlines() if line.startswith("warning: ")]

    return said


OWN = (
    "warning: 300 of the first 300 rows have a label that no other row has: check that labels and "
    "features have not changed places, and that labels are not ids"
)
UNIQUE = [f"label {i}" for i in range(ROWS + 100)]


def test_labels_of_one_row_each(said):
    assert said(UNIQUE[:300]) == [OWN]
    assert said(UNIQUE[:300], name="a.csv") == [f"{OWN} (--label-column names them)"]
    assert said(UNIQUE[:300], "--trials", 2, command="tune") == [OWN]
    (line,) = said([*UNIQUE, *UNIQUE], "--passes", 2)
    assert "8,192 of the first 8,192 rows" in line
    (line,) = said([*UNIQUE[:97], *["again"] * 3])
    assert "97 of the first 100 rows" in line


def test_columns_that_have_changed_places(cli, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"text {i}, no label\tcat\n" for i in range(50)))
    err = cli("train", tmp_path / "a.tsv", "-m", tmp_path / "m").err
    assert "check that labels and features have not changed places" in err


@pytest.mark.parametrize("separator", [",", ";", "|", ", "])
@pytest.mark.parametrize(
    "sets", ["cat pet|dog pet|dog|pet", "cat pet|dog cat|pet dog", "pet cat|pet dog|cat|dog"]
)
@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_labels_that_seem_to_be_several(said, separator, sets, name):
    labels = [separator.join(labels.split()) for labels in sets.split("|")]
    char = separator.strip()
    joined = min(label for label in labels if char in label)
    assert said(labels * 10, name=name) == [
        f"warning: labels such as {joined!r} seem to be several: if they are, give "
        f"--label-separator '{char}'"
    ]
    options = ("--label-separator", char, "--algorithm", "label-tree")
    assert said(labels * 10, *options, name=name) == []


def test_sets_that_hardly_repeat_are_told_to_be_sets(said):
    rng = np.random.default_rng(0)
    labels = [";".join(f"tag{i}" for i in rng.permutation(30)[:4]) for _ in range(200)]
    (line,) = said(labels)
    assert line.endswith("--label-separator ';'")


NAMES = ["James, Henry", "Henry, O.", "Smith, John", "Smith, Anna", "John, Elton", "Doe, Anna"]
ORDINARY = {
    "few labels": ["cat", "dog"] * 50,
    "few rows": UNIQUE[:19],
    "half of them once": [*UNIQUE[:50], *["cat"] * 50],
    "places": ["Paris, France", "Lyon, France", "Bern, Switzerland", "Basel, Switzerland"] * 9,
    "names": NAMES * 9,
    "paths": ["animals", "animals|cats", "animals|cats|wild", "plants|trees", "plants"] * 9,
    "a few with commas": [*UNIQUE[:50], "label 1, label 2", "so, it is"] * 2,
    "separators only": [",", ";;", "| ,", "a"] * 9,
    "numbers": ["1,000", "2,000", "1", "2", "3,5"] * 9,
}


@pytest.mark.parametrize("labels", ORDINARY.values(), ids=ORDINARY)
@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl"])
def test_nothing_is_said_of_ordinary_labels(said, labels, name):
    assert said(labels, name=name) == []


def test_nothing_is_said_of_many_labels(said):
    rng = np.random.default_rng(0)
    assert said(rng.integers(100_000, size=10_000).tolist()) == []
    assert said((rng.zipf(1.5, size=5000) % 1_000_000).tolist()) == []


def test_nothing_is_said_of_lists_of_labels(said):
    labels = [["a,b", "a"], ["b", "b,a"], ["a"]] * 10
    assert said(labels, "--algorithm", "label-tree", name="a.jsonl") == []


def test_json_has_what_was_found(cli, tmp_path):
    (tmp_path / "a.tsv").write_text("a|b\tx\nb\ty\nb|a\tz\n" * 10)
    out = cli("train", tmp_path / "a.tsv", "-m", tmp_path / "m", "--json").out
    (event,) = [e for e in map(json.loads, out.splitlines()) if e["event"] == "joined_labels"]
    assert (event["label"], event["separator"]) == ("a|b", "|")
