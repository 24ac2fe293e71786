"""The OpenAPI document, made from the table of operations and from the types of requests and answers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from itertools import pairwise
from typing import Any, TypedDict

import msgspec
from starlette.responses import Response

from holdfast.client.task_spec import TaskSpec
from holdfast.version import installed
from holdfastd.web.access.logins import COOKIE
from holdfastd.web.api.operation import BODY, QUERY, ApiOperation
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.live.event_streams import LAST_EVENT_ID

_REFERENCE = "#/components/schemas/{name}"
_ANY = {"description": "Any JSON value."}
_DONE = {200: "Done.", 201: "Done: something new was made.", 202: "Begun: the change goes on after this answer."}
_REFUSED = {
    400: "A field is unknown, missing or wrong (`field` names it), or the body is not JSON.",
    401: "The request has no token, or an unknown token.",
    403: "A viewer asks for a change, a session asks without its secret, or this kind of login is not allowed here.",
    404: "There is no such task, lane, schedule, batch, entry or operation.",
    405: "The method is not allowed here; the header `allow` names the allowed methods.",
    409: "The present state does not allow this change: the task has ended, has not ended, or the id is taken.",
    413: "The body is too large.",
    415: "The body is not `application/json`.",
    421: "The name in the header `host` is not served here.",
    429: "Too many messages wait for the task, or too many logins were wrong. Try again after `retry-after` seconds.",
    500: "The service has failed unexpectedly; its log says how.",
    502: "A record in the store was changed by somebody else and cannot be read.",
    503: "The store is away or full, or too many streams are open. Try again after `retry-after` seconds.",
}
_OF_CHANGES: tuple[int, ...] = (409,)
_OF_BODIES: tuple[int, ...] = (413, 415)
_HEADERS = {401: "www-authenticate", 405: "allow", 429: "retry-after", 503: "retry-after"}
_TAGS = {
    "tasks": "Submit tasks, follow them, control them.",
    "bulk": "Change all tasks that a filter finds.",
    "lanes": "Lanes: their waiting and running tasks, pauses, limits.",
    "handlers": "Handlers: figures, limits, JSON schemas of their arguments.",
    "queue": "Counts of the queue, its next entries, and the entries that were set aside as unreadable.",
    "workers": "The workers of all hosts.",
    "hosts": "Hosts, and the orders to claim no more tasks.",
    "schedules": "Schedules, their fires and their history.",
    "batches": "Batches and their tasks.",
    "dead": "Dead letters: tasks that failed for good.",
    "webhooks": "Webhooks that wait to be delivered, or were given up.",
    "events": "Events of tasks and workers.",
    "errors": "Kinds of errors with which tasks have failed.",
    "stats": "Figures of a period.",
    "doctor": "What is wrong with the queue and its store now.",
    "activity": "Changes that were made, and who made them.",
}
_LAST_EVENT_ID = {
    "name": LAST_EVENT_ID,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 100},
    "description": "Id of the last event that the client has read; browsers send it. It overrides `after`.",
}


class Problem(TypedDict, total=False):
    """An error in the form of RFC 9457. `type`: the kind of the error; `field`: the wrong field."""

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
    for field, text in _meanings(TaskSpec):
        components[TaskSpec.__name__]["properties"][field]["description"] = text
    for schema in (*made, *components.values(), *queries.values()):
        _complete(schema)
    paths = dict[str, Any]()
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas, queries)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": installed(),
            "summary": "Tasks of a queue: submit, follow, control; its lanes, workers, schedules and batches.",
            "description": "Values in a path are percent-encoded. A list has a cursor, which is empty on the last "
            "page. An error is a problem document (RFC 9457).",
            "contact": {"name": "The operator of this service"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}, {"login": []}, {"session": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {_name(status): _problem(status, text) for status, text in _REFUSED.items()},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token of the web process."},
                "login": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The name and the password of a user, if the web process has a users file.",
                },
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


def _meanings(kind: type) -> Iterator[tuple[str, str]]:
    """The descriptions of a class's fields: for each field the string that stands below it in the source."""
    for each in kind.__mro__:
        if each.__module__ == kind.__module__:
            [defined] = ast.parse(inspect.getsource(each)).body
            assert isinstance(defined, ast.ClassDef)
            for field, text in pairwise(defined.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                        yield name, " ".join(meaning.split())
                    case _:
                        pass


def _operation(operation: ApiOperation, schemas: dict[str, Any], queries: dict[str, Any]) -> dict[str, Any]:
    hints = operation.hints
    content = _content(hints["return"], schemas)
    others = (() if operation.act else _OF_CHANGES) + (() if BODY in hints else _OF_BODIES)
    found: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.segments[0]],
        "summary": operation.summary.partition(". ")[0].removesuffix("."),
        "description": operation.description,
        "parameters": [
            *(_segment(name, hints[name]) for name in operation.fields),
            *_parameters(queries, hints.get(QUERY)),
        ],
        "responses": {str(status): {"description": _DONE[status], "content": content} for status in operation.statuses}
        | {
            str(status): {"$ref": f"#/components/responses/{_name(status)}"}
            for status in _REFUSED
            if status not in others
        },
    }
    if hints["return"] is Response:
        found["parameters"].append(_LAST_EVENT_ID)
    if BODY in hints:
        body: dict[str, Any] = {"schema": schemas[repr(hints[BODY])]}
        if operation.examples:
            body["examples"] = {name: {"value": value} for name, value in operation.examples.items()}
        found["requestBody"] = {"required": not _has_defaults(hints[BODY]), "content": {"application/json": body}}
    return found


def _content(answer: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if answer is Response:
        return {"text/event-stream": {"schema": {"type": "string"}}}
    return {"application/json": {"schema": schemas[repr(answer)]}}


def _has_defaults(body: Any) -> bool:
    """True if the body may be left out, because all its fields have defaults."""
    return isinstance(body, type) and not any(each.required for each in msgspec.structs.fields(body))


def _segment(name: str, hint: Any) -> dict[str, Any]:
    schema = {"minLength": 1} | msgspec.json.schema(hint)
    return {"name": name, "in": "path", "required": True, "description": schema.pop("description"), "schema": schema}


def _parameters(queries: dict[str, Any], query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    return [_parameter(name, schema) for name, schema in queries[query.__name__]["properties"].items()]


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter for the document. A parameter is never null, only missing. If its type is a union with string,
    the document says string."""
    described = {"description": schema["description"]} if "description" in schema else {}
    kept = {key: value for key, value in schema.items() if key not in ("description", "anyOf")}
    if "anyOf" in schema:
        kept.pop("default", None)
        possible = [each for each in schema["anyOf"] if each.get("type") != "null"]
        chosen = next((each for each in possible if each.get("type") == "string"), possible[0])
        described = {"description": chosen["description"]} | described if "description" in chosen else described
        kept |= {key: value for key, value in chosen.items() if key != "description"}
    return {"name": name, "in": "query", "required": False, "schema": kept} | described


def _name(status: int) -> str:
    return HTTPStatus(status).name.title().replace("_", "")


def _problem(status: int, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": text,
        "content": {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(name="Problem")}}},
    }
    if name := _HEADERS.get(status):
        found["headers"] = {name: {"schema": {"type": "string"}, "required": True}}
    return found


def _any(kind: type) -> dict[str, Any]:
    """The schema of a type that msgspec does not know: `object` means any JSON value."""
    if kind is object:
        return dict(_ANY)
    raise NotImplementedError(kind)


def _complete(schema: dict[str, Any]) -> None:
    """Add the parts of a schema that msgspec leaves out. `items` of a list of any values: without it, generators of
    clients drop the list. `type: string` for an enum."""
    if schema.get("type") == "array":
        schema.setdefault("items", {})
    if schema.get("type") == "object" and "properties" not in schema:
        schema.setdefault("additionalProperties", {})
    if "enum" in schema:
        schema.setdefault("type", "string")
    if not schema.keys() & {"type", "$ref", "anyOf"}:
        schema |= _ANY | schema
    if "description" in schema:
        schema["description"] = inspect.cleandoc(schema["description"])
    inner = [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for each in (*inner, *schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        _complete(each)
