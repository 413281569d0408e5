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


MARGIN = 16 * 17 + 16  # bytes behind the last run


def leb128(numbers):
    """Return the gaps between rising numbers as core/ascending.hpp packs them."""
    out, least = [], 0
    for number in numbers:
        gap, least = number - least, number + 1
        while gap >= 128:
            out.append(gap & 127 | 128)
            gap >>= 7
        out.append(gap)
    return np.array(out, dtype=np.uint8)


def packed(lines, code_type, *, sparse):
    """Return the arrays of lines, as core/linear/frozen_lines.hpp describes them."""
    groups = range(LINES // 16)
    if sparse:
        groups = sorted({line // 16 for line in lines})
    used, codes, content = [], [], b""
    for group in groups:
        there = [line for line in range(16 * group, 16 * group + 16) if line in lines]
        used.append(sum(1 << line % 16 for line in there))
        content += bytes(sum(1 << i for i in range(8) if lines[n][i]) for n in there)
        kept = [code for line in there for code in lines[line] if code]
        codes.append(len(kept))
        content += np.array(kept, dtype=code_type).tobytes()
    return {
        "weights_group": leb128(groups if sparse else []),
        "weights_used": np.array(used, dtype=np.uint16),
        "weights_codes": np.array(codes, dtype=np.uint8),
        "weights": np.frombuffer(content + bytes(MARGIN), dtype=np.uint8),
        "weights_code_size": np.array([np.dtype(code_type).itemsize], dtype=np.uint64),
    }


def state_of(lines, code_type=np.int8, scale=1.0, observed=FEATURES, *, sparse=False):
    lines = {line: codes for line, codes in lines.items() if any(codes)}
    return {
        "total_weight": np.array([1.0]),
        "total_norm": np.array([1.0]),
        "seen": leb128([*range(observed), FEATURES]),
        "models": np.array([MODELS], dtype=np.uint64),
        "weights_scale": np.array([scale], dtype=np.float32),
        **packed(lines, code_type, sparse=sparse and len(lines) > 0),
    }


def expected(lines, weight_of, model, feature, value):
    zero = [0] * 8
    own, constant = (
        weight_of(lines.get(line_of(model, f), zero)[model % 8]) for f in (feature, FEATURES)
    )
    return np.float32(value) * own + constant


def some_lines(codes):
    lanes = st.lists(st.just(0) | codes, min_size=8, max_size=8)
    return st.dictionaries(st.integers(0, LINES - 1), lanes, max_size=LINES)


def check(lines, code_type, scale, weight_of, model, borrow, sparse):
    bank = frozen_bank()
    bank.restore(state_of(lines, code_type, scale, sparse=sparse), borrow=borrow)
    values = np.linspace(0.5, 2.0, FEATURES)
    received = bank.predict(model, rows_of(np.arange(FEATURES), values))
    wanted = [expected(lines, weight_of, model, f, v) for f, v in enumerate(values)]
    np.testing.assert_allclose(received, wanted, rtol=1e-5, atol=1e-4 * scale)
    again = frozen_bank()
    again.restore(bank.state())
    for name, array in bank.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


@given(some_lines(st.integers(-127, 127)), st.integers(0, MODELS - 1), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_lines_of_cubes_are_found_as_in_a_dictionary(lines, model, borrow, sparse):
    check(lines, np.int8, 0.25, lambda code: 0.25 * float(code) ** 3, model, borrow, sparse)


@given(
    some_lines(st.integers(0x3C00, 0x4200)),  # from 2^-7 to 32
    st.integers(0, MODELS - 1),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60)
def test_lines_of_bfloats_are_found_as_in_a_dictionary(lines, model, borrow, sparse):
    check(lines, np.uint16, 1.0, lambda code: float(to_float(code)), model, borrow, sparse)


def test_features_never_observed_do_not_count():
    lines = {line: [1] * 8 for line in range(LINES)}  # all weights are 1
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
        frozen.restore(learned.state(keep=1.0))
        X = as_matrix(sp.csr_matrix((1, 1), dtype=np.float32))
        assert learned.predict(0, X)[0] == np.float32(weight)
        assert frozen.predict(0, X)[0] == np.float32(rounded)


@pytest.mark.parametrize("layout", ["dense", "lines", "hashed"])
def test_weights_of_a_byte_are_near(layout):
    """The nearest cube of a whole number, or in dense rows the nearest whole number."""
    random = np.random.default_rng(0)
    weights = np.float32(random.normal(size=8) * 10.0 ** random.integers(-2, 2, size=8))
    params = {"scale": _core.Scale.none, "layout": getattr(_core.Layout, layout), "bits": 10}
    bank = _core.Bank(_core.BankParams(**params, features=1))
    bank.resize(8)
    if layout == "dense":
        table = np.zeros((8, 32), dtype=np.float32)
        table[:, 1] = weights
        rows = np.arange(8)
    else:
        table = np.hstack([weights, np.ones(8)]).astype(np.float32)
        rows = [1 if layout == "lines" else line_of(0, 1)]
    arrays = {
        **bank.state(),
        "weights": np.ascontiguousarray(table).reshape(-1),
        "weights_row": np.array(rows, dtype=np.uint64),
    }
    bank.restore(arrays)
    frozen = _core.Bank(_core.BankParams(**params, features=1, frozen=True))
    frozen.restore(bank.state(keep=1 - 1e-7))
    X = as_matrix(sp.csr_matrix((1, 1), dtype=np.float32))
    received = np.array([frozen.predict(model, X)[0] for model in range(8)])
    if layout == "dense":
        np.testing.assert_allclose(received, weights, rtol=0.5 / 127)
        return
    scale = np.abs(weights).max() / 127**3
    np.testing.assert_allclose(
        np.cbrt(received / scale), np.round(np.cbrt(weights / scale)), atol=1e-3
    )


@pytest.mark.parametrize("sums", [False, True])
def test_what_is_pruned_matters_least(sums):
    """By w^2, or w^2 sqrt(G): at most the given share of the sum, and nearly all that fits."""
    random = np.random.default_rng(1)
    lines = 1000
    W = np.float32(random.normal(size=(lines, 8)) * (random.random((lines, 8)) < 0.5))
    G = np.float32(np.where(W != 0, random.gamma(0.5, size=W.shape) + 1e-6, 0))
    params = {"scale": _core.Scale.none, "layout": _core.Layout.lines, "bits": 10}
    bank = _core.Bank(_core.BankParams(**params, features=lines - 1, gradient_sums=sums))
    bank.resize(8)
    table = np.hstack([W, G]) if sums else W
    bank.restore(
        {
            **bank.state(),
            "weights": np.ascontiguousarray(table).reshape(-1),
            "weights_row": np.arange(lines, dtype=np.uint64),
        }
    )
    matter = W.astype(float) ** 2 * (np.sqrt(G) if sums else 1)
    for keep in (0.999, 0.95, 0.5):
        n = bank.state(keep=keep)["weights_codes"].astype(int).sum()
        order = np.sort(matter[W != 0])
        lost = order[: len(order) - n].sum() / order.sum()
        assert 0.9 * (1 - keep) < lost <= 1 - keep


def test_weights_learned_without_gradient_sums_are_judged_apart():
    """Beside others that have them, as scorers by plain steps beside adaptive trees."""
    params = {"scale": _core.Scale.none, "layout": _core.Layout.lines, "bits": 10}
    bank = _core.Bank(_core.BankParams(**params, features=1))
    bank.resize(8)
    table = np.float32([3, 1, 2, 0.01, 5, 4, 1, 0.01, 9, 9, 9, 9, 0, 0, 0, 0])
    bank.restore({**bank.state(), "weights": table, "weights_row": np.array([0], dtype=np.uint64)})
    state = bank.state(keep=0.9)
    assert state["weights"][0] == 0b00110101  # the largest of each kind


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
