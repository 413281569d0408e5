"""The states of learners, merged: one function an algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree.merging import counts, index
from labeltree.merging.choicetree import NONE, ChoiceTree
from labeltree.merging.numbering import LANES, NOBODY, Weights
from labeltree.merging.shards import CannotMergeError, Shards
from labeltree.merging.weighttable import State

_SHAPE = ("label", "place", "child", "block")  # of a choice tree
OF_ROWS = ("pairs_end", "pairs_model", "pairs_alpha", "pairs_labels")
_OTHER_SHAPE = (
    "the models have trees of different shape, whose nodes ask different questions; let all go on "
    "from one model that has learned a row of every label, or use LabelTreeClassifier, which keeps "
    "the trees of all"
)
_OF_STREAM = "replay_"


def one_against_all(shards: Shards) -> State:
    """Average the models of each label."""
    merged = counts.of_rows(shards.counted, shards.base)
    if shards.are_alike(()) and not shards.same_rows:
        for name in ("counts", "steps"):
            merged[name] = counts.add(name, shards.states, shards.base)
        return merged | shards.averaged_weights()
    shards.require_lines()
    for name in ("counts", "steps"):
        merged[name] = counts.add_by_label(name, shards.states, shards.ids, shards.labels)
    layout = shards.arrangement
    parts = [
        layout.read(s).renumbered(own) for s, own in zip(shards.states, shards.ids, strict=True)
    ]
    return merged | layout.write(Weights.average(parts, shards.shares, layout.slots))


def same_tree(shards: Shards, shape: tuple[str, ...]) -> State:
    """Average the models of a tree that has the same shape in all."""
    if not shards.are_alike(shape):
        raise CannotMergeError(_OTHER_SHAPE)
    merged = {**shards.states[0], **counts.of_rows(shards.counted, shards.base)}
    for name in ("counts", "steps"):
        if name in merged:
            merged[name] = counts.add(name, shards.states, shards.base)
    return merged | shards.averaged_weights()


def choice_trees(state: State) -> list[str]:
    """Return how the names of the arrays of each tree begin."""
    prefixes: list[str] = []
    while f"tree{len(prefixes)}_label" in state:
        prefixes.append(f"tree{len(prefixes)}_")
    return prefixes


def label_tree(shards: Shards, index_length: int, sure: float | None) -> State:
    """Average scorers, add up indexes, and keep the trees of all, if they differ.

    Parameters
    ----------
    shards : Shards
        The states.
    index_length : int
        The most labels that a feature has in the index.
    sure : float or None
        By how much a tree denies labels that it gets from others. None: there is room for one tree
        only, so that all must have the same shape.

    Returns
    -------
    dict
        The state.
    """
    first = shards.states[0]
    prefixes = choice_trees(first)
    shape = [prefix + name for prefix in prefixes for name in _SHAPE]
    # What was learned of single rows stays with who has the rows.
    merged = {name: array[:0] if _is_of_rows(name) else array for name, array in first.items()}
    if "replay_seen" in first:
        merged["replay_seen"] = np.zeros_like(first["replay_seen"])
    merged.update(counts.of_rows(shards.counted, shards.base))
    merged.update(counts.of_probabilities(shards.counted, shards.base))
    if "last_seen" in first:
        merged["last_seen"] = _last_seen(shards)
    if "regrowth_stage" in first:
        merged = _without_regrowth(merged, shards)
    if not index_length:
        merged["index_squared_norm"] = np.zeros(shards.labels)
    elif any(_has_index_changed(state, shards.base) for state in shards.states):
        merged.update(
            index.add(shards.states, shards.base, shards.ids, shards.labels, index_length)
        )
    if shards.are_alike([*shape, "scorer", "next_scorer"]):
        merged["counts"] = counts.add("counts", shards.states, shards.base)
        return merged | shards.averaged_weights()
    if sure is None:
        raise CannotMergeError(_OTHER_SHAPE)
    shards.require_lines()
    merged["counts"] = counts.add_by_label("counts", shards.states, shards.ids, shards.labels)
    merged = {
        name: array
        for name, array in merged.items()
        if name not in ("spare", "scorer_spare")
        and not (name.startswith("tree") and name[4].isdigit())
    }
    return merged | _united(shards, merged["counts"], sure)


def _is_of_rows(name: str) -> bool:
    kept = ("replay_random", "replay_seen")
    return name in OF_ROWS or (name.startswith(_OF_STREAM) and name not in kept)


def _has_index_changed(state: State, base: State | None) -> bool:
    return base is None or not all(
        np.array_equal(state[name], base[name]) for name in ("index_sum", "index_squared_norm")
    )


def _without_regrowth(merged: State, shards: Shards) -> State:
    """Return a state whose trees are not being grown anew: that needs the rows that are kept.

    It begins again when the sample of rows, which is empty now, has half of all that were learned.
    """
    learned = [
        own[np.flatnonzero(state["counts"])]
        for state, own in zip(shards.states, shards.ids, strict=True)
    ]
    rows = merged["examples"].astype(np.uint64)
    idle = {
        "stage": 0,
        "labels": len(np.unique(np.concatenate(learned))),
        "rows": rows,
        "elsewhere": rows,
        "next": 0,
        "wait": 0,
    }
    merged = {name: array for name, array in merged.items() if not name.startswith("regrown")}
    for name, value in idle.items():
        name = f"regrowth_{name}"
        merged[name] = np.full_like(merged[name], value)
    merged["regrowth_spare"] = merged["regrowth_spare"][:0]
    return merged


def _last_seen(shards: Shards) -> NDArray[Any]:
    last = np.zeros(shards.labels, dtype=np.uint64)
    for state, own in zip(shards.states, shards.ids, strict=True):
        last[own] = np.maximum(last[own], state["last_seen"])
    return last


def _united(shards: Shards, label_counts: NDArray[Any], sure: float) -> State:
    """Return all trees, with the labels they lack, one scorer a label, and their weights."""
    merged: State = {}
    learned = np.flatnonzero(label_counts)
    numbers = [np.full(int(state["n_models"][0]), NOBODY) for state in shards.states]
    blocks, trees = 0, 0
    denied: list[int] = []  # models of leaves that a tree got from others
    for state, own, number in zip(shards.states, shards.ids, numbers, strict=True):
        for prefix in choice_trees(state):
            tree = ChoiceTree(state, prefix, own)
            for place, block in enumerate(tree.block):
                begin = LANES * (blocks + place)
                number[LANES * block : LANES * (block + 1)] = np.arange(begin, begin + LANES)
            has = tree.labels
            for label in learned.tolist():
                at = None if label in has else tree.insert(label)
                if at is not None:
                    denied.append(LANES * (blocks + at[0]) + at[1])
            inner = range(blocks, blocks + len(tree.child))
            merged.update(tree.state(f"tree{trees}_", inner))
            blocks, trees = inner.stop, trees + 1
    scorer = np.full(shards.labels, NONE, dtype=np.int64)
    next_scorer = LANES * blocks
    for state, own in zip(shards.states, shards.ids, strict=True):
        has = state["scorer"] != NONE
        for label in own[has][np.argsort(state["scorer"][has])].tolist():
            if scorer[label] == NONE:
                scorer[label] = next_scorer
                next_scorer += 1
    for state, own, number in zip(shards.states, shards.ids, numbers, strict=True):
        has = state["scorer"] != NONE
        number[state["scorer"][has]] = scorer[own[has]]
    layout = shards.arrangement
    parts = [
        layout.read(state).renumbered(number)
        for state, number in zip(shards.states, numbers, strict=True)
    ]
    size = len(denied)
    constant = np.full(size, layout.slots - 1)
    minus = np.full(size, -sure, dtype=np.float32)
    parts.append(Weights(np.array(denied, np.int64), constant, minus, np.zeros(size, np.float32)))
    weights = Weights.average(parts, [*shards.shares, 1.0], layout.slots)
    models = -(-next_scorer // LANES) * LANES
    merged["scorer"] = scorer.astype(np.uint32)
    merged["next_scorer"] = np.array([next_scorer], dtype=np.uint32)
    merged["n_models"] = np.array([models], dtype=np.uint64)
    return merged | layout.write(weights)


_TREE = ("nodes", "children", "weight", "mass", "histogram_size", "histogram_count")
_REGRESSORS = ("feature_size", "feature", "regressor")


def ldsm_forest(shards: Shards) -> State:
    """Put all trees into one forest."""
    merged = {**shards.states[0], **counts.of_rows(shards.counted, shards.base)}
    own = list(shards.ids)
    merged["counts"] = counts.add_by_label(
        "counts", shards.counted, own[: len(shards.counted)], shards.labels
    )
    for name in (*_TREE, *_REGRESSORS):
        merged[name] = np.concatenate([state[name] for state in shards.states])
    labels, label_weights = [], []
    for state, ids in zip(shards.states, own, strict=True):
        label = ids[state["histogram_label"].astype(np.int64)]
        node = np.repeat(np.arange(len(state["histogram_size"])), state["histogram_size"])
        order = np.lexsort((label, node))
        labels.append(label[order].astype(np.uint32))
        label_weights.append(state["histogram_count"][order])
    merged["histogram_label"] = np.concatenate(labels)
    merged["histogram_count"] = np.concatenate(label_weights)
    merged["recent_size"] = np.zeros(len(merged["children"]), dtype=np.uint32)
    merged["recent"] = np.zeros(0, dtype=np.uint64)
    for name in merged:  # rows of the stream that leaves remember stay with who has them
        if name.startswith("kept_"):
            none = name == "kept_end"
            merged[name] = np.zeros_like(merged[name]) if none else merged[name][:0]
    return merged
