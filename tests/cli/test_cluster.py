"""``labeltree train --workers``."""

import pytest

from labeltree import load

pytest.importorskip("distributed")


def test_workers_train_a_model_from_files(cli, refused, tmp_path):
    words = {"cat": "it purrs softly", "dog": "it barks loudly", "bird": "it sings songs"}
    for i in range(2):
        lines = "".join(f"{label}\t{text} {i}\n" for label, text in words.items())
        (tmp_path / f"part-{i}.tsv").write_text(lines * 10)
    model = tmp_path / "m.labeltree"
    arguments = ("train", tmp_path / "part-*.tsv", "-m", model)
    cli(*arguments, "--workers", "2", "--hash-bits", "16")
    clf = load(model)
    assert clf.features_.documents_ == 60
    assert clf.predict(["it barks"]).tolist() == ["dog"]
    out = cli("predict", model, tmp_path / "part-0.tsv").out
    assert out.split()[:3] == ["cat", "dog", "bird"]
    refused(*arguments, "--workers", "2", "--holdout", "0.1", match="--holdout is for a stream")
    refused(*arguments, "--workers", "2", "--dask", "tcp://x:1", match="give one")
    more = ("--algorithm", "recall-tree")
    refused(*arguments, "--workers", "2", *more, match="recall-tree cannot be trained by workers")
