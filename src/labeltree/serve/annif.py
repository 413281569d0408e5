"""The part of Annif's REST interface that its clients and its ``http`` backend use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from labeltree.serve.examples import MOST_EXAMPLES, BadRequestError, Example, parse_json
from labeltree.serve.replies import read_body, reply

if TYPE_CHECKING:
    from labeltree.serve.app import Api

MOST_LIMIT = 1000


class Projects:
    """The one project that a server has, whatever it is called."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def show(self, request: Request) -> Response:
        """Answer ``GET /v1/projects/{id}``."""
        return reply(self._project(request.path_params["project_id"]))

    def _project(self, name: str) -> dict[str, Any]:
        model = self._api.service.model
        return {
            "project_id": name,
            "name": name,
            "language": "und",
            "backend": {"backend_id": "labeltree"},
            "is_trained": model.learned,
            "modification_time": None,
        }

    async def suggest(self, request: Request) -> Response:
        """Answer ``POST /v1/projects/{id}/suggest``."""
        fields = _fields(await read_body(request))
        if "text" not in fields:
            raise BadRequestError("text is missing, expected a form with text=...", "text")
        text = fields["text"][0]
        limit = _number(fields, "limit", 10, int, MOST_LIMIT)
        threshold = _number(fields, "threshold", 0.0, float, 1.0)
        form = self._api.service.model.form
        example = form.parse({"text": text}, "", labelled=False)
        answers = await self._api.answers.ask([example], max(1, int(limit)))
        results = [
            {"uri": str(label), "label": str(label), "notation": None, "score": score}
            for label, score in answers[0][: int(limit)]
            if score >= threshold
        ]
        return reply({"results": results})

    async def learn(self, request: Request) -> Response:
        """Answer ``POST /v1/projects/{id}/learn``."""
        examples = await asyncio.to_thread(self._examples, await read_body(request))
        if examples:
            await self._api.learned(examples)
        return Response(status_code=204)

    def _examples(self, body: bytes) -> list[Example]:
        documents = parse_json(body, list)
        if len(documents) > MOST_EXAMPLES:
            raise BadRequestError(
                f"there are {len(documents):,} documents, expected {MOST_EXAMPLES:,} at most; "
                "send several requests",
                "body",
                "too_large",
            )
        model = self._api.service.model
        examples: list[Example] = []
        for i, document in enumerate(documents):
            where = f"[{i}]."
            if not isinstance(document, dict) or not isinstance(document.get("subjects"), list):
                raise BadRequestError("a document has no list of subjects", where + "subjects")
            labels = [
                s.get("uri") or s.get("label") for s in document["subjects"] if isinstance(s, dict)
            ]
            one = {"text": document.get("text"), "labels": labels}
            examples.append(model.form.parse(one, where, labelled=True))
            model.require(examples[-1], where)
        return examples


def _fields(body: bytes) -> dict[str, list[str]]:
    try:
        text = body.decode("utf-8", "replace")
        return parse_qs(text, max_num_fields=100, keep_blank_values=True)
    except ValueError:
        raise BadRequestError("the form has more than 100 fields", "body") from None


def _number(fields: dict[str, list[str]], name: str, default: Any, kind: Any, most: Any) -> Any:
    try:
        value = kind(fields[name][0]) if name in fields else default
    except ValueError:
        value = -1
    if not 0 <= value <= most:
        raise BadRequestError(
            f"{name} is {fields[name][0][:40]!r}, expected a number from 0 to {most}", name
        )
    return value


def routes(api: Api) -> list[Route]:
    """Return the routes of the interface."""
    projects = Projects(api)
    base = "/v1/projects/{project_id:str}"
    return [
        Route(base, projects.show),
        Route(base + "/suggest", projects.suggest, methods=["POST"]),
        Route(base + "/learn", projects.learn, methods=["POST"]),
    ]
