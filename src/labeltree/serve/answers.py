"""Small requests that come at the same time, predicted together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from labeltree.serve.examples import Example
from labeltree.serve.model import Answer

SMALL = 64  # examples of a request that waits for others
TOGETHER = 512  # examples that are predicted at once

Predict = Callable[[Sequence[Example], int], list[Answer]]


class Answers:
    """Collects what arrives while a prediction runs, and predicts it next."""

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="labeltree-predict")
        self._waiting: dict[int, list[tuple[Sequence[Example], asyncio.Future[list[Answer]]]]] = {}
        self._running: asyncio.Task[None] | None = None

    async def ask(self, examples: Sequence[Example], k: int) -> list[Answer]:
        """Return the k best labels of each example."""
        loop = asyncio.get_running_loop()
        if len(examples) > SMALL:
            return await loop.run_in_executor(self._threads, self._predict, examples, k)
        done: asyncio.Future[list[Answer]] = loop.create_future()
        self._waiting.setdefault(k, []).append((examples, done))
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._run())
        return await done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            k, asked = next(iter(self._waiting.items()))
            taken = asked[:TOGETHER]
            del asked[:TOGETHER]
            if not asked:
                del self._waiting[k]
            together = [example for examples, _ in taken for example in examples]
            try:
                answers = await loop.run_in_executor(self._threads, self._predict, together, k)
            except Exception:
                for examples, done in taken:
                    await self._answer_alone(examples, k, done)
                continue
            begin = 0
            for examples, done in taken:
                if not done.done():  # unless whoever asked has gone away
                    done.set_result(answers[begin : begin + len(examples)])
                begin += len(examples)

    async def _answer_alone(
        self, examples: Sequence[Example], k: int, done: asyncio.Future[list[Answer]]
    ) -> None:
        """Answer one request that was asked with others: what is wrong with it is its own."""
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._threads, self._predict, examples, k)
        except Exception as error:
            if not done.done():
                done.set_exception(error)
        else:
            if not done.done():
                done.set_result(answer)

    def close(self) -> None:
        """Start nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
