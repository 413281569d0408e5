"""The probability tree as an estimator: probabilities of labels, exact search, settings."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from labeltree import LOMTreeClassifier, PECOCClassifier, ProbabilityTreeClassifier, load
from labeltree.datasets import make_multiclass
from tests.reference.pecoc import PECOC
from tests.tree import RULE, as_dicts, learn
from tests.tree.test_probability_tree import make_core

K, D = 12, 40

VARIANTS = pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "squared"},
        {"tree": "random", "alpha": 0.1},
        {"tree": "balanced", "arity": 4},
        {"arity": 8, "layout": "hashed", "bits": 16},
        {"copy_leaves": True, "alpha": 0.0},
    ],
    ids=str,
)


@pytest.fixture(scope="module")
def problem():
    """Rows that overlap, so that every label has a chance, and labels that are words."""
    X, y = make_multiclass(400, K, n_features=D, nnz=6, noise=0.7, random_state=0)
    return X, np.array([f"label {label}" for label in y], dtype=object)


def fitted(problem, **params):
    return ProbabilityTreeClassifier(**{"random_state": 0, **params}).fit(*problem)


def columns(clf, X):
    """The probabilities of all labels, one label at a time."""
    return np.stack([clf.label_proba(X, [label] * X.shape[0]) for label in clf.classes_], axis=1)


class TestProbabilities:
    @VARIANTS
    def test_of_one_label_is_that_of_all(self, problem, params):
        clf = fitted(problem, **params)
        X, y = problem
        p = clf.predict_proba(X)
        assert p.shape == (400, K)
        assert 0.01 < np.median(p) < 0.5  # or there would be nothing to compare
        np.testing.assert_allclose(columns(clf, X), p, rtol=1e-4, atol=1e-7)
        own = p[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
        np.testing.assert_allclose(clf.label_proba(X, y), own, rtol=1e-4, atol=1e-7)

    @VARIANTS
    def test_sum_to_one(self, problem, params):
        clf = fitted(problem, **params)
        X = problem[0][:50]
        np.testing.assert_allclose(columns(clf, X).sum(axis=1), 1.0, rtol=1e-5)
        np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)

    def test_sum_to_one_whenever_a_label_appears(self, problem):
        X, y = problem
        clf = ProbabilityTreeClassifier(random_state=0)
        for label in range(K):
            rows = y == f"label {label}"
            clf.partial_fit(X[rows], y[rows])
            assert clf.predict_proba(X).shape == (400, label + 1)
            np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)

    def test_rank_the_right_label_first(self, problem):
        X, y = problem
        clf = fitted(problem, passes=10, arity=2)
        assert np.mean(clf.classes_[clf.predict_proba(X).argmax(axis=1)] == y) > 0.65
        assert clf.label_proba(X, y).mean() > 0.45

    def test_a_label_never_learned_has_none(self, problem):
        X, y = problem
        weight = (y != "label 3").astype(float)
        clf = ProbabilityTreeClassifier(random_state=0)
        clf.partial_fit(X, y, classes=["declared"], sample_weight=weight)
        before = columns(clf, X)
        asked = y.copy()
        asked[::4] = "declared"  # in the vocabulary
        asked[1::4] = "label 3"  # seen with weight zero
        asked[2::4] = "unheard of"
        p = clf.label_proba(X, asked)
        assert not p[::4].any()
        assert not p[1::4].any()
        assert not p[2::4].any()
        assert (p[3::4] > 0).sum() == (y[3::4] != "label 3").sum()
        assert not clf.predict_proba(X)[:, np.isin(clf.classes_, ["declared", "label 3"])].any()
        np.testing.assert_array_equal(columns(clf, X), before)  # asking teaches nothing
        assert "unheard of" not in clf.classes_

    def test_a_number_is_not_its_name(self):
        X, y = make_multiclass(60, 3, n_features=8)
        clf = ProbabilityTreeClassifier(random_state=0).fit(X, y)
        assert (clf.label_proba(X, y) > 0).all()
        assert not clf.label_proba(X, y.astype(str)).any()

    def test_of_the_only_label_is_one(self):
        X = np.eye(3)
        clf = ProbabilityTreeClassifier().fit(X, [7, 7, 7])
        assert clf.label_proba(X, [7, 8, 7]).tolist() == [1.0, 0.0, 1.0]
        assert clf.predict_proba(X).tolist() == [[1.0]] * 3
        assert clf.predict(X).tolist() == [7] * 3


class TestErrors:
    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (["label 1"] * 9, "X has 10 rows, y has 9"),
            ([["label 1"]] * 10, "labels as a set a row, expected one a row"),
            (np.eye(10, K), "labels as an indicator matrix, expected one a row"),
            ([0.5] * 10, "the label 0.5 of row 0 is a float"),
            (None, "the target y is None"),
        ],
    )
    def test_labels_to_ask_about(self, problem, y, message):
        clf = fitted(problem)
        with pytest.raises(ValueError, match=message):
            clf.label_proba(problem[0][:10], y)

    def test_rows_of_another_width(self, problem):
        X, y = problem
        clf = fitted(problem)
        with pytest.raises(ValueError, match="39 features"):
            clf.label_proba(X[:, 1:], y)
        with pytest.raises(ValueError, match="39 features"):
            clf.predict_proba(X[:, 1:])

    def test_before_anything_was_learned(self, problem):
        X, y = problem
        new = ProbabilityTreeClassifier()
        with pytest.raises(NotFittedError, match="not fitted yet"):
            new.label_proba(X, y)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            new.predict_proba(X)
        weightless = new.partial_fit(X, y, sample_weight=np.zeros(400))
        with pytest.raises(NotFittedError, match="no label was learned yet"):
            weightless.label_proba(X, y)

    @pytest.mark.parametrize("form", ["sets", "indicator"])
    def test_sets_after_single_labels(self, problem, form):
        X = problem[0][:10]
        y = [["label 1", "label 2"]] * 10 if form == "sets" else np.eye(10, K)
        given = {"sets": "a set a row", "indicator": "an indicator matrix"}[form]
        expected = f"labels as {given}, expected one a row"
        for method in (fitted(problem).partial_fit, fitted(problem).score):
            with pytest.raises(ValueError, match=expected):
                method(X, y)


class TestSearch:
    @VARIANTS
    @pytest.mark.parametrize("k", [1, 3, K])
    def test_without_a_budget_is_sorting(self, problem, params, k):
        clf = fitted(problem, search_budget=0, **params)
        X = problem[0]
        p = columns(clf, X)
        labels, scores = clf.predict_topk(X, k)
        np.testing.assert_allclose(scores, -np.sort(-p, axis=1)[:, :k], rtol=1e-4, atol=1e-7)
        own = np.take_along_axis(p, np.searchsorted(clf.classes_, labels), axis=1)
        np.testing.assert_allclose(own, scores, rtol=1e-4, atol=1e-7)
        assert all(len(set(row)) == k for row in labels.tolist())
        np.testing.assert_array_equal(clf.predict(X), clf.predict_topk(X, 1)[0][:, 0])

    def test_asks_for_no_more_labels_than_there_are(self, problem):
        labels, scores = fitted(problem).predict_topk(problem[0], 1000)
        assert labels.shape == scores.shape == (400, K)

    def test_budget_limits_it(self):
        """One expansion a label is a walk down; it must miss labels that an exact search finds."""
        X, y = make_multiclass(3000, 300, n_features=64, nnz=6, noise=0.9, random_state=0)
        shares = {}
        exact = ProbabilityTreeClassifier(arity=2, search_budget=0, random_state=0).fit(X, y)
        best = exact.label_proba(X, exact.predict(X))
        for budget in (1, 4, 64):
            clf = ProbabilityTreeClassifier(arity=2, search_budget=budget, random_state=0)
            clf.fit(X, y)
            found = exact.label_proba(X, clf.predict(X))
            assert (found <= best * (1 + 1e-4)).all()
            shares[budget] = np.mean(found >= best * (1 - 1e-4))
        assert shares[1] < shares[4] < shares[64] <= 1.0
        assert shares[1] < 0.9


class TestProgress:
    def test_squared_loss_is_that_of_the_estimates_before_each_example(self, problem):
        X, y = problem
        clf = ProbabilityTreeClassifier(scale="none", random_state=0)
        total, reached = 0.0, 0.0
        for i in range(150):
            p = clf.label_proba(X[i : i + 1], y[i : i + 1])[0] if i else 0.0
            total += (1 - float(p)) ** 2
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
            assert clf.progress_.squared_loss_sum == pytest.approx(total, rel=1e-5)
            reached = max(reached, p)
        assert reached > 0.3
        assert clf.progress_.squared_loss == clf.progress_.squared_loss_sum / 150
        assert clf.progress_.squared_loss < 1.0

    def test_a_new_label_was_impossible(self):
        clf = ProbabilityTreeClassifier().partial_fit(np.eye(4), [1, 2, 3, 4])
        assert clf.progress_.squared_loss == 1.0

    def test_counts_the_first_pass_only(self, problem):
        one, three = fitted(problem, passes=1), fitted(problem, passes=3)
        assert one.progress_ == three.progress_
        assert one.progress_.examples == 400
        assert 0.2 < one.progress_.squared_loss < 1.0

    def test_leaves_out_rows_of_weight_zero(self, problem):
        X, y = problem
        weight = (np.arange(400) % 2).astype(float)
        halved = ProbabilityTreeClassifier(random_state=0, scale="none")
        plain = ProbabilityTreeClassifier(random_state=0, scale="none")
        halved.partial_fit(X, y, sample_weight=weight)
        progress = halved.progress_
        assert progress.passed_over == len(y) - progress.examples
        progress.passed_over = progress.passed_over_errors = 0
        assert progress == plain.partial_fit(X[1::2], y[1::2]).progress_

    def test_is_saved(self, problem, tmp_path):
        clf = fitted(problem)
        clf.save(tmp_path / "m")
        assert load(tmp_path / "m").progress_ == clf.progress_

    def test_is_unknown_to_trees_without_probabilities(self, problem):
        assert np.isnan(LOMTreeClassifier().fit(*problem).progress_.squared_loss)


class TestPECOC:
    @pytest.mark.parametrize("k", [4, 8])
    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("estimates", ["shares", "clipped", "formula"])
    def test_is_what_one_node_with_all_labels_is(self, k, loss, estimates):
        X, y = make_multiclass(200, k, n_features=20, nnz=5, noise=0.6, random_state=0)
        X = X.toarray()
        settings = {"scale": "none", "layout": "dense", "random_state": 0}
        settings |= {"loss": loss, "estimates": estimates}
        clf = ProbabilityTreeClassifier(arity=k, **settings).partial_fit(X, y)
        assert clf.tree_.parent.tolist() == [-1] + [0] * k

        reference = PECOC({**RULE, "loss": loss, "step": clf.step_}, "none", k, estimates)
        for x, label in zip(as_dicts(X), y.tolist(), strict=True):
            reference.learn(x, label)
        expected = [reference.probabilities(x) for x in as_dicts(X[:40])]
        assert clf.classes_.tolist() == list(reference.column)
        p = clf.predict_proba(X[:40])
        np.testing.assert_allclose(p, [list(q.values()) for q in expected], rtol=1e-3, atol=1e-5)
        assert clf.predict(X[:40]).tolist() == [max(q, key=q.get) for q in expected]

        baseline = PECOCClassifier(max_labels=k, **settings).partial_fit(X, y)
        assert baseline.arity_ == k
        for name, array in clf._learner.state().items():
            np.testing.assert_array_equal(baseline._learner.state()[name], array, name)


class TestSettings:
    CHANGED = pytest.mark.parametrize(
        "params",
        [
            {"tree": "random"},
            {"tree": "balanced"},
            {"alpha": 0.1},
            {"arity": 4},
            {"copy_leaves": True},
            {"loss": "squared"},
            {"step": 0.1},
            {"min_gradient": 0.3},
        ],
        ids=str,
    )

    @CHANGED
    def test_reach_the_core(self, params):
        X, y = make_multiclass(200, K, n_features=20, nnz=5, noise=0.6, random_state=0)
        X = X.toarray()
        base = {"scale": "none", "layout": "dense", "random_state": 3, "arity": 2}
        default = ProbabilityTreeClassifier(**base).partial_fit(X, y, classes=range(K))
        clf = ProbabilityTreeClassifier(**{**base, **params})
        clf.partial_fit(X, y, classes=range(K))
        rule = {"loss": "logistic", "step": 0.4, "min_gradient": 1e-3}
        shape = {"tree": "online", "alpha": 0.8, "arity": 2, "copy_leaves": False}
        rule = {**RULE, **{name: params.get(name, value) for name, value in rule.items()}}
        shape = {name: params.get(name, value) for name, value in shape.items()}
        core = make_core(K, 20, rule, shape=shape.pop("tree"), seed=clf.seed_, **shape)
        learn(core, X, y)
        for name, array in core.state().items():
            np.testing.assert_array_equal(clf._learner.state()[name], array, name)
        assert not np.allclose(clf.predict_proba(X), default.predict_proba(X), atol=1e-3)

    @CHANGED
    def test_are_saved_with_the_model(self, problem, params, tmp_path):
        X, y = problem
        params = {**params, "search_budget": 3}
        clf = ProbabilityTreeClassifier(random_state=0, **params).partial_fit(X[:200], y[:200])
        clf.save(tmp_path / "m")
        resumed = load(tmp_path / "m")
        assert {name: resumed.get_params()[name] for name in params} == params
        clf.partial_fit(X[200:], y[200:])
        resumed.partial_fit(X[200:], y[200:])
        for one, two in zip(clf.predict_topk(X, 3), resumed.predict_topk(X, 3), strict=True):
            np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"tree": "tall"}, "'tree' parameter .* Got 'tall' instead"),
            ({"alpha": 1.1}, "'alpha' parameter .* Got 1.1 instead"),
            ({"alpha": float("nan")}, "'alpha' parameter .* Got nan instead"),
            ({"arity": 1}, "'arity' parameter .* Got 1 instead"),
            ({"arity": 3}, "arity is 3, expected a power of two from 2 to 2\\^20"),
            ({"search_budget": -1}, "'search_budget' parameter .* Got -1 instead"),
            ({"search_budget": 2**80}, "'search_budget' parameter .* Got 12089.* instead"),
            ({"copy_leaves": "yes"}, "'copy_leaves' parameter .* Got 'yes' instead"),
            ({"loss": "hinge"}, "'loss' parameter .* Got 'hinge' instead"),
            ({"step": 0}, "'step' parameter .* Got 0 instead"),
        ],
    )
    def test_bad_values_are_refused(self, problem, params, message):
        clf = fitted(problem)
        before = columns(clf, problem[0])
        with pytest.raises(ValueError, match=message):
            clf.set_params(**params).fit(*problem)
        np.testing.assert_array_equal(columns(clf, problem[0]), before)


class TestSets:
    """Rows with sets of labels."""

    @pytest.fixture
    def sets(self):
        X, y = make_multiclass(1200, 40, n_features=256, nnz=10, noise=0.2)
        return X, [[int(label), 100 + int(label) % 3] for label in y]

    @pytest.mark.parametrize("tree", ["online", "balanced"])
    def test_are_learned(self, sets, tree):
        X, y = sets
        clf = ProbabilityTreeClassifier(tree=tree, random_state=0).fit(X[:1000], y[:1000])
        found, _ = clf.predict_topk(X[1000:], 2)
        right = np.mean([set(f) == set(t) for f, t in zip(found.tolist(), y[1000:], strict=True)])
        assert right > 0.8
        same = [set(p) == set(t) for p, t in zip(clf.predict(X[1000:]), y[1000:], strict=True)]
        assert np.mean(same) > 0.7

    def test_search_is_exact_without_a_budget(self, sets):
        X, y = sets
        clf = ProbabilityTreeClassifier(search_budget=0, random_state=0).fit(X[:300], y[:300])
        p = clf.predict_proba(X[300:340])
        _, scores = clf.predict_topk(X[300:340], 5)
        np.testing.assert_allclose(scores, -np.sort(-p, axis=1)[:, :5], rtol=1e-5)
        assert ((p >= 0) & (p <= 1)).all()

    def test_label_proba_is_the_column_of_predict_proba(self, sets):
        X, y = sets
        clf = ProbabilityTreeClassifier(random_state=0).fit(X[:300], y[:300])
        column = clf.classes_.tolist().index(101)
        np.testing.assert_allclose(
            clf.label_proba(X[300:320], [101] * 20),
            clf.predict_proba(X[300:320])[:, column],
            rtol=1e-5,
        )
        with pytest.raises(ValueError, match="y gives labels as a set a row, expected one a row"):
            clf.label_proba(X[:2], [[1], [2]])

    def test_every_label_above_the_threshold_is_predicted(self, sets):
        X, y = sets
        clf = ProbabilityTreeClassifier(random_state=0, threshold=0.0).fit(X[:300], y[:300])
        assert all(len(labels) == clf.n_labels_ for labels in clf.predict(X[:5]))
        clf.set_params(threshold=1.0)
        assert all(len(labels) == 0 for labels in clf.predict(X[:5]))

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"arity": 2}, "arity is 2, expected 8 for label sets"),
            ({"estimates": "formula"}, "estimates is 'formula', expected 'shares' for label sets"),
            ({"tree": "random"}, "tree is 'random', expected 'online' or 'balanced' for label"),
            ({"loss": "squared"}, "loss is 'squared', expected 'logistic' for label sets"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, sets, params, message):
        X, y = sets
        with pytest.raises(ValueError, match=message):
            ProbabilityTreeClassifier(**params).fit(X, y)
