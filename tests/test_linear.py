"""The bank of linear models, against a slow and obvious version of it."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree import OneAgainstAllClassifier, RecallTreeClassifier, _core
from labeltree.validation import as_matrix
from tests.reference.linear import LinearModel

LAYOUTS = ["dense", "lines", "hashed", "large hashed"]  # a large table has only lines that are used
LOSSES = ["logistic", "squared", "hinge"]


class Bank(_core.Bank):
    """A bank whose models all learn by one rule."""

    def __init__(self, models=1, **settings):
        defaults = {
            "loss": "logistic",
            "update": "adaptive",
            "scale": "max",
            "layout": "hashed",
            "step": 0.5,
            "power": 0.0,
            "bits": 18,
            "min_gradient": 0.0,
        }
        settings = {**defaults, **settings}
        if settings["layout"] == "large hashed":
            settings.update(layout="hashed", bits=24)
        for name in ("loss", "update", "scale", "layout"):
            settings[name] = getattr(getattr(_core, name.capitalize()), settings[name])
        storage = ("scale", "layout", "bits", "features")
        super().__init__(_core.BankParams(**{name: settings.pop(name) for name in storage}))
        self.resize(models)
        self.rule = _core.Rule(**settings)


def matrix(X, *, dense=False):
    if isinstance(X, _core.Matrix):
        return X
    X = np.asarray(X, dtype=np.float32)
    return as_matrix(X if dense else sp.csr_matrix(X))


def learn(bank, X, y, weight=None, model=0, *, dense=False):
    y = np.asarray(y, dtype=np.float32)
    weight = np.ones(len(y)) if weight is None else weight
    return bank.learn(
        model, matrix(X, dense=dense), y, np.asarray(weight, dtype=np.float32), bank.rule
    )


def random_problem(seed, n=200, features=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) * (rng.random((n, features)) < 0.5)
    X[:, 3] *= 100.0
    y = np.where(X @ rng.normal(size=features) > 0, 1.0, -1.0)
    return X.astype(np.float32), y, rng.exponential(size=n).astype(np.float32)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "settings",
    [
        {"update": "adaptive", "scale": "max"},
        {"update": "adaptive", "scale": "none", "min_gradient": 0.05},
        {"update": "sgd", "scale": "max", "step": 0.1},
        {"update": "sgd", "scale": "none", "step": 0.1, "power": 0.5},
    ],
)
def test_core_predicts_as_the_reference(layout, loss, settings, dense):
    X, y, weight = random_problem(0)
    bank = Bank(features=X.shape[1], layout=layout, loss=loss, **settings)
    model = LinearModel(loss, **{"step": 0.5, **settings})
    expected = [
        model.learn({i: float(v) for i, v in enumerate(x) if v}, target, float(h))
        for x, target, h in zip(X, y, weight, strict=True)
    ]
    np.testing.assert_allclose(
        learn(bank, X, y, weight, dense=dense), expected, rtol=1e-3, atol=1e-4
    )
    new, _, _ = random_problem(1)
    np.testing.assert_allclose(
        bank.predict(0, matrix(new, dense=dense)),
        [model.predict({i: float(v) for i, v in enumerate(x) if v}) for x in new],
        rtol=1e-3,
        atol=1e-4,
    )


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_units_of_a_feature_do_not_matter(layout, factor):
    X, y, _ = random_problem(2)
    rescaled = X.copy()
    rescaled[:, 5] *= factor
    expected = learn(Bank(features=X.shape[1], layout=layout), X, y)
    received = learn(Bank(features=X.shape[1], layout=layout), rescaled, y)
    np.testing.assert_allclose(received, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_equals_two_plain_steps(loss):
    """For plain steps the importance-aware rule is exact, whatever the size of the step."""
    x, y = [[0.3, -1.0, 2.0]], [1.0]
    for step in (0.01, 0.5, 10.0):
        settings = {"features": 3, "loss": loss, "update": "sgd", "step": step}
        once, twice = Bank(**settings), Bank(**settings)
        learn(once, x, y, [2.0])
        learn(twice, x * 2, y * 2)
        np.testing.assert_allclose(
            once.predict(0, matrix(x)), twice.predict(0, matrix(x)), rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_nearly_equals_two_adaptive_steps(loss):
    """Adaptive steps shrink with the gradients seen, which the second of two steps sees less of."""
    X, y, _ = random_problem(3, n=100)
    settings = {"features": X.shape[1], "loss": loss, "step": 0.1}
    once, twice = Bank(**settings), Bank(**settings)
    learn(once, X, y, np.full(len(X), 2.0))
    learn(twice, np.repeat(X, 2, axis=0), np.repeat(y, 2))
    expected = twice.predict(0, matrix(X))
    error = np.abs(once.predict(0, matrix(X)) - expected).mean()
    assert error < 0.1 * np.abs(expected).mean()


@given(
    step=st.floats(1e-3, 1e6),
    values=st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3),
    y=st.sampled_from([-1.0, 1.0]),
    update=st.sampled_from(["adaptive", "sgd"]),
)
@settings(max_examples=200)
def test_squared_and_hinge_steps_never_overshoot(step, values, y, update):
    for loss in ("squared", "hinge"):
        bank = Bank(features=3, loss=loss, step=step, update=update)
        learn(bank, [values], [y])
        margin = y * bank.predict(0, matrix([values]))[0]
        assert -1e-4 <= margin <= 1 + 1e-3


@given(
    step=st.floats(1e-6, 1e9),
    weight=st.floats(1e-6, 1e9),
    value=st.floats(-1e9, 1e9),
    scale=st.sampled_from(["max", "none"]),
)
@settings(max_examples=200)
def test_predictions_stay_finite(step, weight, value, scale):
    value *= 1e9 if scale == "max" else 1.0
    bank = Bank(features=2, step=step, scale=scale)
    for target in (1.0, -1.0, 1.0):
        learn(bank, [[value, 1.0]], [target], [weight])
    assert np.isfinite(bank.predict(0, matrix([[value, 1.0]]))).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_models_do_not_disturb_each_other(layout):
    """Twenty models in one bank learn what each would learn alone."""
    X, y, _ = random_problem(4)
    together = Bank(20, features=X.shape[1], layout=layout, scale="none", update="sgd", bits=24)
    for m in range(20):
        learn(together, X, y * np.sign(np.sin(m + X[:, m % 12])), model=m)
    for m in range(20):
        alone = Bank(20, features=X.shape[1], layout=layout, scale="none", update="sgd")
        learn(alone, X, y * np.sign(np.sin(m + X[:, m % 12])), model=m)
        np.testing.assert_array_equal(together.predict(m, matrix(X)), alone.predict(m, matrix(X)))


def test_joint_hashing_keeps_features_apart():
    """A table of 2^22 weights serves 500 models on features from all over 20,000.

    If a feature's index were multiplied by the number of models and cut to 22 bits, only 8,192
    features would survive, and models would take each other's for their own.
    """
    n = 500
    ones, rows = np.ones(n, dtype=np.float32), np.arange(n)
    X = as_matrix(sp.csr_matrix((ones, (rows, 40 * rows)), shape=(n, 40 * n)))
    bank = Bank(n, features=40 * n, bits=22, scale="none")
    for m in range(n):
        learn(bank, X, np.where(np.arange(n) == m, 1.0, -1.0), model=m)
    scores = np.array([bank.predict(m, matrix(X)) for m in range(n)])
    assert (scores.argmax(axis=0) == np.arange(n)).mean() > 0.97


@pytest.mark.parametrize("layout", LAYOUTS)
def test_zeroed_model_starts_from_zero_weights(layout):
    X, y, _ = random_problem(5)
    bank = Bank(3, features=X.shape[1], layout=layout)
    for m in range(3):
        learn(bank, X, y * (-1) ** m, model=m)
    kept = bank.predict(2, matrix(X))
    bank.zero(1)
    assert not bank.predict(1, matrix(X)).any()
    np.testing.assert_array_equal(bank.predict(2, matrix(X)), kept)
    assert bank.predict(0, matrix(X)).any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copied_model_goes_on_as_the_original_would(layout):
    X, y, _ = random_problem(6)
    settings = {"features": X.shape[1], "layout": layout, "update": "sgd", "power": 0.5}
    bank = Bank(12, **settings)
    learn(bank, X[:100], y[:100], model=1)
    state = bank.state()
    original = Bank(12, **settings)
    original.restore(state)
    bank.copy(1, 11)
    np.testing.assert_array_equal(
        learn(bank, X[100:], y[100:], model=11), learn(original, X[100:], y[100:], model=1)
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_features_never_observed_are_ignored(layout):
    bank = Bank(features=1000, layout=layout, bits=10, scale="none")
    X = np.zeros((1, 1000), dtype=np.float32)
    X[0, 7] = 1.0
    learn(bank, X, [1.0])
    before = bank.predict(0, matrix(X))
    X[0, 8:] = 1.0
    np.testing.assert_array_equal(bank.predict(0, matrix(X)), before)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_state_is_restored_exactly(layout):
    X, y, weight = random_problem(7)
    bank = Bank(9, features=X.shape[1], layout=layout)
    learn(bank, X, y, weight, model=8)
    other = Bank(9, features=X.shape[1], layout=layout)
    other.restore(bank.state())
    for name, array in bank.state().items():
        np.testing.assert_array_equal(other.state()[name], array)
    np.testing.assert_array_equal(learn(other, X, -y, model=8), learn(bank, X, -y, model=8))


def test_table_that_becomes_large_keeps_its_weights():
    """Lines lie in their order at first; from 2^20 lines on, only those that are used are kept."""
    features = 2**17 + 3
    X, y, weight = random_problem(8)
    columns = np.linspace(0, features - 1, X.shape[1]).astype(int)
    rows = sp.csr_matrix(X)
    X = sp.csr_matrix((rows.data, columns[rows.indices], rows.indptr), shape=(len(y), features))
    small, large = (Bank(n, features=features, layout="lines") for n in (8, 80))
    for bank in (small, large):
        learn(bank, as_matrix(X), y, weight, model=3)
    small.resize(80)
    for name, array in large.state().items():
        np.testing.assert_array_equal(small.state()[name], array)
    for model in (3, 77):
        np.testing.assert_array_equal(
            learn(small, as_matrix(X), -y, model=model), learn(large, as_matrix(X), -y, model=model)
        )


def test_lines_that_were_never_written_take_no_memory():
    """Few lines of a large table are used, each on a page of its own."""
    code = (
        "import resource\n"
        "import numpy as np, scipy.sparse as sp\n"
        "from labeltree import OneAgainstAllClassifier\n"
        "columns = np.random.default_rng(0).integers(0, 2**20, 60000)\n"
        "ends = np.arange(0, 60001, 20)\n"
        "X = sp.csr_matrix((np.ones(60000, 'f'), columns, ends), shape=(3000, 2**20))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "clf = OneAgainstAllClassifier(layout='hashed', bits=28, scale='none', random_state=0)\n"
        "clf.fit(X, np.arange(3000) % 8)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    lines, places = 64 * 60000, 4 * 2**25  # bytes; the table has 2 GB
    assert int(output.stdout) < (lines + places) / 1000 + 50_000


def test_results_do_not_depend_on_uninitialised_memory():
    """The allocator fills memory with two different patterns; the model stays the same."""
    code = (
        "import hashlib\n"
        "from labeltree import OneAgainstAllClassifier as C\n"
        "from labeltree.datasets import make_multiclass\n"
        "X, y = make_multiclass(500, 21, n_features=99)\n"
        "for layout in ('dense', 'hashed'):\n"
        "    clf = C(layout=layout, random_state=0, n_jobs=2).fit(X.toarray(), y)\n"
        "    for array in (*clf._learner.state().values(), clf.predict_proba(X)):\n"
        "        print(hashlib.sha1(array.tobytes()).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "MALLOC_PERTURB_": pattern},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for pattern in ("7", "200")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().split()) > 10


class TestBadInput:
    def test_model_that_does_not_exist(self):
        bank = Bank(3, features=2)
        for call in (bank.zero, lambda m: bank.predict(m, matrix([[1.0, 2.0]]))):
            with pytest.raises(ValueError, match="model 3 does not exist: the bank has 3 models"):
                call(3)
        with pytest.raises(ValueError, match="model 4 does not exist"):
            bank.copy(0, 4)

    def test_other_number_of_features(self):
        bank = Bank(features=2)
        with pytest.raises(ValueError, match="X has 3 features, but the model has 2"):
            bank.predict(0, matrix([[1.0, 2.0, 3.0]]))

    def test_index_beyond_the_features(self):
        with pytest.raises(ValueError, match="feature index 5 is not below the number of features"):
            _core.Matrix.sparse(
                np.array([0, 1]), np.array([5], np.uint32), np.array([1.0], np.float32), 5
            )

    def test_values_that_are_not_finite(self):
        with pytest.raises(ValueError, match="value 1 is not finite"):
            matrix([[1.0, np.nan]], dense=True)

    def test_row_offsets_that_decrease_or_end_elsewhere(self):
        values = np.ones(2, np.float32)
        with pytest.raises(ValueError, match="indptr must not decrease"):
            _core.Matrix.sparse(np.array([0, 2, 1]), np.zeros(2, np.uint32), values, 5)
        with pytest.raises(ValueError, match="indptr ends with 3, but there are 2 entries"):
            _core.Matrix.sparse(np.array([0, 3]), np.zeros(2, np.uint32), values, 5)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"bits": 9}, "bits must be from 10 to 34"),
            ({"bits": 35}, "bits must be from 10 to 34"),
            ({"step": 0.0}, "step must be positive"),
            ({"step": np.nan}, "step must be positive"),
            ({"power": -1.0}, "power must not be negative"),
            ({"min_gradient": -1.0}, "min_gradient must not be negative"),
        ],
    )
    def test_settings_out_of_range(self, setting, message):
        with pytest.raises(ValueError, match=message):
            Bank(features=2, **setting)


@pytest.mark.parametrize("update", ["adaptive", "sgd"])
def test_weights_stay_finite_whatever_the_step(update):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(60, 4)), generator.integers(0, 9, 60)
    clf = OneAgainstAllClassifier(step=3e38, update=update).partial_fit(X, y)
    clf.partial_fit(X, y, sample_weight=generator.choice([1e-30, 1.0, 1e30], 60))
    assert np.isfinite(clf._learner.state()["weights"]).all()
    tree = RecallTreeClassifier(step=3e38, random_state=0).partial_fit(X, y)
    assert np.isfinite(tree._learner.state()["weights"]).all()
