"""Text features and a classifier, as one model in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labeltree import modelfile
from labeltree.conventions import available_if
from labeltree.data.texts import Texts
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.label_tree import LabelTreeClassifier
from labeltree.estimators.textmodel import TextModel
from labeltree.estimators.textprediction import TextPredictor, _has
from labeltree.labels import Label
from labeltree.progress import Progress
from labeltree.text import TextFeatures
from labeltree.validation import as_weights


class TextClassifier(TextPredictor):
    """A classifier of texts: `TextFeatures`, and any classifier of this library behind it.

    It is what ``labeltree train`` makes from text. Texts are given as a list, an array, or a
    column of pandas, polars or Arrow; labels as to the classifier.

    `fit` counts all texts before it learns from them; `partial_fit` weighs each with the counts of
    those before it, so that a stream need not be known beforehand.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier of this library, which is copied; None takes `LabelTreeClassifier()`.
    word_ngrams, char_ngrams, lowercase, hash_bits, idf, keep_names
        As for `TextFeatures`.

    Attributes
    ----------
    features_ : TextFeatures
        The features, with what they have counted.
    estimator_ : estimator
        The classifier that has learned. What it knows is known here, too: ``classes_``,
        ``n_labels_``, ``progress_``, ``tree_`` and more.

    Examples
    --------
    >>> from labeltree import TextClassifier
    >>> clf = TextClassifier().fit(["it purrs", "it barks", "it sings"], ["cat", "dog", "bird"])
    >>> clf.predict(["Does it purr? It purrs."])
    array(['cat'], dtype=object)
    """

    _takes_sets = True
    _expects_more = False  # whether the texts of the first call will come again

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        word_ngrams: int = 2,
        char_ngrams: tuple[int, int] | None = None,
        lowercase: bool = True,
        hash_bits: int = 24,
        idf: bool = True,
        keep_names: bool = False,
    ) -> None:
        self.estimator = estimator
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.lowercase = lowercase
        self.hash_bits = hash_bits
        self.idf = idf
        self.keep_names = keep_names

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, verbose: int = 0) -> Self:
        """Forget everything, count the texts, and learn them in the classifier's passes.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : array-like, list of lists, or indicator matrix
            One label a text, an int or a str; or a set of labels a text.
        sample_weight : array-like of shape (n_samples,), optional
            How much each text counts; those of weight 0 are left out.
        verbose : int
            Above 0, a line on standard error shows how far learning is.

        Returns
        -------
        self
            The fitted model. After Ctrl-C what was learned so far remains. Until then, other
            threads use what it was before.
        """
        texts, weight = _checked(X, sample_weight)
        new = self._new()
        counted = texts if weight is None else texts[np.flatnonzero(weight)]
        rows = new.features.fit(counted)._rows(texts, None)
        try:
            new.estimator.fit(rows, y, sample_weight=weight, verbose=verbose)
        except KeyboardInterrupt:
            if new.learned:
                self._fitted = new
            raise
        self._fitted = new
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        row_numbers: Any = None,
    ) -> Self:
        """Learn the texts once, in their order, on top of what is known.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : array-like, list of lists, or indicator matrix
            As for `fit`. It may have labels that were never seen before, at any time.
        classes : list or array of int or str, optional
            Labels that get the next ids. Never needed: a label is predicted once it was seen.
        sample_weight : array-like of shape (n_samples,), optional
            How much each text counts. The words of texts of weight 0 are not counted, either.
        row_numbers : array of int, optional
            As for `LabelTreeClassifier.partial_fit`.

        Returns
        -------
        self
            The model.
        """
        texts, weight = _checked(X, sample_weight)
        known: TextModel | None = self.__dict__.get("_fitted")
        if known is not None:
            known.learn(texts, y, classes, weight, row_numbers)
            return self
        new = self.__dict__.setdefault("_starting", self._new())  # of several threads that come
        try:
            new.learn(texts, y, classes, weight, row_numbers)
        finally:
            self.__dict__.pop("_starting", None)
            if new.learned:
                self.__dict__.setdefault("_fitted", new)  # `fit` may have made another
        return self

    def learn_one(self, x: str, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one text, as `partial_fit` does.

        Parameters
        ----------
        x : str
            The text.
        y : int, str, or list of them
            Its label, or the list of its labels.
        sample_weight : float
            How much it counts.

        Returns
        -------
        self
            The model.
        """
        return self.partial_fit([x], [y], sample_weight=sample_weight)

    @available_if(_has("forget"))
    def forget(self, labels: Iterable[Label]) -> Self:
        """Forget labels, as `LabelTreeClassifier.forget` does; words stay as they were counted.

        Parameters
        ----------
        labels : iterable of int or str
            Labels of ``classes_``. If any is unknown, nothing is forgotten.

        Returns
        -------
        self
            The model.

        Examples
        --------
        >>> from labeltree import TextClassifier
        >>> clf = TextClassifier().fit(["it purrs", "it barks", "it sings"], ["cat", "dog", "bird"])
        >>> clf.forget(["dog"]).classes_
        array(['bird', 'cat'], dtype=object)
        """
        estimator: Any = self._require().estimator
        estimator.forget(labels)
        return self

    def begin_pass(self, *, again: bool, more: bool = False) -> None:
        """Tell `partial_fit` that the same texts come several times.

        Parameters
        ----------
        again : bool
            Whether the texts to come were learned before: they are not counted again then.
        more : bool
            Whether they will come once more, as for the classifier.
        """
        if again or "_fitted" in self.__dict__:
            self._require().begin_pass(again=again, more=more)
        self._expects_more = more

    def compile(self, *, keep: float = 0.999) -> Self:
        """Return a smaller model that only predicts, with the same features.

        Parameters
        ----------
        keep : float
            As for the classifier.

        Returns
        -------
        TextClassifier
            This model stays as it is.
        """
        other = type(self)(**self.get_params(deep=False))
        other._fitted = self._require().compiled(keep)
        return other

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        notes: dict[str, Any] | None = None,
        attached: modelfile.Arrays | None = None,
        exact: bool = True,
    ) -> None:
        """Write the model to one file; `labeltree.load` reads it back.

        Parameters
        ----------
        path : str or path-like
            Where to write it.
        notes, attached, exact
            As for the classifier.
        """
        self.contents(notes=notes, attached=attached).write(path, exact=exact)

    def contents(
        self, *, notes: dict[str, Any] | None = None, attached: modelfile.Arrays | None = None
    ) -> modelfile.Contents:
        """Return what `save` would write now, to be written while the model learns on.

        Parameters
        ----------
        notes, attached
            As for `save`.

        Returns
        -------
        labeltree.modelfile.Contents
            A copy; ``contents().write(path)`` is ``save(path)``.
        """
        return self._require().contents(notes, attached)

    @classmethod
    def _from_model(cls, model: TextModel) -> Self:
        """Make the estimator that has learned a model."""
        clf = cls(model.estimator._cloned(), **model.features.get_params())
        clf._fitted = model
        return clf

    @classmethod
    def of_parts(cls, features: TextFeatures, estimator: OnlineClassifier) -> Self:
        """Return the model that features and a classifier are, which were fitted apart.

        Parameters
        ----------
        features : TextFeatures
            What has counted the texts.
        estimator : estimator
            What has learned the rows that the features made of them.

        Returns
        -------
        TextClassifier
            Both, not copied.

        Examples
        --------
        >>> from labeltree import LabelTreeClassifier, TextClassifier, TextFeatures
        >>> texts, y = ["it purrs", "it barks"], ["cat", "dog"]
        >>> features = TextFeatures().fit(texts)
        >>> clf = LabelTreeClassifier().fit(features.transform(texts), y)
        >>> TextClassifier.of_parts(features, clf).predict(["it barks"])
        array(['dog'], dtype=object)
        """
        if 2**features.hash_bits != estimator.n_features_in_:
            raise ValueError(
                f"the features are {2**features.hash_bits:,}, but the classifier has learned rows "
                f"of {estimator.n_features_in_:,}; give the features that made its rows"
            )
        return cls._from_model(TextModel(features, estimator))

    def unfitted_features(self) -> TextFeatures:
        """Return the features that `fit` begins with.

        Returns
        -------
        TextFeatures
            With this model's parameters, and no counts.
        """
        return self._new().features

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those that take effect at once, as a threshold, also in what was learned.

        Parameters
        ----------
        **params
            Names and values; those of the classifier begin with ``estimator__``.

        Returns
        -------
        self
            The model.
        """
        super().set_params(**params)
        if "_fitted" in self.__dict__:
            classifier = self._fitted.estimator
            own = {name.removeprefix("estimator__"): value for name, value in params.items()}
            classifier.set_params(**{n: own[n] for n in own if n in classifier._changeable})
        return self

    def check_params(self) -> None:
        """Raise if a parameter, or one of the classifier's, is not what it should be."""
        self._new().estimator.check_params()

    @property
    def features_(self) -> TextFeatures:
        """The features, with what they have counted."""
        return self._require().features

    @property
    def estimator_(self) -> OnlineClassifier:
        """The classifier that has learned."""
        return self._require().estimator

    @property
    def progress_(self) -> Progress:
        """How examples were predicted before they were learned, as a copy of what is known now."""
        if not hasattr(self, "_fitted"):
            raise AttributeError("progress_ is known once something was learned")
        return self._fitted.estimator.progress_

    @progress_.setter
    def progress_(self, progress: Progress) -> None:
        self._require().estimator.progress_ = progress

    def __getattr__(self, name: str) -> Any:
        """Tell what the classifier knows."""
        if name.endswith("_") and not name.startswith("_") and "_fitted" in self.__dict__:
            return getattr(self._fitted.estimator, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether anything was learned."""
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this model takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def _unfitted_estimator(self) -> OnlineClassifier:
        return LabelTreeClassifier() if self.estimator is None else self.estimator

    def _new(self) -> TextModel:
        """Return both parts, unfitted."""
        estimator = self._unfitted_estimator()
        if not isinstance(estimator, OnlineClassifier):
            raise ValueError(
                f"estimator is a {type(estimator).__name__}, expected a classifier of labeltree; "
                "for others put TextFeatures before them in a pipeline"
            )
        names = TextFeatures._get_param_names()
        features = TextFeatures(**{name: getattr(self, name) for name in names})
        features._start()  # which refuses what is wrong with its parameters
        model = TextModel(features, estimator._cloned())
        model.estimator.begin_pass(again=False, more=self._expects_more)
        return model

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_starting", None)
        return state


def _checked(X: Any, sample_weight: Any) -> tuple[Texts, NDArray[np.float32] | None]:
    texts = Texts.of(X)
    if not len(texts):
        raise ValueError("X has no texts, expected at least one")
    return texts, as_weights(sample_weight, len(texts))
