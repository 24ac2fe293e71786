"""The OpenAPI document is complete: a generator of clients finds every type, every answer and every error in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import State
from holdfastd.documents.task_documents import TaskCounts
from holdfastd.operations.error_statuses import MEANINGS
from holdfastd.web.api.openapi import document

DOCUMENT: dict[str, Any] = json.loads(document())
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
ANY = {"description", "default", "title"}  # a schema with no other keyword takes any value

# The values that belong to users: their arguments, results and entries. Every other field has a type.
OF_USERS = {
    "TaskSpec.data",
    "TaskSpec.kwargs.*",
    "TaskSpec.metadata.*",
    "ScheduleSpec.data",
    "ScheduleSpec.kwargs.*",
    "ScheduleSpec.metadata.*",
    "SendMessage.data",
    "ResumeTask.data",
    "WholeTask.result",
    "WholeTask.operation",
    "WholeTask.checkpoint",
    "PeekedEntries.entries[]",
    "PublishedHandler.arguments.*",
}


def parts(schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """This schema and those inside it, each with its place."""
    yield place, schema
    for name, each in schema.get("properties", {}).items():
        yield from parts(each, f"{place}.{name}")
    if isinstance(more := schema.get("additionalProperties"), dict):
        yield from parts(more, f"{place}.*")
    if "items" in schema:
        yield from parts(schema["items"], f"{place}[]")
    for each in schema.get("anyOf", ()):
        yield from parts(each, place)


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def used() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema of the document."""
    for name, schema in SCHEMAS.items():
        yield from parts(schema, name)
    for name, operation in operations():
        for each in operation["parameters"]:
            yield from parts(each["schema"], f"{name} {each['name']}")
        for holder in (operation.get("requestBody", {}), *operation["responses"].values()):
            for content in holder.get("content", {}).values():
                yield from parts(content["schema"], name)
    for name, answer in DOCUMENT["components"]["responses"].items():
        for each in (*answer["content"].values(), *answer.get("headers", {}).values()):
            yield from parts(each["schema"], name)


def test_every_schema_says_what_it_takes() -> None:
    for place, schema in used():
        assert schema.get("description", "?").strip(), place
        match schema.get("type"):
            case "array":
                assert schema["items"], place
            case "object":
                assert "properties" in schema or isinstance(schema.get("additionalProperties"), dict), place
                assert schema.get("required", []) == [
                    n for n in schema.get("required", []) if n in schema["properties"]
                ]
            case None:
                assert schema.keys() & {"$ref", "anyOf"} or place in OF_USERS, place
            case one:
                assert one in {"string", "integer", "number", "boolean", "null"}, place


def test_each_field_of_a_task_is_explained_as_in_python() -> None:
    fields = SCHEMAS["TaskSpec"]["properties"]
    assert set(fields) == set(TaskSpec.__struct_fields__)
    for name, schema in fields.items():
        assert schema["description"].endswith("."), name
        assert len(schema["description"].split()) > 4, name


def test_only_values_of_users_are_any() -> None:
    assert {place for place, schema in used() if not schema.keys() - ANY} == OF_USERS


def test_every_reference_leads_somewhere_and_everything_is_used() -> None:
    text = json.dumps(DOCUMENT)
    for kind in ("schemas", "responses"):
        for name in DOCUMENT["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, name
    for reference in (schema["$ref"] for _, schema in used() if "$ref" in schema):
        assert reference.removeprefix("#/components/schemas/") in SCHEMAS


def test_every_operation_has_a_name_a_tag_words_and_a_login() -> None:
    names = [operation["operationId"] for _, operation in operations()]
    assert len(names) == len(set(names))
    tags = {each["name"]: each["description"] for each in DOCUMENT["tags"]}
    assert {tag for _, operation in operations() for tag in operation["tags"]} == tags.keys()
    logins = {name for each in DOCUMENT["security"] for name in each}
    assert logins == DOCUMENT["components"]["securitySchemes"].keys()
    for name, operation in operations():
        assert operation["summary"], name
        assert operation["description"], name
        assert "security" not in operation, "each needs a login"
        assert all(each["description"] for each in operation["parameters"]), name


def test_every_parameter_of_a_path_is_described() -> None:
    for name, operation in operations():
        inside = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert inside == {each.strip("{}") for each in name.split("/") if each.startswith("{")}


def test_every_answer_and_every_error_is_described() -> None:
    """By the statuses that errors of the queue have, those of the API itself, and those of who may."""
    of_all = {400, 401, 403, 404, 405, 421, 429, 500, 502, 503}
    of_changes, of_bodies = {409}, {413, 415}
    assert {meaning.status for _, meaning in MEANINGS} <= of_all | of_changes
    for name, operation in operations():
        answers = {int(status): each for status, each in operation["responses"].items()}
        assert list(answers) == sorted(answers, key=lambda status: (status >= 400, status if status >= 400 else 0))
        refused = {status for status in answers if status >= 400}
        assert refused == of_all | (of_changes if not name.startswith("GET") else set()) | (
            of_bodies if "requestBody" in operation else set()
        ), name
        for status, answer in answers.items():
            if status >= 400:
                assert answer == {"$ref": f"#/components/responses/{HTTPStatus(status).name.title().replace('_', '')}"}
            else:
                assert answer["description"], name
                assert answer["content"], name
    for name, answer in DOCUMENT["components"]["responses"].items():
        assert answer["description"].endswith("."), name
        assert answer["content"] == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def test_counts_have_each_state() -> None:
    assert set(TaskCounts.__annotations__) == {*State, "dead letters"}
