"""``labeltree compile``."""

import json

import numpy as np

from labeltree import load, modelfile


def test_compiled_model_predicts_the_same(cli, model, folder, tmp_path):
    out = tmp_path / "small.labeltree"
    text = cli("compile", model, "-o", out).out
    assert "times smaller than" in text
    assert out.stat().st_size < 0.5 * model.stat().st_size
    expected = cli("predict", model, folder / "test.svm").out.splitlines()
    received = cli("predict", out, folder / "test.svm").out.splitlines()
    assert np.mean([a == b for a, b in zip(expected, received, strict=True)]) >= 0.995
    notes = modelfile.read_header(out)["notes"]
    assert notes.keys() == {"reader", "label_counts"}
    assert load(out, mmap=True).compiled_


def test_inspect_tells_what_is_compiled_and_what_one_against_all_needs(cli, model, tmp_path):
    out = tmp_path / "small.labeltree"
    cli("compile", model, "-o", out, "--keep", "0.99")
    for path, compiled in ((model, False), (out, True)):
        facts = json.loads(cli("inspect", path, "--json").out)
        assert facts["compiled"] is compiled
        n = load(path).n_features_in_
        assert facts["compared"].startswith(
            f"one-against-all would need {40 * n * 4 / 1e6:,.1f} MB"
        )


def test_what_cannot_be_done_is_said(refused, cli, model, folder, tmp_path):
    out = tmp_path / "small.labeltree"
    cli("compile", model, "-o", out)
    refused("compile", out, "-o", tmp_path / "again", match="compiled already")
    refused("compile", model, "-o", tmp_path / "no" / "where", match="no such folder")
    refused("compile", model, "-o", out, "--keep", "-1", match="keep")
    refused(
        "train",
        folder / "train.svm",
        "--resume",
        out,
        "-m",
        tmp_path / "m",
        match="compiled for prediction; resume the one it was made from",
    )
