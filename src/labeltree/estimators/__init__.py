"""Estimators: one file per algorithm."""

from __future__ import annotations

import os

from labeltree import modelfile
from labeltree.estimators.base import OnlineClassifier
from labeltree.estimators.baselines import (
    FilterTreeClassifier,
    PECOCClassifier,
    RandomTreeClassifier,
)
from labeltree.estimators.label_tree import LabelTreeClassifier
from labeltree.estimators.ldsm import LdSMClassifier
from labeltree.estimators.lom_tree import LOMTreeClassifier
from labeltree.estimators.merging import merge
from labeltree.estimators.one_against_all import OneAgainstAllClassifier
from labeltree.estimators.probability_tree import ProbabilityTreeClassifier
from labeltree.estimators.recall_tree import RecallTreeClassifier
from labeltree.estimators.text import TextClassifier
from labeltree.estimators.textmodel import TEXT, TextModel
from labeltree.estimators.textprediction import classifier_of
from labeltree.text import TextFeatures

__all__ = [
    "ESTIMATORS",
    "FilterTreeClassifier",
    "LOMTreeClassifier",
    "LabelTreeClassifier",
    "LdSMClassifier",
    "OneAgainstAllClassifier",
    "OnlineClassifier",
    "PECOCClassifier",
    "ProbabilityTreeClassifier",
    "RandomTreeClassifier",
    "RecallTreeClassifier",
    "TextClassifier",
    "TextFeatures",
    "classifier_of",
    "load",
    "merge",
]

ESTIMATORS: dict[str, type[OnlineClassifier]] = {
    estimator.__name__: estimator
    for estimator in (
        LabelTreeClassifier,
        OneAgainstAllClassifier,
        ProbabilityTreeClassifier,
        RecallTreeClassifier,
        LOMTreeClassifier,
        LdSMClassifier,
        RandomTreeClassifier,
        FilterTreeClassifier,
        PECOCClassifier,
    )
}


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> OnlineClassifier | TextClassifier:
    """Read an estimator that `save` wrote, or `labeltree train`.

    Parameters
    ----------
    path : str or path-like
        The model file.
    mmap : bool
        Whether to map the file into memory, which reads hardly any of it at once and lets
        processes share it: for compiled models. The checksum of the whole file is not verified
        then; what could lead astray in memory still is. The file must not be written to while
        it is in use (`save` and `labeltree` do not: they replace it).

    Returns
    -------
    estimator
        Ready to predict, and, unless it is compiled, to learn on exactly where it stopped.

    Raises
    ------
    labeltree.modelfile.ModelFileError
        If the file is not a model, is damaged, or comes from a later version.

    Examples
    --------
    >>> import tempfile
    >>> from labeltree import OneAgainstAllClassifier, load
    >>> clf = OneAgainstAllClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/m.labeltree")
    ...     load(f"{folder}/m.labeltree").predict([[1.0]])
    array(['yes'], dtype=object)
    """
    header, arrays = modelfile.read(path, mmap=mmap)
    name = header["estimator"]
    if name not in ESTIMATORS:
        raise modelfile.FutureModelFileError(
            f"{path}: the model is a {name[:60]}, which this version does not have; "
            "install a later labeltree"
        )
    if mmap and not header["compiled"]:
        raise ValueError(
            f"{path}: only a compiled model can be mapped; load it without mmap, or save what its "
            "compile() returns"
        )
    try:
        text = {name: arrays.pop(name) for name in [*arrays] if name.startswith(TEXT)}
        estimator = ESTIMATORS[name]._from_file(header, arrays, borrow=mmap)
        if header.get("text") is None:
            return estimator
        return TextClassifier._from_model(TextModel.from_file(estimator, header, text))
    except ValueError as error:
        raise modelfile.CorruptModelFileError(
            f"{path}: the model file is not consistent: {error}"
        ) from error
    except MemoryError as error:
        raise modelfile.ModelFileError(
            f"{path}: there is not enough memory for the model that this file describes; load it "
            "on a larger machine, or compile it there"
        ) from error
