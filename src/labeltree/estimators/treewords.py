"""What the nodes of a tree are about: the words that lead to each of them.

A word is typical of a node if the model, asked about a text of that word alone, finds labels below
the node rather than below its siblings. With P the share of the word's probability that is below
the node, p its part of what is below the parent, q the same part of all words together, and n of N
texts that had the word, words are ordered by ``w P ln(p / q)``, where w is
``ln(1 + n) (ln((1 + N) / (1 + n)) + 1)``, largest for words neither too rare nor too common to tell
much; the odds of p must be twice those of q. This asks nothing of an algorithm but its predictions,
so it is the same for all of them, whether regressors, an index or scorers know the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.text import TextClassifier
from labeltree.treeview import Tree, best_of_groups

_ASKED = 30_000  # words, those of most texts: each takes a prediction
_LABELS = 10  # that are looked at for each


def tree_words(
    clf: OnlineClassifier | TextClassifier,
    tree: Tree,
    names: Mapping[int, str] | None = None,
    max_depth: int = 12,
    n: int = 5,
) -> dict[int, list[str]]:
    """Return the most typical words of each node but the roots, down to a depth.

    Parameters
    ----------
    clf : OnlineClassifier or TextClassifier
        A fitted model.
    tree : Tree
        Its `tree_`.
    names : mapping of int to str, optional
        What features are called; by default what a `TextClassifier` with ``keep_names`` knows.
    max_depth : int
        Of the nodes.
    n : int
        How many words of each.

    Returns
    -------
    dict of int to list of str
        By node; of no node if no names are known.

    Examples
    --------
    >>> from labeltree import ProbabilityTreeClassifier, TextClassifier
    >>> texts, y = ["it purrs", "it barks"] * 20, ["cat", "dog"] * 20
    >>> clf = TextClassifier(ProbabilityTreeClassifier(), keep_names=True).fit(texts, y)
    >>> tree = clf.tree_
    >>> words = tree_words(clf, tree)
    >>> sorted((tree.label[node], best[0]) for node, best in words.items())
    [('cat', 'purrs'), ('dog', 'barks')]
    """
    features = clf.features_ if isinstance(clf, TextClassifier) else None
    estimator = clf.estimator_ if isinstance(clf, TextClassifier) else clf
    if names is None:
        names = features.names_ if features is not None and features.keep_names else {}
    columns = np.fromiter(names, dtype=np.int64, count=len(names))
    often, texts = np.ones(len(columns)), 1
    if features is not None and features.idf:
        often = features.document_counts(columns).astype(np.float64)
        texts = features.documents_
    words = np.array(list(names.values()), dtype=object)
    asked = _worth_asking(words, often)
    if not len(asked):
        return {}
    found = _probabilities(estimator, tree, columns[asked])
    told = np.log1p(often[asked]) * (np.log((1 + texts) / (1 + often[asked])) + 1)
    found = sp.diags_array(told) @ found
    typical = _typical(tree, found.tocoo(), max_depth, n)
    return {node: words[asked[best]].tolist() for node, best in typical.items()}


def _worth_asking(words: NDArray[Any], often: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which words to ask about: single ones, those of most texts."""
    single = np.array([" " not in word for word in words], dtype=bool)
    asked = np.flatnonzero(single) if single.any() else np.arange(len(words))
    if often.max(initial=0) > 1:
        asked = asked[often[asked] > 1]
    return asked[np.argsort(-often[asked], kind="stable")][:_ASKED]


def _probabilities(
    estimator: OnlineClassifier, tree: Tree, columns: NDArray[np.int64]
) -> sp.csr_array:
    """Return for rows of one feature each the shares of probability at each leaf."""
    count = len(columns)
    rows = sp.csr_matrix(
        (np.ones(count, dtype=np.float32), (np.arange(count), columns)),
        (count, estimator.n_features_in_),
    )
    labels, scores = estimator.predict_topk(rows, k=min(_LABELS, estimator.n_labels_))
    chance = scores.astype(np.float64)
    if not hasattr(estimator, "predict_proba"):  # margins
        chance = np.exp(chance - chance.max(axis=1, keepdims=True))
    codes: dict[Any, int] = {}
    code = [codes.setdefault(label, len(codes)) for label in labels.ravel().tolist()]
    known = np.array([label is not None for label in codes])[code]
    chance = np.where(known.reshape(chance.shape) & (chance > 0), chance, 0.0)
    chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-30)
    of_label = sp.csr_array(
        (chance.ravel(), (np.repeat(np.arange(count), labels.shape[1]), code)), (count, len(codes))
    )
    # A label that has several leaves is shared out among them by their examples.
    leaves = [v for v in tree.leaves.tolist() if tree.label[v] in codes]
    place = np.array([codes[tree.label[v]] for v in leaves], dtype=np.int64)
    weight = np.maximum(tree.weight[leaves], 1e-30)
    weight /= np.bincount(place, weight, minlength=len(codes))[place]
    return of_label @ sp.csr_array((weight, (place, leaves)), (len(codes), tree.n_nodes))


def _typical(
    tree: Tree, found: sp.coo_array, max_depth: int, n: int
) -> dict[int, NDArray[np.int64]]:
    """Return the rows most typical of each node; `found` has rows, and nodes they come to."""
    words = np.int64(found.shape[0])
    key, mass = found.col * words + found.row, found.data
    best: dict[int, NDArray[np.int64]] = {}
    for depth in range(tree.depth, 0, -1):
        here = tree.depths[key // words] == depth
        own, group = np.unique(key[here], return_inverse=True)
        part = np.bincount(group, mass[here])
        node = own // words
        above, group = np.unique(tree.parent[node] * words + own % words, return_inverse=True)
        whole = np.bincount(group, part)
        if depth <= max_depth and len(own):
            at_node = np.bincount(node, part, minlength=tree.n_nodes)
            expected = at_node / np.maximum(
                np.bincount(tree.parent[node], part, minlength=tree.n_nodes)[tree.parent], 1e-30
            )
            p, q = part / np.maximum(whole[group], 1e-30), np.maximum(expected[node], 1e-30)
            typical = (p > q) & (p * (1 - q) >= 2 * q * (1 - p))
            score = np.where(typical, part * np.log(np.maximum(p, 1e-30) / q), 0.0)
            first = best_of_groups(node, score, n)
            first = first[score[first] > 0]
            for v, rows in zip(*_split(node[first], own[first] % words), strict=True):
                best[v] = rows
        key = np.concatenate([key[~here], above])
        mass = np.concatenate([mass[~here], whole])
    return best


def _split(
    group: NDArray[np.int64], values: NDArray[np.int64]
) -> tuple[list[int], list[NDArray[np.int64]]]:
    """Return the groups, which rise, and the values of each."""
    groups, begins = np.unique(group, return_index=True)
    return groups.tolist(), np.split(values, begins[1:])[: len(groups)]
