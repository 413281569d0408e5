"""One model of several that were trained apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from labeltree.conventions import check_is_fitted
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.text import TextClassifier
from labeltree.estimators.textmodel import TextModel
from labeltree.merging.shards import CannotMergeError
from labeltree.progress import Progress

Model = TypeVar("Model", bound=OnlineClassifier | TextClassifier)


def merge(models: Sequence[Model], *, base: Model | None = None, same_rows: bool = False) -> Model:
    """Return the model that several, trained on different rows, are together.

    Counts add; weights are averaged, weighted by their gradient sums, or by the examples of each
    model where there are none. Labels that only some know are welcome. Trees of
    `LabelTreeClassifier` that differ are kept, all of them, and `LdSMClassifier` unites forests.
    Rows that models keep of their streams are left out.

    Parameters
    ----------
    models : sequence of estimators
        Of one class, with the same parameters and settled attributes (but for random seeds). They
        stay as they are.
    base : estimator, optional
        The model from which all went on, if there is one; each then counts only what it learned
        since, and moves of weights are averaged. It must
        have learned a row of every label.
    same_rows : bool
        Whether all have learned the same rows: each its own labels (`OneAgainstAllClassifier`)
        or its own trees (`LdSMClassifier`). Rows are then counted once.

    Returns
    -------
    estimator
        A new one, that predicts and goes on learning.

    Raises
    ------
    ValueError
        If models do not fit together; the sentence names what differs.

    Examples
    --------
    >>> from labeltree import OneAgainstAllClassifier, merge
    >>> one, two = OneAgainstAllClassifier(scale="none"), OneAgainstAllClassifier(scale="none")
    >>> one = one.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    >>> two = two.partial_fit([[1.0, 1.0], [0.0, 1.0]], ["c", "b"])
    >>> merge([one, two]).classes_
    array(['a', 'b', 'c'], dtype=object)
    """
    every: list[Any] = list(models)
    _require_models(every if base is None else [*every, base])
    merge_alike = _merge_texts if isinstance(every[0], TextClassifier) else _merge_classifiers
    merged: Model = merge_alike(every, base, same_rows)
    return merged


def _merge_classifiers(models: Sequence[Any], base: Any, same_rows: bool) -> Any:
    """Add up counts, and average weights."""
    for i, model in enumerate(models[1:], start=2):
        _require_alike(models[0], model, str(i))
    if base is not None:
        _require_alike(models[0], base, "base")
        for i, model in enumerate(models, start=1):
            _require_begun_from(base, model, i)
    merged = models[0]._merged_with(models[1:], base, same_rows)
    merged._progress = add_progress([model.progress_ for model in models], base)
    return merged


def add_progress(every: Sequence[Progress], base: Any) -> Progress:
    """Add up how examples were predicted before they were learned.

    Parameters
    ----------
    every : sequence of Progress
        One a model.
    base : estimator or None
        What all have from it counts once.

    Returns
    -------
    Progress
        Without a history, as no example came before those of other models.
    """
    total = Progress()
    known = Progress() if base is None else base.progress_
    for name in ("examples", "errors", "passed_over", "passed_over_errors"):
        common = getattr(known, name)
        total_of = common + sum(getattr(one, name) - common for one in every)
        setattr(total, name, total_of)
    losses = [one.squared_loss_sum for one in every if one.squared_loss_sum is not None]
    if losses:
        common_loss = known.squared_loss_sum or 0.0
        total.squared_loss_sum = max(0.0, common_loss + sum(x - common_loss for x in losses))
    assert len(fields(total)) == 6
    return total


def _require_models(models: Sequence[Any]) -> None:
    if not models:
        raise ValueError("models is empty, expected at least one model")
    for i, model in enumerate(models, start=1):
        if not isinstance(model, OnlineClassifier | TextClassifier):
            raise ValueError(
                f"model {i} is a {type(model).__name__}, expected a fitted estimator of labeltree"
            )
        check_is_fitted(model)
        if type(model) is not type(models[0]):
            raise CannotMergeError(
                f"model 1 is a {type(models[0]).__name__}, model {i} a {type(model).__name__}; "
                "only models of one class can be merged"
            )
        if model.compiled_:
            raise CannotMergeError(
                f"model {i} was compiled for prediction, and has no more what merging needs; merge "
                "those that were compiled, then compile the result"
            )


def _require_alike(first: OnlineClassifier, other: OnlineClassifier, which: str) -> None:
    """Raise if another model has other parameters, or settled otherwise what data decide."""
    mine, others = _configuration(first), _configuration(other)
    for name, value in mine.items():
        if not np.array_equal(value, others[name]):
            raise CannotMergeError(
                f"{name} is {value!r} in model 1, but {others[name]!r} in "
                f"{'base' if which == 'base' else f'model {which}'}; only models of one "
                "configuration can be merged: train them with the same parameters, and set those "
                "that data decide otherwise"
            )


def _require_begun_from(base: OnlineClassifier, model: OnlineClassifier, which: int) -> None:
    """Raise if a model cannot have gone on from the base."""
    if model.examples_ < base.examples_:
        raise CannotMergeError(
            f"model {which} has learned {model.examples_:,} examples, and base {base.examples_:,}: "
            "it did not go on from there; give the model that all went on from, or no base"
        )
    if (model.label_ids(base.classes_.tolist()) < 0).any():
        raise CannotMergeError(
            f"base has labels that model {which} lacks: it did not go on from there; give the "
            "model that all went on from, or no base"
        )


def _configuration(model: OnlineClassifier) -> dict[str, Any]:
    """Return what must be the same in all models."""
    may_differ = {"seed_", *model._united}
    settings = {name: v for name, v in model._fixed.items() if name not in may_differ}
    settled = {name: getattr(model, name) for name in model._settled if name not in may_differ}
    names = getattr(model, "feature_names_in_", None)
    form = "indicator" if model._kind.endswith("indicator") else model._kind
    return {
        **settings,
        **settled,
        "the form of labels": form,
        "feature_names_in_": None if names is None else names.tolist(),
    }


def _merge_texts(models: Sequence[Any], base: Any, same_rows: bool) -> Any:
    """Add up the counts of words, and merge the classifiers behind them."""
    if same_rows:
        raise ValueError(
            "same_rows is for OneAgainstAllClassifier and LdSMClassifier, without text"
        )
    classifiers = [model.estimator_ for model in models]
    features = type(models[0].features_).added(
        [model.features_ for model in models], None if base is None else base.features_
    )
    merged = merge(classifiers, base=None if base is None else base.estimator_)
    return TextClassifier._from_model(TextModel(features, merged))
