"""One model that learns and answers: what is acknowledged is in the log, then in the model."""

from __future__ import annotations

import json
import logging
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from labeltree import modelfile
from labeltree.eventlog import EventLog, LogError
from labeltree.labels import Label
from labeltree.runs.run import Every
from labeltree.serve import snapshots
from labeltree.serve.examples import BadRequestError, Example
from labeltree.serve.model import Answer, ServedModel
from labeltree.serve.newmodel import NewModel
from labeltree.serve.recentids import RecentIds
from labeltree.treeview import counted

MOST_WAITING = 20_000  # examples
_log = logging.getLogger(__name__)
_TOGETHER = 4096  # examples that are learned at once
_REPLAYED = 2048  # records


class BusyError(RuntimeError):
    """More examples wait to be learned than there is room for."""


class ReadOnlyError(RuntimeError):
    """The server learns nothing."""


class UnavailableError(RuntimeError):
    """Nothing can be learned now."""


@dataclass(frozen=True)
class Learned:
    """What has become of a request to learn."""

    version: int
    learned: int
    repeated: int  # examples whose ids were known
    answers: list[Answer] | None  # what was predicted before


@dataclass
class Job:
    """A request to learn, or something else that is to be done between two of them."""

    examples: Sequence[Example] = ()
    predict: int = 0  # labels to tell of each before it is learned
    action: Callable[[], Any] | None = None
    done: Future[Any] = field(default_factory=Future)


class Service:
    """Answers at once, and learns in one thread, which has the log to itself."""

    def __init__(
        self,
        model: ServedModel,
        log: EventLog | None = None,
        *,
        ids: RecentIds | None = None,
        target: Path | None = None,
        every: Every | None = None,
        sync_seconds: float = 0.005,
    ) -> None:
        self.model = model
        self.log = log
        self.on_learned: Callable[[Sequence[Example], list[Answer] | None], None] | None = None
        self.wants_answers: Callable[[], bool] = lambda: False
        self._ids = ids or RecentIds()
        self._target, self._sync_seconds = target, sync_seconds
        self._schedule = snapshots.Schedule(every or Every())
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._counting = threading.Lock()
        self._closing = False
        self._failed: str | None = None
        self._snapshot_at = -1 if log is None else log.end
        self._writing = threading.Lock()
        self._written: Future[snapshots.Snapshot] | None = None
        self._thread = threading.Thread(target=self._work, name="labeltree-learn", daemon=True)
        if log is not None:
            self._thread.start()

    @classmethod
    def open(
        cls,
        target: Path | None,
        folder: Path,
        new: NewModel | None = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> Service:
        """Go on with the model of a log, or with a model that has none yet."""
        created = not folder.exists()
        log = EventLog(folder)
        try:
            snapshots.check(log)
            model, ids, position, skipped = snapshots.recover(log, target)
            for sentence in skipped:
                tell(f"left out a snapshot: {sentence}")
            if model is not None and not log.end:
                assert target is not None
                position = log.append([snapshots.base_record(target)])
            records = log.read(position)
            known = model is not None or log.end > 0
            if model is None:
                model, records = _started(log, records, new)
            if known and new is not None and (unused := new.unused(model)):
                tell(
                    "the model is there already, and what was asked of a new one has no effect: "
                    f"{', '.join(unused)}"
                )
            started, replayed = time.monotonic(), 0
            while batch := list(islice(records, _REPLAYED)):
                examples = [Example.from_json(json.loads(record)) for record in batch]
                model.learn(examples)
                for example in examples:
                    if example.id is not None:
                        ids.add(example.id)
                replayed += len(batch)
            if replayed:
                seconds = time.monotonic() - started
                what = counted(replayed, "example")
                tell(f"learned {what} of the log again in {seconds:.1f} s")
            service = cls(model, log, ids=ids, target=target, **options)
            service._snapshot_at = position
            return service
        except BaseException:
            log.close()
            if created and not log.end:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    @property
    def version(self) -> int:
        """How many examples were learned."""
        return self.model.version

    @property
    def waiting(self) -> int:
        """How many examples wait to be learned."""
        return self._waiting

    def learn(self, examples: Sequence[Example], predict: int = 0) -> Future[Learned]:
        """Queue examples; the future tells when they are on disk and learned.

        Raises
        ------
        BusyError, UnavailableError
            If they cannot be queued.
        """
        job = Job(examples, predict)
        with self._counting:
            if self.log is None:
                why = "its model is compiled" if self.model.compiled else "it was started read-only"
                raise ReadOnlyError(f"this server only answers: {why}")
            if self._closing or self._failed:
                raise UnavailableError(self._failed or "the server is stopping")
            if self._waiting and self._waiting + len(examples) > MOST_WAITING:
                raise BusyError(f"{self._waiting:,} examples wait to be learned")
            self._waiting += len(examples)
            self._jobs.put(job)
        return job.done

    def snapshot(self) -> snapshots.Snapshot:
        """Write a snapshot of the model as it is between two requests."""
        written: Future[snapshots.Snapshot] = self._between(self._begin_snapshot).result()
        return written.result()

    def save(self, path: Path) -> None:
        """Write the model, as it is between two requests, to a file."""
        if self.log is None:
            self.model.contents({}, {}).write(path)
        else:
            self._between(lambda: self.model.contents({"log": None}, {})).result().write(path)

    def close(self) -> None:
        """Learn what waits, write a snapshot, and let go of the log."""
        if self.log is None:
            return
        with self._counting:
            self._closing = True
            self._jobs.put(None)
        self._thread.join()
        if self._written is not None:
            wait([self._written])
        if self._failed is None and self.log.end > self._snapshot_at and self.model.learned:
            wait([self._begin_snapshot()])
        self.log.close()

    def _between(self, action: Callable[[], Any]) -> Future[Any]:
        """Queue something that is to be done between two requests."""
        job = Job(action=action)
        with self._counting:
            if self._closing:
                raise UnavailableError("the server is stopping")
            self._jobs.put(job)
        return job.done

    def _begin_snapshot(self) -> Future[snapshots.Snapshot]:
        """Copy the model as it is; another thread writes it while this one learns on."""
        assert self.log is not None
        contents = snapshots.contents(self.model, self._ids, self.log)
        self._schedule.begin()
        self._written = Future()
        # Not a pool, whose threads the end of the process would wait for.
        given = contents, self._written
        threading.Thread(target=self._write_snapshot, args=given, daemon=True).start()
        return self._written

    def _write_snapshot(
        self, contents: modelfile.Contents, done: Future[snapshots.Snapshot]
    ) -> None:
        assert self.log is not None
        try:
            with self._writing:
                written = snapshots.write(contents, self.log, self._target)
        except BaseException as error:
            _log.warning("no snapshot was written, the log has everything: %s", error)
            done.set_exception(error)
            return
        self._snapshot_at = written.position
        self._schedule.end()
        done.set_result(written)

    def _work(self) -> None:
        """Take what has queued, over and over."""
        while True:
            jobs = self._take()
            learning = [job for job in jobs if job is not None and job.action is None]
            examples = sum(len(job.examples) for job in learning)
            with self._counting:
                self._waiting -= examples
            learning = [job for job in learning if job.done.set_running_or_notify_cancel()]
            started = time.monotonic()
            try:
                self._learn(learning)
            except BaseException as error:
                self._fail(error, learning)
            due = self._schedule.due(examples, time.monotonic() - started)
            for job in jobs:
                if job is not None and job.action is not None:
                    _settle(job, job.action)
            if None in jobs:
                return
            writing = self._written is not None and not self._written.done()
            if due and self.model.learned and not writing and not self._failed:
                try:
                    self._begin_snapshot()
                except Exception:
                    _log.exception("no snapshot was written, the log has everything")

    def _fail(self, error: BaseException, jobs: list[Job]) -> None:
        """Take no more: what the model has learned may not be what the log has."""
        _log.error("nothing more is learned", exc_info=error)
        self._failed = f"the model could not learn, and takes no more until a restart: {error}"
        for job in jobs:
            if not job.done.done():
                job.done.set_exception(UnavailableError(self._failed))

    def _take(self) -> list[Job | None]:
        """Return the jobs of one commit: those that arrive before the first has waited too long."""
        jobs = [self._jobs.get()]
        until = time.monotonic() + self._sync_seconds
        examples = 0
        while jobs[-1] is not None and jobs[-1].action is None:
            examples += len(jobs[-1].examples)
            left = until - time.monotonic()
            if examples >= _TOGETHER:
                break
            try:
                jobs.append(
                    self._jobs.get(timeout=max(left, 0)) if left > 0 else self._jobs.get_nowait()
                )
            except queue.Empty:
                break
        return jobs

    def _learn(self, jobs: list[Job]) -> None:
        """Log and learn; the first example that is learned settles whether rows have sets."""
        while jobs and self.model.sets is None:
            self.model.sets = len(jobs[0].examples[0].labels) > 1  # to check the others by
            self._learn_together(jobs[:1], settled=False)
            jobs = jobs[1:]
        if jobs:
            self._learn_together(jobs, settled=True)

    def _learn_together(self, jobs: list[Job], *, settled: bool) -> None:
        assert self.log is not None
        kept: list[tuple[Job, list[Example]]] = []
        seen: set[str] = set()
        labels: list[Label] = []
        for job in jobs:
            try:
                for i, example in enumerate(job.examples):
                    self.model.require(example, f"examples[{i}]." if len(job.examples) > 1 else "")
                own = [label for example in job.examples for label in example.labels]
                self.model.require_labels([*labels, *own])
            except BadRequestError as error:
                job.done.set_exception(error)
                continue
            labels += own
            new = []
            for example in job.examples:
                if example.id is not None:
                    if example.id in seen or example.id in self._ids:
                        continue
                    seen.add(example.id)
                new.append(example)
            kept.append((job, new))
        examples = [example for _, new in kept for example in new]
        try:
            answers = self._answers(kept)
            if examples:
                self.log.append([example.to_json() for example in examples])
        except OSError as error:
            for job, _ in kept:
                job.done.set_exception(
                    UnavailableError(f"the log cannot be written: {error.strerror}")
                )
            return
        finally:
            if not settled:  # the model settles it, now as when the log is learned again
                self.model.sets = None
        self.model.learn(examples)
        for example in examples:
            if example.id is not None:
                self._ids.add(example.id)
        version = self.model.version
        for (job, new), answer in zip(kept, answers, strict=True):
            told = answer if job.predict else None
            repeated = len(job.examples) - len(new)
            job.done.set_result(Learned(version, len(new), repeated, told))
            if self.on_learned is not None and new:
                fits = answer is not None and not repeated
                try:
                    self.on_learned(new, answer if fits else None)
                except Exception:
                    _log.exception("nobody was told of what was learned")

    def _answers(self, kept: list[tuple[Job, list[Example]]]) -> list[list[Answer] | None]:
        """Predict what is asked for, and what is watched, before it is learned."""
        watched = self.wants_answers()
        answers: list[list[Answer] | None] = []
        for job, new in kept:
            k = job.predict or (1 if watched and len(new) <= 16 else 0)
            answers.append(self.model.predict(job.examples, k) if k else None)
        return answers


def _started(
    log: EventLog, records: Iterator[bytes], new: NewModel | None
) -> tuple[ServedModel, Iterator[bytes]]:
    """Return the model that a log begins with, or begin a log with a new one; and what follows.

    As long as nothing was learned, another model may be asked for: the last one counts.
    """
    model = None
    for record in records:
        start = json.loads(record).get("start")
        if start is None:
            if model is not None:
                return model, chain([record], records)
            raise LogError(
                f"{log.folder}: the log goes on from a model that is missing; give the model file"
            )
        model = NewModel(**start).make()
    if model is None and new is None:
        raise LogError(f"{log.folder}: there is no model, and nothing to make one from")
    if new is not None and (model is None or new.unused(model)):
        model = new.make()
        log.append([new.to_json()])
    assert model is not None
    return model, iter(())


def _settle(job: Job, action: Callable[[], Any]) -> None:
    if not job.done.set_running_or_notify_cancel():
        return
    try:
        job.done.set_result(action())
    except BaseException as error:
        job.done.set_exception(error)
