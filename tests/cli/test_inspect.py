"""``labeltree inspect``."""

import gzip
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from labeltree import load
from labeltree.datasets import make_multiclass

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
    assert lines[0].startswith("40 labels, 3,000 examples: ")
    assert lines[1].startswith("├─ ")
    assert lines[2].startswith("└─ ")
    tree = load(model).tree_
    names = tree.frequent_labels(1)
    assert lines[0].split(": ")[1] == ", ".join(map(str, names[0])) + ", ..."
    weight = {tree.label[leaf]: tree.weight[leaf] for leaf in tree.leaves}
    assert weight[names[0][0]] == max(weight.values())


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
    assert "node 0: 2 labels, 200 examples" in text
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


class Outline(HTMLParser):
    """Checks that tags nest, and collects what the page shows."""

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.text, self.depth = [], {}, "", 0

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href"} & {name for name, _ in attrs}  # nothing is loaded
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in ("meta", "input"):
            self.open.append(tag)
        self.depth = max(self.depth, self.open.count("details"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" not in self.open:
            self.text += data
        else:
            self.script = data


def test_page_is_complete_and_nests(cli, model, tmp_path):
    page, dot = tmp_path / "tree.html", tmp_path / "tree.dot"
    cli("inspect", model, "--html", page, "--dot", dot)
    outline = Outline()
    outline.feed(page.read_text())
    outline.close()
    tree = load(model).tree_
    assert outline.open == []
    assert outline.counts["details"] == outline.counts["summary"] == tree.n_nodes - tree.n_leaves
    assert outline.depth == tree.depth
    assert outline.counts["script"] == 1
    assert "40 labels, 3,000 examples" in outline.text
    assert dot.read_text().count(" -> ") == tree.n_nodes - 1


def test_labels_cannot_break_the_page(cli, tmp_path):
    (tmp_path / "a.tsv").write_text("<b>\ta\n\"&'\tb\n" * 20)
    cli("train", tmp_path / "a.tsv", "-m", tmp_path / "m", "--quiet", *TREE)
    cli("inspect", tmp_path / "m", "--html", tmp_path / "p.html")
    outline = Outline()
    outline.feed((tmp_path / "p.html").read_text())
    assert "b" not in outline.counts
    assert "<b>" in outline.text
    assert "<b>" not in outline.script


def test_bars_are_seen_at_every_depth_and_labels_are_found(cli, model, tmp_path):
    tree = load(model).tree_
    for depth in (2, tree.depth):
        cli("inspect", model, "--html", tmp_path / "p.html", "--depth", depth)
        page = (tmp_path / "p.html").read_text()
        widths = [float(width) for width in re.findall(r"width:([\d.]+)em", page)]
        assert len(widths) == (tree.depths <= depth).sum()
        assert min(widths) > 0.5
        labels = json.loads(re.search(r"LABELS = (\[.*?\]\]);", page)[1])
        assert sorted(int(label) for label, _ in labels) == list(range(40))
        weight = {str(tree.label[leaf]): tree.weight[leaf] for leaf in tree.leaves}
        found = [weight[label] for label, _ in labels]
        assert found == sorted(found, reverse=True)
        for label, node in labels:
            assert f'id="n{node}"' in page
            leaf = next(leaf for leaf in tree.leaves if str(tree.label[leaf]) == label)
            while tree.depths[leaf] > depth:
                leaf = tree.parent[leaf]
            assert node == leaf
    assert "1 label, " in page
    assert "1 labels" not in page + cli("inspect", model, "--tree", "--depth", 99).out


BROWSER = """
import sys
from PyQt6.QtCore import QTimer, QUrl
from PyQt6.QtWebEngineCore import QWebEnginePage
from PyQt6.QtWidgets import QApplication

app = QApplication(["browser", "--no-sandbox"])
page = QWebEnginePage()
script = '''
(() => {
  const all = [...document.querySelectorAll('details')];
  const shut = all.filter(d => !d.open)[0];
  const before = shut.getBoundingClientRect().height;
  shut.querySelector('summary').click();
  const after = shut.getBoundingClientRect().height, open = shut.open;
  const box = document.getElementById('search');
  box.value = '17';
  box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
  const found = document.querySelector('.found');
  const seen = found.getBoundingClientRect().height > 0 && !box.closest('p').hidden;
  return [all.length, before, after, open, seen, found.textContent.split(' ')[0]].join(' ');
})()
'''
def loaded(ok):
    assert ok
    page.runJavaScript(script, lambda value: (print(value), app.quit()))
page.loadFinished.connect(loaded)
page.load(QUrl.fromLocalFile(sys.argv[1]))
QTimer.singleShot(30000, lambda: app.exit(3))
sys.exit(app.exec())
"""


def test_page_unfolds_in_a_browser(cli, model, tmp_path):
    pytest.importorskip("PyQt6.QtWebEngineCore", reason="needs pip install PyQt6-WebEngine")
    cli("inspect", model, "--html", tmp_path / "tree.html")
    result = subprocess.run(
        [sys.executable, "-c", BROWSER, tmp_path / "tree.html"],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_DISABLE_SANDBOX": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    nodes, before, after, is_open, seen, label = result.stdout.split()
    assert int(nodes) == 39
    assert float(after) > float(before)
    assert is_open == seen == "true"
    assert label == "17"
