"""Arguments held against the JSON schema that a worker has published."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.published_handlers import Flaw, flaws

LINE = {
    "type": "object",
    "properties": {"sku": {"type": "string", "minLength": 2}, "count": {"type": "integer", "minimum": 1}},
    "required": ["sku"],
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"enum": ["eu", "us"], "type": "string"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "share": {"type": "number", "exclusiveMaximum": 1},
        "since": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "anything": {},
    },
    "required": ["region"],
    "additionalProperties": False,
    "$defs": {"Line": LINE},
}


@pytest.mark.parametrize(
    ("more", "place", "why"),
    [
        ({"region": "mars"}, "region", "one of 'eu', 'us' is expected, not 'mars'"),
        ({"lines": 5}, "lines", "a list is expected, not 5"),
        ({"lines": [{"sku": "ab"}, {"count": 0, "sku": "x"}]}, "lines[1].count", "at least 1 is allowed"),
        ({"lines": [{"count": 3}]}, "lines[0].sku", "is missing"),
        ({"lines": [{"sku": "x"}]}, "lines[0].sku", "at least 2 characters are allowed"),
        ({"share": 1}, "share", "less than 1 is allowed"),
        ({"share": True}, "share", "a number is expected, not True"),
        ({"share": float("nan")}, "share", "a number is expected, not nan"),
        ({"since": 5}, "since", "a text or null is expected, not 5"),
        ({"strange": 1}, "strange", "is not expected"),
    ],
)
def test_each_flaw_names_its_place_and_what_is_expected(more: dict[str, Any], place: str, why: str) -> None:
    assert Flaw(place, why) in flaws(SCHEMA, {"region": "eu", **more})


def test_arguments_that_fit_have_no_flaw() -> None:
    fitting = {"region": "us", "lines": [{"sku": "ab", "count": 2.0}], "share": 0.5, "since": None, "anything": [1]}
    assert flaws(SCHEMA, fitting) == []
    assert flaws(SCHEMA, {}) == [Flaw("region", "is missing")]
    assert flaws(SCHEMA, []) == [Flaw("", "an object is expected, not []")]


def test_a_schema_that_refers_to_itself_or_to_nothing_ends() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"left": deep}
    assert flaws({**tree, "$defs": {"Tree": tree}}, deep) == []
    assert flaws({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, 5) == []
    assert flaws({"$ref": "http://example.org/schema"}, 5) == []


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"type": "strange"}, {"properties": {"a": 3}}, {"anyOf": "x"}, {"items": 1}]
)
def test_what_is_not_understood_passes(schema: dict[str, Any]) -> None:
    assert flaws(schema, {"a": [1, "x"]}) == []


def test_the_number_of_flaws_is_bounded() -> None:
    assert len(flaws({"type": "array", "items": {"type": "string"}}, list(range(1000)))) == 20
