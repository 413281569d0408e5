"""``labeltree merge``."""

import numpy as np
import pytest

from labeltree import load, modelfile


@pytest.fixture
def shards(cli, tmp_path):
    """Two models of texts, of which each knows a label that the other does not."""
    for name, labels in (("a", ("cat", "dog")), ("b", ("dog", "bird"))):
        lines = {"cat": "it purrs softly", "dog": "it barks loudly", "bird": "it sings songs"}
        text = "".join(f"{label}\t{lines[label]}\n" for label in labels) * 5
        (tmp_path / f"{name}.tsv").write_text(text)
        options = ("--hash-bits", "16", "--layout", "dense", "--replay", "0")
        cli("train", tmp_path / f"{name}.tsv", "-m", tmp_path / name, *options)
    return tmp_path / "a", tmp_path / "b"


def test_shards_become_one_model_that_knows_the_labels_of_both(cli, shards, tmp_path):
    out = tmp_path / "c.labeltree"
    text = cli("merge", *shards, "-o", out).out
    assert text.startswith(f"{out}: 3 labels, 20 examples of 2 models")
    clf = load(out)
    assert clf.predict(["it purrs", "it barks", "it sings"]).tolist() == ["cat", "dog", "bird"]
    assert clf.features_.documents_ == 20
    notes = modelfile.read_header(out)["notes"]
    assert notes.keys() == {"reader", "label_counts"}
    counts = dict(zip(clf.classes_.tolist(), notes["label_counts"], strict=True))
    assert counts == {"cat": 5, "dog": 10, "bird": 5}
    cli("predict", out, tmp_path / "a.tsv")


def test_a_model_goes_on_twice_and_comes_together(cli, shards, tmp_path):
    first, _ = shards
    for name in ("x", "y"):
        (tmp_path / f"{name}.tsv").write_text(f"cat\tit purrs {name}\ndog\tit barks {name}\n")
        clf = load(first)
        clf.partial_fit([f"it purrs {name}", f"it barks {name}"], ["cat", "dog"]).save(
            tmp_path / name, notes=modelfile.read_header(first)["notes"]
        )
    out = tmp_path / "c.labeltree"
    cli("merge", tmp_path / "x", tmp_path / "y", "--base", first, "-o", out)
    assert load(out).examples_ == load(first).examples_ + 4
    assert load(out).features_.documents_ == load(first).features_.documents_ + 4


def test_what_cannot_be_merged_is_said(refused, cli, shards, tmp_path, monkeypatch):
    first, second = shards
    (tmp_path / "hashed").mkdir()
    small = tmp_path / "small.labeltree"
    cli("compile", first, "-o", small)
    out = tmp_path / "c.labeltree"
    refused("merge", first, small, "-o", out, match="model 2 was compiled")
    refused("merge", first, second, "-o", first, match="would destroy it")
    options = ("--hash-bits", "16", "--layout", "dense", "--alpha", "0.5")
    cli("train", tmp_path / "a.tsv", "-m", tmp_path / "d", *options)
    refused("merge", first, tmp_path / "d", "-o", out, match="alpha is 0.8 in model 1")
    for name in ("a", "b"):
        cli("train", tmp_path / f"{name}.tsv", "-m", tmp_path / "hashed" / name, "--bits", "16")
    hashed = [tmp_path / "hashed" / name for name in ("a", "b")]
    refused("merge", *hashed, "-o", out, match="train shards with --layout dense --hash-bits 18,")
    monkeypatch.setattr(modelfile, "__version__", "0.0.9")
    load(second).save(tmp_path / "old", notes=modelfile.read_header(second)["notes"])
    refused("merge", first, tmp_path / "old", "-o", out, match="labeltree is '0.0.9'")
    assert not out.exists()
    assert not np.any([path.name.startswith(".c") for path in tmp_path.iterdir()])
