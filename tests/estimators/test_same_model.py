"""The same rows in the same order give the same model, however they come."""

import functools
import json

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LabelTreeClassifier
from labeltree.estimators import ESTIMATORS, load
from labeltree.labels import Targets

N, K = 360, 200

SIZES = {
    "PECOCClassifier": {"max_labels": 64},
    "LOMTreeClassifier": {"max_nodes": 40},
    "LdSMClassifier": {"n_trees": 2, "max_nodes": 41, "split_rows": 30, "recent_rows": 200},
}
CASES = [
    pytest.param(name, form, layout, sets, id=f"{name}-{form}-{layout}-{'sets' if sets else 'one'}")
    for name, estimator in ESTIMATORS.items()
    for form in ("dense", "sparse", "text")
    for layout in (("dense", "hashed") if "layout" in estimator().get_params() else (None,))
    for sets in ((False, True) if estimator._takes_sets else (False,))
]


@functools.cache
def rows(form):
    """Return rows of words, of unit length if they are `text`, and labels that appear all along."""
    random = np.random.default_rng(0)
    y = random.integers(0, np.linspace(2, K, N).astype(int))
    own = random.integers(0, 150, (K, 6))[y, random.integers(0, 6, (5, N))].T
    words = np.hstack([own, np.minimum(random.zipf(1.3, (N, 9)), 149)])
    X = np.zeros((N, 150), np.float32)
    np.add.at(X, (np.arange(N)[:, None], words), 1)
    if form == "text":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    return (X if form == "dense" else sp.csr_matrix(X)), y


def problem(form, *, sets=False):
    X, y = rows(form)
    return X, [
        sorted({int(a), int(b), 7} - {3}) for a, b in zip(y, y[::-1], strict=True)
    ] if sets else y


def make(name, layout, **params):
    settings = {"random_state": 0, **SIZES.get(name, {}), **params}
    if layout is not None:
        settings |= {"layout": layout, "bits": 13}
    return ESTIMATORS[name](**settings)


def saved(clf, folder):
    """Return what a model file says, and the bytes of its arrays."""
    clf.save(folder / "model")
    content = (folder / "model").read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:begin]), content[begin:]


@pytest.mark.parametrize(("name", "form", "layout", "sets"), CASES)
def test_batches_predictions_and_files_between_do_not_change_the_model(
    name, form, layout, sets, tmp_path
):
    X, y = problem(form, sets=sets)
    whole = make(name, layout).partial_fit(X, y)
    clf, begin = make(name, layout), 0
    for number, size in enumerate([1] * 12 + [7] * 9 + [100, N]):
        end = min(begin + size, N)
        clf.partial_fit(X[begin:end], y[begin:end])
        begin = end
        if number % 5 == 4:
            clf.set_params(n_jobs=2)
            clf.predict(X)
            clf.predict_topk(X[:9], 3)
            clf.set_params(n_jobs=None)
        if number % 7 == 3:
            clf.save(tmp_path / "between")
            clf = load(tmp_path / "between")
    assert clf.progress_ == whole.progress_
    assert saved(clf, tmp_path) == saved(whole, tmp_path)


@pytest.mark.parametrize(("name", "form", "layout", "sets"), CASES)
def test_threads_do_not_change_predictions(name, form, layout, sets):
    X, y = problem(form, sets=sets)
    clf = make(name, layout).partial_fit(X, y)
    labels, scores = clf.predict_topk(X, 4)
    parts = [slice(i, i + 50) for i in range(0, N, 50)]
    for rows in (slice(0, N), *parts):
        found, score = clf.set_params(n_jobs=2).predict_topk(X[rows], 4)
        np.testing.assert_array_equal(found, labels[rows])
        np.testing.assert_array_equal(score, scores[rows])


@pytest.mark.parametrize("form", ["dense", "sparse", "text"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_progress_that_fit_shows_does_not_change_the_model(name, form, tmp_path, capsys):
    X, y = problem(form)
    quiet = make(name, None).fit(X, y)
    shown = make(name, None).fit(X, y, verbose=1)
    assert "100%" in capsys.readouterr().err
    assert shown.progress_ == quiet.progress_
    assert saved(shown, tmp_path) == saved(quiet, tmp_path)


def test_labels_declared_beforehand_do_not_change_what_is_predicted():
    """There is room for all of them, and candidates are looked for in another way."""
    X, y = problem("text")
    learned = LabelTreeClassifier(random_state=0, bits=13).partial_fit(X, y)
    declared = LabelTreeClassifier(random_state=0, bits=13)
    names = learned.classes_.tolist() + list(range(10_000, 40_000))
    declared.partial_fit(X, y, classes=names)
    assert declared.progress_ == learned.progress_
    np.testing.assert_array_equal(declared.predict_topk(X, 5)[1], learned.predict_topk(X, 5)[1])


def test_scale_is_chosen_from_the_first_thousand_rows_at_most():
    X = sp.csr_matrix(np.repeat(np.float32([[1, 0], [0, 2]]), [1000, 500], axis=0))
    whole = LabelTreeClassifier().partial_fit(X, np.zeros(1500, int))
    assert whole.scale_ == LabelTreeClassifier().partial_fit(X[:1000], [0] * 1000).scale_ == "none"


def test_sets_are_learned_in_one_order():
    """Python lists equal sets in orders that differ, those of strings from run to run."""
    assert list({0, 8}) != list({8, 0})
    y, same = Targets.parse([{0, 8}, {"b", "a", 1}]), Targets.parse([{8, 0}, {1, "a", "b"}])
    assert y.by_appearance() == same.by_appearance() == [0, 8, 1, "a", "b"]
    np.testing.assert_array_equal(y.index, same.index)


def test_parts_of_a_pass_end_where_rows_end_that_are_looked_up_together():
    # In so small a table scorers share lines with trees: it matters when rows are looked up.
    random = np.random.default_rng(0)
    X = sp.random(1500, 400, 0.03, format="csr", dtype=np.float32, random_state=0)
    X = sp.csr_matrix(X / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)).A1, 1e-9)[:, None])
    y = random.integers(0, 90, 1500)
    states = []
    for verbose in (0, 1):
        clf = LabelTreeClassifier(layout="hashed", bits=10, random_state=0)
        clf.fit(X, y, verbose=verbose)
        assert clf.index_length_ > 0
        states.append(clf._learner.state())
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name], err_msg=name)
