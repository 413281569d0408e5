"""Bodies in, JSON out, and what is said when something is wrong."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from labeltree.serve.examples import BadRequestError
from labeltree.serve.model import Answer
from labeltree.serve.security import ANSWER_HEADERS
from labeltree.serve.service import BusyError, ReadOnlyError, UnavailableError

MOST_BYTES = 16 << 20  # of a body

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_HEADERS = [
    (b"content-type", b"application/json"),
    *((name.encode(), value.encode()) for name, value in ANSWER_HEADERS.items()),
]


class JsonResponse(Response):
    """An answer in JSON, whose headers are made once."""

    def init_headers(self, _: Any = None) -> None:
        """Take the headers of all answers, and the length."""
        self.raw_headers = [*_HEADERS, (b"content-length", str(len(self.body)).encode())]


async def read_body(request: Request) -> bytes:
    """Return the body of a request, unless it is too long. How long it may take others tell."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > MOST_BYTES:
            raise BadRequestError(
                f"the body has more than {MOST_BYTES:,} bytes; send several requests",
                "body",
                "too_large",
            )
    return b"".join(parts)


def told(answer: Answer, threshold: float = 0.0) -> list[dict[str, Any]]:
    """Return labels and scores as JSON has them."""
    return [{"label": label, "score": score} for label, score in answer if score >= threshold]


def reply(content: dict[str, Any], status: int = 200) -> Response:
    """Return JSON."""
    return JsonResponse(_encode(content).encode(errors="replace"), status)


def problem(status: int, type_: str, detail: str, where: str = "") -> Response:
    """Return what went wrong."""
    return reply({"type": type_, "detail": detail, "where": where}, status)


def too_large() -> Response:
    """Return that a body is too large."""
    return problem(413, "too_large", f"the body has more than {MOST_BYTES:,} bytes", "body")


def as_problem(error: Exception, request: Request | None = None) -> Response:
    """Return what went wrong, by what was raised."""
    if isinstance(error, BadRequestError):
        status = 413 if error.type == "too_large" else 400 if error.where == "body" else 422
        return problem(status, error.type, error.detail, error.where)
    if isinstance(error, HTTPException) and request is not None:
        path, allowed = request.url.path[:200], (error.headers or {}).get("Allow", "")
        if error.status_code == 405:
            answer = problem(405, "not_allowed", f"{path} takes {allowed}, not {request.method}")
            answer.headers["allow"] = allowed
            return answer
        if error.status_code == 404:
            return problem(
                404, "not_found", f"there is nothing at {path}; /openapi.json lists what there is"
            )
        return problem(error.status_code, "refused", error.detail)
    if isinstance(error, ReadOnlyError):
        return problem(403, "read_only", str(error))
    if isinstance(error, BusyError):
        answer = problem(429, "busy", f"{error}; try again in a second")
        answer.headers["retry-after"] = "1"
        return answer
    if isinstance(error, OSError):
        return problem(503, "unavailable", f"a file cannot be written: {error.strerror}")
    if isinstance(error, UnavailableError):
        answer = problem(503, "unavailable", str(error))
        answer.headers["retry-after"] = "5"
        return answer
    return problem(500, "internal", f"{type(error).__name__}: {error}")
