"""The OpenAPI document, made of the table of operations and of the types that decode requests and make answers."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any, TypedDict

import msgspec
from starlette.responses import Response

from holdfast.core.batches import BATCH_ID
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.identity import TASK_ID
from holdfastd.version import installed
from holdfastd.web.access.session_cookie import COOKIE
from holdfastd.web.api.operation import BODY, QUERY, ApiOperation
from holdfastd.web.api.operations import OPERATIONS

_REFERENCE = "#/components/schemas/{name}"
_ALWAYS = (400, 401, 404, 405, 421, 502, 503)
_OF_CHANGES = (403, 409, 429)
_OF_BODIES = (413, 415)
_SEGMENTS: dict[str, dict[str, Any]] = {
    "task_id": {"pattern": f"^{TASK_ID.pattern}$"},
    "batch_id": {"pattern": f"^{BATCH_ID.pattern}$"},
    "verb": {"enum": list(BulkVerb)},
}
_HEADERS = {401: "www-authenticate", 405: "allow", 429: "retry-after", 503: "retry-after"}


class Problem(TypedDict, total=False):
    """An error, as RFC 9457 has it. `type` names its kind; `field`: the one to mend."""

    type: str
    title: str
    status: int
    detail: str
    field: str


@cache
def document() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(_document())


def _document() -> dict[str, Any]:
    hints = [each.hints for each in OPERATIONS]
    named = [each[name] for each in hints for name in (QUERY, BODY, "return") if name in each]
    types = [each for each in named if each is not Response]
    made, components = msgspec.json.schema_components([*types, Problem], schema_hook=_any, ref_template=_REFERENCE)
    schemas = dict(zip(map(repr, [*types, Problem]), made, strict=True))
    queries = {name: components.pop(name) for name in {each[QUERY].__name__ for each in hints if QUERY in each}}
    components["Problem"]["required"] = ["type", "title", "status", "detail"]
    paths = dict[str, Any]()
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas, queries)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": installed(),
            "summary": "Tasks of a queue: submit, follow, control; its lanes, workers, schedules and batches.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {_name(status): _problem(status) for status in (*_ALWAYS, *_OF_CHANGES, *_OF_BODIES)},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "The session of a browser. A change also needs the header x-csrf-token, with the "
                    "secret that the forms of the session carry.",
                },
            },
        },
    }


def _operation(operation: ApiOperation, schemas: dict[str, Any], queries: dict[str, Any]) -> dict[str, Any]:
    hints = operation.hints
    answer = {"description": "Done.", "content": _content(hints["return"], schemas)}
    statuses = (*_ALWAYS, *(_OF_CHANGES if operation.change else ()), *(_OF_BODIES if BODY in hints else ()))
    found: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.segments[0]],
        "summary": operation.summary,
        "parameters": [*map(_segment, operation.fields), *_parameters(queries, hints.get(QUERY))],
        "responses": {str(status): answer for status in operation.statuses}
        | {str(status): {"$ref": f"#/components/responses/{_name(status)}"} for status in sorted(statuses)},
    }
    if operation.description != operation.summary:
        found["description"] = operation.description
    if BODY in hints:
        content: dict[str, Any] = {"schema": schemas[repr(hints[BODY])]}
        if operation.examples:
            content["examples"] = {name: {"value": value} for name, value in operation.examples.items()}
        found["requestBody"] = {"required": not _has_defaults(hints[BODY]), "content": {"application/json": content}}
    return found


def _content(answer: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if answer is Response:
        return {"text/event-stream": {"schema": {"type": "string"}}}
    return {"application/json": {"schema": schemas[repr(answer)]}}


def _has_defaults(body: Any) -> bool:
    """True for a body that may be left out."""
    return isinstance(body, type) and not any(each.required for each in msgspec.structs.fields(body))


def _segment(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1} | _SEGMENTS.get(name, {})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameters(queries: dict[str, Any], query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    return [_parameter(name, schema) for name, schema in queries[query.__name__]["properties"].items()]


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not given has no value, so none is null."""
    described = {"description": schema["description"]} if "description" in schema else {}
    kept = {key: value for key, value in schema.items() if key not in ("description", "anyOf")}
    if "anyOf" in schema:
        kept.pop("default", None)
        [chosen] = [each for each in schema["anyOf"] if each.get("type") != "null"]
        described = {"description": chosen["description"]} | described if "description" in chosen else described
        kept |= {key: value for key, value in chosen.items() if key != "description"}
    return {"name": name, "in": "query", "required": False, "schema": kept} | described


def _name(status: int) -> str:
    return HTTPStatus(status).name.title().replace("_", "")


def _problem(status: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(name="Problem")}}},
    }
    if name := _HEADERS.get(status):
        found["headers"] = {name: {"schema": {"type": "string"}, "required": True}}
    return found


def _any(kind: type) -> dict[str, Any]:
    """`object` is any JSON value."""
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError(kind)
