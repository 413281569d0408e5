"""The random tree, the filter tree and PECOC: against slow versions, and as labels come in."""

import math

import numpy as np
import pytest

from labeltree import FilterTreeClassifier, PECOCClassifier, RandomTreeClassifier, load
from labeltree.datasets import make_multiclass
from tests.reference.fixed_trees import FilterTree, RandomTree
from tests.reference.pecoc import PECOC
from tests.tree import RULE, as_dicts

TREES = {RandomTreeClassifier: RandomTree, FilterTreeClassifier: FilterTree}
EACH = pytest.mark.parametrize(
    "estimator", [RandomTreeClassifier, FilterTreeClassifier, PECOCClassifier]
)


def problem(n=250, labels=17, random_state=0):
    X, y = make_multiclass(
        n, labels, n_features=32, nnz=6, noise=0.5, skew=0.5, random_state=random_state
    )
    return X.toarray(), y


def root_weights(clf):
    state = clf._learner.state()
    table = state["weights"].reshape(len(state["weights_row"]), -1)
    return table[state["weights_row"] == 0]


def path_to(tree, label):
    node, path = int(np.flatnonzero(tree.label == label)[0]), []
    while node >= 0:
        path.append(node)
        node = tree.parent[node]
    return path


class TestReference:
    @pytest.mark.parametrize("estimator", TREES)
    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("layout", ["dense", "hashed"])
    def test_trees_decide_alike(self, estimator, loss, layout):
        X, y = problem()
        weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y)).astype(np.float32)
        clf = estimator(loss=loss, layout=layout, scale="none")
        clf.partial_fit(X, y, sample_weight=weight)

        reference = TREES[estimator]({**RULE, "loss": loss, "step": clf.step_}, "none")
        predicted = [
            reference.learn(x, label, h)
            for x, label, h in zip(as_dicts(X), y.tolist(), weight.tolist(), strict=True)
        ]
        assert clf.progress_.errors == np.sum(np.array(predicted, object) != y)
        tree = clf.tree_
        assert tree.parent.tolist() == [
            node.parent.number if node.parent else -1 for node in reference.nodes
        ]
        assert tree.label.tolist() == [node.label for node in reference.nodes]
        rows, _ = problem(60, random_state=1)
        expected = [reference.topk(x, 1)[0] for x in as_dicts(rows)]
        assert clf.predict(rows).tolist() == [label for label, _ in expected]
        scores = clf.predict_topk(rows, 1)[1][:, 0]
        np.testing.assert_allclose(scores, [p for _, p in expected], rtol=1e-3)

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("labels", [4, 5, 17])
    @pytest.mark.parametrize("estimates", ["shares", "clipped", "formula"])
    def test_pecoc_estimates_alike(self, loss, labels, estimates):
        X, y = problem(200, labels)
        clf = PECOCClassifier(
            loss=loss, scale="none", max_labels=labels, estimates=estimates
        ).partial_fit(X, y)
        room = 1 << math.ceil(math.log2(labels))
        assert clf.arity_ == room

        reference = PECOC({**RULE, "loss": loss, "step": clf.step_}, "none", room, estimates)
        for x, label in zip(as_dicts(X), y.tolist(), strict=True):
            reference.learn(x, label)
        rows, _ = problem(30, labels, random_state=1)
        found, scores = clf.predict_topk(rows, labels)
        for row, x in enumerate(as_dicts(rows)):
            expected = reference.probabilities(x)
            assert clf.predict(rows)[row] == max(expected, key=expected.get)
            np.testing.assert_allclose(
                scores[row], [expected[label] for label in found[row]], rtol=1e-3, atol=1e-5
            )

    @pytest.mark.parametrize("estimator", TREES)
    def test_filter_keeps_from_the_root_what_nodes_below_get_wrong(self, estimator):
        X, y = problem()
        clf = estimator(layout="dense", scale="none").partial_fit(X, y)
        kept, taught = 0, 0
        for x, label, predicted in zip(X[:, None], y, clf.predict(X), strict=True):
            before = root_weights(clf)
            clf.partial_fit(x, [label], sample_weight=[1e-3])  # too little to change a prediction
            changed = (root_weights(clf) != before).any()
            if predicted == label or estimator is RandomTreeClassifier:
                taught += changed
            else:
                assert not changed or clf.tree_.path(x)[1] not in path_to(clf.tree_, label)
                kept += not changed
        assert taught > 100
        assert (kept > 10) == (estimator is FilterTreeClassifier)


class TestShape:
    @pytest.mark.parametrize("estimator", TREES)
    @pytest.mark.parametrize("labels", [1, 2, 3, 31, 32, 33, 500])
    def test_is_as_low_as_can_be(self, estimator, labels):
        X = np.random.default_rng(0).normal(size=(labels, 4))
        tree = estimator(random_state=0).fit(X, np.arange(labels)).tree_
        assert tree.depth == math.ceil(math.log2(labels))
        assert tree.n_leaves == labels
        assert tree.n_nodes == 2 * labels - 1

    @pytest.mark.parametrize("estimator", TREES)
    def test_does_not_depend_on_the_rows(self, estimator):
        X, y = problem()
        one = estimator().partial_fit(X, y).tree_
        two = estimator(step=10.0).partial_fit(-3 * X[::-1], y).tree_
        assert one.parent.tolist() == two.parent.tolist()
        assert one.label.tolist() == two.label.tolist()

    def test_depends_on_the_order_of_the_labels(self):
        X, y = problem()
        trees = [RandomTreeClassifier(random_state=seed).fit(X, y).tree_ for seed in (0, 0, 1)]
        assert trees[0].label.tolist() == trees[1].label.tolist()
        assert trees[0].label.tolist() != trees[2].label.tolist()


class TestNewLabels:
    @EACH
    def test_are_learned_and_the_old_ones_kept(self, estimator):
        X, y = make_multiclass(1500, 24, n_features=256, random_state=0)
        late = y >= 12
        clf = estimator(random_state=0)
        for _ in range(3):
            clf.partial_fit(X[~late], y[~late])
        assert clf.score(X[~late], y[~late]) > 0.9
        assert clf.n_labels_ == 12
        for _ in range(3):
            clf.partial_fit(X, y)
        assert clf.n_labels_ == 24
        assert clf.score(X[late], y[late]) > 0.85
        assert clf.score(X[~late], y[~late]) > 0.85

    def test_fill_pecocs_code_in_the_order_they_come(self):
        clf = PECOCClassifier(max_labels=8)
        for label in "gecad":
            clf.partial_fit(np.ones((1, 2)), [label])
        assert clf.tree_.parent.tolist() == [-1, 0, 0, 0, 0, 0]
        assert clf._learner.state()["slot"][clf._learner.state()["leaf"]].tolist() == [
            0,
            1,
            2,
            3,
            4,
        ]

    @pytest.mark.parametrize(
        ("labels", "depth"), [(4, 1), (5, 2), (8, 2), (9, 2), (16, 2), (17, 3)]
    )
    def test_beyond_pecocs_room_go_deeper(self, labels, depth):
        """Documented: two or more share a place in the code, told apart one level below."""
        X, y = make_multiclass(60 * labels, labels, n_features=128, random_state=0)
        clf = PECOCClassifier(max_labels=3, estimates="shares", random_state=0)
        for label in range(labels):
            clf.partial_fit(X[y == label], y[y == label])
        assert clf.arity_ == 4
        assert clf.tree_.depth == depth
        assert clf.tree_.n_leaves == clf.n_labels_ == labels
        assert clf.partial_fit(X, y).partial_fit(X, y).score(X, y) > 0.9
        np.testing.assert_allclose(clf.predict_topk(X, labels)[1].sum(axis=1), 1.0, rtol=1e-5)

    def test_room_comes_from_the_first_batch_or_is_256(self):
        X, y = problem(100, 9)
        assert PECOCClassifier().fit(X, y).arity_ == 16
        assert PECOCClassifier(max_labels=100).fit(X, y).arity_ == 128
        assert PECOCClassifier().partial_fit(X, y).arity_ == 256
        assert PECOCClassifier().fit(X[:3], [5, 5, 5]).arity_ == 2


class TestFiles:
    @EACH
    def test_model_goes_on_as_if_it_had_not_been_saved(self, estimator, tmp_path):
        X, y = problem()
        rows = slice(0, 60)
        params = {"loss": "squared", "step": 0.2}
        if estimator is PECOCClassifier:
            params["max_labels"] = 5
        clf = estimator(random_state=0, **params).fit(X[rows], y[rows])
        clf.set_params(step=9.0)  # waits for the next fit
        clf.save(tmp_path / "m")
        copy = load(tmp_path / "m")
        assert type(copy) is estimator
        assert copy.get_params() == clf.get_params()
        assert copy.step_ == 0.2
        fresh = estimator(random_state=0, **params).fit(X[rows], y[rows])
        for model in (clf, copy, fresh):
            model.partial_fit(X, y)  # with labels that the file does not know
        assert copy.progress_ == fresh.progress_ == clf.progress_
        for model in (copy, fresh):
            for name, array in clf._learner.state().items():
                np.testing.assert_array_equal(model._learner.state()[name], array, name)
        np.testing.assert_array_equal(copy.predict(X), clf.predict(X))


@EACH
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "'loss' parameter .* Got 'hinge' instead"),
        ({"step": -1.0}, "'step' parameter .* Got -1.0 instead"),
        ({"max_labels": 1}, r"'max_labels' parameter .* in the range \[2, 65536\].* Got 1 inst"),
        ({"max_labels": 2**21}, "'max_labels' parameter .* Got 2097152 instead"),
    ],
)
def test_bad_settings_are_refused(estimator, params, message):
    if estimator is not PECOCClassifier and "max_labels" in params:
        with pytest.raises(TypeError, match="unexpected keyword argument 'max_labels'"):
            estimator(**params)
        return
    X, y = problem()
    clf = estimator(random_state=0).fit(X, y)
    before = clf.predict_topk(X, 3)[1]
    with pytest.raises(ValueError, match=message):
        clf.set_params(**params).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, y)
    np.testing.assert_array_equal(clf.predict_topk(X, 3)[1], before)


@EACH
def test_sets_of_labels_are_refused(estimator):
    clf = estimator()
    with pytest.raises(ValueError, match=r"expected one a row; .* use LabelTreeClassifier"):
        clf.fit(np.eye(2), [[1, 2], [3]])
    assert not hasattr(clf, "classes_")
