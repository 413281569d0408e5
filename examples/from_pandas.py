"""A pandas user's first ten minutes: a data frame with a text column and a label column."""

import tempfile
from pathlib import Path

import pandas as pd

from labeltree import TextClassifier, load
from labeltree.datasets import stdlib_functions


def main() -> float:
    """Train on a data frame, ask, explain, go on learning, save; return the accuracy."""
    texts, labels = stdlib_functions(6000)
    frame = pd.DataFrame({"source": texts, "module": labels})
    train, test = frame[:5000], frame[5000:]

    clf = TextClassifier().fit(train["source"], train["module"])
    accuracy = clf.score(test["source"], test["module"])
    print(f"{len(train)} texts, {clf.n_labels_} labels, accuracy {accuracy:.3f}")

    question = "parse a date and time"
    print(question, "->", clf.predict_one(question, k=3))
    print("which words decided:", [part.part for part in clf.explain(question).parts])

    best, scores = clf.predict_topk(test["source"], k=3)
    guesses = pd.DataFrame(best, index=test.index).assign(sure=scores[:, 0].round(2))
    print(guesses.head(3))

    clf.partial_fit(test["source"], test["module"])  # as more rows arrive
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "modules.labeltree")
        clf.save(path)
        assert load(path).predict_one(question) == clf.predict_one(question)

        # The same from a CSV file, in the terminal: labeltree train functions.csv -m m.labeltree
        # --text-column source --label-column module
        train.to_csv(Path(folder, "functions.csv"), index=False)
    return float(accuracy)


if __name__ == "__main__":
    main()
