"""Tag text from a TSV file with a scikit-learn Pipeline.

Each line of the file is a label, a tab and a text. Here the file is made from the documentation
strings of the standard library: the label is the module, the text what a function says of itself.
"""

import csv
import importlib
import inspect
import tempfile
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from labeltree import RecallTreeClassifier

MODULES = ["argparse", "ast", "calendar", "datetime", "difflib", "json", "logging", "random", "re"]


def write_tsv(path: Path) -> None:
    """Write one line for each documented function and method of some modules."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar="\\")
        for name in MODULES:
            module = importlib.import_module(name)
            things = [getattr(module, attribute) for attribute in sorted(dir(module))]
            members = [m for t in things if inspect.isclass(t) for m in vars(t).values()]
            documented = {inspect.getdoc(thing) for thing in [*things, *members] if callable(thing)}
            writer.writerows([name, " ".join(text.split())] for text in sorted(documented - {None}))


def main() -> float:
    """Train and validate; return the accuracy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docs.tsv")
        write_tsv(path)
        lines = [line.split("\t", 1) for line in path.read_text().splitlines()]
    labels, texts = [label for label, _ in lines], [text for _, text in lines]
    pipeline = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
        RecallTreeClassifier(passes=5, random_state=0),
    )
    accuracy = cross_val_score(pipeline, texts, labels, cv=3).mean()
    print(f"{len(texts)} texts, {len(set(labels))} tags, accuracy {accuracy:.3f}")
    pipeline.fit(texts, labels)
    question = "Return the weekday of a date as a number"
    best, scores = pipeline[-1].predict_topk(pipeline[:-1].transform([question]), k=3)
    print(question, "->", dict(zip(best[0], scores[0].round(2).tolist(), strict=True)))
    return float(accuracy)


if __name__ == "__main__":
    main()
