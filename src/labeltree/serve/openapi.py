"""The description of the interface, as OpenAPI has it."""

from __future__ import annotations

from typing import Any

from labeltree._version import __version__
from labeltree.serve.examples import LONGEST_ID, LONGEST_TEXT, MOST_EXAMPLES, MOST_LABELS

_LABEL = {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


_ROW = {
    "text": {"type": "string", "maxLength": LONGEST_TEXT},
    "features": {
        "description": "Values by the numbers of features, for models that were not learned from "
        "text; or an object of two lists, indices and values.",
        "type": "object",
    },
    "indices": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    "values": {"type": "array", "items": {"type": "number"}},
}
_K = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 5}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}
_NULLABLE = {"type": ["number", "null"]}
_COUNT = {"type": "integer", "minimum": 0}

SCHEMAS: dict[str, Any] = {
    "Problem": _object(
        {
            "type": {"type": "string"},
            "detail": {"type": "string"},
            "where": {"type": "string"},
        }
    ),
    "Scored": _object({"label": _LABEL, "score": {"type": "number"}}),
    "Row": _object(_ROW, []),
    "Labelled": _object(
        {
            **_ROW,
            "labels": _list(_LABEL, minItems=1, maxItems=MOST_LABELS),
            "weight": {"type": "number", "minimum": 0, "default": 1},
            "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
        },
        ["labels"],
    ),
    "PredictOne": _object(
        {**_ROW, "k": _K, "threshold": {"type": "number", "minimum": 0, "maximum": 1}}, []
    ),
    "PredictMany": _object(
        {
            "examples": _list(_ref("Row"), maxItems=MOST_EXAMPLES),
            "k": _K,
            "threshold": {"type": "number", "minimum": 0, "maximum": 1},
        },
        ["examples"],
    ),
    "LearnMany": _object({"examples": _list(_ref("Labelled"), maxItems=MOST_EXAMPLES)}),
    "Predicted": _object(
        {
            "labels": _list(_ref("Scored")),
            "results": _list(_object({"labels": _list(_ref("Scored"))})),
            "version": _COUNT,
        },
        ["version"],
    ),
    "Learned": _object(
        {
            "learned": _COUNT,
            "repeated": _COUNT,
            "version": _COUNT,
            "labels": _list(_ref("Scored")),
            "results": _list(_object({"labels": _list(_ref("Scored"))})),
        },
        ["learned", "repeated", "version"],
    ),
    "Explain": _object(
        {
            "text": _ROW["text"],
            "labels": _list(_LABEL, maxItems=20),
            "k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 3},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        },
        ["text"],
    ),
    "Explained": _object(
        {
            "labels": _list(
                _object(
                    {
                        "label": _LABEL,
                        "score": {"type": "number"},
                        "words": _list(
                            _object({"word": {"type": "string"}, "weight": {"type": "number"}})
                        ),
                    }
                )
            ),
            "version": _COUNT,
        }
    ),
    "Labels": _object(
        {
            "labels": _list(_object({"label": _LABEL, "examples": {"type": ["integer", "null"]}})),
            "total": _COUNT,
        }
    ),
    "Model": _object(
        {
            "version": _COUNT,
            "examples": _COUNT,
            "labels": _COUNT,
            "text": {"type": "boolean"},
            "features": _COUNT,
            "names": {"type": "boolean", "description": "Whether features have names."},
            "sets": {"type": ["boolean", "null"]},
            "algorithm": {"type": "string"},
            "compiled": {"type": "boolean"},
            "error": _NULLABLE,
            "read_only": {"type": "boolean"},
        }
    ),
    "Status": _object({"status": {"type": "string"}, "version": _COUNT}, ["status"]),
    "Suggestions": _object(
        {
            "results": _list(
                _object(
                    {
                        "uri": {"type": "string"},
                        "label": {"type": "string"},
                        "notation": {"type": ["string", "null"]},
                        "score": {"type": "number"},
                    }
                )
            )
        }
    ),
    "Project": _object(
        {
            "project_id": {"type": "string"},
            "name": {"type": "string"},
            "language": {"type": "string"},
            "is_trained": {"type": "boolean"},
        }
    ),
    "Documents": _list(
        _object(
            {
                "text": {"type": "string"},
                "subjects": _list(
                    _object({"uri": {"type": "string"}, "label": {"type": "string"}}, [])
                ),
            }
        )
    ),
}


def _answer(schema: str, media: str = "application/json") -> dict[str, Any]:
    content = {media: {"schema": _ref(schema) if schema else {"type": "string"}}}
    return {"200": {"description": "The answer.", "content": content}, "default": _PROBLEM}


_PROBLEM = {
    "description": "What went wrong.",
    "content": {"application/json": {"schema": _ref("Problem")}},
}


def _operation(
    summary: str,
    answer: dict[str, Any],
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    media: str = "application/json",
) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": summary, "responses": answer}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {media: {"schema": body}}}
    if parameters:
        operation["parameters"] = parameters
    return operation


def _parameter(name: str, schema: dict[str, Any], where: str = "query") -> dict[str, Any]:
    return {"name": name, "in": where, "schema": schema, "required": where == "path"}


_PROJECT = [_parameter("project_id", {"type": "string"}, "path")]

PATHS: dict[str, Any] = {
    "/v1/predict": {
        "post": _operation(
            "The best labels of a row, or of several.",
            _answer("Predicted"),
            {"anyOf": [_ref("PredictMany"), _ref("PredictOne")]},
        )
    },
    "/v1/learn": {
        "post": _operation(
            "Learn a row, or several; answers when they are on disk and in the model.",
            _answer("Learned"),
            {"anyOf": [_ref("LearnMany"), _ref("Labelled")]},
            [_parameter("predict", {"type": "integer", "minimum": 1, "maximum": 1000})],
        )
    },
    "/v1/explain": {
        "post": _operation(
            "The words that speak for labels.", _answer("Explained"), _ref("Explain")
        )
    },
    "/v1/labels": {
        "get": _operation(
            "Labels that contain the words of a query.",
            _answer("Labels"),
            parameters=[_parameter("query", {"type": "string"}), _parameter("limit", _LIMIT)],
        )
    },
    "/v1/model": {"get": _operation("What the model is, and how it fares.", _answer("Model"))},
    "/v1/model/file": {
        "get": _operation(
            "The model as a file, as it is now.", _answer("", "application/octet-stream")
        )
    },
    "/v1/progress": {
        "get": _operation(
            "Server-sent events: progress, and examples as they are learned.",
            _answer("", "text/event-stream"),
        )
    },
    "/v1/projects/{project_id}": {
        "get": _operation("As Annif has it.", _answer("Project"), parameters=_PROJECT)
    },
    "/v1/projects/{project_id}/suggest": {
        "post": _operation(
            "As Annif has it.",
            _answer("Suggestions"),
            _object(
                {
                    "text": {"type": "string"},
                    "limit": {"type": "integer"},
                    "threshold": {"type": "number"},
                },
                ["text"],
            ),
            _PROJECT,
            "application/x-www-form-urlencoded",
        )
    },
    "/v1/projects/{project_id}/learn": {
        "post": _operation(
            "As Annif has it.",
            {"204": {"description": "Learned."}, "default": _PROBLEM},
            _ref("Documents"),
            _PROJECT,
        )
    },
    "/healthz": {"get": _operation("Whether the server is alive.", _answer("Status"))},
    "/readyz": {"get": _operation("Whether it takes requests.", _answer("Status"))},
    "/metrics": {"get": _operation("Measures for Prometheus.", _answer("", "text/plain"))},
}


def description() -> dict[str, Any]:
    """Return the whole description."""
    token = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "labeltree", "version": __version__},
        "paths": PATHS,
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": token}},
        "security": [{}, {"token": []}],
    }
