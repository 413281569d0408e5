"""What `train` notes in a model file may be damaged as all else."""

import pytest

from labeltree import modelfile

LIES = [
    ("reader", [1], "predict"),
    ("reader", "svmlight", "evaluate"),
    ("reader", {"n_features": 5}, "predict"),
    ("reader", {"format": ["svmlight"]}, "predict"),
    ("reader", {"format": "svmlight", "no such option": 1}, "evaluate"),
    ("label_counts", "many", "inspect"),
    ("label_counts", {"a": 1}, "evaluate"),
    ("label_counts", [[1]], "inspect"),
    ("label_counts", [2**70], "inspect"),
    ("run", [1], "resume"),
    ("run", {"data": ["a"]}, "resume"),
    ("run", {"data": ["a"], "sizes": [1], "more": 1}, "resume"),
    ("run", {"data": "a", "sizes": [1]}, "resume"),
    ("run", {"data": ["a"], "sizes": [1], "number": "none"}, "resume"),
    ("run", {"data": ["a"], "sizes": [1], "held_out": [1]}, "resume"),
]


@pytest.mark.parametrize(("name", "note", "command"), LIES)
def test_damaged_note_is_refused(cli, folder, model, tmp_path, name, note, command):
    header, arrays = modelfile.read(model)
    header["notes"][name] = note
    path = tmp_path / "m"
    modelfile.write(path, {k: v for k, v in header.items() if k != "version"}, arrays)
    data = folder / "test.svm"
    arguments = {
        "predict": ["predict", path, data],
        "evaluate": ["evaluate", path, data],
        "inspect": ["inspect", path],
        "resume": ["train", data, "--resume", path, "-m", tmp_path / "n"],
    }
    result = cli(*arguments[command], code=2)
    assert f"its note {name!r} is none that labeltree train writes" in result.err
