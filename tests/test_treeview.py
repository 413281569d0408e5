"""Fitted trees, to look at: whatever grew them, their numbers must agree."""

import json
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from labeltree import (
    FilterTreeClassifier,
    LOMTreeClassifier,
    PECOCClassifier,
    ProbabilityTreeClassifier,
    RandomTreeClassifier,
    RecallTreeClassifier,
)
from labeltree.datasets import make_multiclass
from labeltree.treeview import Tree

K = 30
# Those whose leaves are the labels, and those whose nodes count what reaches them.
LABEL_TREES = {
    "probability tree": ProbabilityTreeClassifier(),
    "steep probability tree": ProbabilityTreeClassifier(alpha=0.0),
    "wide probability tree": ProbabilityTreeClassifier(arity=4),
    "random tree": RandomTreeClassifier(),
    "filter tree": FilterTreeClassifier(),
    "PECOC": PECOCClassifier(),
    "PECOC with little room": PECOCClassifier(max_labels=8),
}
COUNTING_TREES = {
    "LOMtree": LOMTreeClassifier(),
    "recycling LOMtree": LOMTreeClassifier(max_nodes=12, swap_resistance=1.0),
    "recall tree": RecallTreeClassifier(candidates=4, n_trees=1),
    "recall trees": RecallTreeClassifier(candidates=4, n_trees=3),
    "published recall tree": RecallTreeClassifier(candidates=4, n_trees=1, stop="bernstein"),
}
TREES = LABEL_TREES | COUNTING_TREES


@pytest.fixture(scope="module")
def data():
    X, y = make_multiclass(700, K, n_features=64, nnz=8, noise=0.5, skew=0.5, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(np.float64)
    return X, np.array([f"label {label}" for label in y], dtype=object), weight


@pytest.fixture(scope="module")
def models(data):
    X, y, weight = data
    return {
        name: clone(clf).set_params(random_state=0, passes=1).fit(X, y, sample_weight=weight)
        for name, clf in TREES.items()
    }


def each(trees):
    """Give a test the fitted models of some trees, one at a time."""
    return pytest.mark.parametrize("name", sorted(trees))  # in one order, whatever the process


def below(tree, node):
    """The nodes under a node, with it."""
    found = [node]
    for v in found:
        found += tree.children[v]
    return found


class TestShape:
    @each(TREES)
    def test_numbers_of_nodes_agree(self, models, name):
        tree = models[name].tree_
        parents = set(tree.parent.tolist()) - {-1}
        for array in (tree.parent, tree.label, tree.weight, tree.labels_below, tree.depths):
            assert len(array) == tree.n_nodes
        assert tree.n_nodes > 8
        assert tree.n_leaves == len(set(range(tree.n_nodes)) - parents)
        assert sum(map(len, tree.children)) == tree.n_nodes - len(tree.roots)
        assert all(tree.parent[c] == v for v in range(tree.n_nodes) for c in tree.children[v])

    @each(TREES)
    def test_every_node_hangs_below_one_root(self, models, name):
        tree = models[name].tree_
        assert len(tree.roots) == (3 if name == "recall trees" else 1)
        assert sorted(v for root in tree.roots for v in below(tree, root)) == list(
            range(tree.n_nodes)
        )

    @each(TREES)
    def test_depth_is_the_number_of_steps_to_the_root(self, models, name):
        tree = models[name].tree_
        for node in range(tree.n_nodes):
            steps, v = 0, node
            while tree.parent[v] >= 0:
                steps, v = steps + 1, tree.parent[v]
            assert tree.depths[node] == steps
        assert tree.depth == max(tree.depths)
        assert tree.depth >= (1 if name == "PECOC" else 2)

    def test_a_recycling_tree_has_recycled(self, models):
        clf = models["recycling LOMtree"]
        assert clf._learner.most_recycled > 0
        assert clf.tree_.n_nodes == 2 * 12 + 1

    def test_later_examples_do_not_change_it(self, data):
        X, y, _ = data
        clf = ProbabilityTreeClassifier().partial_fit(X[:50], y[:50])
        tree = clf.tree_
        before = json.dumps(tree.to_dict())
        clf.partial_fit(X, y)
        assert json.dumps(tree.to_dict()) == before
        assert clf.tree_.n_nodes > tree.n_nodes


class TestCounts:
    @each(LABEL_TREES)
    def test_every_label_is_a_leaf_with_its_weight(self, data, models, name):
        _, y, weight = data
        tree = models[name].tree_
        leaves = [v for v in range(tree.n_nodes) if not tree.children[v]]
        assert sorted(tree.label[leaves]) == sorted(set(y))
        for v in leaves:
            assert tree.weight[v] == weight[y == tree.label[v]].sum()
            assert tree.labels_below[v] == 1

    @each(LABEL_TREES)
    def test_inner_nodes_are_the_sum_of_their_children(self, models, name):
        tree = models[name].tree_
        for v in range(tree.n_nodes):
            if tree.children[v]:
                assert tree.weight[v] == tree.weight[tree.children[v]].sum()
                assert tree.labels_below[v] == tree.labels_below[tree.children[v]].sum()
                assert tree.label[v] is None

    @each(COUNTING_TREES)
    def test_children_have_what_was_not_there_before_the_split(self, models, name):
        tree = models[name].tree_
        for v in range(tree.n_nodes):
            children = tree.children[v]
            if children:
                assert 0 < tree.weight[children].sum() <= tree.weight[v]
                assert tree.labels_below[children].max() <= tree.labels_below[v]
            assert (tree.weight[v] > 0) == (tree.labels_below[v] > 0)
            assert tree.labels_below[v] <= tree.weight[v]

    @each(sorted(TREES.keys() - {"recycling LOMtree"}))
    def test_the_root_has_seen_everything(self, data, models, name):
        _, y, weight = data
        tree = models[name].tree_
        for root in tree.roots:
            assert tree.weight[root] == weight.sum()
            assert tree.labels_below[root] == len(set(y)) == models[name].n_labels_

    @each(COUNTING_TREES.keys() - {"recycling LOMtree"})
    def test_the_label_of_the_root_is_the_most_frequent(self, data, models, name):
        _, y, weight = data
        totals = {label: weight[y == label].sum() for label in set(y)}
        tree = models[name].tree_
        assert {tree.label[root] for root in tree.roots} == {max(totals, key=totals.get)}


class TestPath:
    @each(TREES)
    def test_goes_from_root_to_leaf(self, data, models, name):
        X, _, _ = data
        tree = models[name].tree_
        for row in range(60):
            path = tree.path(X[row : row + 1])
            starts = [i for i, v in enumerate(path) if tree.parent[v] < 0]
            assert [path[i] for i in starts] == tree.roots
            for part in np.split(path, starts[1:]):
                assert tree.parent[part[1:]].tolist() == part[:-1].tolist()
                if name != "published recall tree":  # which may stop halfway
                    assert not tree.children[part[-1]]

    @each([*LABEL_TREES, "LOMtree", "recycling LOMtree"])
    def test_ends_at_the_label_predicted(self, data, models, name):
        X, _, _ = data
        tree, predicted = models[name].tree_, models[name].predict(X[:60])
        ends = [tree.label[tree.path(X[row : row + 1])[-1]] for row in range(60)]
        assert ends == predicted.tolist()
        assert len(set(ends)) > 10

    def test_is_that_of_the_first_row(self, data, models):
        X, _, _ = data
        tree = models["probability tree"].tree_
        paths = [tuple(tree.path(X[row:])) for row in range(60)]
        assert paths == [tuple(tree.path(X[row : row + 1])) for row in range(60)]
        assert len(set(paths)) > 10

    def test_of_a_bad_row_is_refused(self, data, models):
        tree = models["LOMtree"].tree_
        with pytest.raises(ValueError, match="63 features"):
            tree.path(data[0][:, 1:])
        with pytest.raises(ValueError, match="0 sample"):
            tree.path(data[0][:0])


class TestDict:
    @each(TREES)
    def test_says_what_the_arrays_say(self, models, name):
        tree = models[name].tree_
        found = []

        def check(entry, depth):
            v = entry["node"]
            found.append(v)
            assert tree.depths[v] == depth
            assert entry["weight"] == tree.weight[v]
            assert entry["labels"] == tree.labels_below[v]
            assert entry["label"] == tree.label[v]
            for measure, values in tree.measures.items():
                assert entry[measure] == values[v]
            assert [child["node"] for child in entry.get("children", [])] == tree.children[v]
            for child in entry.get("children", []):
                check(child, depth + 1)

        for root in tree.roots:
            check(json.loads(json.dumps(tree.to_dict(root))), 0)
        assert sorted(found) == list(range(tree.n_nodes))
        assert tree.to_dict() == tree.to_dict(tree.roots[0])

    def test_of_a_part(self, models):
        tree = models["probability tree"].tree_
        top = tree.to_dict(max_depth=1)
        assert [entry["node"] for entry in top["children"]] == tree.children[0]
        assert not any("children" in entry for entry in top["children"])
        assert "children" not in tree.to_dict(max_depth=0)
        node = tree.children[0][1]
        assert tree.to_dict(node) == tree.to_dict()["children"][1]
        assert json.dumps(tree.to_dict(np.int64(node))) == json.dumps(tree.to_dict(node))
        for wrong in (-1, tree.n_nodes):
            with pytest.raises(
                ValueError, match=f"node is {wrong}, expected one of the nodes 0 to"
            ):
                tree.to_dict(wrong)

    def test_of_labels_that_are_numbers(self, data):
        X, y, _ = data
        tree = ProbabilityTreeClassifier().fit(X, [int(label.split()[1]) for label in y]).tree_
        labels = re.findall(r'"label": (\d+)', json.dumps(tree.to_dict()))
        assert sorted(map(int, labels)) == sorted({int(label.split()[1]) for label in y})


class TestText:
    def test_a_line_a_node_with_bars_beside_siblings(self):
        tree = small()
        assert tree.to_text(9, {2: ["deep", "down"]}).splitlines() == [
            "c, b, a (3 labels, learned 6 times)",
            "├─ ████████ deep, down | c, b (2 labels, learned 5 times)",
            "│  ├─ ████████ c (1 label, learned 3 times)",
            "│  └─ █████    b (1 label, learned 2 times)",
            "└─ ██       a (1 label, learned 1 time)",
        ]
        assert len(tree.to_text(0).splitlines()) == 1

    def test_long_names_and_lines_are_shortened(self):
        tree = small(names=["x" * 99, "two\nlines", "c"])
        assert "x" * 39 + "…" in tree.to_text()
        assert "two lines" in tree.to_text()

    def test_what_a_terminal_obeys_is_not_shown(self):
        tree = small(names=["a\x1b[31mred", "b\x00\u202e", "c"])
        assert "a\ufffd[31mred" in tree.to_text()
        assert not {"\x1b", "\x00", "\u202e"} & set(tree.to_text())

    @each(TREES)
    def test_frequent_labels_are_those_of_most_weight(self, models, name):
        tree = models[name].tree_
        found = tree.frequent_labels(tree.depth, n=2)
        for node in range(tree.n_nodes):
            totals = {}
            for leaf in (v for v in below(tree, node) if not tree.children[v]):
                if tree.label[leaf] is not None:
                    totals[tree.label[leaf]] = totals.get(tree.label[leaf], 0) + tree.weight[leaf]
            best = sorted(totals.values(), reverse=True)[:2]
            assert [totals[label] for label in found.get(node, [])] == best


NODE = re.compile(r'  n(\d+) \[label="((?:[^"\\]|\\.)*)"\];\n', re.DOTALL)
EDGE = re.compile(r"  n(\d+) -> n(\d+);\n")


def parse_dot(text):
    """The nodes with their text, and the edges; every line must be one of these."""
    head, tail = "digraph tree {\n  node [shape=box];\n", "}\n"
    assert text.startswith(head)
    assert text.endswith(tail)
    body = text[len(head) : -len(tail)]
    nodes = {int(v): label for v, label in NODE.findall(body)}
    body = NODE.sub("", body)
    edges = [(int(a), int(b)) for a, b in EDGE.findall(body)]
    assert EDGE.sub("", body) == ""
    return nodes, edges


class TestDot:
    @each(TREES)
    def test_has_every_node_and_an_edge_to_each_but_the_roots(self, models, name):
        tree = models[name].tree_
        nodes, edges = parse_dot(tree.to_dot(max_depth=tree.depth))
        assert sorted(nodes) == list(range(tree.n_nodes))
        assert len(edges) == tree.n_nodes - len(tree.roots)
        assert all(tree.parent[child] == parent for parent, child in edges)
        assert sorted(child for _, child in edges) == np.flatnonzero(tree.parent >= 0).tolist()
        for v, text in nodes.items():
            several = "" if tree.labels_below[v] == 1 else "s"
            assert (
                f"{tree.labels_below[v]} label{several}\\nlearned {tree.weight[v]:,.0f} time"
                in text
            )
            assert (tree.label[v] is None) == (not text.startswith("label "))

    @pytest.mark.parametrize("max_depth", [0, 2])
    def test_of_the_top(self, models, max_depth):
        tree = models["probability tree"].tree_
        nodes, edges = parse_dot(tree.to_dot(max_depth))
        assert sorted(nodes) == np.flatnonzero(tree.depths <= max_depth).tolist()
        assert len(edges) == len(nodes) - 1

    def test_of_labels_that_look_like_its_language(self):
        wild = ['"', "\\", '\\"', "} n9 -> n8 {", "two\nlines", "<b>", ""]
        X = np.eye(len(wild))
        tree = RandomTreeClassifier().fit(X, wild).tree_
        nodes, edges = parse_dot(tree.to_dot())
        assert len(nodes) == tree.n_nodes == 2 * len(wild) - 1
        assert len(edges) == tree.n_nodes - 1
        names = {text.removesuffix("\\n1 label\\nlearned 3 times") for text in nodes.values()}
        unescaped = {re.sub(r"\\(.)", r"\1", name) for name in names}
        assert set(wild) <= unescaped


class TestMeasures:
    @each(["LOMtree", "recycling LOMtree"])
    def test_of_a_lom_tree_are_in_their_ranges(self, models, name):
        tree = models[name].tree_
        assert list(tree.measures) == ["J", "purity", "balance"]
        J, purity, balance = tree.measures.values()
        inner = np.array([bool(children) for children in tree.children])
        for values in (J, purity, balance):
            assert len(values) == tree.n_nodes
            assert not values[~inner].any()
        assert ((J >= 0) & (J <= 1 + 1e-12)).all()
        assert ((purity >= 0) & (purity <= 0.5)).all()
        assert ((balance >= 0) & (balance <= 1)).all()
        # Lemma 1, for the lighter side: a large J means a pure split.
        lighter = np.minimum(balance, 1 - balance)
        split = lighter > 0
        assert split.sum() > 5
        assert (
            purity[split] <= ((2 - J) / 4)[split] / lighter[split] - lighter[split] + 1e-9
        ).all()
        assert J[inner].max() > 0.5  # it has learned to split

    @each(["LOMtree", "recycling LOMtree"])
    def test_balance_is_the_share_that_went_right(self, models, name):
        tree = models[name].tree_
        state = models[name]._learner.state()
        for v in range(tree.n_nodes):
            if tree.children[v]:
                share = tree.weight[state["right"][v]] / tree.weight[tree.children[v]].sum()
                assert tree.measures["balance"][v] == pytest.approx(share)

    @each(TREES.keys() - {"LOMtree", "recycling LOMtree"})
    def test_other_trees_have_none(self, models, name):
        assert models[name].tree_.measures == {}


@pytest.mark.parametrize("estimator", [ProbabilityTreeClassifier, LOMTreeClassifier])
def test_there_is_no_tree_before_a_label_was_learned(estimator):
    clf = estimator()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = clf.tree_
    clf.partial_fit(np.eye(2), [1, 2], sample_weight=[0, 0])
    with pytest.raises(NotFittedError, match="no label was learned yet"):
        _ = clf.tree_


def test_one_label_is_a_tree():
    for clf in TREES.values():
        tree = type(clf)().fit(np.eye(3), ["only"] * 3).tree_
        assert tree.depth == 0
        assert tree.n_nodes == tree.n_leaves == len(tree.roots)
        assert tree.to_dict() == {
            "node": 0,
            "weight": 9.0,
            "labels": 1,
            "label": "only",
            **dict.fromkeys(tree.measures, 0.0),
        }
        assert tree.path(np.eye(3)) == tree.roots


def small(names=("a", "b", "c")):
    return Tree(
        parent=np.array([-1, 0, 0, 2, 2]),
        label=np.array([None, names[0], None, *names[1:]], dtype=object),
        weight=np.array([6.0, 1.0, 5.0, 2.0, 3.0]),
        labels_below=np.array([3, 1, 2, 1, 1]),
        find_path=lambda _: [0, 2, 4],
    )


def test_is_made_of_plain_arrays():
    tree = small()
    assert (tree.n_nodes, tree.n_leaves, tree.depth, tree.roots) == (5, 3, 2, [0])
    assert tree.children == [[1, 2], [], [3, 4], [], []]
    assert tree.depths.tolist() == [0, 1, 1, 2, 2]
    assert tree.path(None) == [0, 2, 4]
    assert tree.to_dict(2) == {
        "node": 2,
        "weight": 5.0,
        "labels": 2,
        "label": None,
        "children": [
            {"node": 3, "weight": 2.0, "labels": 1, "label": "b"},
            {"node": 4, "weight": 3.0, "labels": 1, "label": "c"},
        ],
    }
    assert parse_dot(tree.to_dot())[1] == [(0, 1), (0, 2), (2, 3), (2, 4)]
