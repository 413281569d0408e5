"""The algorithms and their parameters, read from the estimators' source.

Importing the estimators, and numpy and SciPy for them, takes a third of a second; ``--help`` must
not wait for it. So signatures and docstrings are taken from the syntax trees of
``labeltree/estimators/*.py``. Nothing here knows a particular algorithm: an estimator that
`labeltree` exports appears on the command line by itself. A test compares what is read here with
the classes themselves.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labeltree

if TYPE_CHECKING:
    from labeltree.estimators import OnlineClassifier

DEFAULT_ALGORITHM = "label-tree"
_REFERENCE = "OneAgainstAllClassifier"  # whose docstring describes what all estimators share
# What fit does, the command line does in its own way: files are read in their order, and
# --passes, --seed and --threads are options of every algorithm.
_NOT_OPTIONS = {"passes", "shuffle", "random_state", "n_jobs", "verbose"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator, as an option of the command line."""

    name: str
    kind: type  # bool, int, float or str
    default: Any
    choices: tuple[str, ...]  # of a str; none if any value will do
    help: str

    def value(self, given: Any) -> Any:
        """Return a value as the estimator takes it: a number, where a number or a word will do."""
        if isinstance(given, str) and {"INT", "FLOAT"} & {*self.choices}:
            with contextlib.suppress(ValueError):
                return int(given) if "INT" in self.choices else float(given)
        return given

    @property
    def option(self) -> str:
        """The option, as in ``--min-gradient``."""
        return "--" + self.name.replace("_", "-")


def names() -> dict[str, str]:
    """Return the estimators' class names by the names of the algorithms, as in recall-tree."""
    classes = [name for name in labeltree.__all__ if name.endswith("Classifier")]
    classes.remove("TextClassifier")  # which has one of the others behind it
    return {_dashed(name.removesuffix("Classifier")): name for name in classes}


def name_of(estimator: type) -> str:
    """Return the name of an estimator's algorithm."""
    return _dashed(estimator.__name__.removesuffix("Classifier"))


def _dashed(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z][a-z])", "-", name).lower()


def check(algorithm: str) -> str:
    """Return the name of an algorithm if there is such a one."""
    if algorithm not in names():
        raise ValueError(
            f"--algorithm is {algorithm!r}, expected one of {', '.join(sorted(names()))}"
        )
    return algorithm


def estimator_class(algorithm: str) -> type[OnlineClassifier]:
    """Return the estimator of an algorithm; this imports it."""
    from labeltree.estimators import ESTIMATORS

    return ESTIMATORS[names()[check(algorithm)]]


def summary(algorithm: str) -> str:
    """Return the first sentence of an estimator's documentation."""
    docstring = ast.get_docstring(_classes()[names()[check(algorithm)]]) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ")


def parameters(algorithm: str) -> list[Parameter]:
    """Return the parameters of an algorithm that are options of the command line."""
    ancestry = list(_ancestry(names()[check(algorithm)]))
    described: dict[str, str] = {}
    for node in (_classes()[_REFERENCE], *reversed(ancestry)):
        for name, text in _described(node):
            if not text.startswith("As for"):
                described[name] = text
    found = []
    signature = next(
        item
        for node in ancestry
        for item in node.body
        if isinstance(item, ast.FunctionDef) and item.name == "__init__"
    ).args
    for argument, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True):
        if argument.arg not in _NOT_OPTIONS:
            kind, choices = _type(argument.annotation)
            value = None if default is None else _value(default)
            found.append(
                Parameter(argument.arg, kind, value, choices, described.get(argument.arg, ""))
            )
    return found


@cache
def _classes() -> dict[str, ast.ClassDef]:
    """Return all classes defined by the estimators' modules."""
    folder = Path(labeltree.__file__).parent / "estimators"
    return {
        node.name: node
        for path in sorted(folder.glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def _ancestry(name: str) -> Iterator[ast.ClassDef]:
    """Yield a class and those it inherits from, as far as they are estimators of ours."""
    if name in _classes():
        node = _classes()[name]
        yield node
        for base in node.bases:
            yield from _ancestry(ast.unparse(base))


def _type(annotation: ast.expr | None) -> tuple[type, tuple[str, ...]]:
    """Return the type of a parameter, and its choices if it has a few only."""
    text = "" if annotation is None else ast.unparse(annotation)
    literal = re.search(r"Literal\[(.*?)\]", text)
    choices: tuple[str, ...] = ()
    if literal is not None:
        choices = tuple(str(choice) for choice in ast.literal_eval(f"({literal[1]},)"))
        text = text.replace(literal[0], "")
    numbers: tuple[type, ...] = (bool, int, float)
    kinds = [kind for kind in numbers if re.search(rf"\b{kind.__name__}\b", text)]
    if choices and kinds:  # a number or a word: all that the command line can take is text
        return str, (*choices, kinds[0].__name__.upper())
    return (kinds or [str])[0], choices


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:  # an expression, to be shown as it is written
        return ast.unparse(node)


def _described(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a numpydoc docstring and their descriptions."""
    docstring = inspect.cleandoc(ast.get_docstring(node) or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", docstring, re.M | re.S)
    if section is None:
        return
    for entry in re.finditer(r"^(\w[^\n:]*)[^\n]*\n((?:[ \t]+[^\n]*\n?|\n)*)", section[1], re.M):
        text = " ".join(entry[2].split()).replace("``", "").replace("`", "")
        for name in entry[1].split(","):
            yield name.strip(), text
