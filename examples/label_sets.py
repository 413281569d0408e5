"""Learn sets of labels from a file in the Extreme Classification format.

The file has a header ``examples features labels`` and lines ``label,label,... index:value ...``,
as the files of the Extreme Classification repository. A small one is made here.
"""

import tempfile
from pathlib import Path

import numpy as np

from labeltree import OneAgainstAllClassifier, load
from labeltree.data import load as load_data
from labeltree.metrics import precision_at_k, propensities, psp_at_k

FEATURES, LABELS = 500, 60


def write_xmc(path: Path, examples: int, seed: int) -> None:
    """Write examples whose labels each bring some features of their own."""
    signatures = np.random.default_rng(0).integers(FEATURES, size=(LABELS, 8))
    random = np.random.default_rng(seed)
    lines = [f"{examples} {FEATURES} {LABELS}"]
    for _ in range(examples):
        labels = np.unique(np.floor(LABELS * random.random(random.integers(1, 4)) ** 2).astype(int))
        columns = np.unique(
            [*signatures[labels][:, :5].ravel(), *random.integers(FEATURES, size=5)]
        )
        value = 1 / np.sqrt(len(columns))
        row = " ".join(f"{column}:{value:.4f}" for column in columns)
        lines.append(f"{','.join(map(str, labels))} {row}")
    path.write_text("\n".join(lines) + "\n")


def main() -> float:
    """Train, save, load and measure; return precision at 1."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_xmc(folder / "train.xmc", 2000, seed=1)
        write_xmc(folder / "test.xmc", 500, seed=2)
        train, test = load_data(folder / "train.xmc"), load_data(folder / "test.xmc")
        clf = OneAgainstAllClassifier(step=0.5, random_state=0).fit(train.X, train.sets)
        clf.save(folder / "m.labeltree")
        clf = load(folder / "m.labeltree")
    best, _ = clf.predict_topk(test.X, k=5)
    found = {f"P@{k}": precision_at_k(test.sets, best, k) for k in (1, 3, 5)}
    found["PSP@5"] = psp_at_k(test.sets, best, 5, propensities(train.sets))
    print("  ".join(f"{name} {value:.3f}" for name, value in found.items()))
    print("sets:", clf.predict(test.X[:3]), "expected:", test.sets[:3])
    return found["P@1"]


if __name__ == "__main__":
    main()
