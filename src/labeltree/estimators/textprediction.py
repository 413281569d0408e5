"""Classifiers of texts: what they predict, and how well."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree.conventions import Classifier, available_if
from labeltree.data.texts import Texts
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.explanation import Explanation, explain, named_parts, text_parts
from labeltree.estimators.textmodel import TextModel
from labeltree.scikit_learn import scikit_learn
from labeltree.text import MOST_NAMES


def _has(name: str) -> Callable[[TextPredictor], bool]:
    return lambda self: hasattr(classifier_of(self), name)


class TextPredictor(Classifier):
    """The part of a `TextClassifier` that predicts: it asks the classifier behind the features."""

    _fitted: TextModel

    @abstractmethod
    def _unfitted_estimator(self) -> OnlineClassifier:
        """Return the classifier that a copy will learn with."""

    def predict(self, X: Any) -> Any:
        """Predict the best label of each text, or the set of its labels.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.

        Returns
        -------
        array of shape (n_texts,), list of lists, or indicator matrix
            In the form in which `y` was given.
        """
        return self._require().ask(X, lambda estimator, rows: estimator.predict(rows))

    def predict_topk(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Predict the k best labels of each text, best first.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        k : int
            How many labels.

        Returns
        -------
        labels, scores : arrays of shape (n_texts, k)
            As of the classifier.
        """
        found: tuple[NDArray[Any], NDArray[np.float32]] = self._require().ask(
            X, lambda estimator, rows: estimator.predict_topk(rows, k)
        )
        return found

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Return the probability of every label.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        **options
            As of the classifier.

        Returns
        -------
        array or matrix of shape (n_texts, n_classes)
            As of the classifier.
        """
        return self._require().ask(
            X, lambda estimator, rows: estimator.predict_proba(rows, **options)
        )

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the logarithm of the probability of every label.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.

        Returns
        -------
        array of shape (n_texts, n_classes)
            As of the classifier.
        """
        logarithms: NDArray[np.float32] = self._require().ask(
            X, lambda estimator, rows: estimator.predict_log_proba(rows)
        )
        return logarithms

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return a score of every label, finite and in the order of probabilities.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.

        Returns
        -------
        array of shape (n_texts, n_classes) or (n_texts,)
            As of the classifier.
        """
        scores: NDArray[np.float64] = self._require().ask(
            X, lambda estimator, rows: estimator.decision_function(rows)
        )
        return scores

    @available_if(_has("label_proba"))
    def label_proba(self, X: Any, y: Any) -> Any:
        """Return the probability of one given label a text.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : array-like
            A label for each.

        Returns
        -------
        array of shape (n_texts,)
            The probabilities.
        """
        return self._require().ask(X, lambda estimator, rows: estimator.label_proba(rows, y))

    def predict_one(self, x: str, k: int | None = None) -> Any:
        """Predict for one text.

        Parameters
        ----------
        x : str
            The text.
        k : int, optional
            Ask for the k best labels.

        Returns
        -------
        label, list of labels, or list of (label, score)
            What `predict` gives for the text; with `k` the labels and scores of `predict_topk`.
        """
        return self._require().ask(
            _one(x), lambda estimator, rows: estimator.predict_one((rows.indices, rows.data), k)
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of texts whose best label is right.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : array-like, list of lists, or indicator matrix
            The true labels, in any form that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional
            How much each text counts.

        Returns
        -------
        float
            Accuracy, or precision@1.
        """
        return float(
            self._require().ask(X, lambda estimator, rows: estimator.score(rows, y, sample_weight))
        )

    def explain(self, x: str, k: int = 10) -> Explanation:
        """Predict one text, and again without each of its words.

        Parameters
        ----------
        x : str
            The text.
        k : int
            How many labels to tell.

        Returns
        -------
        Explanation
            ``labels``, the k best with their scores; and ``parts``, the words that changed the best
            label's score most when they were left out, with that change; with `keep_names` the
            features, by their names. Of a long text the first 500 words are tried, or the 500
            heaviest features.

        Examples
        --------
        >>> from labeltree import TextClassifier
        >>> clf = TextClassifier().fit(["it purrs", "it barks"], ["cat", "dog"])
        >>> clf.explain("it purrs").parts[0].part
        'purrs'
        """
        _one(x)
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k is {k!r}, expected an integer from 1")
        model = self._require()
        features, estimator = model.features, model.estimator
        row, names = features.named_row(x)
        if features.keep_names:
            kept = features.names_
            parts, without = named_parts(row, names, kept, all_kept=len(kept) < MOST_NAMES)
        else:
            parts, text_without = text_parts(x)

            def without(i: int) -> Any:
                return features._rows(Texts.of([text_without(i)]), None)

        return explain(estimator.predict_topk, row, parts, without, int(k))

    def _require(self) -> TextModel:
        fitted: TextModel | None = self.__dict__.get("_fitted")
        if fitted is None:
            raise scikit_learn("exceptions").NotFittedError(
                "this TextClassifier has learned nothing yet; call fit or partial_fit first"
            )
        return fitted


def classifier_of(model: OnlineClassifier | TextPredictor) -> OnlineClassifier:
    """Return what decides in a model: itself, or the classifier behind its text features."""
    if isinstance(model, OnlineClassifier):
        return model
    return model._fitted.estimator if hasattr(model, "_fitted") else model._unfitted_estimator()


def _one(x: Any) -> list[str]:
    if not isinstance(x, str):
        raise ValueError(f"x is a {type(x).__name__}, expected one text, a str")
    return [x]
