"""Arguments held against the JSON schema that a worker has published."""

from datetime import date, timedelta
from typing import Any

import pytest

from holdfast.core.published_handlers import Flaw, flaws
from holdfast.handler.publication import arguments_schema
from holdfast.handler.registry import Handlers

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
        ({"share": "much"}, "share", "a number is expected, not 'much'"),
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


CONVERTED: list[tuple[type[Any], list[Any], list[Any]]] = [
    (int, ["3", " 4 ", True, 3.0], ["three", [], {}]),
    (float, ["1.5", "1e3", False, 3], ["much", []]),
    (bool, ["yes", "off", 1, 0.0, "True"], ["maybe", 2, []]),
    (date, ["2026-01-31", 0], [[], {}]),
    (timedelta, [5, "PT5S"], [[]]),
    (list[int], [["1", 2]], [["one"], 5]),
]


@pytest.mark.parametrize(("kind", "taken", "refused"), CONVERTED)
def test_what_a_worker_converts_has_no_flaw(kind: type[Any], taken: list[Any], refused: list[Any]) -> None:
    handlers = Handlers()

    @handlers.register("each")
    def each(value: kind) -> None:  # type: ignore[valid-type]
        """Takes a value of this type."""

    signature = handlers.named()["each"].signature
    schema = arguments_schema(signature)
    for value in taken:
        signature.fit({"value": value})
        assert flaws(schema, {"value": value}) == []
    for value in refused:
        with pytest.raises(ValueError, match="value"):
            signature.fit({"value": value})
        assert flaws(schema, {"value": value})
