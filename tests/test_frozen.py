"""The bank in its form for prediction, against a plain dictionary of lines."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltree import _core
from labeltree.validation import as_matrix

BITS, FEATURES, MODELS = 10, 40, 24
LINES = 2 ** (BITS - 3)
WORD = 2**64 - 1


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def line_of(model, feature):
    """Return where core/linear/line_map.hpp puts the weights of a feature."""
    key = mix64(feature + 1) ^ mix64(WORD - model // 8)
    return ((key * 0x9E3779B97F4A7C15) & WORD) >> (64 - (BITS - 3))


def frozen_bank(layout="hashed"):
    return _core.Bank(
        _core.BankParams(
            scale=_core.Scale.none,
            layout=getattr(_core.Layout, layout),
            bits=BITS,
            features=FEATURES,
            frozen=True,
        )
    )


def to_float(bits):
    return (np.asarray(bits, dtype=np.uint32) << 16).view(np.float32)


def rows_of(features, values):
    X = sp.csr_matrix(
        (np.float32(values), features, np.arange(len(features) + 1)),
        shape=(len(features), FEATURES),
    )
    return as_matrix(X)


def state_of(lines, observed=FEATURES):
    used = np.zeros(LINES, dtype=bool)
    used[list(lines)] = True
    words = np.packbits(used, bitorder="little").view(np.uint32)
    weights = [lines[line] for line in sorted(lines)]
    return {
        "total_weight": np.array([1.0]),
        "total_norm": np.array([1.0]),
        "largest": np.ones(observed + 1, dtype=np.float32),
        "largest_row": np.array([*range(observed), FEATURES], dtype=np.uint64),
        "models": np.array([MODELS], dtype=np.uint64),
        "weights_used": words,
        "weights": np.array(weights, dtype=np.uint16).reshape(-1),
    }


def expected(lines, model, feature, value):
    zero = [0] * 8
    own = to_float(lines.get(line_of(model, feature), zero)[model % 8])
    constant = to_float(lines.get(line_of(model, FEATURES), zero)[model % 8])
    return np.float32(value) * own + constant


some_lines = st.dictionaries(
    st.integers(0, LINES - 1),
    st.lists(st.integers(0x3C00, 0x4200), min_size=8, max_size=8),  # from 2^-7 to 32
    max_size=LINES,
)


@given(some_lines, st.integers(0, MODELS - 1), st.booleans())
@settings(max_examples=60)
def test_lines_are_found_as_in_a_dictionary(lines, model, borrow):
    bank = frozen_bank()
    bank.restore(state_of(lines), borrow=borrow)
    values = np.linspace(0.5, 2.0, FEATURES)
    received = bank.predict(model, rows_of(np.arange(FEATURES), values))
    wanted = [expected(lines, model, f, v) for f, v in enumerate(values)]
    np.testing.assert_allclose(received, wanted, rtol=1e-6)
    again = frozen_bank()
    again.restore(bank.state())
    for name, array in bank.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


def test_features_never_observed_do_not_count():
    lines = {line: [0x3F80] * 8 for line in range(LINES)}  # all weights are 1
    bank = frozen_bank()
    bank.restore(state_of(lines, observed=10))
    received = bank.predict(3, rows_of(np.arange(FEATURES), np.ones(FEATURES)))
    np.testing.assert_array_equal(received, [2.0] * 10 + [1.0] * 30)


@pytest.mark.parametrize("layout", ["dense", "lines", "hashed"])
def test_weights_are_rounded_to_the_nearest(layout):
    """Of two equally near, to the one whose last bit is zero."""
    params = {"scale": _core.Scale.none, "layout": getattr(_core.Layout, layout), "bits": 10}
    bank = _core.Bank(_core.BankParams(**params, features=1))
    bank.resize(1)
    state = bank.state()
    half = 2.0**-8  # of the last bit of a bfloat16, near 1
    for weight, rounded in [
        (1 + half, 1.0),
        (1 + 3 * half, 1 + 4 * half),
        (1 + 1.01 * half, 1 + 2 * half),
        (-(1 + 0.99 * half), -1.0),
        (0.3, 0.30078125),
        (1e30, to_float(0x714A)),
    ]:
        size = 32 if layout == "dense" else 16
        table = np.zeros(size, dtype=np.float32)  # a row that has the constant feature
        table[1 if layout == "dense" else 0] = weight
        row = {"dense": 0, "lines": 1, "hashed": line_of(0, 1)}[layout]
        arrays = {**state, "weights": table, "weights_row": np.array([row], dtype=np.uint64)}
        learned = _core.Bank(_core.BankParams(**params, features=1))
        learned.restore(arrays)
        frozen = _core.Bank(_core.BankParams(**params, features=1, frozen=True))
        frozen.restore(learned.state(drop=0.0))
        X = as_matrix(sp.csr_matrix((1, 1), dtype=np.float32))
        assert learned.predict(0, X)[0] == np.float32(weight)
        assert frozen.predict(0, X)[0] == np.float32(rounded)


def test_a_frozen_bank_does_not_learn():
    bank = frozen_bank()
    bank.restore(state_of({}))
    X = rows_of([0], [1.0])
    rule = _core.Rule(
        loss=_core.Loss.logistic,
        update=_core.Update.adaptive,
        step=0.5,
        power=0.0,
        min_gradient=0.0,
    )
    one = np.ones(1, dtype=np.float32)
    for learn in (
        lambda: bank.learn(0, X, one, one, rule),
        lambda: bank.resize(100),
        lambda: bank.zero(0),
        lambda: bank.copy(0, 1),
    ):
        with pytest.raises(ValueError, match="compiled for prediction"):
            learn()
