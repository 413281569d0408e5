"""The model behind a server: examples in, labels out, and what is saved with it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import modelfile
from labeltree.algorithms import name_of
from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of, load
from labeltree.estimators.explanation import text_parts
from labeltree.labels import Label
from labeltree.progress import Progress
from labeltree.runs.labelcounts import add_counts, forgets
from labeltree.runs.notes import notes_of
from labeltree.runs.training import DEFAULT_FEATURES, takes_sets
from labeltree.serve.examples import BadRequestError, Example, Form

TOGETHER = 64  # examples that are learned while nobody else may ask
TRIED = 60  # words that are left out in turn, to explain a prediction

Answer = list[tuple[Label, float]]  # labels with their scores, best first


class Word(NamedTuple):
    """A word, and by how much it raises the score of a label."""

    word: str
    weight: float


class ServedModel:
    """An estimator, whatever it learns from. One thread learns; any number of them may ask."""

    def __init__(
        self,
        clf: OnlineClassifier | TextClassifier,
        *,
        sets: bool | None = None,
        notes: dict[str, Any] | None = None,
        attached: dict[str, NDArray[Any]] | None = None,
    ) -> None:
        self.clf = clf
        self.notes = notes or {}
        self.attached = attached or {}
        if sets is None and not takes_sets(classifier_of(clf)):
            sets = False
        self.sets = clf.multilabel_ if self.learned else sets  # None: the first example will tell
        counts = self.notes.get("label_counts") or []
        self._counts = np.array(counts, np.int64)
        self._names: list[tuple[str, Label]] = []  # of labels, as they are sought
        self._seeking = threading.Lock()
        self._note()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ServedModel:
        """Read a model file; a compiled one is mapped."""
        compiled = bool(modelfile.read_header(path).get("compiled"))
        clf = load(path, mmap=compiled)
        return cls(clf, notes=notes_of(path), attached=modelfile.read_attached(path))

    @property
    def learned(self) -> bool:
        """Whether the model has learned anything."""
        return bool(self.clf.__sklearn_is_fitted__())

    @property
    def compiled(self) -> bool:
        """Whether the model can only predict."""
        return self.learned and bool(self.clf.compiled_)

    @property
    def form(self) -> Form:
        """What rows are made of."""
        text = isinstance(self.clf, TextClassifier)
        if text or not self.learned:
            return Form(text=text, features=DEFAULT_FEATURES)
        reader = self.notes.get("reader") or {}
        hash_bits = reader.get("hash_bits") if reader.get("format") == "vw" else None
        return Form(text=False, features=self.clf.n_features_in_, hash_bits=hash_bits)

    def _note(self) -> None:
        """Note how things are, for those who ask and may not wait until the model is at leisure."""
        self.progress = self.clf.progress_ if self.learned else Progress()
        self.labels = self.clf.n_labels_ if self.learned else 0
        self.version = int(self.clf.examples_) if self.learned else 0  # examples learned

    def facts(self) -> dict[str, Any]:
        """Tell what the model is, and how it fared when it last learned."""
        return {
            "version": self.version,
            "examples": self.version,
            "labels": self.labels,
            "text": self.form.text,
            "features": self.form.features,
            "names": self.form.hash_bits is not None,
            "sets": self.sets,
            "algorithm": name_of(type(classifier_of(self.clf))),
            "compiled": self.compiled,
            "error": self.progress.error if self.progress.examples else None,
        }

    def require(self, example: Example, where: str) -> None:
        """Raise if an example cannot be learned."""
        if not example.labels:
            raise BadRequestError("labels are empty, expected at least one", where + "labels")
        if self.sets is False and len(example.labels) != 1:
            raise BadRequestError(
                f"there are {len(example.labels)} labels, expected one: the model learns one label "
                "a row, and a new one sets of them if it is started with --label-sets",
                where + "labels",
            )

    def require_labels(self, labels: Sequence[Label]) -> None:
        """Raise if labels cannot be learned together, and after those learned before."""
        try:
            classifier_of(self.clf).check_labels(labels)
        except ValueError as error:
            raise BadRequestError(str(error), "labels") from error

    def learn(self, examples: Sequence[Example]) -> None:
        """Learn examples in their order; the model does not depend on how they are cut up.

        Those that the estimator refuses are left out, now as whenever they are learned again.
        """
        begin = 0
        while begin < len(examples):
            # What the first row settles must not depend on those with it.
            part = examples[begin : begin + (TOGETHER if self.learned else 1)]
            begin += len(part)
            try:
                self._learn(part)
            except ValueError:
                for one in part if len(part) > 1 else ():
                    with contextlib.suppress(ValueError):
                        self._learn([one])
        self._note()

    def _learn(self, examples: Sequence[Example]) -> None:
        sets = len(examples[0].labels) > 1 if self.sets is None else self.sets
        y = [list(one.labels) if sets else one.labels[0] for one in examples]
        weight = np.array([one.weight for one in examples], np.float32)
        self.clf.partial_fit(self._rows(examples), y, sample_weight=weight)
        if self.learned:
            self.sets = sets
        labels = [label for one in examples for label in one.labels if one.weight > 0]
        self._counts = add_counts(self._counts, self.clf, labels)

    def predict(self, examples: Sequence[Example], k: int) -> list[Answer]:
        """Return the best labels of each example."""
        if not self.learned or not self.clf.n_labels_:
            return [[] for _ in examples]
        labels, scores = self.clf.predict_topk(self._rows(examples), k=k)
        return [
            [(label, score) for label, score in zip(*row, strict=True) if label is not None]
            for row in zip(labels.tolist(), scores.tolist(), strict=True)
        ]

    def explain(self, text: str, labels: Sequence[Label], limit: int) -> list[list[Word]]:
        """Return, for each label, the words that matter most to its score."""
        words, without = text_parts(text)
        words = words[:TRIED]
        if not self.learned or not words:
            return [[] for _ in labels]
        texts = [Example(text), *(Example(without(i)) for i in range(len(words)))]
        k = min(self.labels, max(20, 4 * len(labels)))
        whole, *others = [dict(answer) for answer in self.predict(texts, k)]
        explained = []
        for label in labels:
            found: dict[str, float] = {}
            for word, other in zip(words, others, strict=True):
                change = whole.get(label, 0.0) - other.get(label, 0.0)
                found[word] = max(found.get(word, change), change, key=abs)
            ranked = sorted(found.items(), key=lambda item: -abs(item[1]))
            explained.append([Word(*item) for item in ranked[:limit] if abs(item[1]) > 1e-4])
        return explained

    def find_labels(self, query: str, limit: int) -> tuple[list[tuple[Label, int | None]], int]:
        """Return labels that have all words of a query, the most frequent first; and how many."""
        if not self.learned:
            return [], 0
        known = self.clf.classes_
        with self._seeking:
            if forgets(self.clf):  # others may have the places of those that were known
                self._names = []
            names = self._names
            for label in known[len(names) :].tolist():
                names.append((str(label).casefold(), label))
        words = query.casefold().split()
        found = [i for i, (name, _) in enumerate(names) if all(word in name for word in words)]
        counts = self._counts
        whole = " ".join(words)

        def order(i: int) -> tuple[bool, bool, int]:
            name = names[i][0]
            count = int(counts[i]) if i < len(counts) else 0
            return name != whole, not name.startswith(whole), -count

        best = sorted(found, key=order)[:limit]
        return [(names[i][1], int(counts[i]) if i < len(counts) else None) for i in best], len(
            known
        )

    def contents(
        self, notes: dict[str, Any], attached: dict[str, NDArray[Any]]
    ) -> modelfile.Contents:
        """Return what a file of the model holds, as it is now."""
        own = {**self.notes, "label_counts": self._counts.tolist(), "run": None, **notes}
        return self.clf.contents(notes=own, attached={**self.attached, **attached})

    def _rows(self, examples: Sequence[Example]) -> Any:
        form = self.form
        if form.text:
            return [one.text for one in examples]
        offset = np.cumsum([0, *(len(one.indices) for one in examples)])
        indices = np.fromiter((i for one in examples for i in one.indices), np.int64, offset[-1])
        values = np.fromiter((v for one in examples for v in one.values), np.float32, offset[-1])
        return sp.csr_matrix((values, indices, offset), shape=(len(examples), form.features))
