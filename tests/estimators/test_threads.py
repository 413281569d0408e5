"""Many threads, one model: whatever is called sees it between two calls that change it."""

import contextlib
import copy
import itertools
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from labeltree import load, modelfile
from labeltree.estimators import ESTIMATORS

WIDTH = 30


def batch(number, rows=10, sets=False):
    """Return rows of which each batch has labels of its own."""
    random = np.random.default_rng(number)
    X = random.random((rows, WIDTH)).astype(np.float32)
    y = [f"label {number % 40} {i % 4}" for i in range(rows)]
    return X, ([[label, "common"] for label in y] if sets else y)


def small(name):
    """Return an estimator that is quick to save."""
    params = {"n_trees": 2} if name == "LdSMClassifier" else {"layout": "hashed", "bits": 12}
    return ESTIMATORS[name](random_state=0, **params)


class Threads:
    """Run functions over and over, each in a thread, until one fails or the time is over."""

    def __init__(self):
        self.errors = []
        self.stop = threading.Event()

    def run(self, *works, seconds):
        def loop(work):
            try:
                while not self.stop.is_set():
                    work()
            except BaseException as error:
                self.errors.append(error)
                self.stop.set()

        threads = [threading.Thread(target=loop, args=[work]) for work in works]
        for thread in threads:
            thread.start()
        self.stop.wait(seconds)
        self.stop.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive(), "a call has not returned"
        if self.errors:
            raise self.errors[0]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_whatever_is_called_while_a_thread_learns_sees_the_model_between_two_calls(name, tmp_path):
    clf = small(name)
    sets = name in ("LdSMClassifier", "OneAgainstAllClassifier")
    clf.partial_fit(*batch(0, sets=sets))
    X, _ = batch(1000)
    number = itertools.count(1)
    copies = itertools.count()

    def learn():
        clf.partial_fit(*batch(next(number), sets=sets))

    def read():
        examples = clf.progress_.examples
        assert examples % 10 == 0
        known = len(clf.classes_)
        assert known <= 161
        labels, _ = clf.predict_topk(X, 3)
        assert set(labels[labels != None]) <= {*clf.classes_}  # noqa: E711
        clf.predict(X)
        clf.predict_one(X[0])
        assert clf.n_labels_ >= known
        if hasattr(type(clf), "tree_"):
            assert len(clf.tree_.parent) > 0

    def keep():
        path = tmp_path / f"{next(copies)}.labeltree"
        clf.save(path)
        others = [load(path), copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))]
        if name != "LdSMClassifier":
            others.append(clf.compile())
        for other in others:
            assert other._learner.labels == len(other.classes_)
            assert other.progress_.examples == other._learner.examples
            other.predict(X)
        path.unlink()

    Threads().run(learn, read, keep, seconds=0.6)
    assert clf.progress_.examples == clf._learner.examples == 10 * next(number)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_threads_that_learn_take_turns(name, tmp_path):
    clf = small(name)  # the first call, too, may come from any of them
    number = itertools.count()
    Threads().run(*[lambda: clf.partial_fit(*batch(next(number)))] * 3, seconds=0.3)
    assert clf.progress_.examples == 10 * next(number)
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").progress_ == clf.progress_


def test_others_use_the_old_model_until_fit_has_learned_a_new_one():
    X, y = batch(0, rows=2000)
    clf = small("RecallTreeClassifier").fit(X, y)
    seen = []

    def fit():
        clf.fit(X, [f"new {label}" for label in y])

    def predict():
        labels = {label[:3] for label in clf.predict(X[:5])}
        assert len(labels) == 1  # all of one model
        seen.append(labels.pop())

    Threads().run(fit, predict, seconds=0.5)
    assert len(set(seen)) <= 2


def test_threads_that_predict_do_not_keep_one_that_learns_waiting():
    clf = small("LabelTreeClassifier").partial_fit(*batch(0))
    X, _ = batch(1, rows=100)
    number = itertools.count(1)
    waits = {"learn": [], "predict": []}

    def timed(what, work):
        def run():
            begin = time.perf_counter()
            work()
            waits[what].append(time.perf_counter() - begin)

        return run

    learn = timed("learn", lambda: clf.partial_fit(*batch(next(number))))
    predict = timed("predict", lambda: clf.predict(X))
    Threads().run(learn, *[predict] * 4, seconds=1.0)
    assert len(waits["learn"]) > 10  # it did not return at all before
    assert max(waits["learn"] + waits["predict"]) < 1.0


@contextlib.contextmanager
def waiting(clf, seconds, ring):
    """Let another thread hold a model for so long, and a signal come meanwhile."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with clf._lock.changing:
            held.set()
            done.wait(seconds)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        done.set()
        thread.join()


def test_one_who_waits_for_the_model_sees_a_signal():
    clf = small("RecallTreeClassifier").partial_fit(*batch(0))

    class AlarmError(Exception):
        pass

    def ring(*_):
        raise AlarmError

    with waiting(clf, 30, ring), pytest.raises(AlarmError):
        clf.predict(batch(0)[0])
    assert len(clf.predict(batch(0)[0])) == 10  # it no longer waits in the queue


@pytest.mark.parametrize("waits", ["predict", "partial_fit"])
@pytest.mark.parametrize("handles", ["predict", "partial_fit"])
def test_a_signal_handler_goes_before_the_call_it_interrupts(waits, handles):
    clf = small("RecallTreeClassifier").partial_fit(*batch(0))
    calls = {
        "predict": lambda: clf.predict(batch(0)[0]),
        "partial_fit": lambda: clf.partial_fit(*batch(0)),
    }
    handled = []

    def ring(*_):
        calls[handles]()
        handled.append(True)

    with waiting(clf, 0.2, ring):
        calls[waits]()
    assert handled


def test_what_is_set_while_fit_learns_stays(monkeypatch):
    clf = small("RecallTreeClassifier")
    learn_all = type(clf)._learn_all

    def slowly(new, *args):
        clf.set_params(n_jobs=2).note = "mine"
        learn_all(new, *args)

    monkeypatch.setattr(type(clf), "_learn_all", slowly)
    clf.fit(*batch(0))
    assert (clf.n_jobs, clf.note) == (2, "mine")


def test_nobody_waits_while_a_model_is_written(monkeypatch, tmp_path):
    clf = small("RecallTreeClassifier").partial_fit(*batch(0))
    written = []

    def write(*_, **__):
        thread = threading.Thread(target=clf.partial_fit, args=batch(1))
        thread.start()
        thread.join(10)
        written.append(not thread.is_alive())

    monkeypatch.setattr(modelfile, "write", write)
    clf.save(tmp_path / "m")
    assert written == [True]


def test_a_call_that_reads_cannot_change_the_model_on_the_way():
    clf = small("RecallTreeClassifier").partial_fit(*batch(0))
    with clf._lock.changing:  # but one that changes it may read
        clf.predict(batch(0)[0])
    with clf._lock.reading, pytest.raises(RuntimeError, match="in the middle of a call that reads"):
        clf.partial_fit(*batch(0))
    clf.partial_fit(*batch(1))


def test_an_interrupt_at_any_step_leaves_labels_and_learner_together(tmp_path):
    """Raise at each line of labeltree that `partial_fit` runs, one after the other."""
    made = small("LabelTreeClassifier").partial_fit(*batch(0))
    steps = itertools.count()
    for aim in itertools.count():
        clf = copy.deepcopy(made)
        line = itertools.count()
        hit = []

        def trace(frame, event, _, aim=aim, line=line, hit=hit):
            if "labeltree/" not in frame.f_code.co_filename:
                return None
            name = frame.f_code.co_name
            # No signal is handled between a with statement and its block.
            if event == "line" and name not in ("locked", "_become") and next(line) == aim:
                hit.append(name)
                raise KeyboardInterrupt
            return trace

        X, y = batch(1)
        sys.settrace(trace)
        try:
            clf.partial_fit(X, y)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        if not hit:
            break
        next(steps)
        assert clf._learner.labels == len(clf.classes_) in (4, 8), hit
        clf.save(tmp_path / "m")
        again = load(tmp_path / "m").partial_fit(X, y)
        assert {*again.classes_} == {*made.classes_, *y}
    assert next(steps) > 50


def run(program):
    """Run a program in a process of its own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SETUP = """
import os, resource, signal, sys, threading, time
import numpy as np
from labeltree import LabelTreeClassifier, RecallTreeClassifier
random = np.random.default_rng(0)
X = random.random((200, 30)).astype(np.float32)
y = [f"l{i % 20}" for i in range(200)]
clf = LabelTreeClassifier(layout="hashed", bits=12, random_state=0).partial_fit(X, y)
"""


def test_a_child_forked_while_a_thread_learns_or_predicts_does_not_hang():
    program = """
    def forever(work):
        while True:
            work()
    threading.Thread(target=forever, args=[WORK], daemon=True).start()
    outcomes = set()
    for _ in range(15):
        time.sleep(0.01)
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            try:
                clf.predict(X)
                clf.partial_fit(X[:5], y[:5])
                os._exit(0)
            except RuntimeError as error:
                os._exit(1 if "forked while another thread changed the model" in str(error) else 2)
        outcomes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(*sorted(outcomes))
    """
    learning = program.replace("WORK", "lambda: clf.partial_fit(X, y)")
    assert run(SETUP + textwrap.dedent(learning)).split() in (["0", "1"], ["1"])
    predicting = program.replace("WORK", "lambda: clf.predict(X)")
    assert run(SETUP + textwrap.dedent(predicting)).split() == ["0"]


def test_a_program_ends_while_daemon_threads_predict_and_learn():
    program = """
    def forever(work):
        while True:
            work()
    for work in (clf.predict, lambda X: clf.partial_fit(X, y), clf.predict, clf.predict):
        threading.Thread(target=forever, args=[lambda work=work: work(X)], daemon=True).start()
    time.sleep(0.3)
    print("end")
    """
    assert run(SETUP + textwrap.dedent(program)) == "end\n"


def test_when_memory_runs_out_labels_and_learner_stay_together():
    program = """
    clf.predict(X)
    more = [f"new {i}" for i in range(40_000)]
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    outcomes = set()
    for room in range(0, 16 << 20, 1 << 19):
        resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
        try:
            clf._add_labels(more)
            outcomes.add("added")
        except MemoryError:
            outcomes.add("refused")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert clf._learner.labels == len(clf._vocabulary) in (20, 40_020), room
    clf.partial_fit(X, y).predict(X)
    print(*sorted(outcomes))
    """
    assert run(SETUP + textwrap.dedent(program)).split() == ["added", "refused"]


def test_a_model_that_ran_out_of_memory_is_not_used_again(monkeypatch):
    clf = small("RecallTreeClassifier").partial_fit(*batch(0))

    class Failing:
        def __init__(self, learner):
            self.learner = learner

        def __getattr__(self, name):
            return getattr(self.learner, name)

        def learn(self, *_):
            raise MemoryError

    monkeypatch.setattr(clf, "_learner", Failing(clf._learner))
    with pytest.raises(MemoryError):
        clf.partial_fit(*batch(0))
    with pytest.raises(RuntimeError, match="memory ran out while this model learned a row"):
        clf.predict(batch(0)[0])
    clf.fit(*batch(0))
    assert len(clf.predict(batch(0)[0])) == 10


def test_memory_that_runs_out_in_fit_leaves_the_old_model(monkeypatch):
    clf = small("RecallTreeClassifier").fit(*batch(0))

    def learn(new, *_, **__):
        new._lock.condemn("memory ran out")
        raise MemoryError

    monkeypatch.setattr(type(clf), "_learn", learn)
    with pytest.raises(MemoryError):
        clf.fit(*batch(1))
    assert {*clf.predict(batch(0)[0])} <= {*batch(0)[1]}
