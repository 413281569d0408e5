"""Predict one label, or a set, out of thousands to millions, in logarithmic time."""

import importlib
from typing import TYPE_CHECKING, Any

from labeltree._version import __version__

if TYPE_CHECKING:
    from labeltree.estimators import (
        FilterTreeClassifier,
        LabelTreeClassifier,
        LdSMClassifier,
        LOMTreeClassifier,
        OneAgainstAllClassifier,
        PECOCClassifier,
        ProbabilityTreeClassifier,
        RandomTreeClassifier,
        RecallTreeClassifier,
        TextClassifier,
        TextFeatures,
        load,
        merge,
    )

__all__ = [
    "FilterTreeClassifier",
    "LOMTreeClassifier",
    "LabelTreeClassifier",
    "LdSMClassifier",
    "OneAgainstAllClassifier",
    "PECOCClassifier",
    "ProbabilityTreeClassifier",
    "RandomTreeClassifier",
    "RecallTreeClassifier",
    "TextClassifier",
    "TextFeatures",
    "__version__",
    "load",
    "merge",
]


_MODULES = ("data", "datasets", "metrics", "runs")


def __getattr__(name: str) -> Any:
    """Import what is first asked for: the command line starts without."""
    if name in _MODULES:
        return importlib.import_module(f"labeltree.{name}")
    if name in __all__:
        from labeltree import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'labeltree' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what there is to use."""
    return sorted([*__all__, *_MODULES])
