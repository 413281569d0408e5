"""The dual update: exact steps, and what they come to in the end."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from labeltree import LabelTreeClassifier, OneAgainstAllClassifier, load, modelfile
from labeltree.datasets import make_multiclass


def unit_problem(seed, rows=120, labels=4):
    X, y = make_multiclass(rows, labels, n_features=20, nnz=6, noise=0.6, random_state=seed)
    return normalize(X).astype(np.float32), y


def margins(clf, X):
    """Return the margins of all labels, in the order of classes_."""
    labels, scores = clf.predict_topk(X, k=clf.n_labels_)
    order = np.argsort(labels, axis=1)
    return np.take_along_axis(scores, order, axis=1)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1000),
    C=st.sampled_from([0.1, 1.0, 3.0]),
    layout=st.sampled_from(["dense", "hashed"]),
    weighted=st.booleans(),
)
def test_many_passes_come_to_what_liblinear_finds(seed, C, layout, weighted):
    X, y = unit_problem(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y)) if weighted else None
    svm = LinearSVC(C=C, loss="squared_hinge", dual=True, tol=1e-8, max_iter=100_000)
    svm.fit(X, y, sample_weight=weight)
    clf = OneAgainstAllClassifier(
        update="dual", C=C, passes=500, layout=layout, bits=22, random_state=0
    )
    clf.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(margins(clf, X), svm.decision_function(X), atol=5e-3)


@pytest.mark.parametrize("dense", [False, True])
def test_rows_of_any_units_give_the_same_answers(dense):
    X, y = unit_problem(0)
    X = X.toarray() if dense else X
    one = OneAgainstAllClassifier(update="dual", scale="none", random_state=0).fit(X, y)
    other = OneAgainstAllClassifier(update="dual", scale="none", random_state=0).fit(100 * X, y)
    # The constant is not scaled with the rows, and so weighs less beside large ones.
    assert np.mean(one.predict(X) == other.predict(100 * X)) > 0.9


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_batches_do_not_matter(threads):
    X, y = unit_problem(1, rows=700, labels=40)
    one = OneAgainstAllClassifier(update="dual", random_state=0).fit(X, y)
    other = OneAgainstAllClassifier(update="dual", random_state=0, n_jobs=threads).fit(X, y)
    np.testing.assert_array_equal(margins(one, X), margins(other, X))
    a = OneAgainstAllClassifier(update="dual").partial_fit(X, y)
    b = OneAgainstAllClassifier(update="dual").partial_fit(X[:300], y[:300])
    b.partial_fit(X[300:], y[300:])
    np.testing.assert_array_equal(margins(a, X), margins(b, X))


def test_the_first_pass_is_passive_aggressive():
    """A row alone: alpha = 1 / (|x|^2 + 1 / 2C), with |x|^2 = 2 for the constant."""
    clf = OneAgainstAllClassifier(update="dual", C=0.5, scale="none")
    clf.partial_fit(np.array([[1.0, 0.0]]), ["a"])
    _, scores = clf.predict_topk(np.array([[1.0, 0.0]]), k=1)
    assert scores[0, 0] == pytest.approx(2 / (2 + 1))


def test_loss_and_update_go_together():
    X, y = unit_problem(0)
    for params in ({"update": "dual", "loss": "logistic"}, {"loss": "squared_hinge"}):
        with pytest.raises(ValueError, match="squared_hinge and dual go together"):
            OneAgainstAllClassifier(**params).fit(X, y)
    clf = OneAgainstAllClassifier(update="dual").fit(X, y)
    assert not hasattr(clf, "predict_proba")


def counts_problem(rows=400, seed=0):
    X, y = make_multiclass(rows, 30, n_features=60, nnz=12, noise=0.4, random_state=seed)
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix((rng.integers(1, 5, X.nnz), X.indices, X.indptr), X.shape, np.float32)
    sets = [sorted({int(a), int(a) // 2}) for a in y]
    return X, sets


@pytest.mark.parametrize("estimator", [LabelTreeClassifier, OneAgainstAllClassifier])
def test_counts_are_weighed_as_tf_idf(estimator):
    X, y = counts_problem()
    prepared = TfidfTransformer(sublinear_tf=True).fit(X).transform(X).astype(np.float32)
    options = {"random_state": 0, "update": "dual"}
    a = estimator(scale="idf", **options).fit(X, y)
    b = estimator(**options).fit(prepared, y)
    assert (a.scale_, b.scale_) == ("idf", "none")
    assert estimator(**options).fit(X, y).scale_ == "idf"
    assert estimator(**options).fit(1.5 * X, y).scale_ == "unit"
    (a_labels, a_scores), (b_labels, b_scores) = a.predict_topk(X), b.predict_topk(prepared)
    assert np.mean(a_labels == b_labels) > 0.97
    np.testing.assert_allclose(a_scores[:, 0], b_scores[:, 0], atol=0.02)


def test_a_stream_of_counts_is_weighed_with_the_rows_before(tmp_path):
    X, y = counts_problem()
    whole = LabelTreeClassifier(scale="idf", random_state=0).partial_fit(X, y)
    parts = LabelTreeClassifier(scale="idf", random_state=0).partial_fit(X[:100], y[:100])
    before = parts.predict_topk(X)[1]
    np.testing.assert_array_equal(parts.predict_topk(X)[1], before)  # nothing is counted
    parts.save(tmp_path / "m")
    parts = load(tmp_path / "m").partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(whole.predict_topk(X)[1], parts.predict_topk(X)[1])
    compiled = whole.compile()
    compiled.save(tmp_path / "c")
    best = whole.predict_topk(X, k=1)[0]
    assert np.mean(load(tmp_path / "c", mmap=True).predict_topk(X, k=1)[0] == best) > 0.97


def test_rows_of_another_pass_are_not_counted_again():
    X, y = counts_problem()
    clf = LabelTreeClassifier(scale="idf", random_state=0)
    clf.begin_pass(again=False, more=True)
    clf.partial_fit(X, y)
    documents = clf._learner.state()["documents"]
    clf.begin_pass(again=True)
    clf.partial_fit(X, y)
    np.testing.assert_array_equal(clf._learner.state()["documents"], documents)


def passes(clf, X, y, orders, *, numbered=True):
    """Learn rows several times, each time in another order."""
    for number, order in enumerate(orders):
        clf.begin_pass(again=number > 0, more=number + 1 < len(orders))
        numbers = order if numbered else None
        clf.partial_fit(X[order], [y[i] for i in order], row_numbers=numbers)
    clf.begin_pass(again=False)
    return clf


def test_label_sets_gain_from_passes_of_the_dual_update():
    X, y = counts_problem(1500)
    test = slice(1200, 1500)
    fitted = {
        update: LabelTreeClassifier(update=update, scale="idf", random_state=0).fit(
            X[:1200], y[:1200]
        )
        for update in ("adaptive", "dual")
    }
    scores = {name: clf.score(X[test], y[test]) for name, clf in fitted.items()}
    assert scores["dual"] > scores["adaptive"] - 0.01
    assert fitted["dual"].scorer_update_ == "dual"
    auto = LabelTreeClassifier(random_state=0)
    assert auto.fit(X, y).scorer_update_ == "dual"
    assert auto.fit(X, [one[0] for one in y]).scorer_update_ == "adaptive"
    assert LabelTreeClassifier().partial_fit(X, y).scorer_update_ != "dual"


def without_curve(clf):
    """Leave probabilities as the models state them."""
    learner = clf._make_learner()
    learner.restore({**clf._learner.state(), "others_curve": np.array([1.0, 1.0, 0.0])})
    clf._learner = learner
    return clf


def test_rows_are_known_by_their_numbers():
    """Passes in different orders come to the same models; rows taken for others are refused."""
    X, y = counts_problem(200)
    rng = np.random.default_rng(0)
    same = [np.arange(200)] * 60
    mixed = [np.arange(200), *(rng.permutation(200) for _ in range(59))]
    new = LabelTreeClassifier(scale="unit", random_state=0, layout="dense")
    expected = without_curve(passes(clone(new), X, y, same)).predict_topk(X)[1]
    scores = without_curve(passes(clone(new), X, y, mixed)).predict_topk(X)[1]
    assert np.abs(scores - expected).mean() < 0.02
    with pytest.raises(ValueError, match="other labels than in the pass before"):
        passes(new, X, y, mixed, numbered=False)
    assert new.examples_ == 200  # the second pass was refused before anything was learned


def test_passes_go_on_bit_for_bit_after_loading(tmp_path):
    X, y = counts_problem(300)
    whole = LabelTreeClassifier(random_state=0)
    halves = LabelTreeClassifier(random_state=0)
    for number in range(3):
        for clf in (whole, halves):
            clf.begin_pass(again=number > 0, more=number < 2)
        whole.partial_fit(X, y)
        halves.partial_fit(X[:140], y[:140])
        halves.save(tmp_path / "m")
        halves = load(tmp_path / "m")
        halves.partial_fit(X[140:], y[140:])
    assert whole.scorer_update_ == "dual"
    for clf in (whole, halves):
        clf.begin_pass(again=False)
    whole.save(tmp_path / "a")
    halves.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert len(whole._learner.state()["pairs_model"]) == 0  # forgotten with the last pass


def test_bad_row_numbers_change_nothing():
    X, y = counts_problem(50)
    clf = LabelTreeClassifier(random_state=0).partial_fit(X, y)
    for numbers, message in (
        [[0], r"has shape \(1,\)"],
        [[-1] * 50, "go from -1 to -1"],
        [[0.5] * 50, "type float64"],
        [[7] * 50, "has a number twice"],
    ):
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(X, y, row_numbers=numbers)
    assert clf.examples_ == 50


@pytest.mark.parametrize("value", [1e-45, 1e-40, 3e38, -3e38])
@pytest.mark.parametrize("scale", ["unit", "idf"])
def test_rows_of_any_size_have_finite_scores(value, scale):
    X, y = counts_problem(100)
    odd = sp.csr_matrix(([value], [5], [0, 1]), (1, X.shape[1]), dtype=np.float32)
    for estimator in (LabelTreeClassifier, OneAgainstAllClassifier):
        clf = estimator(scale=scale, update="dual", random_state=0).fit(X, y)
        assert np.isfinite(clf.predict_topk(odd, k=3)[1]).all()
        tiny = X.copy()
        tiny.data[:] = value
        clf.fit(tiny, y)
        assert np.isfinite(clf.predict_topk(tiny, k=3)[1]).all()


@pytest.mark.parametrize("estimator", [LabelTreeClassifier, OneAgainstAllClassifier])
def test_files_from_before_the_dual_update_are_read(estimator, tmp_path):
    X, y = counts_problem(100)
    clf = estimator(update="adaptive", random_state=0).fit(X, y)
    clf.save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    for part in ("params", "fixed", "settled"):
        for name in estimator._absent_before:
            header[part].pop(name, None)
    modelfile.write(tmp_path / "old", header, arrays)
    np.testing.assert_array_equal(load(tmp_path / "old").predict_topk(X)[0], clf.predict_topk(X)[0])


def test_what_a_stream_settles_depends_on_its_first_rows_only():
    X, y = counts_problem(1500)
    changed = X.copy()
    changed.data[changed.indptr[1000] :] += 0.5
    sets = [*y[:1000], *[list(range(30))] * 500]
    settled = []
    for rows in (1000, 1500):
        clf = LabelTreeClassifier(random_state=0)
        clf.begin_pass(again=False, more=True)
        clf.partial_fit(changed[:rows], sets[:rows])
        settled.append((clf.scale_, clf.scorer_update_, clf.candidates_))
    assert settled == [("idf", "dual", 16)] * 2
