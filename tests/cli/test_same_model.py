"""One seed, one model: whatever the clock, the checkpoints, the interruptions and the portions."""

import json
import os
import signal
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from labeltree import load, modelfile
from labeltree.cli.display import Display
from labeltree.data import loading
from labeltree.data import text as data_text
from labeltree.datasets import make_multiclass
from labeltree.runs import train, training
from labeltree.runs.labelruns import LabelRuns

from .conftest import assert_same_model

SEED = {"params": {"random_state": 0, "bits": 18}}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Texts, for which the default learner has an index and scorers."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("text") / "a.tsv"
    rows = []
    for label in random.zipf(1.3, 5000) % 300:
        words = [*random.integers(0, 40, 3), *(label * 7 + random.integers(0, 9, 3))]
        rows.append(f"l{label}\t{' '.join(f'w{word}' for word in words)}\n")
    path.write_text("".join(rows))
    return str(path)


@pytest.fixture
def portions(monkeypatch):
    """The sizes of the portions that are learned."""
    sizes = []
    learn = training.Training._learn_portion

    def counted(self, rows, *more):
        sizes.append(len(rows))
        learn(self, rows, *more)

    monkeypatch.setattr(training.Training, "_learn_portion", counted)
    return sizes


@pytest.mark.parametrize("algorithm", ["label-tree", "one-against-all"])
def test_clock_decides_nothing(text, tmp_path, monkeypatch, portions, algorithm):
    train([text], tmp_path / "m", algorithm=algorithm, **SEED)
    before = portions.copy()
    portions.clear()
    random = np.random.default_rng(1)
    now = [0.0]

    def slow():
        now[0] += float(random.exponential(0.3))
        return now[0]

    monkeypatch.setattr(time, "perf_counter", slow)
    monkeypatch.setattr(time, "monotonic", slow)
    train([text], tmp_path / "n", algorithm=algorithm, checkpoint_every="1s", **SEED)
    assert portions == before
    assert max(portions) <= 2048
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_batches_of_few_rows_change_nothing(text, tmp_path, monkeypatch):
    train([text], tmp_path / "m", **SEED)
    monkeypatch.setattr(loading, "BATCH_BYTES", 5000)
    monkeypatch.setattr(data_text, "CHUNK", 999)
    train([text], tmp_path / "n", **SEED)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


@pytest.mark.parametrize("bound", [{"max_labels": 40}, {"max_memory": 0.2, "replay": 0}])
@pytest.mark.parametrize("passes", [1, 2])
def test_labels_are_forgotten_whatever_the_batches(text, tmp_path, monkeypatch, bound, passes):
    params = {**SEED["params"], **bound}
    train([text], tmp_path / "m", params=params, passes=passes)
    monkeypatch.setattr(loading, "BATCH_BYTES", 5000)
    monkeypatch.setattr(data_text, "CHUNK", 999)
    train([text], tmp_path / "n", params=params, passes=passes)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    assert 1 < len(load(tmp_path / "m").classes_) < 250


@pytest.mark.parametrize("options", [{}, {"shuffle": 1500, "holdout": 0.1}, {"label_sets": True}])
@pytest.mark.parametrize("number", [0, 1])
def test_checkpoints_and_ctrl_c_change_nothing(
    text, tmp_path, monkeypatch, portions, options, number
):
    options = {**SEED, "passes": 2, **options}
    train([text], tmp_path / "m", **options)
    after = 2 * len(portions) - 2 if number else len(portions) + 2
    learn = training.Training._learn_portion

    def stopping(self, *more):
        learn(self, *more)
        if len(portions) == after:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training.Training, "_learn_portion", stopping)
    n = tmp_path / "n"
    with pytest.raises(KeyboardInterrupt):
        train([text], n, checkpoint_every="1", **options)
    run = modelfile.read_header(n)["notes"]["run"]
    assert run["number"] == number
    assert run["rows"] > 0
    train([], n, resume=n, checkpoint_every="1")
    assert (tmp_path / "m").read_bytes() == n.read_bytes()


def in_order(path, label_runs=1):
    """Write rows whose one feature is their number."""
    path.write_text("".join(f"{i // label_runs % 7} {i}:1\n" for i in range(3000)))
    return str(path)


def test_shuffle_gives_every_row_once_and_holds_out_the_same(tmp_path, monkeypatch):
    learned, held = [], []
    learn = training.Training._learn_portion

    def note(self, rows, *more):
        learned.extend(rows.X.indices[rows.weight > 0].tolist())
        held.extend(rows.X.indices[rows.weight == 0].tolist())
        learn(self, rows, *more)

    monkeypatch.setattr(training.Training, "_learn_portion", note)
    data = [in_order(tmp_path / "a.svm")]
    options = {"algorithm": "lom-tree", "holdout": 0.2, "passes": 2, "shuffle": 1000, **SEED}
    train(data, tmp_path / "m", **options)
    kept = [i for i in range(3000) if i % 5 != 4]
    first, second = learned[:2400], learned[2400:]
    assert sorted(first) == sorted(second) == kept
    assert first != second
    assert max(abs(i - at * 1.25) for at, i in enumerate(first)) < 1020  # within blocks
    assert sorted(held) == sorted([*range(4, 3000, 5)] * 2)
    train(data, tmp_path / "n", **options)
    assert learned[4800:] == [*first, *second]
    assert_same_model(tmp_path / "m", tmp_path / "n")


def test_shuffle_of_a_run_stays(cli, refused, tmp_path):
    X, y = make_multiclass(1500, 10, n_features=64)
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"))
    m = tmp_path / "m"
    arguments = ["tune", tmp_path / "a.svm", "-m", m, "--trials", 2, "--budget", "0.001s"]
    cli(*arguments, "--shuffle", 1200, "--quiet")
    refused(
        "train", "--resume", m, "--shuffle", 10, match="leave --passes, --holdout and --shuffle"
    )
    cli("train", "--resume", m, "--quiet")
    assert modelfile.read_header(m)["notes"]["run"]["shuffle"] == 1200


def test_runs_of_labels_are_told_from_chance():
    random = np.random.default_rng(0)
    for labels, expected in [
        (np.arange(4000) // 40, True),
        (np.repeat(random.integers(0, 1000, 1000), 4), True),
        (random.integers(0, 100, 4000), False),
        (random.zipf(1.5, 4000) % 1000, False),
        (np.zeros(4000), False),  # one label is no run
        (np.arange(4000) % 100, False),
        ((random.random(4000) < 0.01).astype(int), False),
        (np.array([1, 1, 2, 2]), False),  # too few to be sure
    ]:
        runs = LabelRuns()
        for part in np.array_split(labels.astype(np.uint32), 3):
            runs.add(part)
        assert runs.found is expected
        assert runs.repeats == np.count_nonzero(labels[1:] == labels[:-1])
    assert not LabelRuns().found


def test_sorted_file_is_warned_of_and_shuffle_mends_it(cli, tmp_path):
    data = in_order(tmp_path / "a.svm", label_runs=430)
    arguments = ["train", data, "-m", tmp_path / "m", "--algorithm", "lom-tree", "--bits", 18]
    err = cli(*arguments).err
    assert "100% of the rows have the label of the row before them, where a random order" in err
    assert err.count("warning") == 1
    assert "warning" not in cli(*arguments, "--shuffle", 3000).err
    assert "give a larger --shuffle ROWS" in cli(*arguments, "--shuffle", 10).err
    assert "warning" not in cli("train", in_order(tmp_path / "b.svm"), *arguments[2:]).err


def test_later_passes_show_the_training_error(cli, text, tmp_path):
    arguments = ["train", text, "-m", tmp_path / "m", "--passes", 4, "--bits", 18]
    events = [json.loads(line) for line in cli(*arguments, "--json").out.splitlines()]
    passes = [event for event in events if event["event"] == "pass"]
    assert [event["number"] for event in passes] == [2, 3, 4]
    assert [event["examples"] for event in passes] == [5000] * 3
    errors = [event["training_error"] for event in passes]
    assert errors[2] < errors[1] < errors[0] < events[-1]["error"]
    assert f"pass 2: training error {errors[0]:.4f} on 5,000 rows" in cli(*arguments).err


def test_the_error_of_rows_held_out_does_not_depend_on_portions(text, tmp_path, monkeypatch):
    class Notes(Display):
        def __init__(self):
            super().__init__()
            self.errors = []

        def note(self, _, event="", **facts):
            if event == "holdout":
                self.errors.append((facts["examples"], facts["error"]))

    found = []
    for portion in (2048, 77):
        monkeypatch.setattr(training, "PORTION", portion)
        display = Notes()
        train([text], tmp_path / "m", holdout=0.1, passes=2, observer=display, **SEED)
        found.append(display.errors)
    assert found[0] == found[1]
    assert [examples for examples, _ in found[0]] == [500, 500]
    assert found[0][1][1] < found[0][0][1]
