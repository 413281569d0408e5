"""Mutated files into every reader: rows or an error in a sentence, the same in any pieces."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
from collections import Counter
from typing import Any

import numpy as np

from labeltree import TextFeatures
from labeltree.data import DataError, FeatureNames, Texts, lines, stream, text
from labeltree.data.rows import concatenate
from tests.attack.cases import check_sentence, repeat, trying
from tests.attack.columns import column_file
from tests.attack.mutation import mutate

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS = [gzip.compress, bz2.compress, lzma.compress, zstd.compress]
TEXTS = {
    "svmlight": [
        b"1 1:0.5 7:2\n-1 qid:3 2:1 9:-0.25 # a note\n3,4 1:1e-3\n\n 5:1\n",
        b"cat,dog 0:1 4294967295:3\r\npet 7:1 7:2 3:1\r\n",
    ],
    "xmc": [
        b"3 10 5\n0,1 0:0.5 3:1\n 2:1\n4 9:1 1:2\n",
        b"2 4 3\n2 0:1 1:1 2:1 3:1\n0,1,2 3:0.125",
    ],
    "vw": [
        b"1 2.0 'tag|a x:0.5 y |b:2 z:1\ncat | a b c\n|f 17:2\n",
        b"3,4 1 0.5 first|word it purrs:2 |w:0.1 x\n",
    ],
    "tsv": [
        b"cat\tit purrs, it PURRS\ndog,pet\tit barks \xc3\xa9t\xc3\xa9\n\tno label\n",
        b"a\tb c d e f\r\nb\t\r\nc\tx\ty\n",
    ],
    "fasttext": [
        b"__label__cat it purrs\n__label__dog __label__pet it barks \xc3\xa9t\xc3\xa9\nno label\n",
        b"it __label__a stands __label__b here\r\n\r\n__label__c\r\n",
    ],
    "annif": [
        b"it purrs\t<http://a.org/1> <http://a.org/2>\nit barks \xc3\xa9t\xc3\xa9\t<b>\n"
        b"no label\t\n",
        b"a\t<b>\t<c>\r\n\r\n\t<d>\r\n",
    ],
    "csv": [
        b'label,text,w\ncat,"it ""purrs"",\nit PURRS",1\n'
        b'"dog;pet",it barks \xc3\xa9t\xc3\xa9,0.5\n,,2\n',
        b'text,w,label\r\n"a\r\nb",1,x\r\n\r\nc d e,3,y\r\n',
    ],
    "jsonl": [
        b'{"text": "it purrs", "labels": ["cat", 7], "w": 1}\n'
        b'{"text": "\\u00e9t\\u00e9 \\ud83d\\ude00", '
        b'"label": "dog;pet", "w": 0.5, "more": {"a": [null, true]}}\n{"text": "", "w": "2"}\n',
        b'{"a": {"text": "b c"}, "text": "d", "labels": null}\r\n\r\n'
        b'{"text": "e", "labels": -5}\r\n',
    ],
}
OF_TEXT = ("tsv", "fasttext", "annif", "csv", "jsonl")


class Dripping(io.RawIOBase):
    """A file that gives a few bytes at a time."""

    def __init__(self, content: bytes, most: int) -> None:
        self._file = io.BytesIO(content)
        self._most = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._most))
        buffer[: len(data)] = data
        return len(data)


def options_of(kind: str, random: random.Random) -> dict[str, Any]:
    """Return options that a reader may have."""
    options: dict[str, Any] = {"skip_bad_lines": random.random() < 0.3}
    if random.random() < 0.2:
        options["max_line"] = random.choice((1, 16, 80))
    if kind in ("svmlight", "xmc"):
        if random.random() < 0.2:
            options["n_features"] = random.choice((1, 10, 2**31, 2**32))
        return options
    if kind == "vw":
        options["hash_bits"] = random.choice((1, 10, 24, 31, 32))
    if kind == "tsv":
        options["label_separator"] = random.choice((None, ",", " "))
    if kind == "fasttext" and random.random() < 0.2:
        options["label_prefix"] = random.choice(("_", "it", "é"))
    if kind in ("csv", "jsonl"):
        options["label_separator"] = random.choice((None, ";"))
        options["weight"] = random.choice((None, "w"))
        options["text"] = random.choice(("text", "text", "text,label", "a.text"))
        if random.random() < 0.1:
            options["label"] = None
    if kind == "csv" and random.random() < 0.1:
        options["delimiter"] = random.choice("\t;|é")
    return options


def feature_options(random: random.Random) -> dict[str, Any]:
    """Return parameters that features of text may have."""
    return {
        "word_ngrams": random.choice((1, 2, 5)),
        "char_ngrams": random.choice((None, (1, 3), (16, 16))),
        "lowercase": random.random() < 0.5,
        "hash_bits": random.choice((1, 10, 24, 31)),
        "idf": random.random() < 0.8,
        "keep_names": random.random() < 0.2,
    }


def check_texts(texts: Texts, random: random.Random) -> None:
    """Check that texts can be learned from, and forgotten."""
    assert len(texts.offsets) == len(texts) + 1, "offsets and texts differ in number"
    b"".join(text.encode() for text in texts)
    features = TextFeatures(**feature_options(random))
    X = features.learn(texts)
    assert X.shape == (len(texts), 2**features.hash_bits), "rows and texts differ in number"
    X.check_format(full_check=True)
    assert np.isfinite(X.data).all(), "a weight that is not finite"
    assert (X.data > 0).all(), "a weight that is not positive"
    assert features.transform(texts).shape == X.shape, "rows and texts differ in number"


def check_rows(X: Any, labels: Any, weight: Any) -> None:
    """Check what holds of all rows, whatever they were read from."""
    assert len(labels.offsets) == X.shape[0] + 1, "rows and labels differ in number"
    if not isinstance(X, Texts):
        check_matrix(X)
    offsets, ids, vocabulary = labels
    assert offsets[0] == 0, "the first labels do not begin at 0"
    assert offsets[-1] == len(ids), "labels end elsewhere than their ids"
    assert (np.diff(offsets) >= 0).all(), "a set of negative size"
    assert not len(ids) or ids.max() < len(vocabulary), "a label without a name"
    assert len(set(vocabulary)) == len(vocabulary), "a label with two ids"
    if weight is not None:
        assert len(weight) == X.shape[0], "rows and weights differ in number"
        assert np.isfinite(weight).all(), "a weight that is not finite"
        assert (weight >= 0).all(), "a negative weight"


def check_matrix(X: Any) -> None:
    """Check what holds of all matrices."""
    indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    assert len(indptr) == X.shape[0] + 1, "rows and their bounds differ in number"
    assert indptr[0] == 0, "the first row does not begin at 0"
    assert indptr[-1] == len(indices) == len(X.data), "rows end elsewhere than their features"
    assert (np.diff(indptr) >= 0).all(), "a row has a negative length"
    if len(indices):
        assert indices.min() >= 0, "a negative feature"
        assert indices.max() < X.shape[1], "a feature beyond the width"
        new_row = np.zeros(len(indices), bool)
        new_row[indptr[:-1][indptr[:-1] < len(indices)]] = True
        assert ((np.diff(indices) > 0) | new_row[1:]).all(), "features that do not ascend"
    assert np.isfinite(X.data).all(), "a value that is not finite"


def read(file: Any, batch_size: int, **options: Any) -> tuple[Any, ...]:
    """Return all that a reader gives, or what it says is wrong, in a form that compares."""
    try:
        with stream(file, batch_size=batch_size, **options) as rows:
            whole = concatenate(list(rows), rows.n_features)
            bad = [bad_line.message for bad_line in rows.bad_lines.first]
            read = rows.bad_lines.count, bad, rows.lines_read
    except DataError as error:
        check_sentence(error)
        return ("refused", str(error))
    check_rows(whole.X, whole.labels, whole.weight)
    for message in bad:
        assert message.isprintable(), f"not one line of text: {message!r}"
    arrays = list(whole.labels[:2])
    texts = None
    if isinstance(whole.X, Texts):  # whose bytes may hold those of rows that were left out
        check_texts(whole.X, random.Random(len(whole)))
        texts = list(whole.X)
    else:
        arrays += [whole.X.indptr, whole.X.indices, whole.X.data]
    weight = None if whole.weight is None else whole.weight.tolist()
    names = [*map(repr, whole.labels.vocabulary)]
    return ("read", str(whole.X.shape), texts, *(a.tolist() for a in arrays), weight, names, read)


def compare(contents: list[bytes], options: dict[str, Any], random: random.Random) -> bool:
    """Read texts twice, in pieces of other sizes; return whether they were refused."""
    trying(f"{options}\n".encode() + b"\0\0".join(contents))
    text.CHUNK = lines.CHUNK = 1 << 13
    one = read([io.BytesIO(content) for content in contents], 1 << 20, **options)
    smallest = 1 if len(contents) == 1 else 16  # of many, the smallest pieces would take long
    text.CHUNK = lines.CHUNK = max(smallest, random.choice((1, 7, 64, 4096)))
    most = max(smallest, random.choice((1, 3, 50, 1 << 20)))
    drips = [Dripping(content, most) for content in contents]
    other = read(
        drips, smallest * random.choice((1, 2, 1000)), **options, eager=random.random() < 0.5
    )
    if "truncated or corrupt" not in one[1] and "truncated or corrupt" not in other[1]:
        assert one == other, f"not the same in other pieces: {one} and {other}"
    else:  # what is wrong first depends on how much is decompressed at once
        assert one[0] == other[0], f"not the same in other pieces: {one} and {other}"
    return bool(one[0] == "refused")


def text_case(random: random.Random, counts: Counter[str]) -> None:
    """Read a mutated text, or many of them, whose bad lines are skipped: that is quicker."""
    kind = random.choice(("svmlight", "xmc", "vw", *OF_TEXT))
    options = {"format": kind, **options_of(kind, random)}
    if kind == "vw" and random.random() < 0.2:
        options["names"] = FeatureNames()
    many = options["skip_bad_lines"] and kind not in ("xmc", "csv")  # where a header may refuse all
    contents = [mutate(random.choice(TEXTS[kind]), random) for _ in range(64 if many else 1)]
    if not many and random.random() < 0.1:
        contents[0] = random.choice(COMPRESS)(contents[0])
        if random.random() < 0.5:
            contents[0] = mutate(contents[0], random)
        counts["compressed"] += 1
    counts["refused"] += compare(contents, options, random)
    counts["texts"] += len(contents)


def column_case(random: random.Random, counts: Counter[str]) -> None:
    """Read a Parquet or Arrow file that is odd, and one that is damaged."""
    content, options = column_file(random)
    if random.random() < 0.7:
        content = mutate(content, random)
    trying(f"{options}\n".encode() + content)
    one = read(io.BytesIO(content), 1 << 20, **options)
    if one[0] == "read":  # of a file that is refused, rows before what is wrong may be odd too
        other = read(io.BytesIO(content), random.choice((1, 2)), **options)
        assert one == other, f"not the same in other batches: {one} and {other}"
    counts["column files"] += 1
    counts["refused"] += one[0] == "refused"


def case(random: random.Random, counts: Counter[str]) -> None:
    """Read one file."""
    (column_case if random.random() < 0.05 else text_case)(random, counts)


def attack(seconds: float, seed: int) -> dict[str, int]:
    """Read mutated files for so many seconds; return how many."""
    return repeat(seconds, seed, case, Counter({"texts": 0, "column files": 0}))
