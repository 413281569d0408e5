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
Asked = tuple[Sequence[Example], asyncio.Future[list[Answer]]]


class Answers:
    """Collects what arrives while a prediction runs, and predicts it next."""

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="labeltree-predict")
        self._waiting: dict[int, list[Asked]] = {}
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
        while self._waiting:
            k, asked = next(iter(self._waiting.items()))
            taken = asked[:TOGETHER]
            del asked[:TOGETHER]
            if not asked:
                del self._waiting[k]
            await self._answer(taken, k)

    async def _answer(self, asked: list[Asked], k: int) -> None:
        """Answer requests together; if that fails, each alone: what is wrong is its own."""
        loop = asyncio.get_running_loop()
        together = [example for examples, _ in asked for example in examples]
        try:
            answers = await loop.run_in_executor(self._threads, self._predict, together, k)
        except Exception as error:
            if len(asked) > 1:
                for one in asked:
                    await self._answer([one], k)
            elif not asked[0][1].done():
                asked[0][1].set_exception(error)
            return
        begin = 0
        for examples, done in asked:
            if not done.done():  # unless whoever asked has gone away
                done.set_result(answers[begin : begin + len(examples)])
            begin += len(examples)

    def close(self) -> None:
        """Start nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
