"""The label tree as an estimator: its settings reach the core, are saved, and are checked."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import LabelTreeClassifier, load
from labeltree.datasets import make_multiclass
from labeltree.metrics import calibration_error

K = 40
CHANGED = pytest.mark.parametrize(
    "params",
    [
        {"n_trees": 2},
        {"candidates": 2},
        {"candidates": 2, "beam": 1},
        {"alpha": 0.0},
        {"index_length": 128},
        {"index_length": 2},
        {"index_length": 128, "index_candidates": 1},
        {"scorers": False},
        {"step": 3.0},
        {"scorer_step": 0.05},
        {"min_gradient": 0.3},
    ],
    ids=str,
)


@pytest.fixture(scope="module")
def problem():
    return make_multiclass(300, K, n_features=32, nnz=6, noise=0.5, skew=0.5, random_state=0)


def learned(problem, **params):
    return LabelTreeClassifier(scale="max", bits=18, random_state=0, **params).partial_fit(*problem)


@CHANGED
def test_settings_matter_and_are_saved(problem, params, tmp_path):
    X, y = problem
    clf = learned(problem, **params)
    less = {name: params[name] for name in list(params)[:-1]}
    default = learned(problem, **less)
    assert not np.allclose(clf.predict_topk(X, 2)[1], default.predict_topk(X, 2)[1])
    clf.save(tmp_path / "m")
    resumed = load(tmp_path / "m")
    assert resumed.get_params() == clf.get_params()
    for model in (clf, resumed):
        model.partial_fit(X[::-1], y[::-1])
    for name, array in clf._learner.state().items():
        np.testing.assert_array_equal(resumed._learner.state()[name], array, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learn_jobs", None),
        ("n_trees", 0),
        ("candidates", 0),
        ("beam", 0),
        ("alpha", 1.5),
        ("index_length", -1),
        ("index_candidates", 2.5),
        ("scorers", "no"),
        ("organize", None),
        ("step", 0.0),
        ("scorer_step", -1),
        ("threshold", 2.0),
    ],
)
def test_bad_values_are_refused(problem, name, value):
    for method in ("fit", "partial_fit"):
        clf = LabelTreeClassifier(**{name: value})
        with pytest.raises(ValueError, match=f"'{name}' parameter .* Got {value!r} inst") as error:
            getattr(clf, method)(*problem)
        assert "\n" not in str(error.value)


def test_probabilities_sum_to_one_also_for_labels_that_came_after_fit(problem):
    X, y = problem
    old = y < K // 2
    clf = LabelTreeClassifier(random_state=0).fit(X[old], y[old]).partial_fit(X[~old], y[~old])
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-4)
    assert len(clf.tree_.roots) == clf.n_trees_
    assert 0 < clf.recall_ < 1


def test_features_that_come_in_a_later_pass_are_learned():
    X, y = np.eye(40, dtype=np.float32), np.arange(40) % 4
    weight = np.float32(np.arange(40) < 4)  # of the first pass
    clf = LabelTreeClassifier(random_state=0)
    clf.begin_pass(again=False, more=True)
    clf.partial_fit(X, y, sample_weight=weight)
    for turn in range(5):
        clf.begin_pass(again=True, more=turn < 4)
        clf.partial_fit(X, y)
    assert clf.predict(X).tolist() == y.tolist()


def test_a_later_pass_goes_on_exactly_with_features_that_are_new(tmp_path):
    rng = np.random.default_rng(0)
    first = sp.random(100, 20, density=0.3, format="csr", random_state=rng, dtype=np.float32)
    later = sp.hstack([2 * first, first]).tocsr()
    y = first.toarray()[:, :4].argmax(axis=1)
    clf = LabelTreeClassifier(random_state=0)
    clf.begin_pass(again=False, more=True)
    clf.partial_fit(sp.hstack([first, sp.csr_matrix((100, 20))]).tocsr(), y)
    clf.begin_pass(again=True)
    clf.save(tmp_path / "m")
    resumed = load(tmp_path / "m")
    for model in (clf, resumed):
        model.partial_fit(later, y)
    for name, array in clf._learner.state().items():
        np.testing.assert_array_equal(array, resumed._learner.state()[name], err_msg=name)


def test_room_for_labels_that_are_not_learned_changes_no_score():
    """Similar labels are looked for in another way then, also by weights hardly above zero."""
    X = sp.random(400, 400, density=10 / 400, format="csr", random_state=0, dtype=np.float32)
    y, weight = np.arange(400) % 200, np.full(200, 1e-37, dtype=np.float32)
    answers = []
    for more in (0, 20_000):
        clf = LabelTreeClassifier(random_state=0, index_length=16).partial_fit(X[:200], y[:200])
        if more:
            nothing = sp.csr_matrix((more, 400), dtype=np.float32)
            clf.partial_fit(nothing, np.arange(1000, 1000 + more), sample_weight=np.zeros(more))
        answers.append(clf.partial_fit(X[200:], y[200:], sample_weight=weight).predict_topk(X, 5))
    for alone, beside in zip(*answers, strict=True):
        np.testing.assert_array_equal(alone, beside)


@pytest.mark.parametrize(("size", "trees", "candidates"), [(4, 3, 10), (12, 1, 16), (30, 1, 30)])
def test_large_sets_are_proposed_by_one_tree(size, trees, candidates):
    rng = np.random.default_rng(0)
    X = sp.random(100, 50, density=0.2, format="csr", random_state=rng) * 5  # not of unit length
    sets = [sorted(rng.choice(60, size, replace=False).tolist()) for _ in range(100)]
    clf = LabelTreeClassifier(random_state=0).partial_fit(X, sets)
    assert (clf.n_trees_, clf.candidates_, clf.index_length_) == (trees, candidates, 0)
    given = LabelTreeClassifier(random_state=0, n_trees=2, candidates=7).partial_fit(X, sets)
    assert (given.n_trees_, given.candidates_) == (2, 7)


def test_sets_in_every_form(problem):
    X, y = problem
    sets = [[int(label), K + int(label) % 3] if label else [] for label in y]
    dense = np.zeros((300, K + 3), np.int64)
    for row, labels in enumerate(sets):
        dense[row, labels] = 1
    probabilities = []
    for target in (sets, dense, sp.csr_matrix(dense)):
        clf = LabelTreeClassifier(random_state=0).fit(X, target)
        p = clf.predict_proba(X)
        assert ((p >= 0) & (p <= 1)).all()
        probabilities.append(np.sort(p, axis=1)[:, -2:])
        assert type(clf.predict(X)) is type(target)
        clf.set_params(threshold=1.0)
        few = clf.predict(X)
        assert (sum(map(len, few)) if target is sets else few.sum()) < sum(map(len, sets)) / 2
    np.testing.assert_array_equal(probabilities[1], probabilities[2])


def test_rows_of_weight_zero_do_not_shape_the_trees(problem):
    X, y = problem
    weight = (y >= 5).astype(float)
    clf = LabelTreeClassifier(random_state=0).fit(X, y, sample_weight=weight)
    assert set(clf.tree_.label) - {None} == set(y[y >= 5])
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-4)


class TestThreadsThatLearn:
    """Several threads: nothing is lost but now and then an update of a weight."""

    @pytest.fixture
    def stream(self):
        return make_multiclass(8000, 300, n_features=2000, nnz=12, skew=0.5, random_state=3)

    @pytest.mark.parametrize("sets", [False, True])
    @pytest.mark.parametrize("params", [{}, {"index_length": 0, "n_trees": 2}], ids=str)
    def test_every_example_counts_once_and_labels_come_at_any_time(self, stream, params, sets):
        X, y = stream
        labels = [sorted({int(label), int(label) // 2}) for label in y] if sets else y
        clf = LabelTreeClassifier(learn_jobs=6, random_state=0, **params).partial_fit(X, labels)
        alone = LabelTreeClassifier(random_state=0, **params).partial_fit(X, labels)
        state, expected = clf._learner.state(), alone._learner.state()
        np.testing.assert_array_equal(state["counts"], expected["counts"])
        assert state["examples"] == expected["examples"] == len(y)
        assert state["sought"] == expected["sought"]
        assert clf.n_labels_ == alone.n_labels_
        assert clf.progress_.examples == len(y)
        alone._make_learner().restore(state)  # checks that trees, index and scorers are sound
        assert abs(clf.score(X, labels) - alone.score(X, labels)) < 0.05

    def test_none_are_refused_before_anything_changes(self, stream):
        X, y = stream
        clf = LabelTreeClassifier(random_state=0).partial_fit(X[:50], y[:50])
        clf.learn_jobs = 0
        with pytest.raises(ValueError, match="learn_jobs is 0, expected a number of threads"):
            clf.partial_fit(X[50:], y[50:])
        assert clf._learner.examples == 50

    def test_fit_learns_as_well(self, stream):
        X, y = stream
        clf = LabelTreeClassifier(learn_jobs=2, random_state=0).fit(X[:6000], y[:6000])
        alone = LabelTreeClassifier(random_state=0).fit(X[:6000], y[:6000])
        assert clf.score(X[6000:], y[6000:]) > alone.score(X[6000:], y[6000:]) - 0.02

    def test_one_thread_repeats_itself_whatever_serves_predictions(self, stream):
        X, y = stream
        a = LabelTreeClassifier(n_jobs=2, random_state=0).fit(X[:500], y[:500])
        b = LabelTreeClassifier(random_state=0).fit(X[:500], y[:500])
        for name, array in a._learner.state().items():
            np.testing.assert_array_equal(b._learner.state()[name], array, name)


def test_the_hashed_table_is_as_large_as_the_rows_need():
    """One of 2 ** 26 weights for rows that use few of them would cost half a gigabyte."""
    X, y = make_multiclass(2000, 500, n_features=2**20, nnz=10, random_state=0)
    clf = LabelTreeClassifier(random_state=0, passes=1).fit(X, y)
    assert clf.layout_ == "hashed"
    assert 16 <= clf.bits_ <= 21
    larger = LabelTreeClassifier(random_state=0, passes=1, bits=24).fit(X, y)
    assert clf.progress_.error == pytest.approx(larger.progress_.error, abs=0.02)


class TestProbabilities:
    """They mean what they say, and do not depend on how many labels are asked for."""

    @pytest.fixture
    def stream(self):
        X, y = make_multiclass(
            9000, 400, n_features=300, nnz=5, noise=0.6, skew=0.7, random_state=5
        )
        sets = [sorted({int(label), 400 + int(label) % 7}) for label in y]
        return X, y, sets

    @pytest.mark.parametrize("params", [{"passes": 1}, {}, {"index_length": 0}], ids=str)
    def test_error_of_the_best_label_is_small(self, stream, params):
        X, y, _ = stream
        clf = LabelTreeClassifier(random_state=0, **params).fit(X[:6000], y[:6000])
        labels, p = clf.predict_topk(X[6000:], k=1)
        assert 0.2 < clf.score(X[6000:], y[6000:]) < 0.95
        assert calibration_error(y[6000:], labels, p) < 0.05
        table = clf.predict_proba(X[6000:6100])
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-4)
        np.testing.assert_allclose(table.max(axis=1), p[:100, 0], rtol=1e-5)

    @pytest.mark.parametrize("update", ["adaptive", "dual"])
    def test_error_of_sets_is_small(self, stream, update):
        X, _, sets = stream
        clf = LabelTreeClassifier(random_state=0, update=update).fit(X[:6000], sets[:6000])
        labels, p = clf.predict_topk(X[6000:], k=10)
        for threshold in (0.0, 0.3, 0.5, 0.7):
            error = calibration_error(sets[6000:], labels, p, threshold=threshold)
            assert error < 0.06, threshold

    @pytest.mark.parametrize("form", ["single", "sets"])
    @pytest.mark.parametrize(
        "params", [{}, {"candidates": 2, "index_length": 0, "n_trees": 1}], ids=str
    )
    def test_more_labels_follow_those_that_fewer_give(self, stream, form, params):
        X, y, sets = stream
        target = y if form == "single" else sets
        clf = LabelTreeClassifier(random_state=0, **params).fit(X[:3000], target[:3000])
        labels, p = clf.predict_topk(X[3000:3300], k=10**6)
        assert (labels != None).sum(axis=1).min() > 50  # noqa: E711
        assert (np.diff(np.where(np.isfinite(p), p, 0)) <= 0).all()
        own = params.get("candidates", 10)  # at least; further ones are looked for as need be
        for k in (1, 2, 5, 10, 40):
            best = clf.predict_topk(X[3000:3300], k=k)
            np.testing.assert_array_equal(best[0][:, :own], labels[:, : min(k, own)])
            np.testing.assert_array_equal(best[1][:, :own], p[:, : min(k, own)])

    def test_weights_count(self, stream):
        """Half of the rows have weight 0 and wrong labels: what is said is true of the others."""
        X, y, _ = stream
        wrong = np.where(np.arange(9000) % 2, y, (y * 7 + 3) % 400)
        weight = (np.arange(9000) % 2).astype(float)
        clf = LabelTreeClassifier(random_state=0)
        clf.fit(X[:6000], wrong[:6000], sample_weight=weight[:6000])
        labels, p = clf.predict_topk(X[6000:], k=1)
        assert calibration_error(y[6000:], labels, p) < 0.1  # 0.2 if wrong ones counted


class TestReplay:
    """A stream learns rows of its past again, in bounded memory."""

    @pytest.fixture
    def stream(self):
        return make_multiclass(
            5000, 500, n_features=200, nnz=4, noise=0.5, skew=0.5, random_state=2
        )

    @staticmethod
    def bytes_kept(clf):
        arrays = clf._learner.state()
        return sum(a.nbytes for name, a in arrays.items() if name.startswith("replay"))

    @pytest.mark.parametrize("index_length", [0, None])
    def test_precision_gains(self, stream, index_length):
        X, y = stream
        scores = [
            LabelTreeClassifier(replay=replay, index_length=index_length, random_state=0)
            .partial_fit(X[:4000], y[:4000])
            .score(X[4000:], y[4000:])
            for replay in (0, 64)
        ]
        assert scores[1] > scores[0] + 0.01, scores

    def test_trees_grown_anew_gain_precision(self):
        rng = np.random.default_rng(0)
        groups = rng.normal(size=(15, 24))
        centres = groups[rng.integers(0, 15, 300)] + 0.7 * rng.normal(size=(300, 24))
        y = rng.integers(0, 300, 4200)
        X = (centres[y] + 0.9 * rng.normal(size=(4200, 24))).astype(np.float32)
        scores = [
            LabelTreeClassifier(organize=organize, random_state=0)
            .partial_fit(X[:3600], y[:3600])
            .score(X[3600:], y[3600:])
            for organize in (False, True)
        ]
        assert scores[1] > scores[0] + 0.02, scores

    @pytest.mark.parametrize("update", ["adaptive", "dual"])
    def test_memory_is_bounded(self, stream, update):
        X, y = stream
        X, y = sp.vstack([X] * 8).tocsr(), np.tile(y, 8)
        clf = LabelTreeClassifier(replay=1, random_state=0, update=update).partial_fit(X, y)
        assert 2**18 < self.bytes_kept(clf) < 2**20
        numbers = clf._learner.state()["replay_number"]
        assert len(np.unique(numbers)) == len(numbers)
        assert abs(numbers.mean() / len(y) - 0.5) < 0.1  # of all times alike

    def test_rows_are_no_part_of_what_was_fitted_or_compiled(self, stream):
        X, y = stream
        clf = LabelTreeClassifier(random_state=0).fit(X, y)
        assert self.bytes_kept(clf) < 100
        clf.partial_fit(X[:100], y[:100])
        assert self.bytes_kept(clf) > 1000
        assert self.bytes_kept(clf.compile()) == 0

    def test_announced_passes_keep_none(self, stream):
        X, y = stream
        clf = LabelTreeClassifier(random_state=0)
        clf.begin_pass(again=False, more=True)
        clf.partial_fit(X, y)
        assert self.bytes_kept(clf) < 100

    def test_long_rows_do_not_drive_out_the_others(self):
        X, y = make_multiclass(3000, 50, n_features=200_000, nnz=5, random_state=0)
        long = sp.csr_matrix(np.ones((1, 200_000), dtype=np.float32))
        clf = LabelTreeClassifier(replay=1, random_state=0, bits=14)
        clf.partial_fit(sp.vstack([long, X]).tocsr(), np.append(0, y))
        kept = clf._learner.state()["replay_number"]
        assert len(kept) > 2500
        assert 0 not in kept

    def test_files_that_lie_about_rows_are_refused(self, stream):
        X, y = stream
        clf = LabelTreeClassifier(random_state=0).partial_fit(X[:50], y[:50])
        state = clf._learner.state()
        for name, value in {
            "replay_seen": np.array([2**64 - 1], np.uint64),
            "replay_label": state["replay_label"] + np.uint32(10**6),
            "replay_weight": -state["replay_weight"],
            "replay_value_end": state["replay_value_end"][::-1].copy(),
        }.items():
            with pytest.raises(ValueError, match="saved row"):
                clf._make_learner().restore({**state, name: value})
