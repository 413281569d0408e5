"""What stands before every request: who may come in, what went wrong, how long it took."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labeltree.serve.measures import Measures
from labeltree.serve.replies import MOST_BYTES, as_problem, problem, too_large
from labeltree.serve.security import Tokens, host_name, is_local

_log = logging.getLogger(__name__)


class Guard:
    """Lets in who may come in, tells in JSON what went wrong, and measures.

    Parameters
    ----------
    app : callable
        Handles whatever is let in.
    often : mapping of str to callable
        What is asked most often, by path: each takes the body of a POST and gives the answer.
    tokens, measures
        Who may come in, and what is counted.
    local : bool
        Whether only this machine may ask.
    """

    def __init__(
        self,
        app: ASGIApp,
        often: Mapping[str, Callable[[bytes], Awaitable[Response]]],
        tokens: Tokens,
        measures: Measures,
        *,
        local: bool,
    ) -> None:
        self.often = often
        self._app, self._tokens, self._measures, self._local = app, tokens, measures, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, whatever it asks for."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            answer = self.refused(scope["path"], dict(scope["headers"])) or self._app
            with contextlib.suppress(ClientDisconnect):
                await answer(scope, receive, watched)
        finally:
            self._measures.request(scope["path"], status, time.perf_counter() - started)

    async def answer(self, path: str, body: bytes) -> Response:
        """Answer what is asked often, and was let in."""
        started = time.perf_counter()
        try:
            answer = await self.often[path](body)
        except Exception as error:
            answer = as_problem(error)
            if answer.status_code == 500:
                _log.exception("a request has failed")
        self._measures.request(path, answer.status_code, time.perf_counter() - started)
        return answer

    def refused(self, path: str, headers: Mapping[bytes, bytes]) -> Response | None:
        """Return why a request is not let in, None if it is."""
        if not path.isprintable():  # "/v1/learn\n" would be another path here than for the router
            return problem(404, "not_found", "there is nothing at an address with line ends")
        if not path.startswith(("/v1/", "/metrics")):
            return None
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if (self._local and not is_local(host_name(host))) or (
            origin and origin.partition("://")[2] != host
        ):
            return problem(403, "other_site", "pages of other sites may not ask this server")
        given = headers.get(b"authorization", b"").decode("latin-1")
        if not self._tokens.allow(given, learning=path.endswith("/learn")):
            if self._tokens.allow(given, learning=False) and given:
                return problem(403, "forbidden", "this token does not allow to learn")
            answer = problem(401, "unauthorized", "give the token: Authorization: Bearer TOKEN")
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > MOST_BYTES:
            return too_large()
        return None
