"""What a server starts with that has no model yet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from labeltree.algorithms import DEFAULT_ALGORITHM, estimator_class, name_of
from labeltree.estimators import TextClassifier, classifier_of
from labeltree.runs.training import takes_sets
from labeltree.serve.model import ServedModel


@dataclass
class NewModel:
    """What was asked for: the first record of the log."""

    algorithm: str
    params: dict[str, Any]
    text: bool
    text_options: dict[str, Any]
    sets: bool | None

    def make(self) -> ServedModel:
        """Make the model."""
        estimator = estimator_class(self.algorithm)(**self.params)
        estimator.check_params()
        if self.sets and not takes_sets(estimator):
            raise ValueError(
                f"{self.algorithm} learns one label a row; leave --label-sets out, or give "
                "another --algorithm"
            )
        if not self.text:
            return ServedModel(estimator, sets=self.sets)
        clf = TextClassifier(estimator, **self.text_options)
        clf.check_params()
        return ServedModel(clf, sets=self.sets, notes={"reader": {"format": "jsonl"}})

    def unused(self, model: ServedModel) -> list[str]:
        """Return what was asked for, other than by default, and is otherwise in a model."""
        settings = {**model.clf.get_params(), **classifier_of(model.clf).get_params()}
        asked = {**self.params, **self.text_options}
        found = [
            f"{name} {value}"
            for name, value in asked.items()
            if name != "random_state" and settings.get(name, value) != value
        ]
        actual = name_of(type(classifier_of(model.clf)))
        if self.algorithm not in (DEFAULT_ALGORITHM, actual):
            found.insert(0, f"algorithm {self.algorithm}")
        if self.sets is not None and self.sets != model.sets:
            found.append("label sets" if self.sets else "one label a row")
        if not self.text and model.form.text:
            found.append("numbered features")
        return found

    def to_json(self) -> bytes:
        """Return a record of the log."""
        return json.dumps({"start": vars(self)}).encode()
