"""``labeltree inspect``."""

import gzip
import json
import re

import numpy as np
import pytest

from labeltree import load
from labeltree.datasets import make_multiclass

from ..test_treepage import data_of
from .conftest import TREE, write_pets


def test_facts(cli, model):
    facts = json.loads(cli("inspect", model, "--json").out)
    tree = load(model).tree_
    assert facts["algorithm"] == "probability-tree"
    assert facts["labels"] == 40
    assert facts["tree"]["nodes"] == tree.n_nodes == 79
    assert facts["tree"]["depth"] == tree.depth
    assert facts["parameters"]["alpha"] == 0.8
    assert facts["settled"]["bits_"] == 18
    assert facts["run"]["passes completed"] == "2 of 2"
    counts = np.bincount(make_multiclass(1500, 40, n_features=512, random_state=0)[1])
    assert list(facts["most seen"].values()) == sorted(counts.tolist(), reverse=True)[:5]
    text = cli("inspect", model).out
    assert "alpha 0.8" in text
    assert "nodes 79" in text


def test_tree_is_drawn_with_frequent_labels(cli, model):
    lines = cli("inspect", model, "--tree", "--depth", 1).out.partition("\n\n")[2].splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(", ... (40 labels, learned 3,000 times)")
    assert lines[1].startswith("├─ ")
    assert lines[2].startswith("└─ ")
    tree = load(model).tree_
    names = tree.frequent_labels(1)
    assert lines[0].startswith(", ".join(map(str, names[0])) + ", ...")
    weight = {tree.label[leaf]: tree.weight[leaf] for leaf in tree.leaves}
    assert weight[names[0][0]] == max(weight.values())


@pytest.fixture
def pets(cli, tmp_path):
    write_pets(tmp_path / "pets.tsv")
    text = (tmp_path / "pets.tsv").read_text().replace("pet,", "")
    (tmp_path / "pets.tsv").write_text(text)
    cli("train", tmp_path / "pets.tsv", "-m", tmp_path / "m", "--keep-names", "--quiet", *TREE)
    return tmp_path / "m"


def test_words_tell_what_a_branch_is_about(cli, pets, tmp_path):
    lines = cli("inspect", pets, "--tree").out.partition("\n\n")[2].splitlines()
    found = {line.split(" | ")[1].split(" ")[0]: line.split(" | ")[0] for line in lines[1:]}
    assert "barks" in found["dog"]
    assert "purrs" in found["cat"]
    assert "it" not in re.findall(r"\w+", found["dog"] + found["cat"])  # which both have
    cli("inspect", pets, "--html", tmp_path / "tree.html")
    data = data_of((tmp_path / "tree.html").read_text())
    names = [data["labels"][names[0]] for names in data["names"]]
    assert data["words"][names.index("dog", 1)] == re.findall(r"[a-z]+", found["dog"])


def test_words_of_hashed_names(cli, tmp_path):
    (tmp_path / "a.vw").write_text("1 |a purrs it\n2 |a barks it\n" * 50)
    cli("train", tmp_path / "a.vw", "-m", tmp_path / "m", "--keep-names", "--quiet", *TREE)
    out = cli("inspect", tmp_path / "m", "--tree").out
    assert re.search(r"a\^purrs \| 1 ", out)
    assert re.search(r"a\^barks \| 2 ", out)


def test_example_shows_path_candidates_and_tokens(cli, tmp_path):
    data, m = tmp_path / "pets.tsv", tmp_path / "m"
    write_pets(data)
    data.write_text(data.read_text().replace("pet,", ""))
    cli("train", data, "-m", m, "--quiet", *TREE)
    text = cli("inspect", m, "--example", f"{data}:3").out
    packed = tmp_path / "pets.tsv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    assert cli("inspect", m, "--example", f"{packed}:3").out == text
    assert text.splitlines()[0] == "dog\tit barks outside"
    assert "node 0: 2 labels, learned 200 times" in text
    found = json.loads(cli("inspect", m, "--example", f"{data}:3", "--json").out)["example"]
    assert found["candidates"][0][0] == "dog"
    token, change, then = found["left_out"][0]
    assert token == "barks"
    assert change < -0.1
    assert {token for token, _, _ in found["left_out"]} == {"it", "barks", "outside"}
    assert then in ("cat", "dog")


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("a.svm", "1 qid:3 1:1 7:2 # no token\n2 qid:3 2:1 7:1\n", {"1:1", "7:2"}),
        ("a.vw", "1 |a x:1 y |b z\n2 |a w |b z\n", {"x:1", "y", "z"}),
        ("a.xmc", "2 9 3\n1 1:1 7:2\n2 2:1 7:1\n", {"1:1", "7:2"}),
    ],
)
def test_example_of_other_formats(cli, tmp_path, name, text, tokens):
    (tmp_path / name).write_text(text)
    cli("train", tmp_path / name, "-m", tmp_path / "m", "--passes", 5, "--quiet", *TREE)
    line = 2 if name == "a.xmc" else 1
    arguments = ["inspect", tmp_path / "m", "--json", "--example", f"{tmp_path / name}:{line}"]
    found = json.loads(cli(*arguments).out)["example"]
    assert {token for token, _, _ in found["left_out"]} == tokens


CSV = """
text,"the
label"
"it purrs,
and sleeps",cat
it barks,dog

"it ""sings""

at dawn",bird
"""


@pytest.mark.parametrize(
    ("line", "row", "text"),
    [
        (4, '"it purrs,\nand sleeps",cat', "it purrs, and sleeps"),
        (5, '"it purrs,\nand sleeps",cat', "it purrs, and sleeps"),
        (6, "it barks,dog", "it barks"),
        (8, '"it ""sings""\n\nat dawn",bird', 'it "sings" at dawn'),
        (10, '"it ""sings""\n\nat dawn",bird', 'it "sings" at dawn'),
    ],
)
def test_example_of_csv_is_the_row_that_a_line_is_part_of(cli, tmp_path, line, row, text):
    (tmp_path / "a.csv").write_text(CSV)
    arguments = ["train", tmp_path / "a.csv", "-m", tmp_path / "m", "--label-column", "the\nlabel"]
    cli(*arguments, "--quiet")
    arguments = ["inspect", tmp_path / "m", "--json", "--example", f"{tmp_path / 'a.csv'}:{line}"]
    found = json.loads(cli(*arguments).out)["example"]
    assert found["line"] == row
    assert {part for part, _, _ in found["left_out"]} == set(text.split())


def test_example_of_csv_where_there_is_no_row(cli, refused, tmp_path):
    data, m = tmp_path / "a.csv", tmp_path / "m"
    data.write_text('text,label\n"it\npurrs",cat\n\none cell\nit barks,dog\n"it,\nx\n')
    cli("train", data, "-m", m, "--skip-bad-lines", "--quiet")
    for line, match in {
        1: "a.csv:1: the line holds no row to explain",
        4: "a.csv:4: the line holds no row to explain",
        5: "a.csv:5: the row has 1 cells, expected 2 as in the header",
        8: "a.csv:7: a quote opens in this row, and none closes it",
        9: "a.csv: the file has 8 lines, expected one to explain",
    }.items():
        refused("inspect", m, "--example", f"{data}:{line}", match=match)
    assert '"purrs"' in cli("inspect", m, "--json", "--example", f"{data}:3").out


def test_example_needs_no_label(cli, tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nit purrs,cat\nit barks,dog\n")
    cli("train", tmp_path / "a.csv", "-m", tmp_path / "m", "--quiet")
    (tmp_path / "b.csv").write_text("id,text\n1,it purrs\n")
    text = cli("inspect", tmp_path / "m", "--example", f"{tmp_path / 'b.csv'}:2").out
    assert text.startswith("1,it purrs\n")


def test_page_and_dot_have_every_node(cli, model, tmp_path):
    page, dot = tmp_path / "tree.html", tmp_path / "tree.dot"
    out = cli("inspect", model, "--html", page, "--dot", dot).out
    assert out.endswith(f"\n\nthe tree is in {dot}\nthe tree is in {page}\n")
    data = data_of(page.read_text())
    tree = load(model).tree_
    assert len(data["parent"]) == tree.n_nodes
    assert (data["count"][0], data["learned"][0]) == (40, 3000)
    assert sorted(data["labels"]) == sorted(map(str, range(40)))
    assert not any(data["words"])  # no names are kept
    assert "<title>m.labeltree: probability-tree</title>" in page.read_text()
    assert dot.read_text().count(" -> ") == tree.n_nodes - 1


def test_one_against_all_would_need_the_features_seen(cli, tmp_path):
    (tmp_path / "a.tsv").write_text("cat\tit purrs\ndog\tit barks\n" * 20)
    for idf, counted in (("--text-idf", "5 features seen"), ("--no-text-idf", "features")):
        cli("train", tmp_path / "a.tsv", "-m", tmp_path / "m", "--quiet", idf)
        compared = json.loads(cli("inspect", tmp_path / "m", "--json").out)["compared"]
        assert compared.endswith(f"MB: labels x {counted} x 4 bytes")


def test_one_label_is_no_labels(cli, model):
    out = cli("inspect", model, "--tree", "--depth", 99).out
    assert "(1 label, learned" in out
    assert "1 labels" not in out
