"""The page of a tree: all that is shown is in it, and nothing in it can break it."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from labeltree import treepage
from labeltree.treepage import tree_page
from labeltree.treeview import Tree


def balanced(depth, arity=2, label=lambda i: f"label {i}"):
    """A tree of arity^depth labels; the earlier a label, the more examples it has."""
    inner = sum(arity**d for d in range(depth))
    leaves = arity**depth
    count = inner + leaves
    parent = (np.arange(count) - 1) // arity
    weight = np.concatenate([np.zeros(inner), np.arange(leaves, 0, -1.0)])
    below = np.concatenate([np.zeros(inner, np.int64), np.ones(leaves, np.int64)])
    for node in range(count - 1, 0, -1):
        weight[parent[node]] += weight[node]
        below[parent[node]] += below[node]
    names = np.array([None] * inner + [label(i) for i in range(leaves)], dtype=object)
    parent[0] = -1
    return Tree(parent, names, weight, below, lambda _: [0])


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


class Outline(HTMLParser):
    """Checks that tags nest, and collects them, and what is text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href", "onclick", "onerror"} & {name for name, _ in attrs}
        self.tags.append(tag)
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & {*self.open}:
            self.text += data


def test_data_are_the_numbers_of_the_tree():
    tree = balanced(3)
    words = {1: ["cat", "purrs"], 2: ["dog"]}
    data = data_of(tree_page("a tree", tree, 12, words))
    assert data["parent"] == [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert data["learned"][:3] == [36, 26, 10]
    assert data["count"][:3] == [8, 4, 4]
    assert data["hidden"] == [0] * 15
    assert data["words"][:3] == [[], ["cat", "purrs"], ["dog"]]
    assert [data["labels"][i] for i in data["names"][2]] == ["label 4", "label 5", "label 6"]
    assert data["labels"] == [f"label {i}" for i in range(8)]  # those of most examples first
    assert [data["at"][i] for i in range(8)] == list(range(7, 15))


def test_children_lie_side_by_side_the_largest_first():
    tree = balanced(4, arity=3, label=lambda i: i * 7 % 81)
    tree.weight[:] = np.random.default_rng(0).permutation(tree.weight)
    data = data_of(tree_page("a tree", tree, 12))
    parent, examples = data["parent"], data["learned"]
    assert parent[1:] == sorted(parent[1:])
    for node in range(2, len(parent)):
        if parent[node] == parent[node - 1]:
            assert examples[node] <= examples[node - 1]


def test_below_the_depth_labels_are_found_where_they_would_be():
    tree = balanced(5)
    page = tree_page("a tree", tree, 2)
    data = data_of(page)
    assert len(data["parent"]) == 7
    assert data["hidden"] == [0, 0, 0, 2, 2, 2, 2]
    assert data["at"] == [3 + i // 8 for i in range(32)]
    assert (
        "63 nodes, 32 leaves, depth 5; shown: 7 nodes, those learned most often, to depth 2."
        in (Outline(page).text)
    )


def test_large_trees_have_bounded_pages(monkeypatch):
    monkeypatch.setattr(treepage, "MOST_NODES", 100)
    monkeypatch.setattr(treepage, "MOST_LABELS", 50)
    tree = balanced(10)
    data = data_of(tree_page("a tree", tree, 12))
    assert len(data["parent"]) == 100
    assert data["searched"] == len(data["leaf"]) == 50
    assert data["labels"][:50] == [f"label {i}" for i in range(50)]
    assert all(0 <= above < node for node, above in enumerate(data["parent"][1:], 1))
    shown = np.bincount(data["parent"][1:], minlength=100) + data["hidden"]
    assert set(shown.tolist()) <= {0, 2}  # none is forgotten
    monkeypatch.setattr(treepage, "_LETTERS", 100)
    assert data_of(tree_page("a tree", tree, 12))["searched"] == 13  # of seven or eight letters
    long = balanced(1, label=lambda i: "x" * 10_000 + str(i))
    assert len(tree_page("a tree", long, 12)) < 20_000


def test_every_shown_node_has_its_parent_even_if_it_counts_less(monkeypatch):
    tree = balanced(6)
    tree.weight[tree.leaves] += 1000  # as in trees whose inner nodes forget
    monkeypatch.setattr(treepage, "MOST_NODES", 100)
    shown = treepage._shown(tree, 12).tolist()
    assert set(tree.parent[shown[1:]]) <= set(shown)


WILD = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'&<!--",
    "two\nlines",
]


def test_labels_words_and_titles_cannot_break_the_page():
    tree = balanced(2, label=WILD.__getitem__)
    plain = Outline(tree_page("a tree", balanced(2), 12)).tags
    page = tree_page(WILD[0], tree, 12, {1: [WILD[0]], 2: WILD[1:3]})
    assert Outline(page).tags == plain
    assert WILD[0] in Outline(page).text
    assert data_of(page)["labels"] == [*WILD[:3], "two lines"]
    assert "<script>alert" not in page


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ACT = """<script>{
const told = [];
const bars = () => [...document.querySelectorAll(".bar")].map(bar => bar.style.width);
told.push(document.querySelectorAll(".row").length, bars());
const shut = [...document.querySelectorAll("details")].find(one => !one.open);
shut.querySelector("summary").click();
fill(1);
told.push(document.querySelectorAll(".row").length);
const box = document.getElementById("search");
box.value = "BEL 60";
box.dispatchEvent(new Event("input"));
told.push([...document.querySelectorAll("#results button")].map(one => one.textContent));
box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
const found = document.querySelector(".found");
told.push(found.querySelector(".names").textContent, found.getBoundingClientRect().height > 0);
box.value = "purrs";
box.dispatchEvent(new Event("input"));
told.push([...document.querySelectorAll("#results button")].map(one => one.textContent));
const out = document.createElement("pre");
out.id = "told";
out.textContent = JSON.stringify(told);
document.body.append(out);
}</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_it_unfolds_in_a_browser(tmp_path):
    page = tree_page("a tree", balanced(6), 12, {1: ["cat", "purrs"]})
    (tmp_path / "tree.html").write_text(page.replace("</body>", ACT + "</body>"))
    result = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'tree.html'}"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    rows, bars, more, labels, name, seen, by_word = json.loads(
        re.search(r'id="told">(.*?)</pre>', result.stdout)[1]
    )
    assert rows == 3
    assert bars[:2] == ["100%", "100%"]
    assert float(bars[2].rstrip("%")) == pytest.approx(100 * 528 / 1552, abs=0.01)
    assert more == 5  # what was folded is made when it is unfolded
    assert labels == ["label 60"]
    assert (name, seen) == ("label 60", True)
    assert by_word == ["branch of: cat, purrs"]
