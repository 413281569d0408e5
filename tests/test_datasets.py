import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from labeltree import datasets
from labeltree.datasets import make_multiclass, stdlib_tokens


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A standard library of a few short files."""
    files = {
        "b.py": b"x = y + 1\n",
        "a/z.py": b"import os\nimport os\n",
        "a.py": b"def f(a_1):\n    return a_1\n",
        "empty.py": b"\n",
        "latin.py": b"caf\xe9 = 23\n",
        "notes.txt": b"not source",
        "site-packages/other.py": b"never = 1",
        "a/dist-packages/other.py": b"never = 1",
        "a/__pycache__/other.py": b"never = 1",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    monkeypatch.setattr(datasets, "_library_root", lambda: tmp_path)
    return tmp_path


A_PY = ["def", "f", "(", "a_1", ")", ":", "return", "a_1"]
A_Z_PY = ["import", "os", "import", "os"]
B_PY = ["x", "=", "y", "+", "1"]
LATIN_PY = ["caf", "\ufffd", "=", "23"]


def rows(X):
    return [tuple(X.indices[a:b]) for a, b in itertools.pairwise(X.indptr)]


@pytest.mark.usefixtures("library")
def test_labels_are_the_tokens_of_the_library_in_path_order():
    _, y = stdlib_tokens()
    assert y.tolist() == A_PY + A_Z_PY + B_PY + LATIN_PY
    assert y.dtype == object
    assert {type(label) for label in y} == {str}


@pytest.mark.usefixtures("library")
def test_rows_are_canonical_and_have_one_feature_for_each_token_of_context():
    X, y = stdlib_tokens(context=4)
    assert isinstance(X, sparse.csr_matrix)
    assert X.shape == (len(y), 2**24)
    assert X.dtype == np.float32
    assert np.diff(X.indptr).tolist() == [4] * len(y)
    assert (X.data == 1).all()
    rebuilt = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert rebuilt.has_canonical_format


@pytest.mark.usefixtures("library")
def test_same_token_at_same_distance_is_the_same_column_and_at_another_is_not():
    X, _ = stdlib_tokens(context=1)
    # "import" stands before "os" in both places, and "def" or "=" is not "import".
    (import_1,), (again,) = rows(X)[9], rows(X)[11]
    assert import_1 == again
    wide, _ = stdlib_tokens(context=2)
    assert import_1 in rows(wide)[9]  # distance 1, whatever the width of the context
    assert import_1 not in rows(wide)[10]  # distance 2


@pytest.mark.usefixtures("library")
def test_context_does_not_cross_file_borders():
    X, y = stdlib_tokens(context=3)
    starts = [0, 8, 12, 17]
    assert y[starts].tolist() == ["def", "import", "x", "caf"]
    assert len({rows(X)[start] for start in starts}) == 1


def test_tokens_beyond_the_context_do_not_matter(library):
    (library / "b.py").write_text("p q r same same\nz q r same same")
    X, y = stdlib_tokens(context=2)
    first, second = np.flatnonzero(y == "r") + 1
    assert rows(X)[first] == rows(X)[second]
    wide, _ = stdlib_tokens(context=3)
    assert rows(wide)[first] != rows(wide)[second]


@pytest.mark.usefixtures("library")
def test_colliding_features_add_up():
    X, _ = stdlib_tokens(context=6, hash_bits=1)
    assert X.shape[1] == 2
    assert (X.sum(axis=1) == 6).all()
    assert X.has_canonical_format
    assert (np.diff(X.indptr) <= 2).all()


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 9, 20, 21, 100])
@pytest.mark.usefixtures("library")
def test_limit_stops_exactly(limit):
    whole, labels = stdlib_tokens()
    X, y = stdlib_tokens(limit=limit)
    assert X.shape == (min(limit, 21), 2**24)
    assert y.tolist() == labels[:limit].tolist()
    assert rows(X) == rows(whole)[:limit]


def test_limit_reads_no_further_file(library):
    (library / "b.py").unlink()
    (library / "b.py").symlink_to("nowhere")  # reading it would fail
    assert stdlib_tokens(limit=12)[1].tolist() == A_PY + A_Z_PY
    with pytest.raises(FileNotFoundError):
        stdlib_tokens(limit=13)


@pytest.mark.parametrize("limit", [None, 10, 0])
@pytest.mark.parametrize("batch_size", [1, 2, 5, 7, 21, 1000])
@pytest.mark.usefixtures("library")
def test_batches_are_the_whole_in_pieces(batch_size, limit):
    X, y = stdlib_tokens(limit=limit)
    batches = list(stdlib_tokens(limit=limit, batch_size=batch_size))
    sizes = [len(labels) for _, labels in batches]
    assert all(size == batch_size for size in sizes[:-1])
    assert all(0 < size <= batch_size for size in sizes)
    assert [label for _, labels in batches for label in labels] == y.tolist()
    assert [row for part, _ in batches for row in rows(part)] == rows(X)


@pytest.mark.usefixtures("library")
def test_whole_does_not_depend_on_how_many_rows_are_made_at_once(monkeypatch):
    X, y = stdlib_tokens()
    monkeypatch.setattr(datasets, "_ROWS_AT_ONCE", 4)
    pieces, labels = stdlib_tokens()
    assert (pieces != X).nnz == 0
    assert y.tolist() == labels.tolist()


def test_vocabulary_grows_past_its_first_size(library):
    words = [f"w{i}" for i in range(5000)]
    (library / "b.py").write_text(" ".join(words))
    X, y = stdlib_tokens(context=1)
    start = y.tolist().index("w0")
    assert y[start : start + 5000].tolist() == words
    assert len(set(rows(X)[start + 1 : start + 5000])) > 4990


def test_streaming_starts_before_the_library_is_read(library):
    (library / "latin.py").unlink()
    (library / "latin.py").symlink_to("nowhere")
    stream = stdlib_tokens(batch_size=5)
    assert next(stream)[1].tolist() == A_PY[:5]


def test_columns_are_the_same_in_every_process():
    command = (
        "from labeltree.datasets import stdlib_tokens; import zlib;"
        "print(zlib.crc32(stdlib_tokens(limit=500)[0].indices.tobytes()))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", command],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


@pytest.mark.usefixtures("library")
def test_columns_are_part_of_the_data_and_never_change():
    X, _ = stdlib_tokens(context=2, limit=2)
    assert rows(X) == [(10866793, 13395249), (10866793, 12231890)]


def test_missing_library_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "_library_root", lambda: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"found no \.py file"):
        stdlib_tokens()


@pytest.mark.parametrize(
    "arguments",
    [{"context": 0}, {"limit": -1}, {"batch_size": 0}, {"hash_bits": 0}, {"hash_bits": 31}],
)
@pytest.mark.usefixtures("library")
def test_bad_arguments_of_stdlib_tokens_are_refused_at_once(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} must be"):
        stdlib_tokens(**{"batch_size": 3, **arguments})


# make_multiclass


def test_shapes_types_and_unit_length():
    X, y = make_multiclass(500, 40, n_features=1000, nnz=8)
    assert isinstance(X, sparse.csr_matrix)
    assert X.shape == (500, 1000)
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert np.diff(X.indptr).max() == 8
    assert y.dtype == np.int64
    assert set(y.tolist()) == set(range(40))
    assert X.multiply(X).sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_same_seed_same_data_and_another_seed_other_data():
    first, again, other = (make_multiclass(200, 30, random_state=s) for s in (1, 1, 2))
    assert (first[0] != again[0]).nnz == 0
    assert (first[1] == again[1]).all()
    assert (first[0] != other[0]).nnz > 0
    assert (first[1] != other[1]).any()


def test_signatures_do_not_depend_on_the_seed():
    (X, y), (X2, y2) = (make_multiclass(300, 10, noise=0, random_state=s) for s in (1, 2))
    for label in range(10):
        assert len(set(rows(X[y == label]) + rows(X2[y2 == label]))) == 1


def test_noise_is_the_share_of_features_outside_the_signature():
    clean, labels = make_multiclass(1000, 1, noise=0)
    signature = set(clean.indices)
    assert len(signature) == 20
    noisy, _ = make_multiclass(1000, 1, noise=0.4)
    inside = np.isin(noisy.indices, list(signature)).reshape(-1).sum() / 1000
    assert inside == pytest.approx(12, abs=0.05)
    assert (labels == 0).all()


def test_dense_is_the_same_data():
    sparse_X, y = make_multiclass(50, 5, n_features=64)
    X, labels = make_multiclass(50, 5, n_features=64, dense=True)
    assert isinstance(X, np.ndarray)
    assert (sparse_X.toarray() == X).all()
    assert (y == labels).all()


def test_skew_follows_zipfs_law():
    _, y = make_multiclass(50_000, 1000, nnz=1, skew=1.0)
    share = np.bincount(y, minlength=1000) / len(y)
    expected = 1 / np.arange(1, 1001) / np.sum(1 / np.arange(1, 1001))
    assert share[:10] == pytest.approx(expected[:10], rel=0.1)
    assert y.max() < 1000


def test_no_skew_is_uniform():
    _, y = make_multiclass(50_000, 10, nnz=1)
    assert np.bincount(y) / len(y) == pytest.approx(0.1, rel=0.1)


def test_a_million_labels_need_no_table_of_labels():
    X, y = make_multiclass(1000, 1_000_000, skew=0.5)
    assert X.shape == (1000, 1 << 16)
    assert len(np.unique(y)) > 900


def test_a_linear_model_learns_it():
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = make_multiclass(3000, 50, n_features=5000, noise=0.5)
    X_test, y_test = make_multiclass(1000, 50, n_features=5000, noise=0.5, random_state=1)
    model = linear_model.SGDClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.99


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": 0},
        {"k": 0},
        {"n_features": 0},
        {"nnz": 0},
        {"noise": 1.5},
        {"noise": float("nan")},
        {"skew": -1},
    ],
)
def test_bad_arguments_of_make_multiclass_are_refused(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} must"):
        make_multiclass(**{"n": 10, "k": 3, **arguments})
