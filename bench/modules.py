"""A data set that played no part while the learners were made: functions and their modules.

    python -m bench.modules OUT
    python -m bench --data OUT --data-sets modules --out report

Every function of Python's standard library is a row of its words, by tf-idf and of unit length;
its label is the module it stands in. One function in five is for testing. The files depend on the
Python that runs this and need no download.
"""

import argparse
import ast
import gzip
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labeltree.datasets import _library_files, _library_root

LEAST = 5  # functions of a module, and functions that have a word


def functions():
    """Yield the module and the source of every function."""
    root = _library_root()
    for path in _library_files(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except SyntaxError:  # the library keeps some to test its compiler
            continue
        lines = text.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield (
                    path.relative_to(root).as_posix(),
                    "\n".join(lines[node.lineno - 1 : node.end_lineno]),
                )


def words(text):
    """Split identifiers at underscores and capitals."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", text)]


def write(path, X, y, labels):
    with gzip.open(path, "wt") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {labels}\n")
        for row, label in enumerate(y):
            stored = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip(X.indices[stored], X.data[stored], strict=True)
            file.write(f"{label} {' '.join(f'{i}:{value:.5g}' for i, value in pairs)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    found = list(functions())
    often = Counter(module for module, _ in found)
    number = defaultdict(lambda: len(number))
    kept = [(number[module], text) for module, text in found if often[module] >= LEAST]
    y = np.array([label for label, _ in kept])
    test = np.random.default_rng(0).random(len(y)) < 0.2
    texts = np.array([text for _, text in kept], dtype=object)
    vectors = TfidfVectorizer(analyzer=words, min_df=LEAST, sublinear_tf=True)
    parts = {"train": vectors.fit_transform(texts[~test]), "test": vectors.transform(texts[test])}
    out.mkdir(parents=True, exist_ok=True)
    for part, X in parts.items():
        X.sort_indices()
        write(out / f"modules_{part}.txt.gz", X, y[test == (part == "test")], len(number))
        print(f"{part}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {len(number):,} labels")


if __name__ == "__main__":
    main()
