"""What every online learner here must hold, whatever its algorithm."""

import os
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labeltree.datasets import make_multiclass
from labeltree.estimators import ESTIMATORS, RandomTreeClassifier, load

K = 30


# Small, and for the LOMtree so small that nodes are recycled.
SIZES = {
    "PECOCClassifier": {"max_labels": 32},
    "LOMTreeClassifier": {"max_nodes": 40},
    "LdSMClassifier": {"n_trees": 3, "max_nodes": 41, "split_rows": 30, "recent_rows": 500},
}


def passes_of(clf):
    """Return the name of the parameter that tells how often rows are seen."""
    return "passes" if "passes" in clf.get_params() else "epochs"


@pytest.fixture(params=list(ESTIMATORS))
def make(request):
    def make(**params):
        settings = {"random_state": 0, **SIZES.get(request.param, {}), **params}
        if "bits" in ESTIMATORS[request.param]().get_params():
            settings.setdefault("bits", 18)  # what is compared is looked through
        return ESTIMATORS[request.param](**settings)

    return make


@pytest.fixture(params=["sparse", "dense"])
def problem(request):
    X, y = make_multiclass(600, K, n_features=128, nnz=8, noise=0.4)
    return (X if request.param == "sparse" else X.toarray()), y


def assert_same_model(a, b):
    np.testing.assert_array_equal(a.classes_, b.classes_)
    assert a.progress_ == b.progress_
    expected, received = a._learner.state(), b._learner.state()
    assert expected.keys() == received.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(received[name], array, err_msg=name)


def test_one_by_one_equals_batch(make, problem):
    X, y = (part[:300] for part in problem)
    batch = make().partial_fit(X, y)
    single = make()
    for i in range(len(y)):
        single.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same_model(batch, single)


def test_one_by_one_equals_batch_when_weights_are_shared(make):
    """In a table this small, labels meet in the same slots all the time."""
    X, y = make_multiclass(300, K, n_features=128, nnz=8)
    if "bits" not in make().get_params():
        pytest.skip("no two weights share a slot")
    batch = make(bits=10, layout="hashed").partial_fit(X, y)
    pieces = make(bits=10, layout="hashed")
    for begin in range(0, 300, 7):
        pieces.partial_fit(X[begin : begin + 7], y[begin : begin + 7])
    assert_same_model(batch, pieces)


def test_rows_are_predicted_alike_alone_and_together(make, problem):
    """Together, rows take turns at the weights; there are more than are taken at once."""
    X, y = problem
    clf = make().partial_fit(X, y)
    many = sp.vstack([X] * 4, format="csr") if sp.issparse(X) else np.tile(X, (4, 1))
    labels, scores = clf.predict_topk(many, 3)
    for i in [*range(20), *range(1000, 1050), 2399]:
        alone, score = clf.predict_topk(many[i : i + 1], 3)
        np.testing.assert_array_equal(labels[i], alone[0])
        np.testing.assert_array_equal(scores[i], score[0])


def test_progress_counts_what_predict_said_before(make, problem):
    """Up to the range of a feature, which is noted before the example is predicted."""
    X, y = problem
    clf = make(scale="none")
    wrong = 0
    for i in range(200):
        wrong += i == 0 or clf.predict(X[i : i + 1])[0] != y[i]
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
        assert clf.progress_.errors == wrong


def test_predicting_changes_nothing(make, problem):
    X, y = problem
    clf = make().partial_fit(X, y)
    before = pickle.dumps(clf.__getstate__())
    clf.predict(X)
    clf.predict_topk(X, 3)
    clf.score(X, y)
    assert pickle.dumps(clf.__getstate__()) == before


def test_the_best_of_several_labels_is_the_one_predicted(make, problem):
    X, y = problem
    y = np.random.default_rng(0).permutation(y)  # so that the learner is in doubt
    clf = make(random_state=0).fit(X, y)
    for k in (1, 2, 5):
        np.testing.assert_array_equal(clf.predict_topk(X, k)[0][:, 0], clf.predict(X))


def test_same_seed_same_model(make, problem):
    assert_same_model(make(random_state=3).fit(*problem), make(random_state=3).fit(*problem))


def test_fit_forgets_what_was_known(make, problem):
    X, y = problem
    clf = make(random_state=0).partial_fit(X, y + 1000)
    assert_same_model(clf.fit(X, y), make(random_state=0).fit(X, y))


def test_labels_may_appear_at_any_time(make, problem):
    X, y = problem
    clf = make()
    for label in range(K):
        rows = np.flatnonzero(y == label)
        clf.partial_fit(X[rows], [f"label {label}"] * len(rows))
        assert clf.n_labels_ == label + 1
        assert set(clf.predict(X)) <= {f"label {i}" for i in range(label + 1)}


def test_a_label_never_seen_is_never_predicted(make, problem):
    X, y = problem
    clf = make().partial_fit(X, y, classes=np.arange(-50, 2 * K))
    assert len(clf.classes_) == 2 * K + 50
    assert set(clf.predict(X)) <= set(y)
    labels, _ = clf.predict_topk(X, 3 * K)
    assert set(labels.ravel()) - {None} <= set(y)
    if hasattr(clf, "predict_proba"):
        unseen = ~np.isin(clf.classes_, y)
        assert not clf.predict_proba(X)[:, unseen].any()


def test_rows_of_weight_zero_teach_nothing(make, problem):
    X, y = problem
    weight = np.ones(len(y))
    weight[::2] = 0
    y = np.where(weight > 0, y, 10_000)
    classes = np.unique(y)  # with the same ids, by which further Recall Trees place a new label
    clf = make().partial_fit(X, y, classes=classes, sample_weight=weight)
    plain = make().partial_fit(X[1::2], y[1::2], classes=classes)
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))
    assert 10_000 not in clf.predict(X)


def test_weights_reach_the_learner(make):
    """Two labels for the same features: the heavier one wins, whichever comes last."""
    X = np.ones((400, 1), dtype=np.float32)
    y = np.array(["light", "heavy"] * 200)
    for order in (y, y[::-1]):
        clf = make().partial_fit(X, order, sample_weight=np.where(order == "heavy", 5.0, 0.1))
        assert clf.predict(X[:1])[0] == "heavy"


def test_input_is_neither_changed_nor_kept(make):
    X, y = make_multiclass(200, 5, n_features=64)
    X = sp.csr_matrix(X, dtype=np.float32)
    y = y.copy()
    weight = np.ones(200, dtype=np.float32)
    copies = X.copy(), y.copy(), weight.copy()
    for array in (X.data, X.indices, X.indptr, y, weight):
        array.flags.writeable = False
    clf = make(random_state=0).fit(X, y, sample_weight=weight)
    expected = clf.predict(X)
    assert (copies[0] != X).nnz == 0
    for array in (X.data, X.indices, X.indptr, y, weight):
        array.flags.writeable = True
    X.data[:] = 7.0
    y[:] = -1
    np.testing.assert_array_equal(clf.predict(copies[0]), expected)
    assert_same_model(clf, make(random_state=0).fit(*copies))


def test_memory_does_not_grow_when_the_stream_repeats(make, problem):
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the sanitizer keeps freed memory for a while")

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    X, y = problem
    clf = make()
    if hasattr(clf, "replay"):  # rows that are kept are bounded, but not by 15 passes
        clf.set_params(replay=0)
    for _ in range(15):
        clf.partial_fit(X, y)
    sizes = {name: array.size for name, array in clf._learner.state().items()}
    before = resident()
    for _ in range(100):
        clf.partial_fit(X, y)
    assert resident() - before < 2e6
    for name, array in clf._learner.state().items():
        assert array.size <= 1.02 * sizes[name] + 200  # a tree may still send rows elsewhere


@pytest.mark.parametrize("labels", ["int", "str", "sets"])
def test_training_on_after_loading_equals_not_stopping(make, problem, tmp_path, labels):
    X, y = problem
    if labels == "str":
        y = np.array([f"été {label}" for label in y], dtype=object)
    if labels == "sets":
        if not make()._takes_sets:
            pytest.skip("learns one label a row")
        y = [[int(label), 50 + int(label) % 3] if label else [] for label in y]
    straight = make(random_state=1).partial_fit(X[:300], y[:300])
    straight.save(tmp_path / "model.labeltree")
    resumed = load(tmp_path / "model.labeltree")
    assert type(resumed) is type(straight)
    assert resumed.get_params() == straight.get_params()
    assert_same_model(straight, resumed)
    straight.partial_fit(X[300:], y[300:])
    resumed.partial_fit(X[300:], y[300:])
    assert_same_model(straight, resumed)
    np.testing.assert_array_equal(straight.predict_topk(X, 3)[1], resumed.predict_topk(X, 3)[1])


def test_parameters_changed_after_the_start_wait_for_the_next_fit(make, problem, tmp_path):
    X, y = problem
    clf = make().partial_fit(X[:300], y[:300])
    expected = clf.predict_topk(X, 3)[1]
    clf.set_params(step=1e-6, **{passes_of(clf): 7})
    np.testing.assert_array_equal(clf.predict_topk(X, 3)[1], expected)
    clf.save(tmp_path / "m")
    resumed = load(tmp_path / "m")
    assert resumed.get_params() == clf.get_params()
    assert_same_model(clf.partial_fit(X[300:], y[300:]), resumed.partial_fit(X[300:], y[300:]))
    assert_same_model(clf, make().partial_fit(X, y))


def test_predicting_while_another_thread_learns(make):
    X, y = make_multiclass(1000, 300, n_features=256)
    clf = make().partial_fit(X[:100], y[:100])
    failed = []

    def predict():
        try:
            for _ in range(15):
                labels, scores = clf.predict_topk(X[:50], 2)
                assert np.isin(labels[:, 0], y).all()
                assert np.isfinite(scores).all()
                clf._learner.state()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=predict) for _ in range(3)]
    for thread in threads:
        thread.start()
    for begin in range(100, 1000, 50):
        clf.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failed
    assert_same_model(clf, make().partial_fit(X, y))


def test_outlandish_values_do_not_spoil_the_model(make):
    X, y = make_multiclass(400, 5, n_features=64)
    clf = make().partial_fit(X, y)
    wild = sp.csr_matrix(np.full((3, 64), 1e20, dtype=np.float32))
    clf.partial_fit(wild, [0, 1, 2], sample_weight=[1.0, 1e30, 1e38])
    for _ in range(3):
        clf.partial_fit(X, y)
    assert clf.score(X, y) > 0.95
    assert np.isfinite(clf.predict_topk(X, 3)[1]).all()


def test_pickles_and_clones(make, problem):
    X, y = problem
    clf = make(random_state=1).fit(X, y)
    copy = pickle.loads(pickle.dumps(clf))
    assert_same_model(clf, copy)
    assert_same_model(clf.partial_fit(X, y), copy.partial_fit(X, y))
    assert not hasattr(clone(clf), "classes_")
    assert clone(clf).get_params() == clf.get_params()
    assert pickle.loads(pickle.dumps(make())).get_params() == make().get_params()


def test_prediction_is_thread_safe(make, problem):
    X, y = problem
    clf = make(random_state=0).fit(X, y)
    expected = clf.predict(X)
    results = [None] * 8

    def predict(i):
        results[i] = [clf.predict(X) for _ in range(10)]

    threads = [threading.Thread(target=predict, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for predictions in results:
        for predicted in predictions:
            np.testing.assert_array_equal(predicted, expected)


class TestBadInput:
    """A batch with one bad row leaves the model exactly as it was, and says what was wrong."""

    @pytest.fixture
    def bad(self, make, problem):
        X, y = problem
        clf = make().partial_fit(X[:100], y[:100])

        def refused(match, X=X[100:110], y=y[100:110], method="partial_fit", **more):
            before = pickle.dumps(clf.__getstate__())
            with pytest.raises(ValueError, match=match):
                getattr(clf, method)(X, y, **more)
            assert pickle.dumps(clf.__getstate__()) == before

        return refused

    def test_values_that_are_not_finite(self, bad, problem):
        X = sp.csr_matrix(problem[0][100:110])
        X.data[3] = np.inf
        bad("infinity", X=X)
        X.data[3] = np.nan
        bad("NaN", X=X)

    def test_values_too_large_for_32_bits(self, bad, problem):
        X = sp.csr_matrix(problem[0][100:110], dtype=np.float64)
        X.data[3] = 1e300
        with np.errstate(over="ignore"):
            bad("infinity|too large", X=X)

    def test_another_number_of_features(self, bad):
        bad("129 features", X=np.ones((10, 129)))

    def test_lengths_that_differ(self, bad):
        bad("X has 10 rows, y has 9", y=np.arange(9))

    @pytest.mark.parametrize(
        ("label", "message"),
        [(0.5, "0.5"), (None, "None"), (float("nan"), "nan|NaN"), (b"x", "bytes"), ((1,), "list")],
    )
    def test_labels_that_are_neither_int_nor_str(self, bad, label, message):
        y = np.empty(10, dtype=object)
        y[:] = [1, 2, 3, 4, label, 6, 7, 8, 9, 10]
        bad(message, y=y)

    def test_label_sets_after_single_labels(self, bad):
        bad(
            "labels as a set a row, expected one a row",
            y=[[1], [2], [], [3], [1, 2], [1], [1], [1], [1], [1]],
        )

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            (np.full(10, -1.0), r"sample_weight\[0\] is -1.0, expected a number that is not neg"),
            (np.full(10, np.nan), "NaN"),
            (np.ones(9), r"expected \(10,\)"),
            (np.ones((10, 2)), r"expected \(10,\)"),
        ],
    )
    def test_weights(self, bad, weight, message):
        bad(message, sample_weight=weight)

    def test_negative_index_in_a_matrix(self, bad, problem):
        X = sp.csr_matrix(problem[0][100:110])
        X.indices[0] = -1
        bad("index -1 at position 0 is not from 0 to", X=X)

    def test_failed_fit_keeps_the_old_model(self, bad):
        bad("not finite|infinity|NaN", X=np.full((10, 5), np.nan), method="fit")
        bad("weight is zero", X=np.ones((10, 5)), method="fit", sample_weight=np.zeros(10))
        X = sp.csr_matrix(np.ones((10, 5), np.float32))
        X.indices[0] = -1
        bad("index -1 at position 0 is not from 0 to", X=X, method="fit")

    def test_no_threads(self, make, problem):
        X, y = problem
        with pytest.raises(ValueError, match="n_jobs is 0, expected a number of threads"):
            make(n_jobs=0).fit(X, y)
        many = make(n_jobs=2**40, random_state=0).fit(X, y)
        assert_same_model(many, make(random_state=0).fit(X, y))
        assert many.predict(X[:1]).shape == (1,)

    def test_first_batch_with_bad_classes_starts_nothing(self, make, problem):
        X, y = problem
        clf = make()
        with pytest.raises(ValueError, match=r"0\.5"):
            clf.partial_fit(X, y, classes=[0.5, 1])
        assert not hasattr(clf, "classes_")

    def test_settings_are_checked_before_data(self, make):
        name = passes_of(make())
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            make(**{name: 0}).fit([[1.0]], [1])

    def test_k_below_one(self, make, problem):
        clf = make().partial_fit(*problem)
        for k in (0, -1, 1.5):
            with pytest.raises(ValueError, match="expected an integer from 1"):
                clf.predict_topk(problem[0], k)


def test_verbose_fit_shows_a_line_and_learns_the_same(make, problem, capsys):
    passes = {"passes": 2} if "passes" in make().get_params() else {}
    quiet = make(**passes).fit(*problem)
    assert capsys.readouterr().err == ""
    shown = make(**passes).fit(*problem, verbose=1)
    line = capsys.readouterr().err.rpartition("\r")[2]
    assert line.startswith("100% |")
    assert ("1,200/1,200 rows" if passes else "600/600 rows") in line
    if passes:
        assert f"error {quiet.progress_.error:.4f}" in line
    assert_same_model(quiet, shown)


def test_notebooks_show_the_shape_of_a_fitted_tree():
    X, y = make_multiclass(300, 10, n_features=64)
    clf = RandomTreeClassifier(random_state=0)
    assert "tree:" not in clf._repr_html_()
    clf.fit(X, y)
    tree = clf.tree_
    text = f"tree: {tree.n_nodes} nodes, {tree.n_leaves} leaves, depth {tree.depth}"
    assert text in clf._repr_html_()
    assert text in clf._repr_mimebundle_()["text/html"]
    assert "<table" in clf._repr_html_()


def test_rows_of_weight_zero_are_predicted_where_they_come_and_change_nothing(make, problem):
    X, y = problem
    clf = make().partial_fit(X[:400], y[:400])
    before = {name: array.copy() for name, array in clf._learner.state().items()}
    error = 1 - clf.score(X[400:500], y[400:500])
    clf.partial_fit(X[400:500], y[400:500], sample_weight=np.zeros(100))
    assert clf.progress_.passed_over == 100
    assert clf.progress_.passed_over_errors == round(100 * error)
    assert clf.progress_.examples == 400
    for name, array in clf._learner.state().items():
        if name != "examples":
            np.testing.assert_array_equal(array, before[name], err_msg=name)
