"""What the header of a model file must say, checked before anything is made of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from labeltree.parameters import Interval, StrOptions, admits, described

Header = dict[str, Any]

_KINDS = ("class", "sets", "indicator", "sparse indicator")
_PLAIN = (bool, int, float, str, type(None))

_TEXT = (
    *("word_ngrams", "char_ngrams", "lowercase", "hash_bits", "idf", "keep_names"),
    *("documents", "counting"),
)

# The settings that `fit` derives from the data, whichever estimator has them.
_SETTLED: dict[str, list[Any]] = {
    "n_features_in_": [Interval(Integral, 1, 2**32, closed="both")],
    "scale_": [StrOptions({"max", "none", "unit", "idf"})],
    "layout_": [StrOptions({"dense", "lines", "hashed"})],
    "bits_": [Interval(Integral, 10, 34, closed="both")],
    "step_": [Interval(Real, 0, None, closed="neither")],
    "seed_": [Interval(Integral, 0, 2**31 - 1, closed="both")],
    "index_length_": [Interval(Integral, 0, 2**20, closed="both")],
    "calibrated_": ["boolean"],
    "candidates_": [Interval(Integral, 1, 2**20, closed="both")],
    "n_trees_": [Interval(Integral, 1, 1000, closed="both")],
    "scorer_step_": [Interval(Real, 0, None, closed="neither")],
    "scorer_update_": [StrOptions({"sgd", "adaptive", "dual"})],
    "min_gradient_": [Interval(Real, 0, None, closed="left")],
    "arity_": [Interval(Integral, 2, 2**16, closed="both")],
}


def parse(text: str) -> Header:
    """Read a header and check what all model files have; ValueError says what is wrong."""
    try:
        header: Header = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the header is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the header is no JSON: {error}") from error
    _require(isinstance(header, dict), "the header", header, "an object")
    for name in ("params", "fixed", "settled", "progress", "notes"):
        _require(isinstance(header.get(name), dict), name, header.get(name), "an object")
    for name in ("version", "estimator"):
        _require(isinstance(header.get(name), str), name, header.get(name), "a string")
    compiled = header.get("compiled")
    _require(isinstance(compiled, bool), "compiled", compiled, "true or false")
    kind = header.get("kind")
    _require(isinstance(kind, str) and kind in _KINDS, "kind", kind, f"one of {', '.join(_KINDS)}")
    _check_progress(header["progress"])
    _check_text(header.get("text"))
    _check_feature_names(header.get("feature_names"), header["settled"].get("n_features_in_"))
    return header


def check_settings(
    header: Header,
    parameters: Sequence[str],
    changeable: Sequence[str],
    settled: Sequence[str],
) -> None:
    """Check that the header has an estimator's settings, each a plain value of a possible size."""
    _check_names("params", header["params"], parameters)
    _check_names("fixed", header["fixed"], [p for p in parameters if p not in changeable])
    _check_names("settled", header["settled"], settled)
    for part in ("params", "fixed", "settled"):
        for name, value in header[part].items():
            _check_plain(f"{part}.{name}", value)
    for name, value in header["settled"].items():
        fits = admits(_SETTLED[name], value)
        fits = fits and isinstance(value, bool) == (_SETTLED[name] == ["boolean"])
        _require(fits, f"settled.{name}", value, described(_SETTLED[name]))
    arity = header["settled"].get("arity_", 2)
    _require(arity.bit_count() == 1, "settled.arity_", arity, "a power of two")


def _check_progress(progress: Mapping[str, Any]) -> None:
    examples: Any = progress.get("examples")
    errors: Any = progress.get("errors")
    _require(_is_count(examples), "progress.examples", examples, "a number from 0")
    _require(
        _is_count(errors) and errors <= examples,
        "progress.errors",
        errors,
        "a number from 0 to that of the examples",
    )
    marks = progress.get("checkpoints")
    _require(
        isinstance(marks, list)
        and len(marks) <= 64
        and all(isinstance(mark, list) and len(mark) == 2 for mark in marks)
        and all(_is_count(count) for mark in marks for count in mark)
        and all(errors <= examples for examples, errors in marks)
        and all(a[0] < b[0] for a, b in zip([[0, 0], *marks], marks, strict=False)),
        "progress.checkpoints",
        marks,
        "pairs of examples and errors, in rising order",
    )
    loss = progress.get("squared_loss_sum")
    _require(
        loss is None or (_is_number(loss) and loss >= 0),
        "progress.squared_loss_sum",
        loss,
        "a number from 0, or null",
    )
    passed, wrong = progress.get("passed_over", 0), progress.get("passed_over_errors", 0)
    _require(
        _is_count(passed) and _is_count(wrong) and wrong <= passed,
        "progress.passed_over_errors",
        wrong,
        "a number from 0 to that of the examples passed over",
    )
    known = {"examples", "errors", "checkpoints", "squared_loss_sum"}
    known |= {"passed_over", "passed_over_errors"}
    _require(progress.keys() <= known, "progress", list(progress), "nothing but its six entries")


def _check_text(text: Any) -> None:
    if text is None:
        return
    _require(isinstance(text, dict), "text", text, "an object")
    _check_names("text", text, _TEXT)
    documents = text["documents"]
    fits = _is_count(documents) and documents < 2**53
    _require(fits, "text.documents", documents, "a number from 0 to 2^53")
    for name in ("counting", "lowercase", "idf", "keep_names"):
        _require(isinstance(text[name], bool), f"text.{name}", text[name], "true or false")


def _check_feature_names(names: Any, width: Any) -> None:
    if names is not None:
        fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
        _require(fits, "feature_names", names, "a list of strings")
        _require(len(names) == width, "feature_names", f"{len(names)} names", f"{width} of them")


def _check_names(part: str, given: Mapping[str, Any], expected: Sequence[str]) -> None:
    missing = sorted(set(expected) - given.keys())
    if missing:
        raise ValueError(f"{part} lacks {missing[0]}")
    unknown = sorted(given.keys() - set(expected))
    if unknown:
        raise ValueError(f"{part} has {_short(unknown[0])}, which this estimator does not know")


def _check_plain(name: str, value: Any) -> None:
    _require(isinstance(value, _PLAIN), name, value, "a number, a string, true, false or null")
    if isinstance(value, int | float) and not isinstance(value, bool):
        _require(_is_number(value), name, value, "a finite number below 2^63")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**63 if isinstance(value, int) else math.isfinite(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"it has the number {name}")


def _require(condition: bool, name: str, value: Any, expected: str) -> None:
    if not condition:
        raise ValueError(f"{name} is {_short(value)}, expected {expected}")


def _short(value: Any) -> str:
    """Return how a value looks, cut short: it may be anything."""
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'object'} of {len(value)} entries"
    if isinstance(value, int) and abs(value) >= 2**64:
        return "a number of more than 64 bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
