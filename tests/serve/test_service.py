"""The service: nothing acknowledged is lost, learned twice, or learned otherwise."""

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from labeltree import LabelTreeClassifier, TextClassifier, load, modelfile
from labeltree.data import load as load_data
from labeltree.eventlog import EventLog, LogError
from labeltree.runs import train
from labeltree.runs.run import Every
from labeltree.serve import command, snapshots
from labeltree.serve import service as service_module
from labeltree.serve.examples import BadRequestError, Example
from labeltree.serve.newmodel import NewModel
from labeltree.serve.service import BusyError, Service, UnavailableError

NEW = NewModel("label-tree", {"random_state": 0, "bits": 12}, True, {"hash_bits": 12}, None)
WORDS = ["purrs", "barks", "sings", "swims", "hops", "flies"]


def example(i, **more):
    word = WORDS[i % len(WORDS)]
    return Example(f"it {word} number {i}", labels=(f"label {i % 7}",), **more)


EXAMPLES = [example(i) for i in range(60)]


def open_(tmp_path, new=NEW, **options):
    return Service.open(tmp_path / "m.labeltree", tmp_path / "log", new, **options)


def arrays(service):
    clf = service.model.clf
    return {**clf.estimator_._learner.state(), **clf.features_._arrays()}


def assert_same(a, b):
    a, b = arrays(a), arrays(b)
    assert a.keys() == b.keys()
    for name, array in a.items():
        np.testing.assert_array_equal(array, b[name], err_msg=name)


def learn(service, examples, sizes=(1, 3, 2)):
    """Learn in requests of different sizes; return what each has become."""
    found, begin = [], 0
    while begin < len(examples):
        size = sizes[len(found) % len(sizes)]
        found.append(service.learn(examples[begin : begin + size]).result(10))
        begin += size
    return found


def crashed(tmp_path, where):
    """Return a copy of what is on disk now, as a crash would leave it."""
    copy = tmp_path / where
    copy.mkdir()
    shutil.copytree(tmp_path / "log", copy / "log")
    if (tmp_path / "m.labeltree").exists():
        shutil.copy(tmp_path / "m.labeltree", copy / "m.labeltree")
    return copy


def test_what_was_learned_is_there_after_a_crash(tmp_path):
    service = open_(tmp_path)
    learn(service, EXAMPLES[:30])
    copy = crashed(tmp_path, "crashed")
    recovered = open_(copy, new=None)
    assert recovered.version == 30
    assert_same(service, recovered)
    learn(service, EXAMPLES[30:])
    learn(recovered, EXAMPLES[30:], sizes=(7,))
    assert_same(service, recovered)
    service.close()
    recovered.close()


def test_a_model_that_was_trained_before_goes_on(tmp_path):
    clf = TextClassifier(LabelTreeClassifier(random_state=0, bits=12), hash_bits=12)
    clf.partial_fit([one.text for one in EXAMPLES[:20]], [one.labels[0] for one in EXAMPLES[:20]])
    clf.save(tmp_path / "m.labeltree")
    service = open_(tmp_path, new=None)
    learn(service, EXAMPLES[20:40])
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, new=None)
    assert_same(service, recovered)
    recovered.close()
    clf.partial_fit(
        [one.text for one in EXAMPLES[20:40]], [one.labels[0] for one in EXAMPLES[20:40]]
    )
    own, served = clf.estimator_._learner.state(), load(tmp_path / "m.labeltree")
    for name, array in served.estimator_._learner.state().items():
        np.testing.assert_array_equal(array, own[name], err_msg=name)


def test_snapshots_bound_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr("labeltree.eventlog.SEGMENT_BYTES", 1)
    service = open_(tmp_path, every=Every(examples=5))
    service.log._segment_bytes = 200
    learn(service, EXAMPLES)
    service.snapshot()
    found = snapshots.of(service.log)
    assert len(found) == 2
    assert service.log.first > 0
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, new=None)
    assert_same(service, recovered)
    recovered.close()


@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_damaged_snapshots_are_left_out(tmp_path, damaged):
    service = open_(tmp_path)
    learn(service, EXAMPLES[:20])
    service.snapshot()
    learn(service, EXAMPLES[20:40])
    service.snapshot()
    learn(service, EXAMPLES[40:])
    copy = crashed(tmp_path, "crashed")
    service.close()
    newest, older = sorted((copy / "log").glob("snapshot*"), reverse=True)
    for path in (copy / "m.labeltree", newest, older)[:damaged]:
        path.write_bytes(path.read_bytes()[:500])
    said = []
    recovered = open_(copy, new=None, tell=said.append)
    assert ("left out" in " ".join(said)) == (damaged > 0)
    assert_same(service, recovered)
    recovered.close()


def test_without_its_snapshots_a_shortened_log_is_refused(tmp_path):
    service = open_(tmp_path, every=Every(examples=5))
    service.log._segment_bytes = 200
    learn(service, EXAMPLES)
    service.snapshot()
    service.close()
    for path in [*(tmp_path / "log").glob("snapshot*"), tmp_path / "m.labeltree"]:
        path.unlink()
    with pytest.raises(LogError, match="cannot be read"):
        open_(tmp_path)


def test_another_model_is_not_taken_for_that_of_the_log(tmp_path):
    service = open_(tmp_path)
    learn(service, EXAMPLES)
    service.close()
    TextClassifier(hash_bits=12).partial_fit(["a"], ["b"]).save(tmp_path / "m.labeltree")
    with pytest.raises(LogError, match="not the model"):
        open_(tmp_path)


def test_the_model_that_a_log_goes_on_from_may_not_be_another(tmp_path):
    path = tmp_path / "m.labeltree"
    TextClassifier(hash_bits=12).partial_fit(["a", "b"], ["x", "y"]).save(path)
    service = open_(tmp_path, None)
    learn(service, EXAMPLES[:5])
    copy = crashed(tmp_path, "crashed")
    service.close()
    TextClassifier(hash_bits=12).partial_fit(["a", "b"], ["x", "z"]).save(copy / path.name)
    with pytest.raises(LogError, match="not the model"):
        open_(copy, None)
    (copy / path.name).unlink()
    with pytest.raises(LogError, match="is missing"):
        open_(copy, None)


def test_an_id_is_learned_once(tmp_path):
    service = open_(tmp_path)
    first = service.learn([example(1, id="a"), example(2, id="b"), example(3, id="a")]).result(10)
    assert (first.learned, first.repeated, first.version) == (2, 1, 2)
    again = service.learn([example(1, id="a"), example(4, id="c")]).result(10)
    assert (again.learned, again.repeated, again.version) == (1, 1, 3)
    copy = crashed(tmp_path, "crashed")
    service.close()
    for folder in (copy, tmp_path):  # from the log, and from a snapshot
        recovered = open_(folder, new=None)
        done = recovered.learn([example(1, id="a"), example(5)]).result(10)
        assert (done.learned, done.repeated) == (1, 1)
        recovered.close()


def test_answers_come_before_learning(tmp_path):
    service = open_(tmp_path)
    assert service.learn(EXAMPLES[:1], predict=3).result(10).answers == [[]]
    done = service.learn([Example("quite another", labels=("new",))], predict=3).result(10)
    assert [label for label, _ in done.answers[0]] == ["label 0"]
    assert service.model.predict([Example("quite another")], 1)[0][0][0] == "new"
    service.close()


def test_what_cannot_be_learned_is_refused_and_changes_nothing(tmp_path):
    service = open_(tmp_path)
    learn(service, EXAMPLES[:3])
    end = service.log.end
    with pytest.raises(BadRequestError, match="expected one"):
        service.learn([example(1), Example("a", labels=("b", "c"))]).result(10)
    assert service.log.end == end
    assert service.version == 3
    service.close()


def test_a_label_in_another_form_is_refused_before_it_is_logged(tmp_path):
    service = open_(tmp_path)
    learn(service, [Example("it purrs", labels=(1,))])
    end = service.log.end
    with pytest.raises(BadRequestError, match="would be another label"):
        learn(service, [Example("it purrs", labels=("1",))])
    both = [Example("it barks", labels=("2",)), Example("it barks", labels=(2,))]
    with pytest.raises(BadRequestError, match="would be two"):
        service.learn(both).result(10)
    assert service.log.end == end
    assert service.model.labels == 1
    service.close()


def test_what_the_estimator_refuses_is_left_out_now_and_later(tmp_path, monkeypatch):
    partial_fit = TextClassifier.partial_fit

    def picky(self, X, y, **more):
        if any("number 13" in text for text in X):
            raise ValueError("not this one")
        return partial_fit(self, X, y, **more)

    monkeypatch.setattr(TextClassifier, "partial_fit", picky)
    service = open_(tmp_path)
    learn(service, EXAMPLES, sizes=(1, 9, 30))
    assert service.version == len(EXAMPLES) - 1
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, None)
    assert_same(service, recovered)
    recovered.close()


def test_a_model_that_fails_takes_no_more_and_the_log_has_it(tmp_path, monkeypatch):
    service = open_(tmp_path)
    learn(service, EXAMPLES[:3])

    def fails(_):
        raise MemoryError("no memory")

    monkeypatch.setattr(service.model, "learn", fails)
    with pytest.raises(UnavailableError, match="until a restart"):
        service.learn(EXAMPLES[3:4]).result(10)
    with pytest.raises(UnavailableError, match="until a restart"):
        service.learn(EXAMPLES[4:5])
    service.close()
    recovered = open_(tmp_path, None)
    assert recovered.version == 4
    recovered.close()


def test_an_algorithm_of_single_labels_takes_no_sets(tmp_path):
    new = NewModel("recall-tree", {"random_state": 0}, True, {}, True)
    with pytest.raises(ValueError, match="recall-tree learns one label a row"):
        open_(tmp_path, new)
    assert not (tmp_path / "log").exists()  # a start that is refused leaves nothing
    service = open_(tmp_path, replace(new, sets=None))
    with pytest.raises(BadRequestError, match="expected one"):
        service.learn([Example("a", labels=("x", "y"))]).result(10)
    assert service.log.end == 1
    service.close()


def test_another_model_may_be_asked_for_until_one_has_learned(tmp_path):
    said = []
    open_(tmp_path).close()
    other = NewModel("recall-tree", {"random_state": 0, "bits": 12}, True, {"hash_bits": 12}, None)
    service = open_(tmp_path, other, tell=said.append)
    assert service.model.facts()["algorithm"] == "recall-tree"
    assert said == []
    learn(service, EXAMPLES)
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, replace(NEW, sets=True), tell=said.append)
    assert "has no effect: label sets" in said[0]
    assert_same(service, recovered)
    recovered.close()


@pytest.mark.parametrize("first", [("a",), ("a", "b")])
@pytest.mark.parametrize("then", [("c",), ("c", "d")])
def test_an_example_that_is_refused_settles_nothing(tmp_path, monkeypatch, first, then):
    fit = TextClassifier.partial_fit

    def refuses(self, X, y, **given):
        if "refused" in X:
            raise ValueError("the model refuses")
        return fit(self, X, y, **given)

    monkeypatch.setattr(TextClassifier, "partial_fit", refuses)
    service = open_(tmp_path)
    jobs = [service.learn([Example("refused", labels=first)]) for _ in range(1500)]
    jobs.append(service.learn([Example("it purrs", labels=then)]))
    assert all(job.result(30).learned == 1 for job in jobs)
    assert service.model.sets == (len(then) > 1)
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, None)
    assert recovered.model.sets == service.model.sets
    assert_same(service, recovered)
    recovered.close()


def test_a_link_to_a_model_has_its_log(tmp_path):
    service = command.open_service(tmp_path / "m.labeltree", None, NEW)
    learn(service, EXAMPLES[:3])
    service.snapshot()
    (tmp_path / "link").symlink_to(tmp_path / "m.labeltree")
    with pytest.raises(LogError, match="another process"):
        command.open_service(tmp_path / "link", None, NEW)
    service.close()


def test_a_snapshot_is_due_before_recovery_would_take_long(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(snapshots.time, "monotonic", lambda: now[0])
    schedule = snapshots.Schedule(Every(examples=1000))
    assert [schedule.due(10, 25.0) for _ in range(3)] == [False, False, True]
    schedule.begin()
    now[0] = 2.0  # it took two seconds, so the next one waits for six
    schedule.end()
    assert not schedule.due(10, 100.0)
    now[0] = 7.0
    assert schedule.due(10, 0.0)
    schedule.begin()
    schedule.end()
    assert [schedule.due(500, 0.1), schedule.due(460, 0.1)] == [False, True]  # as asked for
    assert schedule.due(1, 0.1)  # until it is begun
    schedule.begin()
    assert not schedule.due(1, 0.1)


def test_what_a_killed_snapshot_has_left_is_removed(tmp_path):
    open_(tmp_path).close()
    left = tmp_path / "log" / ".snapshot-00000000000000000051.labeltree.ab.labeltree-partial"
    left.write_bytes(b"half of a model")
    open_(tmp_path).close()
    assert not left.exists()


def test_what_comes_while_a_snapshot_is_written_is_learned(tmp_path, monkeypatch):
    service = open_(tmp_path)
    learn(service, EXAMPLES[:20])
    held, write = threading.Event(), modelfile.write
    monkeypatch.setattr(
        modelfile, "write", lambda *given, **how: held.wait(10) and write(*given, **how)
    )
    with ThreadPoolExecutor() as pool:
        written = pool.submit(service.snapshot)
        learn(service, EXAMPLES[20:40])
        while service._written is None:
            time.sleep(0.001)
        learn(service, EXAMPLES[40:])
        assert not written.done()
        held.set()
        assert written.result(10).position <= service.log.end - 20
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, None)
    assert_same(service, recovered)
    recovered.close()


def test_a_request_that_was_given_up_holds_nobody_up(tmp_path):
    service = open_(tmp_path)
    held = threading.Event()
    stuck = service._between(held.wait)
    given_up = service.learn(EXAMPLES[:1])
    assert given_up.cancel()
    held.set()
    assert stuck.result(10)
    assert service.learn(EXAMPLES[1:2]).result(10).version == 1
    service.close()


def test_a_first_example_of_weight_zero_teaches_nothing_and_does_no_harm(tmp_path):
    service = open_(tmp_path)
    assert service.learn([example(1, weight=0.0)], predict=2).result(10).answers == [[]]
    assert service.model.predict([Example("it purrs")], 2) == [[]]
    learn(service, EXAMPLES[:9])
    copy = crashed(tmp_path, "crashed")
    service.close()
    recovered = open_(copy, None)
    assert_same(service, recovered)
    recovered.close()


def test_the_first_example_settles_whether_there_are_sets(tmp_path):
    service = open_(tmp_path)
    mixed = [Example("a", labels=("x",)), Example("c", labels=("y", "z"))]
    with pytest.raises(BadRequestError, match="expected one"):
        service.learn(mixed).result(10)
    assert service.model.sets is None
    assert service.learn(mixed[::-1]).result(10).learned == 2
    assert service.model.sets is True
    service.close()


def test_a_log_that_is_gone_is_missed(tmp_path):
    service = open_(tmp_path)
    learn(service, EXAMPLES)
    service.close()
    (path,) = (tmp_path / "log").glob("0*.log")
    path.write_bytes(b"")
    with pytest.raises(LogError, match="segments of the log are missing"):
        open_(tmp_path)


def test_whoever_is_told_may_fail(tmp_path):
    service = open_(tmp_path)

    def fails(*_):
        raise RuntimeError("Event loop is closed")

    service.on_learned = fails
    learn(service, EXAMPLES[:4])
    assert service.version == 4
    service.close()


def test_a_full_disk_is_told_and_predictions_go_on(tmp_path, monkeypatch):
    service = open_(tmp_path)
    learn(service, EXAMPLES[:3])

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(service.log, "append", full)
    with pytest.raises(UnavailableError, match="No space"):
        service.learn(EXAMPLES[3:4]).result(10)
    assert service.version == 3
    assert service.model.predict([Example("it purrs")], 1)[0]
    monkeypatch.undo()
    assert service.learn(EXAMPLES[3:4]).result(10).version == 4
    service.close()


def test_a_full_queue_refuses(tmp_path, monkeypatch):
    monkeypatch.setattr(service_module, "MOST_WAITING", 5)
    service = open_(tmp_path)
    held = threading.Event()
    stuck = service._between(held.wait)
    waiting = [service.learn(EXAMPLES[i : i + 2]) for i in (0, 2)]
    with pytest.raises(BusyError):
        service.learn(EXAMPLES[4:6])
    held.set()
    assert stuck.result(10)
    assert [one.result(10).learned for one in waiting] == [2, 2]
    service.close()
    with pytest.raises(UnavailableError):
        service.learn(EXAMPLES[:1])


def test_features(tmp_path):
    new = NewModel("one-against-all", {"random_state": 0, "bits": 12}, False, {}, True)
    service = open_(tmp_path, new)
    rows = [Example(indices=(i % 3, 7), values=(1.0, 0.5), labels=(i % 3, 9)) for i in range(9)]
    learn(service, rows)
    answer = service.model.predict([Example(indices=(1, 7), values=(1.0, 0.5))], 2)[0]
    assert {label for label, _ in answer} == {1, 9}
    copy = crashed(tmp_path, "crashed")
    service.close()
    (path,) = (tmp_path / "log").glob("0*.log")
    data = load_data(path, n_features=10)
    assert data.y == [[i % 3, 9] for i in range(9)]
    np.testing.assert_array_equal(data.X.toarray()[:2, [0, 1, 7]], [[1, 0, 0.5], [0, 1, 0.5]])
    train(tmp_path / "log", tmp_path / "again", format="log", algorithm="one-against-all")
    assert load(tmp_path / "again").classes_.tolist() == [0, 9, 1, 2]
    recovered = open_(copy, None)
    ours = service.model.clf._learner.state()
    for name, array in recovered.model.clf._learner.state().items():
        np.testing.assert_array_equal(array, ours[name])
    recovered.close()


def test_the_log_is_let_go_when_opening_fails(tmp_path):
    with pytest.raises(LogError, match="nothing to make one from"):
        open_(tmp_path, new=None)
    EventLog(tmp_path / "log").close()
