"""The words of nodes: those that lead there, and no others."""

import numpy as np
import pytest

from labeltree import (
    LabelTreeClassifier,
    LOMTreeClassifier,
    PECOCClassifier,
    ProbabilityTreeClassifier,
    RecallTreeClassifier,
    TextClassifier,
)
from labeltree.estimators.treewords import tree_words

TOPICS = {
    "cat": "purrs whiskers meows claws",
    "dog": "barks leash wags bone",
    "bird": "sings feathers nest wings",
    "fish": "swims scales fins gills",
}


def texts(rows=240, seed=0):
    """Texts of words of their label, of every label, and one word that two labels share."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize(list(TOPICS), rows))
    X = [
        " ".join(["the pet", *rng.choice(TOPICS[label].split(), 2), "and it is"])
        + (" water" if label in ("fish", "bird") else "")
        for label in y
    ]
    return X, y.tolist()


@pytest.mark.parametrize(
    "estimator",
    [
        LabelTreeClassifier(),
        ProbabilityTreeClassifier(arity=2),
        PECOCClassifier(),
        LOMTreeClassifier(max_nodes=7),
        RecallTreeClassifier(n_trees=1, candidates=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_words_of_a_leaf_are_those_of_its_label(estimator):
    X, y = texts()
    estimator.set_params(random_state=0, passes=5)
    clf = TextClassifier(estimator, keep_names=True).fit(X, y)
    tree = clf.tree_
    words = tree_words(clf, tree, n=2)
    right = [
        set(words[leaf]) <= {*TOPICS[tree.label[leaf]].split(), "water"}
        for leaf in tree.leaves.tolist()
        if leaf in words
    ]
    assert len(right) >= 3
    assert np.mean(right) > 0.7


def test_inner_nodes_have_words_of_the_labels_below():
    X, y = texts()
    clf = TextClassifier(ProbabilityTreeClassifier(arity=2, random_state=0), keep_names=True)
    tree = clf.fit(X, y).tree_
    words = tree_words(clf, tree, n=3)
    assert not set(tree.roots) & words.keys()  # nothing to compare them with
    for node in (v for v in words if tree.children[v]):
        below = {tree.label[leaf] for leaf in tree.leaves if tree.parent[leaf] == node}
        known = {word for label in below for word in TOPICS[label].split()} | {"water"}
        assert set(words[node]) <= known
    assert words == tree_words(clf, tree, n=3)
    assert tree_words(clf, tree, max_depth=1).keys() <= set(np.flatnonzero(tree.depths == 1))


def test_label_sets_and_compiled_models_have_words():
    X, y = texts()
    sets = [[label, "animal"] for label in y]
    clf = TextClassifier(LabelTreeClassifier(random_state=0), keep_names=True).fit(X, sets)
    for model in (clf, clf.compile()):
        tree = model.tree_
        words = tree_words(model, tree, n=1)
        found = {tree.label[leaf]: words[leaf][0] for leaf in tree.leaves.tolist() if leaf in words}
        for label in TOPICS:
            assert found[label] in [*TOPICS[label].split(), "water"]


def test_without_names_there_are_no_words():
    X, y = texts(40)
    clf = TextClassifier(ProbabilityTreeClassifier()).fit(X, y)
    assert tree_words(clf, clf.tree_) == {}
    assert tree_words(clf.estimator_, clf.tree_) == {}
    given = clf.features_.named_row("barks")[1] | clf.features_.named_row("purrs")[1]
    words = tree_words(clf.estimator_, clf.tree_, given)
    assert {word for found in words.values() for word in found} == {"barks", "purrs"}
