"""What a server tells those who watch it: how it fares, and what it has learned."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from labeltree.serve.examples import Example
from labeltree.serve.model import Answer
from labeltree.serve.service import Service

HOUR = 3600  # points that are kept, one a second
MOST_WATCHERS = 100
_BEHIND = 256  # events that a watcher may be behind before it misses some
_SHOWN = 200  # characters of a text
_A_SECOND = 20  # examples that are shown, and remembered for those who come
_RECENT = 60  # seconds over which the recent error is taken


class Feed:
    """Points of progress once a second, and examples as they are learned."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._points: collections.deque[dict[str, Any]] = collections.deque(maxlen=HOUR)
        self._watchers: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        # Examples and errors, second by second of the last minute.
        self._counts: collections.deque[tuple[int, int]] = collections.deque(maxlen=_RECENT)
        self._lessons: collections.deque[str] = collections.deque(maxlen=_A_SECOND)
        self._shown = 0  # examples in this second
        self.predicted = 0
        self._predicted_before = 0
        service.on_learned = self._note
        service.wants_answers = lambda: self._shown < _A_SECOND

    async def run(self) -> None:
        """Note a point every second, as long as the server runs."""
        self._loop = asyncio.get_running_loop()
        self._counts.append(self._progress())
        while True:
            await asyncio.sleep(1)
            self.point()

    def point(self) -> None:
        """Note how things are."""
        examples, errors = self._progress()
        new = examples - self._counts[-1][0]
        recent, wrong = examples - self._counts[0][0], errors - self._counts[0][1]
        self._counts.append((examples, errors))
        predicted, self._predicted_before = self.predicted - self._predicted_before, self.predicted
        self._shown = 0
        facts = self._service.model.facts()
        point = {
            "time": round(time.time(), 3),
            "examples": facts["examples"],
            "labels": facts["labels"],
            "error": facts["error"],
            "recent_error": wrong / recent if recent > 0 else None,
            "learn_rate": new,
            "predict_rate": predicted,
        }
        if new or predicted or not self._points:
            self._points.append(point)
        self._tell(_event("progress", point))

    async def events(self) -> AsyncIterator[str]:
        """Yield what there is to tell: the last hour's points, then whatever comes."""
        queue: asyncio.Queue[str] = asyncio.Queue(_BEHIND)
        self._watchers.add(queue)
        try:
            known = [_event("progress", point) for point in self._points]
            yield "".join([*known, *self._lessons]) or ": hello\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), 15)
                except TimeoutError:
                    event = ": still here\n\n"
                if not event:
                    return
                yield event
        finally:
            self._watchers.discard(queue)

    def close(self) -> None:
        """Let watchers go; may be called from a signal."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._send_away)

    def _send_away(self) -> None:
        for queue in self._watchers:
            while queue.full():
                queue.get_nowait()
            queue.put_nowait("")

    @property
    def full(self) -> bool:
        """Whether nobody else may watch."""
        return len(self._watchers) >= MOST_WATCHERS

    def _progress(self) -> tuple[int, int]:
        progress = self._service.model.progress
        return progress.examples, progress.errors

    def _note(self, examples: Sequence[Example], answers: list[Answer] | None) -> None:
        """Take what was learned, in the thread that learns."""
        if self._loop is None or self._shown >= _A_SECOND:
            return
        told = examples[: _A_SECOND - self._shown]
        self._shown += len(told)
        events = []
        for i, example in enumerate(told):
            label, score = answers[i][0] if answers and answers[i] else (None, None)
            events.append(
                _event(
                    "learned",
                    {
                        "time": round(time.time(), 3),
                        "text": None if example.text is None else example.text[:_SHOWN],
                        "labels": example.labels[:20],
                        "predicted": label,
                        "score": score,
                        "right": None if label is None else label in example.labels,
                    },
                )
            )
        self._lessons.extend(events)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._tell, "".join(events))

    def _tell(self, event: str) -> None:
        for queue in self._watchers:
            if not queue.full():
                queue.put_nowait(event)


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
