import contextlib
import json
import os
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from safetensors.numpy import save_file

from labeltree import OneAgainstAllClassifier, load, modelfile
from labeltree.modelfile import (
    CorruptModelFileError,
    ForeignModelFileError,
    FutureModelFileError,
    ModelFileError,
)


@pytest.fixture
def clf():
    return OneAgainstAllClassifier(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])


@pytest.fixture
def path(clf, tmp_path):
    clf.save(tmp_path / "m.labeltree")
    return tmp_path / "m.labeltree"


def test_header_holds_every_parameter_and_notes(clf, path):
    clf.save(path, notes={"reader": {"format": "tsv"}})
    header, _ = modelfile.read(path)
    assert header["params"] == clf.get_params()
    assert header["settled"]["scale_"] == clf.scale_
    assert header["notes"] == {"reader": {"format": "tsv"}}
    assert header["version"]


def test_labels_of_any_kind_survive(tmp_path):
    labels = [3, "4", "", "naïve ☃", 'quote " and \\', -(2**62), "a,b\tc\n"]
    clf = OneAgainstAllClassifier().partial_fit(np.eye(7), np.array(labels, dtype=object))
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").classes_.tolist() == labels


def test_feature_names_survive(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"height": [1.0, 2.0], "width": [2.0, 1.0]})
    clf = OneAgainstAllClassifier(random_state=0).fit(frame, [1, 2])
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["height", "width"]
    assert load(tmp_path / "m").predict(frame).tolist() == clf.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names"):
        load(tmp_path / "m").predict(frame[["width", "height"]])


def test_changed_bytes_are_noticed(path):
    """Every byte of the header, and a sample of the rest."""
    good = path.read_bytes()
    (header,) = struct.unpack("<Q", good[:8])
    for position in [*range(0, 8 + header, 3), *range(8 + header, len(good), 97)]:
        bad = bytearray(good)
        bad[position] ^= 0x15
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            load(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_truncated_file(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    error = CorruptModelFileError if share > 0.1 else ModelFileError
    with pytest.raises(error, match=r"m\.labeltree: "):
        load(path)


@pytest.mark.parametrize("content", [b"", b"hello", os.urandom(1000), b"\x80\x04pickle" * 100])
def test_foreign_file(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ForeignModelFileError, match="other: this is not a labeltree model"):
        load(tmp_path / "other")


def test_safetensors_file_of_another_program(tmp_path):
    save_file({"w": np.zeros(3)}, tmp_path / "other", {"format": "pt"})
    with pytest.raises(ForeignModelFileError, match="is not a labeltree model"):
        load(tmp_path / "other")


def test_file_of_a_future_format(path):
    header, arrays = modelfile.read(path)
    save_file(arrays, path, {"labeltree": "4", "header": json.dumps(header), "checksum": "?"})
    with pytest.raises(FutureModelFileError, match=r"has format 4, .* install a later labeltree"):
        load(path)


def test_estimator_of_a_future_version(path):
    header, arrays = modelfile.read(path)
    modelfile.write(path, {**header, "estimator": "QuantumTree"}, arrays)
    with pytest.raises(FutureModelFileError, match="QuantumTree, which this version does not have"):
        load(path)


@pytest.mark.parametrize("missing", ["labels", "weights", "counts"])
def test_inconsistent_file(path, missing):
    header, arrays = modelfile.read(path)
    del arrays[missing]
    modelfile.write(path, header, arrays)
    with pytest.raises(CorruptModelFileError, match=missing):
        load(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_failed_save_leaves_the_old_file_and_nothing_else(clf, path, monkeypatch):
    good = path.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(modelfile, "sync", fail)
    with pytest.raises(OSError, match="disk is full"):
        clf.save(path)
    assert path.read_bytes() == good
    assert os.listdir(path.parent) == [path.name]


def test_folder_that_does_not_exist(clf, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        clf.save(tmp_path / "nowhere" / "m")


def test_what_a_file_cannot_hold_is_said_before_writing(tmp_path):
    clf = OneAgainstAllClassifier(random_state=np.random.RandomState(0)).fit([[1.0]], [1])
    with pytest.raises(
        ValueError, match="random_state is a RandomState, which a model file cannot"
    ):
        clf.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_file_has_the_users_permissions(path):
    (path.parent / "plain").touch()
    assert path.stat().st_mode == (path.parent / "plain").stat().st_mode


def test_link_is_followed_and_permissions_are_kept(clf, path):
    path.chmod(0o600)
    link = path.with_name("link")
    link.symlink_to(path)
    clf.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert load(link).predict([[1.0, 0.0]]).tolist() == ["b"]


def test_what_is_not_a_file_is_not_replaced(clf, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe: this is not a file"):
        clf.save(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a file"):
        clf.save(tmp_path)
    assert os.listdir(tmp_path) == ["pipe"]


def test_threads_may_save_to_one_place(clf, path):
    def save():
        for _ in range(20):
            clf.save(path)

    threads = [threading.Thread(target=save) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load(path).predict([[1.0, 0.0]]).tolist() == ["b"]
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "change",
    [
        {"fixed": {"loss": "nope"}},
        {"fixed": None},
        {"settled": None},
        {"settled": {}},
        {"params": {"loss": "nope"}},
        {"progress": {"wrong": 1}},
    ],
)
def test_header_that_makes_no_sense(path, change):
    header, arrays = modelfile.read(path)
    modelfile.write(path, {**header, **change}, arrays)
    with pytest.raises(CorruptModelFileError, match="not consistent"):
        load(path)


def test_fewer_labels_than_models(path):
    header, arrays = modelfile.read(path)
    arrays["labels_end"] = arrays["labels_end"][:1]
    arrays["labels"] = arrays["labels"][: arrays["labels_end"][0]]
    modelfile.write(path, header, arrays)
    with pytest.raises(CorruptModelFileError, match="number of labels"):
        load(path)


def test_killed_while_saving_leaves_a_good_file(path):
    """A process that saves again and again is killed; whatever is there afterwards loads."""
    script = (
        "import sys; from labeltree import load\n"
        "clf = load(sys.argv[1]); print('ready', flush=True)\n"
        "while True: clf.save(sys.argv[1])\n"
    )
    for delay in (0.0, 0.02):  # tests.attack has many more
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE
        )
        with process:
            process.stdout.readline()
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.kill()
        assert load(path).predict([[1.0, 0.0]]).tolist() == ["b"]


LEFTOVER = f".{'0a' * 16}.labeltree-partial"


@pytest.mark.parametrize("name", ["m", "m.labeltree", "[m]", "x" * 255, "ü" * 127, "m\n"])
def test_leftovers_are_removed_unless_in_use(tmp_path, name):
    path = tmp_path / name
    with modelfile.replacing(path) as beside:
        beside.write_text("new")
        with modelfile.replacing(path) as other:
            other.write_text("newer")
        assert path.read_text() == "newer"
        assert beside.exists()
        leftover = beside.with_name(beside.name.replace(beside.name[-50:-18], "0a" * 16))
        leftover.write_text("as if killed")
    assert path.read_text() == "new"
    with modelfile.replacing(path) as beside:
        beside.write_text("newest")
    assert os.listdir(tmp_path) == [name]


def test_files_of_others_are_no_leftovers(clf, tmp_path):
    (tmp_path / "folder").mkdir()
    others = {
        ".m.abcdefgh",
        ".m.labeltree-partial",
        f".other{LEFTOVER}",
        f".m.x{LEFTOVER}",
        f".m{LEFTOVER}.orig",
        f"a.m{LEFTOVER}",
        f".m{LEFTOVER.upper()}",
    }
    for name in others:
        (tmp_path / name).write_text("keep me")
    os.mkfifo(tmp_path / f".m{LEFTOVER}")
    (tmp_path / f".m{LEFTOVER.replace('0a', 'ff')}").symlink_to(tmp_path / ".m.abcdefgh")
    clf.save(tmp_path / "m")
    links = {f".m{LEFTOVER}", f".m{LEFTOVER.replace('0a', 'ff')}"}
    assert {*os.listdir(tmp_path)} == {*others, *links, "folder", "m"}


def test_what_a_killed_save_has_left_goes_with_the_next(clf, path):
    script = (
        "import sys, os, signal; from labeltree import load, modelfile\n"
        "modelfile.sync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "load(sys.argv[1]).save(sys.argv[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)]).returncode == -9
    (left,) = {*os.listdir(path.parent)} - {path.name}
    assert left.startswith(f".{path.name}.")
    clf.save(path)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_an_interrupted_save_has_left_goes_with_the_next(clf, path, monkeypatch):
    def lock_and_interrupt(*args):
        flock(*args)
        raise KeyboardInterrupt

    flock = modelfile.fcntl.flock
    with monkeypatch.context() as patch:
        patch.setattr(modelfile.fcntl, "flock", lock_and_interrupt)
        # `pytest.raises` would keep what the interrupted call has opened.
        with contextlib.suppress(KeyboardInterrupt):
            clf.save(path)
    assert len(os.listdir(path.parent)) == 2
    clf.save(path)
    assert os.listdir(path.parent) == [path.name]


def test_file_that_was_private_is_so_while_it_is_written(tmp_path):
    path = tmp_path / "m"
    path.touch(mode=0o600)
    with modelfile.replacing(path) as beside:
        assert beside.stat().st_mode & 0o777 == 0o600


def test_equal_models_are_equal_files(clf, path):
    first = path.read_bytes()
    for _ in range(5):  # the metadata's order must not be that of a hash table
        clf.save(path)
        assert path.read_bytes() == first


def test_attached_arrays_are_read_back_or_refused(clf, tmp_path):
    path = tmp_path / "m"
    kinds = ["u1", "u2", "u4", "u8", "i8", "f4", "f8"]
    arrays = {kind: np.arange(6).astype(kind).reshape(2, 3) for kind in kinds}
    arrays |= {"empty": np.zeros((0, 4)), "none": np.zeros(()), "turned": np.eye(3)[:, ::2]}
    clf.save(path, notes={"ü": "☃"}, attached=arrays)
    assert modelfile.read(path)[0]["notes"] == {"ü": "☃"}
    read = modelfile.read_attached(path)
    assert read.keys() == arrays.keys()
    for name, array in read.items():
        assert array.dtype == arrays[name].dtype
        assert array.shape == arrays[name].shape
        assert array.tolist() == arrays[name].tolist()
    good = path.read_bytes()
    for kind in ("complex128", "bool", "int32", "<U3", ">f4"):
        with pytest.raises(ValueError, match="the array 'z' is of type"):
            clf.save(path, attached={"z": np.zeros(2, kind)})
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == ["m"]


def test_json_that_speaks_of_labeltree_is_no_model(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"name": "labeltree", "my": "settings"}')
    with pytest.raises(modelfile.ForeignModelFileError):
        modelfile.read(path)
