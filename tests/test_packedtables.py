"""Tables of weights in files: smaller, and the same when they are read back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltree import LabelTreeClassifier, _core, load, modelfile, packedtables
from labeltree.datasets import make_multiclass
from labeltree.modelfile import CorruptModelFileError, ModelFileError

numbers = st.sets(st.integers(0, 2**63 - 1) | st.integers(0, 1000), max_size=50).map(sorted)
weights = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.5, -1e-30, 3e38, np.float32(0.1)])


@given(numbers)
def test_rising_numbers_come_back(rising):
    given_numbers = np.array(rising, dtype=np.uint64)
    packed = _core.pack_ascending(given_numbers)
    np.testing.assert_array_equal(_core.unpack_ascending(packed), given_numbers)


def test_close_numbers_take_a_byte_each():
    assert len(_core.pack_ascending(np.arange(0, 10**6, 100, dtype=np.uint64))) == 10**4


@given(st.lists(st.lists(weights, min_size=16, max_size=16), max_size=20), st.booleans())
def test_tables_come_back_bit_for_bit(rows, exact):
    table = np.array(rows, dtype=np.float32).reshape(-1)
    arrays = {
        "weights": table,
        "weights_row": np.arange(len(rows), dtype=np.uint64) * 7,
        "largest": np.array([2.0, 3.0], dtype=np.float32),
        "largest_row": np.array([5, 9], dtype=np.uint64),
        "other_row": np.array([1], dtype=np.uint64),
    }
    back = packedtables.unpack(packedtables.pack(arrays, exact=exact))
    assert back.keys() == arrays.keys()
    for name in arrays.keys() - ({"weights"} if not exact else set()):
        assert back[name].dtype == arrays[name].dtype
        assert back[name].tobytes() == arrays[name].tobytes()
    if not exact:
        np.testing.assert_allclose(back["weights"], table, rtol=2.0**-8)
        assert ((back["weights"] == 0) == (table == 0)).all()


@pytest.fixture(scope="module")
def learned():
    X, y = make_multiclass(3000, 60, n_features=500, nnz=12, noise=0.3, random_state=0)
    return LabelTreeClassifier(random_state=0, replay=0).partial_fit(X[:2000], y[:2000]), X, y


def state_of(clf):
    return {name: array.tobytes() for name, array in clf._learner.state().items()}


def test_files_are_smaller_and_exact(learned, tmp_path):
    clf, _, _ = learned
    clf.save(tmp_path / "m")
    assert state_of(load(tmp_path / "m")) == state_of(clf)
    plain = sum(array.nbytes for array in clf._learner.state().values())
    assert (tmp_path / "m").stat().st_size < 0.7 * plain


def test_rounded_files_are_half_as_large_and_learn_on_as_well(learned, tmp_path):
    clf, X, y = learned
    clf.save(tmp_path / "exact")
    clf.save(tmp_path / "rounded", exact=False)
    sizes = [(tmp_path / name).stat().st_size for name in ("exact", "rounded")]
    assert sizes[1] < 0.65 * sizes[0]
    scores = []
    for name in ("exact", "rounded"):
        model = load(tmp_path / name).partial_fit(X[2000:2500], y[2000:2500])
        scores.append(model.score(X[2500:], y[2500:]))
    assert scores[1] == pytest.approx(scores[0], abs=0.02)
    assert state_of(load(tmp_path / "rounded")) != state_of(clf)


def test_attached_arrays_are_left_alone(learned, tmp_path):
    attached = {"t": np.zeros(3, np.float32), "t_row": np.array([[0x80]], np.uint8)}
    learned[0].save(tmp_path / "m", attached=attached)
    assert state_of(load(tmp_path / "m")) == state_of(learned[0])
    assert modelfile.read_attached(tmp_path / "m")["t_row"].tolist() == [[0x80]]


def write(path, clf, number, **changes):
    """Write a file as earlier versions did."""
    contents = clf.contents()
    text = json.dumps({"version": "0.1.0", **contents.header, **changes})
    metadata = {
        "labeltree": number,
        "header": text,
        "checksum": modelfile._checksum(text, contents.arrays),
    }
    path.touch()
    modelfile._write_safetensors(path, contents.arrays, metadata)


def test_files_of_earlier_versions_are_read(learned, tmp_path):
    clf, _, _ = learned
    write(tmp_path / "m", clf, "1")
    assert state_of(load(tmp_path / "m")) == state_of(clf)


@pytest.mark.parametrize("mmap", [False, True])
def test_models_that_an_earlier_version_compiled_are_refused(learned, tmp_path, mmap):
    write(tmp_path / "m", learned[0], "2", compiled=True)
    with pytest.raises(
        ModelFileError, match=r"compiled by an earlier version .* compile the model"
    ):
        load(tmp_path / "m", mmap=mmap)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("weights_nonzero", lambda a: a[:-1], "not as many numbers as are said not to be zero"),
        ("weights", lambda a: a[:-1], "not as many numbers as are said not to be zero"),
        ("weights_nonzero", lambda a: a[:-16], "not as many numbers"),
        ("weights_row", lambda a: np.append(a, np.uint8(0)), "do not fit together"),
        ("weights_row", lambda a: np.append(a, np.uint8(0x80)), "cut short"),
        ("weights_row", lambda a: a[None], "weights_row has the wrong type or shape"),
        ("weights_row", lambda a: a[0], "weights_row has the wrong type or shape"),
        ("weights_nonzero", lambda a: a.astype(np.float64), "nonzero has the wrong type or shape"),
        ("weights", lambda a: a[None], "weights has the wrong type or shape"),
        ("weights", lambda a: a.astype(np.float64), "weights has the wrong type or shape"),
        ("weights_row", lambda a: np.append(a, np.full(10, 0xFF, np.uint8)), "too large"),
    ],
)
def test_tables_that_do_not_fit_are_refused(learned, tmp_path, monkeypatch, name, change, message):
    pack = packedtables.pack

    def lie(arrays, *, exact):
        packed = pack(arrays, exact=exact)
        return {**packed, name: change(packed[name])}

    monkeypatch.setattr(packedtables, "pack", lie)
    learned[0].save(tmp_path / "m")
    with pytest.raises(CorruptModelFileError, match=message):
        load(tmp_path / "m")
