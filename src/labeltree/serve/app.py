"""The HTTP interface: requests to calls of the service, and back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from labeltree.serve import annif, openapi
from labeltree.serve.answers import Answers
from labeltree.serve.examples import (
    BadRequestError,
    Example,
    count,
    labels_of,
    parse_json,
    share,
)
from labeltree.serve.feed import Feed
from labeltree.serve.guard import Guard
from labeltree.serve.measures import Measures
from labeltree.serve.model import Answer
from labeltree.serve.replies import (
    as_problem,
    problem,
    read_body,
    reply,
    told,
)
from labeltree.serve.security import ANSWER_HEADERS, PAGE_HEADERS, Tokens
from labeltree.serve.service import BusyError, ReadOnlyError, Service, UnavailableError

MOST_K = 1000
MOST_ANSWERED = 100_000  # labels in one answer
MOST_LIMIT = 1000
LARGE = 1 << 16  # bytes of a request that takes so long that others would wait
DOWNLOAD_BYTES = 1 << 18  # of a model's file at once
_PAGE = {
    "": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "progress.js": "text/javascript",
}

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """What can be asked of a server."""

    def __init__(self, service: Service, tokens: Tokens) -> None:
        self.service, self.tokens = service, tokens
        self.measures = Measures(service)
        self.answers = Answers(self._predict)
        self.feed = Feed(service)
        self.ready = True
        self.routes: list[Route] = []

    def _predict(self, examples: Any, k: int) -> list[Answer]:
        answers = self.service.model.predict(examples, k)
        self.feed.predicted += len(examples)
        return answers

    async def predict(self, content: bytes) -> Response:
        """Answer ``POST /v1/predict``."""
        large = len(content) > LARGE
        body, examples, many = await _apart(large, self._examples_to_predict, content)
        k, threshold = count(body, "k", 5, MOST_K), share(body, "threshold")
        if k * len(examples) > MOST_ANSWERED:
            raise BadRequestError(
                f"k times the examples is {k * len(examples):,}, expected {MOST_ANSWERED:,} at "
                "most; send several requests",
                "k",
            )
        version = self.service.version
        answers = await self.answers.ask(examples, k) if examples else []
        self.measures.predicted += len(examples)
        large = k * len(examples) > MOST_K
        return await _apart(large, _answered, answers, many, threshold, {"version": version})

    def _examples_to_predict(self, content: bytes) -> tuple[dict[str, Any], list[Example], bool]:
        body = parse_json(content)
        options = frozenset({"k", "threshold"})
        return body, *self.service.model.form.examples(body, labelled=False, options=options)

    async def learn(self, content: bytes, k: int = 0) -> Response:
        """Answer ``POST /v1/learn``; k labels are told of what was predicted before."""
        examples, many = await _apart(len(content) > LARGE, self._examples_to_learn, content)
        if not examples:
            return reply({"learned": 0, "repeated": 0, "version": self.service.version})
        done = await self.learned(examples, k)
        answer = {"learned": done.learned, "repeated": done.repeated, "version": done.version}
        if done.answers is None:
            return reply(answer)
        return await _apart(k * len(examples) > MOST_K, _answered, done.answers, many, 0.0, answer)

    def _examples_to_learn(self, content: bytes) -> tuple[list[Example], bool]:
        model = self.service.model
        examples, many = model.form.examples(parse_json(content), labelled=True)
        for i, example in enumerate(examples):
            model.require(example, f"examples[{i}]." if many else "")
        return examples, many

    async def learned(self, examples: list[Example], k: int = 0) -> Any:
        """Learn examples; return once they are on disk and in the model."""
        return await asyncio.wrap_future(self.service.learn(examples, k))

    async def predict_request(self, request: Request) -> Response:
        """Answer ``POST /v1/predict``, as one of all requests."""
        return await self.predict(await read_body(request))

    async def learn_request(self, request: Request) -> Response:
        """Answer ``POST /v1/learn``, with its options."""
        _only_options(request, "predict")
        given = request.query_params.get("predict")
        k = 0 if given is None else count({"predict": _integer(given)}, "predict", 0, MOST_K)
        return await self.learn(await read_body(request), k)

    async def explain(self, request: Request) -> Response:
        """Answer ``POST /v1/explain``."""
        body = parse_json(await read_body(request))
        limit, model = count(body, "limit", 10, 100), self.service.model
        if not model.form.text:
            return problem(501, "not_text", "only models of text can tell words apart")
        options = frozenset({"k", "labels", "limit"})
        example = model.form.parse(body, "", labelled=False, options=options)
        k = count(body, "k", 3, 20)
        labels = None if body.get("labels") is None else labels_of(body, "")
        if labels is not None and len(labels) > 20:
            raise BadRequestError(f"there are {len(labels)} labels, expected 20 at most", "labels")
        answer = (await self.answers.ask([example], max(20, k)))[0]
        scores = dict(answer)
        asked = [label for label, _ in answer[:k]] if labels is None else labels
        words = await asyncio.to_thread(model.explain, example.text or "", asked, limit)
        found = [
            {
                "label": label,
                "score": scores.get(label, 0.0),
                "words": [{"word": word, "weight": weight} for word, weight in own],
            }
            for label, own in zip(asked, words, strict=True)
        ]
        return reply({"labels": found, "version": self.service.version})

    async def labels(self, request: Request) -> Response:
        """Answer ``GET /v1/labels``."""
        _only_options(request, "query", "limit")
        query = request.query_params.get("query", "")[:200]
        limit = count(
            {"limit": _integer(request.query_params.get("limit", "20"))}, "limit", 20, MOST_LIMIT
        )
        found, total = await asyncio.to_thread(self.service.model.find_labels, query, limit)
        labels = [{"label": label, "examples": examples} for label, examples in found]
        return reply({"labels": labels, "total": total})

    async def model(self, _: Request) -> Response:
        """Answer ``GET /v1/model``."""
        return reply({**self.service.model.facts(), "read_only": self.service.log is None})

    async def model_file(self, _: Request) -> Response:
        """Answer ``GET /v1/model/file``."""
        if not self.service.model.learned:
            return problem(404, "nothing_learned", "there is no model before something is learned")
        folder = None if self.service.log is None else self.service.log.folder
        handle, name = tempfile.mkstemp(suffix=".labeltree-download", dir=folder)
        os.close(handle)
        path = Path(name)
        try:
            await asyncio.to_thread(self.service.save, path)
            file = path.open("rb")
        finally:
            path.unlink(missing_ok=True)  # what is open can be read on
        return StreamingResponse(
            iter(partial(file.read, DOWNLOAD_BYTES), b""),
            media_type="application/octet-stream",
            headers={
                "content-length": str(os.fstat(file.fileno()).st_size),
                "content-disposition": 'attachment; filename="model.labeltree"',
            },
            background=BackgroundTask(file.close),
        )

    async def progress(self, _: Request) -> Response:
        """Answer ``GET /v1/progress``."""
        if self.feed.full:
            return problem(503, "too_many_watchers", "too many clients watch; try later")
        return StreamingResponse(
            self.feed.events(), media_type="text/event-stream", headers=ANSWER_HEADERS
        )

    async def metrics(self, _: Request) -> Response:
        """Answer ``GET /metrics``."""
        return Response(self.measures.text(), media_type=self.measures.media_type)

    async def health(self, _: Request) -> Response:
        """Answer ``GET /healthz``."""
        return reply({"status": "alive"})

    async def readiness(self, _: Request) -> Response:
        """Answer ``GET /readyz``."""
        if not self.ready:
            return problem(503, "stopping", "the server is stopping")
        return reply({"status": "ready", "version": self.service.version})

    async def page(self, request: Request) -> Response:
        """Answer ``GET /``."""
        name = request.path_params.get("name", "")
        content = (files("labeltree.serve") / "page" / (name or "index.html")).read_bytes()
        return Response(content, media_type=_PAGE[name], headers=PAGE_HEADERS)

    async def description(self, _: Request) -> Response:
        """Answer ``GET /openapi.json``."""
        return reply(openapi.description())


def build(
    service: Service, tokens: Tokens | None = None, *, local: bool = False
) -> tuple[Guard, Api]:
    """Return the application, and what can be asked of it; `local`: by this machine alone."""
    api = Api(service, tokens or Tokens())

    def route(path: str, handler: Handler, method: str = "GET") -> Route:
        return Route(path, handler, methods=[method])

    routes = [
        route("/v1/predict", api.predict_request, "POST"),
        route("/v1/learn", api.learn_request, "POST"),
        route("/v1/explain", api.explain, "POST"),
        route("/v1/labels", api.labels),
        route("/v1/model", api.model),
        route("/v1/model/file", api.model_file),
        route("/v1/progress", api.progress),
        *annif.routes(api),
        route("/metrics", api.metrics),
        route("/healthz", api.health),
        route("/readyz", api.readiness),
        route("/openapi.json", api.description),
        route("/", api.page),
        route("/{name:str}", _known_page(api.page)),
    ]

    api.routes = routes

    async def explain(request: Request, error: Exception) -> Response:
        return as_problem(error, request)

    kinds = [BadRequestError, BusyError, ReadOnlyError, UnavailableError, HTTPException, Exception]
    handlers: dict[Any, Any] = dict.fromkeys(kinds, explain)

    @contextlib.asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(api.feed.run())
        yield
        watching.cancel()
        api.answers.close()

    app = Starlette(routes=routes, lifespan=running, exception_handlers=handlers)
    app.router.redirect_slashes = False
    often = {"/v1/predict": api.predict, "/v1/learn": api.learn}
    return Guard(app, often, api.tokens, api.measures, local=local), api


async def _apart(large: bool, work: Callable[..., T], *given: Any) -> T:
    """Do something here, or, if there is much of it, in a thread that holds nobody up."""
    return await asyncio.to_thread(work, *given) if large else work(*given)


def _answered(
    answers: list[Answer], many: bool, threshold: float, more: dict[str, Any]
) -> Response:
    """Return the labels of one example, or of each of a list."""
    found = [{"labels": told(answer, threshold)} for answer in answers]
    return reply({**({"results": found} if many else found[0]), **more})


def _known_page(page: Handler) -> Handler:
    async def known(request: Request) -> Response:
        if request.path_params["name"] not in _PAGE:
            return problem(404, "not_found", f"there is nothing at {request.url.path}")
        return await page(request)

    return known


def _only_options(request: Request, *known: str) -> None:
    """Raise if an address has an option that means nothing."""
    for name in request.query_params:
        if name not in known:
            raise BadRequestError(
                f"there is an option {name[:40]!r}, expected {' or '.join(known)}", name[:40]
            )


def _integer(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
