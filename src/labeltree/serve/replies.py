"""Bodies in, JSON out, and what is said when something is wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from labeltree.serve.examples import BadRequestError
from labeltree.serve.model import Answer
from labeltree.serve.security import ANSWER_HEADERS
from labeltree.serve.service import BusyError, ReadOnlyError, UnavailableError

MOST_BYTES = 16 << 20  # of a body
BODY_SECONDS = 60.0


async def read_body(request: Request) -> bytes:
    """Return the body of a request, unless it is too long or too slow."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MOST_BYTES:
                    raise BadRequestError(
                        f"the body has more than {MOST_BYTES:,} bytes; send several requests",
                        "body",
                        "too_large",
                    )
                parts.append(part)
    except TimeoutError:
        raise BadRequestError("the body did not arrive in time", "body", "too_slow") from None
    return b"".join(parts)


def told(answer: Answer, threshold: float = 0.0) -> list[dict[str, Any]]:
    """Return labels and scores as JSON has them."""
    return [{"label": label, "score": score} for label, score in answer if score >= threshold]


def reply(content: dict[str, Any], status: int = 200) -> Response:
    """Return JSON."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(body.encode(), status, ANSWER_HEADERS, "application/json")


def problem(status: int, type_: str, detail: str, where: str = "") -> Response:
    """Return what went wrong."""
    return reply({"type": type_, "detail": detail, "where": where}, status)


def too_large() -> Response:
    """Return that a body is too large."""
    return problem(413, "too_large", f"the body has more than {MOST_BYTES:,} bytes", "body")


def as_problem(error: Exception, request: Request | None = None) -> Response:
    """Return what went wrong, by what was raised."""
    if isinstance(error, BadRequestError):
        status = {"too_large": 413, "too_slow": 408}.get(error.type, 422)
        return problem(
            400 if error.where == "body" and status == 422 else status,
            error.type,
            error.detail,
            error.where,
        )
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
