"""Model files whose header or arrays lie, though their checksum is right."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import OneAgainstAllClassifier, load, modelfile
from labeltree.modelfile import CorruptModelFileError, ModelFileError
from tests.attack import model_files


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return model_files.models(tmp_path_factory.mktemp("models"))


def find(originals, estimator, *, compiled=False, **settled):
    """Return the first model of an estimator that has these settings, to be changed."""
    for header, arrays in originals:
        if (
            header["estimator"] == estimator
            and header["compiled"] == compiled
            and settled.items() <= header["settled"].items()
        ):
            return json.loads(json.dumps(header)), dict(arrays)
    raise LookupError(estimator)


def change(**values):
    """Return a function that sets entries of the header; `a__b` is entry b of a."""

    def apply(header, _):
        for place, value in values.items():
            *outer, name = place.split("__")
            holder = header
            for key in outer:
                holder = holder[key]
            holder[name] = value

    return apply


def put(name, value, index=...):
    """Return a function that sets entries of an array."""

    def apply(_, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return apply


def replace(name, array):
    def apply(_, arrays):
        arrays.pop("labels_end", None)
        arrays[name] = array

    return apply


def utf8(text):
    return np.frombuffer(text, np.uint8)


LIES = {
    "fixed is a list": (change(fixed=[1]), "fixed is a list of 1 entries, expected an object"),
    "params are null": (change(params=None), "params is None, expected an object"),
    "estimator is a list": (change(estimator=["LabelTreeClassifier"]), "estimator is a list"),
    "kind": (change(kind="classes"), "kind is 'classes', expected one of class, sets"),
    "kind is a list": (change(kind=["class"]), "kind is a list"),
    "compiled": (change(compiled=1), "compiled is 1, expected true or false"),
    "parameter": (change(params__passes="many"), "'passes'"),
    "parameter unknown": (change(params__color="red"), "params has 'color', which"),
    "parameter is a list": (change(params__step=[1]), "params.step is a list"),
    "parameter too large": (change(params__passes=10**30), "params.passes is a number of more"),
    "parameter not finite": (change(params__step=float("inf")), "number Infinity"),
    "parameter not a number": (change(params__step=float("nan")), "number NaN"),
    "step beyond a float": (change(settled__step_=1e300), "step must be positive and finite"),
    "trees": (change(settled__n_trees_=2**31), r"n_trees_ is 2147483648, .* \[1, 1000\]"),
    "bits": (change(settled__bits_=35), r"bits_ is 35, .* \[10, 34\]"),
    "bits are true": (change(settled__bits_=True), "bits_ is True"),
    "features": (change(settled__n_features_in_=2**32 + 1), "n_features_in_ is 4294967297"),
    "no features": (change(settled__n_features_in_=0), "n_features_in_ is 0"),
    "layout": (change(settled__layout_="sparse"), "layout_ is 'sparse'"),
    "seed": (change(settled__seed_=-1), "seed_ is -1"),
    "index": (change(settled__index_length_=2**40), "index_length_ is 1099511627776"),
    "progress": (change(progress=[]), "progress is a list"),
    "more errors than examples": (change(progress__errors=10**9), "progress.errors is 10000"),
    "examples": (change(progress__examples=-1), "progress.examples is -1"),
    "checkpoints": (change(progress__checkpoints=[[1]]), "progress.checkpoints is a list"),
    "loss": (change(progress__squared_loss_sum="1"), "squared_loss_sum is '1'"),
    "names": (change(feature_names=["a"]), "feature_names is '1 names', expected 30"),
    "notes": (change(notes=[]), "notes is a list"),
    "counts not finite": (put("counts", np.nan, 0), "counts has a number that is not finite"),
    "count below zero": (put("counts", -1.0, 0), "a label with a count that is none"),
    "weights not finite": (put("weights", np.inf, 0), "weights has a number that is not finite"),
    "weights beyond": (put("weights_row", 2**40, 0), "a row beyond the end of the table"),
    "array of another type": (
        lambda _, arrays: arrays.update(counts=arrays["counts"].astype(np.float32)),
        "counts has the wrong type or shape",
    ),
    "labels are no list": (replace("labels", utf8(b'{"a": 1}')), "labels holds a dict"),
    "labels are no JSON": (replace("labels", utf8(b"[1,")), "labels is no JSON"),
    "labels nested deeply": (replace("labels", utf8(b"[" * 200_000)), "labels is no JSON"),
    "labels are lists": (replace("labels", utf8(b"[[1]]")), "a label is a list"),
    "labels are null": (replace("labels", utf8(b"[null]")), "a label is a NoneType"),
    "one label twice": (replace("labels", utf8(b'["a", "a"]')), "one label twice"),
    "a number twice": (replace("labels", np.zeros(7, np.int64)), "one label twice"),
    "fewer labels": (replace("labels", utf8(b'["a", 1]')), "number of labels"),
    "labels of another type": (replace("labels", np.zeros(7)), "labels is of the wrong type"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lie_is_refused_in_words(originals, tmp_path, lie):
    header, arrays = find(originals, "LabelTreeClassifier", layout_="hashed")
    apply, words = LIES[lie]
    apply(header, arrays)
    model_files.write(tmp_path / "m", header, arrays)
    with pytest.raises(CorruptModelFileError, match=words):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "the header is a list"),
        ("1", "the header is 1, expected an object"),
        ("{}", "expected an object"),
        ("", "the header is no JSON"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a": 1' + "0" * 5000 + "}", "the header is no JSON"),
    ],
)
def test_header_that_is_none(originals, tmp_path, text, words):
    model_files.write(tmp_path / "m", text, originals[0][1])
    for read in (load, modelfile.read_header):
        with pytest.raises(CorruptModelFileError, match=words):
            read(tmp_path / "m")


@pytest.mark.parametrize("number", ["²", "-1", "1.0", "9" * 5000, ""])
def test_format_that_is_no_number(originals, tmp_path, number, monkeypatch):
    monkeypatch.setattr(modelfile, "FORMAT", number)
    model_files.write(tmp_path / "m", *originals[0])
    monkeypatch.undo()
    with pytest.raises(CorruptModelFileError, match="its format is"):
        load(tmp_path / "m")


def test_labels_that_are_no_utf8(originals, tmp_path):
    header, arrays = find(originals, "LabelTreeClassifier", layout_="hashed")
    put("labels", 0xFF, 3)(header, arrays)
    model_files.write(tmp_path / "m", header, arrays)
    with pytest.raises(CorruptModelFileError, match="no UTF-8"):
        load(tmp_path / "m")


# One row that LdSM keeps to split leaves by.
KEPT = {
    "kept_end": np.array([1], np.uint64),
    "kept_features": np.array([1], np.uint32),
    "kept_feature": np.array([2**32 - 1], np.uint32),
    "kept_value": np.ones(1, np.float32),
    "kept_labels": np.array([1], np.uint32),
    "kept_label": np.array([0], np.uint32),
    "kept_weight": np.ones(1, np.float32),
    "kept_norm": np.ones(1, np.float32),
}


@pytest.mark.parametrize(
    ("estimator", "apply", "words"),
    [
        ("LdSMClassifier", change(fixed__n_trees=2**31), "'n_trees'"),
        ("LdSMClassifier", change(fixed__n_trees=10_000), "another number of trees"),
        ("LdSMClassifier", change(fixed__epochs=10**9), "'epochs'"),
        (
            "LdSMClassifier",
            lambda _, arrays: arrays.update(KEPT),
            "a kept example has a feature that does not exist",
        ),
        ("LOMTreeClassifier", put("serials", 5 * 10**8), "more serial numbers than it can have"),
        ("LOMTreeClassifier", put("top_count", -1e9, 0), "a count that is none"),
        ("PECOCClassifier", change(settled__arity_=2**20), "arity_ is 1048576"),
        ("PECOCClassifier", change(settled__arity_=6), "arity_ is 6, expected a power of two"),
        ("RecallTreeClassifier", change(fixed__n_trees=1001), "'n_trees'"),
        ("ProbabilityTreeClassifier", put("leaves", 2**31, 0), "leaves are miscounted"),
        ("OneAgainstAllClassifier", change(settled__min_gradient_=-1.0), "min_gradient_ is -1.0"),
    ],
)
def test_lie_of_an_estimator(originals, tmp_path, estimator, apply, words):
    header, arrays = find(originals, estimator)
    apply(header, arrays)
    model_files.write(tmp_path / "m", header, arrays)
    with pytest.raises(CorruptModelFileError, match=words):
        load(tmp_path / "m")


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    ("apply", "words"),
    [
        (change(settled__n_trees_=2**31), "n_trees_ is 2147483648"),
        (change(settled__bits_=34), "arrays of weights differ in length"),
        (put("models", 2**60), "more than 2\\^34 weights"),
        (change(fixed=[1]), "fixed is a list"),
    ],
)
def test_lie_of_a_compiled_model(originals, tmp_path, apply, words, mmap):
    header, arrays = find(originals, "LabelTreeClassifier", compiled=True, layout_="hashed")
    apply(header, arrays)
    model_files.write(tmp_path / "m", header, arrays)
    with pytest.raises(CorruptModelFileError, match=words):
        load(tmp_path / "m", mmap=mmap)


def test_no_model_that_was_written_is_refused(originals, tmp_path):
    for header, arrays in originals:
        model_files.write(tmp_path / "m", header, arrays)
        load(tmp_path / "m")
        if header["compiled"]:
            load(tmp_path / "m", mmap=True)


def test_changed_files_are_refused_or_work():
    """In a process of its own, whose memory is that of these files alone."""
    command = [sys.executable, "-m", "tests.attack.model_files", "0", "5", "150"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-2000:]
    counts = json.loads(answer.stdout)
    assert counts["refused"] > 50
    assert counts["loaded"] > 5


USE = """
import resource, sys
import numpy as np, scipy.sparse as sp
from labeltree import load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    clf = load(path)
    width = clf.n_features_in_
    columns = np.array([0, width // 2, width - 1])
    X = sp.csr_matrix((np.ones(3, "f"), columns, [0, 3]), shape=(1, width))
    clf.predict(X)
    clf.save(path)
    clf.partial_fit(X, [clf.classes_[0]])
    clf.partial_fit(X, ["new"])
    clf.predict(X)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_large_table_of_a_small_file_costs_what_is_in_it(tmp_path):
    """The rows in use are far from each other, and the tables are larger than the memory."""
    X = sp.csr_matrix(np.eye(4, 30, dtype=np.float32))
    settings = {
        "hashed": {"bits_": 34, "n_features_in_": 2**32},
        "dense": {"n_features_in_": 2**30},
    }
    for layout, settled in settings.items():
        path = tmp_path / layout
        OneAgainstAllClassifier(layout=layout).fit(X, list("abcd")).save(path)
        header, arrays = modelfile.read(path)
        header["settled"].update(settled)
        if layout == "hashed":
            arrays["weights_row"] = np.arange(1000, dtype=np.uint64) * (2**31 // 1000)
            arrays["weights"] = np.ones(16 * 1000, dtype=np.float32)
        model_files.write(path, header, arrays)
    command = [sys.executable, "-c", USE, *(str(tmp_path / layout) for layout in settings)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(output) < 300_000  # kilobytes


def test_no_more_weights_than_the_stated_limit():
    clf = OneAgainstAllClassifier(layout="dense")
    X = sp.csr_matrix((np.ones(2, np.float32), ([0, 1], [0, 2**31])), shape=(2, 2**32 - 1))
    with pytest.raises(ValueError, match=r"more than 2\^34 weights; choose the hashed layout"):
        clf.fit(X, [0, 1])


def test_model_larger_than_memory_is_a_model_file_error(originals, tmp_path):
    model_files.write(tmp_path / "m", *find(originals, "LabelTreeClassifier", layout_="hashed"))
    header, arrays = modelfile.read(tmp_path / "m")
    header["settled"]["bits_"] = 34
    model_files.write(tmp_path / "m", header, arrays)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**34, limit[1]))
    try:
        with pytest.raises(ModelFileError, match="not enough memory for the model"):
            load(tmp_path / "m")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
