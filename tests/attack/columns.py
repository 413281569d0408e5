"""Parquet and Arrow files with columns of every kind."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

NUMBERS = [0, 1, -1, 0.5, None, float("nan"), float("inf"), 1e300, 3, 7]
INTEGERS = [0, 1, -1, 5, None, 2**31, 2**32, 2**40, 7, 3]
LABELS: list[list[Any]] = [
    [1, 2, None, -5, 2**62],
    ["cat", "dog", "", None, "é"],
    [["a"], [], None, ["b", "b", None], ["", "c"]],
    [[1, 2], [2], [], None, [None]],
    [1.5, 2.0, None],
    [b"a", b"b", None],
    [True, False, None],
    [{"x": 1}, None],
]
TEXTS = ["it purrs", "", None, "É é", "a\0b", "x" * 300, "a\nb"]
TYPES = [
    *(pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.null()),
    *(pa.list_(pa.int32()), pa.large_list(pa.float64()), pa.decimal128(10, 2)),
    *(pa.dictionary(pa.int8(), pa.string()), pa.struct([("a", pa.int8())])),
]


def column(values: list[Any], rows: int, random: random.Random) -> Any:
    """Return a column of so many of the values, or of another type."""
    data = [random.choice(values) for _ in range(rows)]
    array = pa.array(data)
    if random.random() < 0.2:
        try:
            array = array.cast(random.choice(TYPES))
        except (pa.ArrowException, NotImplementedError):
            array = pa.nulls(rows, random.choice(TYPES))
    if random.random() < 0.1 and pa.types.is_string(array.type):
        array = array.dictionary_encode()
    return array


def column_file(random: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Return a file, and the options to read it with."""
    rows = random.choice((0, 1, 3, 9))
    columns = {"label": column(random.choice(LABELS), rows, random)}
    shape = random.choice(("text", "sparse", "dense", "odd"))
    if shape == "text":
        columns["text"] = column(TEXTS, rows, random)
    if shape == "sparse":
        columns["indices"] = lists(INTEGERS, rows, random)
        columns["values"] = lists(NUMBERS, rows, random)
    if shape == "dense":
        columns |= {name: column(NUMBERS, rows, random) for name in ("a", "b", "é")}
    if shape == "odd":
        columns |= {str(i): pa.nulls(rows, t) for i, t in enumerate(random.sample(TYPES, 3))}
    options: dict[str, Any] = {"skip_bad_lines": random.random() < 0.5}
    if random.random() < 0.3:
        columns["weight"] = column(NUMBERS, rows, random)
        options["weight"] = "weight"
    if random.random() < 0.1:
        options["label"] = random.choice((None, "text", "nothing"))
    if random.random() < 0.1:
        options["n_features"] = random.choice((1, 6, 2**32))
    table = pa.table(columns)
    out = io.BytesIO()
    options["format"] = random.choice(("parquet", "arrow"))
    if options["format"] == "parquet":
        pq.write_table(table, out, row_group_size=random.choice((1, 100)))
    elif random.random() < 0.5:
        pyarrow.feather.write_feather(table, out, random.choice(("lz4", "uncompressed")))
    else:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue(), options


def lists(values: list[Any], rows: int, random: random.Random) -> Any:
    """Return a column of lists of numbers."""
    data = [
        None if random.random() < 0.1 else random.choices(values, k=random.randrange(4))
        for _ in range(rows)
    ]
    return pa.array(data, pa.list_(pa.float64() if 0.5 in values else pa.int64()))
