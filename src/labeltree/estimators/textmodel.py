"""What a `TextClassifier` has learned: text features and a classifier that fit each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import modelfile
from labeltree.data.texts import Texts
from labeltree.estimators.base import OnlineClassifier
from labeltree.text import TextFeatures

TEXT = "text."  # how the names of arrays begin, in a model file, that the features have


@dataclass(eq=False)
class TextModel:
    """Both parts of a model, which change together, behind the classifier's lock."""

    features: TextFeatures
    estimator: OnlineClassifier
    counting: bool = True  # whether texts to come are counted: not in a second pass

    @property
    def learned(self) -> bool:
        """Whether anything was learned."""
        return bool(self.estimator.__sklearn_is_fitted__())

    def learn(
        self,
        texts: Texts,
        y: Any,
        classes: Any,
        weight: NDArray[np.float32] | None,
        row_numbers: Any = None,
    ) -> None:
        """Let the features weigh and count texts, and the classifier learn the rows."""
        features, estimator = self.features, self.estimator
        counted = np.ones(len(texts), bool) if weight is None else weight > 0
        with estimator._lock.changing:
            examples, documents = estimator.examples_, features.documents_
            counted &= self.counting
            try:
                rows, names = features.learn_unnamed(texts, counted)
                estimator.partial_fit(
                    rows, y, classes=classes, sample_weight=weight, row_numbers=row_numbers
                )
            except BaseException:  # a refused call, no memory, or Ctrl-C at any moment
                known = np.flatnonzero(counted)[: features.documents_ - documents]
                features.forget(texts[known[known >= estimator.examples_ - examples]])
                raise
            features.add_names(names)

    def begin_pass(self, *, again: bool, more: bool) -> None:
        """Tell whether the texts to come were learned before, and will come once more."""
        with self.estimator._lock.changing:
            self.estimator.begin_pass(again=again, more=more)
            self.counting = not again

    def ask(self, X: Any, question: Callable[[Any, sp.csr_matrix], Any]) -> Any:
        """Ask the classifier about texts; nobody learns meanwhile."""
        texts = Texts.of(X)
        with self.estimator._lock.reading:
            return question(self.estimator, self.features._rows(texts, None))

    def compiled(self, keep: float) -> TextModel:
        """Return a smaller model that only predicts."""
        with self.estimator._lock.reading:
            return TextModel(self.features._copy(), self.estimator.compile(keep=keep))

    def contents(
        self, notes: dict[str, Any] | None, attached: modelfile.Arrays | None
    ) -> modelfile.Contents:
        """Return what a file of both parts holds."""
        with self.estimator._lock.reading:
            header, arrays, attached = self.estimator.contents(notes=notes, attached=attached)
            header["text"] = {
                **self.features.settings(),
                "documents": self.features.documents_,
                "counting": self.counting,
            }
            parts = {TEXT + name: array for name, array in self.features._arrays().items()}
        return modelfile.Contents(header, {**arrays, **parts}, attached)

    @classmethod
    def from_file(
        cls, estimator: OnlineClassifier, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> TextModel:
        """Make the model of a file from its classifier, and the rest of what it holds."""
        settings = dict(header["text"])
        documents, counting = settings.pop("documents"), settings.pop("counting")
        if isinstance(settings["char_ngrams"], list):
            settings["char_ngrams"] = tuple(settings["char_ngrams"])
        features = TextFeatures(**settings)
        features._start()
        if 2**features.hash_bits != estimator.n_features_in_:
            raise ValueError("the features of the text are not those of the classifier")
        features._restore(documents, {n.removeprefix(TEXT): a for n, a in arrays.items()})
        return cls(features, estimator, counting)

    def __getstate__(self) -> dict[str, Any]:
        with self.estimator._lock.reading:  # both between two calls that change them
            return {
                "features": self.features.__getstate__(),
                "estimator": (type(self.estimator), self.estimator.__getstate__()),
                "counting": self.counting,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, inside = state["estimator"]
        self.features, self.estimator = TextFeatures(), object.__new__(kind)
        self.features.__setstate__(state["features"])
        self.estimator.__setstate__(inside)
        self.counting = state["counting"]
