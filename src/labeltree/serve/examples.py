"""Examples as clients send them: checked, and in the form in which the log keeps them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from labeltree.data.formats import vw_indices
from labeltree.labels import Label

MOST_EXAMPLES = 10_000
MOST_LABELS = 1_000  # of an example
LONGEST_LABEL = 1_000  # characters
LONGEST_TEXT = 1_000_000
LONGEST_ID = 200
MOST_FEATURES = 100_000  # of an example

_KNOWN = frozenset({"text", "features", "indices", "values", "labels", "weight", "id"})
_LARGEST = 3e38  # below that of a float of 32 bits, as readers of data have it
_INT = 1 << 63


class BadRequestError(ValueError):
    """What is wrong with a request, and where."""

    def __init__(self, detail: str, where: str = "", type_: str = "bad_request") -> None:
        super().__init__(detail)
        self.detail, self.where, self.type = detail, where, type_


@dataclass(frozen=True)
class Example:
    """One row: a text, or features; and what is to be learned of it, if anything is."""

    text: str | None = None
    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    labels: tuple[Label, ...] = ()
    weight: float = 1.0
    id: str | None = None

    def to_json(self) -> bytes:
        """Return the example as a record of the log."""
        known: dict[str, Any] = {"labels": self.labels, "weight": self.weight}
        if self.text is not None:
            known["text"] = self.text
        else:
            known |= {"indices": self.indices, "values": self.values}
        if self.id is not None:
            known["id"] = self.id
        return json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, known: dict[str, Any]) -> Example:
        """Make the example of a record of the log."""
        return cls(
            known.get("text"),
            tuple(known.get("indices", ())),
            tuple(known.get("values", ())),
            tuple(known["labels"]),
            known["weight"],
            known.get("id"),
        )


@dataclass(frozen=True)
class Form:
    """What the rows of a model are made of."""

    text: bool
    features: int  # how many there are; 0 if that is not known yet
    hash_bits: int | None = None  # of features that have names, as those of vw files

    def examples(
        self, body: dict[str, Any], *, labelled: bool, options: frozenset[str] = frozenset()
    ) -> tuple[list[Example], bool]:
        """Return the examples of a request, and whether they were in a list.

        A request is one example, or has several as ``examples``; beside them it has options.
        """
        if "examples" not in body:
            return [self.parse(body, "", labelled=labelled, options=options)], False
        _only(body, options | {"examples"}, "")
        given = body["examples"]
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise BadRequestError("examples are to be a list of objects", "examples")
        if len(given) > MOST_EXAMPLES:
            raise BadRequestError(
                f"there are {len(given):,} examples, expected {MOST_EXAMPLES:,} at most; send "
                "several requests",
                "examples",
            )
        return [
            self.parse(one, f"examples[{i}].", labelled=labelled) for i, one in enumerate(given)
        ], True

    def parse(
        self,
        body: dict[str, Any],
        where: str,
        *,
        labelled: bool,
        options: frozenset[str] = frozenset(),
    ) -> Example:
        """Check an example; options may be beside it.

        One that is not to be labelled may have labels all the same, which are not looked at.
        """
        _only(body, _KNOWN | options, where)
        text, indices, values = self._row(body, where)
        if not labelled:
            return Example(text, indices, values)
        return Example(
            text,
            indices,
            values,
            labels_of(body, where),
            _weight(body, where),
            _id(body, where),
        )

    def _row(
        self, body: dict[str, Any], where: str
    ) -> tuple[str | None, tuple[int, ...], tuple[float, ...]]:
        if self.text:
            text = body.get("text")
            if not isinstance(text, str):
                given = "features" if {"features", "indices"} & body.keys() else _kind(text)
                raise BadRequestError(
                    f"text is {given}, expected a string: the model was learned from text",
                    where + "text",
                )
            if len(text) > LONGEST_TEXT:
                raise BadRequestError(
                    f"text has {len(text):,} characters, expected {LONGEST_TEXT:,} at most",
                    where + "text",
                )
            if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
                raise BadRequestError("text has half of a surrogate pair", where + "text")
            return text, (), ()
        pairs = self._pairs(body, where)
        if len(pairs) > MOST_FEATURES:
            raise BadRequestError(
                f"there are {len(pairs):,} features, expected {MOST_FEATURES:,} at most",
                where + "features",
            )
        if self.hash_bits is not None and all(isinstance(name, str) for name, _ in pairs):
            try:
                numbers = vw_indices([name for name, _ in pairs], self.hash_bits)
            except ValueError as error:
                raise BadRequestError(str(error), where + "features") from None
        else:
            numbers = [self._index(index, where) for index, _ in pairs]
        known: dict[int, float] = {}
        for index, (_, value) in zip(numbers, pairs, strict=True):
            number = _number(value, where + "features")
            if index in known:
                number = _number(known[index] + number, where + "features")
            known[index] = number
        order = sorted(known)
        return None, tuple(order), tuple(known[index] for index in order)

    def _pairs(self, body: dict[str, Any], where: str) -> list[tuple[Any, Any]]:
        given = body.get("features", body)
        if isinstance(given, dict) and {"indices", "values"} <= given.keys():
            indices, values = given["indices"], given["values"]
            if not isinstance(indices, list) or not isinstance(values, list):
                raise BadRequestError("indices and values are to be lists", where + "indices")
            if len(indices) != len(values):
                raise BadRequestError(
                    f"there are {len(indices):,} indices and {len(values):,} values, expected as "
                    "many of both",
                    where + "indices",
                )
            return list(zip(indices, values, strict=True))
        if "features" not in body or not isinstance(given, dict):
            raise BadRequestError(
                "features are missing, expected an object of numbers to values, or lists indices "
                "and values: the model was learned from numbered features",
                where + "features",
            )
        return list(given.items())

    def _index(self, index: Any, where: str) -> int:
        if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 12:
            index = int(index)
        if isinstance(index, bool) or not isinstance(index, int):
            raise BadRequestError(
                f"a feature is {_short(index)}, expected its number, from 0", where + "features"
            )
        if not 0 <= index < (self.features or 1 << 32):
            raise BadRequestError(
                f"a feature is {index}, expected a number from 0 to {self.features - 1}",
                where + "features",
            )
        return index


def parse_json(body: bytes, kind: type = dict) -> Any:
    """Return the object, or the list, that a body is."""
    try:
        found = _decode(body.decode())
    except RecursionError:
        raise BadRequestError("the JSON is nested too deeply", "body") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the body is not JSON: {error}", "body") from None
    if not isinstance(found, kind):
        raise BadRequestError(f"the body is {_kind(found)}, expected {_kind(kind())}", "body")
    return found


def _only(body: dict[str, Any], known: frozenset[str], where: str) -> None:
    """Raise if a request has a field that means nothing, such as one that is misspelt."""
    if not body.keys() <= known:
        name = min(body.keys() - known)
        raise BadRequestError(
            f"there is a field {_short(name)}, expected some of {', '.join(sorted(known))}",
            where + name[:LONGEST_ID],
        )


def count(body: dict[str, Any], name: str, default: int, largest: int) -> int:
    """Return a number from 1, such as how many labels to tell."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise BadRequestError(
            f"{name} is {_short(value)}, expected a number from 1 to {largest:,}", name
        )
    return value


def share(body: dict[str, Any], name: str) -> float:
    """Return a number from 0 to 1, 0 if it is not given."""
    value = _number(body.get(name, 0.0), name)
    if not 0 <= value <= 1:
        raise BadRequestError(f"{name} is {value}, expected a number from 0 to 1", name)
    return value


def labels_of(body: dict[str, Any], where: str) -> tuple[Label, ...]:
    """Return the labels of an example."""
    labels = body.get("labels")
    if not isinstance(labels, list):
        raise BadRequestError(
            f'labels are {_kind(labels)}, expected a list, such as ["a"]', where + "labels"
        )
    if len(labels) > MOST_LABELS:
        raise BadRequestError(
            f"there are {len(labels):,} labels, expected {MOST_LABELS:,} at most", where + "labels"
        )
    for i, label in enumerate(labels):
        at = f"{where}labels[{i}]"
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise BadRequestError(f"a label is {_kind(label)}, expected a string or integer", at)
        if isinstance(label, int) and not -_INT <= label < _INT:
            raise BadRequestError("a label is an integer of more than 64 bits", at)
        if isinstance(label, str) and not 0 < len(label) <= LONGEST_LABEL:
            raise BadRequestError(
                f"a label has {len(label):,} characters, expected 1 to {LONGEST_LABEL:,}", at
            )
        if isinstance(label, str) and any("\ud800" <= c <= "\udfff" for c in label):
            raise BadRequestError("a label has half of a surrogate pair", at)
    return tuple(dict.fromkeys(labels))


def _weight(body: dict[str, Any], where: str) -> float:
    weight = _number(body.get("weight", 1.0), where + "weight")
    if weight < 0:
        raise BadRequestError(f"weight is {weight}, expected a number from 0", where + "weight")
    return weight


def _id(body: dict[str, Any], where: str) -> str | None:
    value = body.get("id")
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_ID or not value.isprintable():
        raise BadRequestError(
            f"id is {_short(value)}, expected a string of 1 to {LONGEST_ID} printable characters",
            where + "id",
        )
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequestError(f"a value is {_kind(value)}, expected a number", where)
    if not abs(value) <= _LARGEST or math.isnan(value):
        raise BadRequestError(f"a value is {_short(value)}, expected a finite number", where)
    return float(value)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def _kind(value: Any) -> str:
    kinds = {type(None): "missing", bool: "a boolean", str: "a string", list: "a list"}
    numbers = {dict: "an object", int: "a number", float: "a number"}
    return {**kinds, **numbers}.get(type(value), "something else")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
