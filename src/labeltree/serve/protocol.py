"""HTTP on a connection: what is asked often is answered here, the rest by the application."""

from __future__ import annotations

import asyncio
import math
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from labeltree.serve.guard import Guard
from labeltree.serve.replies import MOST_BYTES, problem, too_large

HEADER_SECONDS = 10.0
BODY_SECONDS = 60.0
UNREAD_SECONDS = 60.0  # that an answer may wait for a client to read on
IDLE_SECONDS = 30  # that a connection may have nothing to say between requests
HEAD_BYTES = 64 << 10  # of a request's address and headers
_AT_ONCE = 8  # requests of a client that does not wait for answers


class Protocol(HttpToolsProtocol):
    """Closes connections whose requests do not arrive in time, or whose answers nobody reads.

    Most of the time of a small request goes into the general ways of ASGI. What is asked most
    often, by a plain POST, therefore goes past them, from the parser to the guard and back.
    """

    _head_by = _body_by = _read_by = math.inf  # when the client must have done its part
    _head = _unparsed = 0  # bytes of the head
    _often: str | None = None  # the path of a request that is answered here
    _last = False  # whether nothing more is answered on this connection
    _refusal: Response | None = None  # what is said after all answers

    def __init__(self, guard: Guard, **given: Any) -> None:
        super().__init__(**given)
        self._guard = guard
        self._body = bytearray()
        self._answering: list[asyncio.Task[None]] = []  # in the order of their requests

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._head_by = self.loop.time() + HEADER_SECONDS

    def check(self, now: float) -> None:
        """Close the connection if its client is late."""
        if now > self._read_by:
            self.transport.abort()
        elif now > self._body_by:
            self._refuse(problem(408, "too_slow", "the body did not arrive in time", "body"))
        elif now > self._head_by:
            self._give_up()

    def data_received(self, data: bytes) -> None:
        """Take what has come; an unfinished head has its time, and its size."""
        super().data_received(data)
        if self._head_by == self._body_by == math.inf and not (
            self._answering or self._application_answers
        ):
            self._head_by = self.loop.time() + HEADER_SECONDS
        self._unparsed = self._unparsed + len(data) if self._head_by < math.inf else 0
        if self._unparsed > HEAD_BYTES:
            self._give_up()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a client that has said all it will, and waits."""
        self._last = self._last or bool(self._answering)
        return bool(self._answering)

    def on_message_begin(self) -> None:
        """Wait for the head of another request."""
        self._head_by = self.loop.time() + HEADER_SECONDS
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._measure(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._measure(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Wait for the body."""
        self._head_by, self._body_by = math.inf, self.loop.time() + BODY_SECONDS
        self._often = self._path_asked_often()
        if self._often is None and self._answering:
            self._last = True  # a client that did not wait asks for something else: it asks again
        if self._last:
            self._body_by = math.inf
        elif self._often is None:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if self._often is None:
            if not self._last:
                super().on_body(body)
            return
        self._body += body
        if len(self._body) > MOST_BYTES:
            self._refuse(too_large())

    def on_message_complete(self) -> None:
        """Stop waiting, and answer what is answered here."""
        self._body_by = math.inf
        if self._often is None:
            if not self._last:
                super().on_message_complete()
            return
        before = self._answering[-1] if self._answering else None
        answering = self._answer(self._often, bytes(self._body), before)
        self._often, self._body = None, bytearray()
        task = self.loop.create_task(answering)
        self._answering.append(task)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if len(self._answering) >= _AT_ONCE:
            self.flow.pause_reading()

    def pause_writing(self) -> None:
        """Wait for the client to read what it was sent."""
        self._read_by = self.loop.time() + UNREAD_SECONDS
        super().pause_writing()

    def resume_writing(self) -> None:
        """Write on."""
        self._read_by = math.inf
        super().resume_writing()
        if not self._answering:
            self.flow.resume_reading()

    def shutdown(self) -> None:
        """Answer what was asked, and close."""
        if self._answering or self._often is not None:
            self._last = True
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in the form of all other answers."""
        self._refuse(problem(400, "bad_request", msg))

    @property
    def _application_answers(self) -> bool:
        """Whether the client waits for an answer that is not given here."""
        waits = self.cycle is not None and not self.cycle.response_complete
        return waits or bool(self.pipeline)

    def _path_asked_often(self) -> str | None:
        """Return the path of a request that can be answered here, None if it cannot."""
        path = self.url.decode("latin-1")
        if (
            path not in self._guard.often
            or self._application_answers
            or self._last
            or self.expect_100_continue
            or self.parser.get_method() != b"POST"
            or self.parser.get_http_version() != "1.1"
            or self.parser.should_upgrade()
            or not self.parser.should_keep_alive()
            or self._guard.refused(path, dict(self.headers)) is not None
        ):
            return None
        return path

    async def _answer(self, path: str, body: bytes, before: asyncio.Task[None] | None) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])
        await self.flow.drain()  # a client that does not read is answered no more
        try:
            answer = await self._guard.answer(path, body)
        except BaseException:  # cancelled
            self.transport.abort()
            raise
        self._answering.pop(0)
        if self._answering:
            self._write(answer, last=False)
            return
        self._write(answer, last=self._last and self._refusal is None)
        if self._refusal is not None:
            self._write(self._refusal, last=True)
        if not self.flow.write_paused:
            self.flow.resume_reading()
        if self._body_by == math.inf:
            self._head_by = self.loop.time() + IDLE_SECONDS

    def _refuse(self, answer: Response) -> None:
        """Answer, past everything else but what was asked before, and close."""
        self._often, self._last, self._body = None, True, bytearray()
        self._head_by = self._body_by = math.inf
        if self._answering:
            self._refusal = answer
        else:
            self._write(answer, last=True)

    def _write(self, answer: Response, *, last: bool) -> None:
        if self.transport.is_closing():
            return
        status = answer.status_code
        lines = [b"%b: %b\r\n" % header for header in answer.raw_headers]
        if last:
            lines.append(b"connection: close\r\n")
        phrase = HTTPStatus(status).phrase.encode()
        head = b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, phrase, b"".join(lines))
        self.transport.write(head + bytes(answer.body))
        if last:
            self.transport.close()

    def _measure(self, part: bytes) -> None:
        self._head += len(part)
        if self._head > HEAD_BYTES:
            self._give_up()

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
