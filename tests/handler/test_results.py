"""The value that a handler returns decides the outcome."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from holdfast.core.outcomes import Completed, Failed, InputAsked, Raised, Rejected
from holdfast.handler.returned_value import outcome_of
from tests.handler.deliveries import document

MAX = 100_000
JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner | st.none()) | st.dictionaries(st.text(), inner | st.none()),
    max_leaves=10,
)


def text(value: str) -> dict[str, Any]:
    return {"kind": "text", "text": value}


def data(value: object) -> dict[str, Any]:
    return {"kind": "data", "data": value}


def test_none_is_completed_without_artifact() -> None:
    assert document(outcome_of(None, MAX)) == {"state": "completed", "parts": []}


def test_a_text_is_a_text_artifact() -> None:
    assert document(outcome_of("größe\n\0", MAX)) == {"state": "completed", "parts": [text("größe\n\0")]}


@given(JSON)
def test_any_json_is_an_artifact_that_keeps_it(value: Any) -> None:
    outcome = outcome_of(value, MAX)
    assert isinstance(outcome, Completed)
    assert document(outcome)["parts"] == [text(value) if isinstance(value, str) else data(value)]


@pytest.mark.parametrize(
    "value", [{"state": "working"}, {"state": "CA"}, {"state": 7}, {"state": ["failed"]}, {}, [], 0, False]
)
def test_a_value_that_names_no_ending_is_data(value: object) -> None:
    assert document(outcome_of(value, MAX)) == {"state": "completed", "parts": [data(value)]}


@pytest.mark.parametrize("state", ["input-required", "auth-required"])
def test_a_question_ends_the_turn_with_its_prompt(state: str) -> None:
    outcome = outcome_of({"state": state, "prompt": "Which one?", "options": [1, 2]}, MAX)
    assert isinstance(outcome, InputAsked)
    assert outcome.state == state
    assert document(outcome) == {"state": state, "parts": [text("Which one?"), data({"options": [1, 2]})]}


@pytest.mark.parametrize("key", ["prompt", "message", "text", "reason", "error"])
def test_failed_says_why(key: str) -> None:
    outcome = outcome_of({"state": "failed", key: "no such order"}, MAX)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "no such order"
    assert document(outcome) == {
        "state": "failed",
        "parts": [text("no such order")],
        "error": {"type": "Failed", "message": "no such order", "traceback": ""},
    }


def test_rejected_says_why_even_without_a_reason() -> None:
    outcome = outcome_of({"state": "rejected", "code": 4}, MAX)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "the handler answered rejected"
    assert document(outcome)["parts"] == [data({"code": 4})]


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ({"state": "completed"}, []),
        ({"state": "completed", "message": "done"}, [text("done")]),
        ({"state": "completed", "result": "done"}, [text("done")]),
        ({"state": "completed", "result": {"a": 1}, "more": 2}, [data({"a": 1}), data({"more": 2})]),
        ({"state": "completed", "error": {"code": 1}}, [data({"error": {"code": 1}})]),
    ],
)
def test_completed_may_be_said_too(value: object, parts: list[Any]) -> None:
    assert document(outcome_of(value, MAX)) == {"state": "completed", "parts": parts}


@dataclass
class Point:
    x: int
    when: datetime


class Model(BaseModel):
    name: str
    points: list[float]


class Array:
    """As numpy's arrays and scalars present themselves."""

    def tolist(self) -> list[float]:
        return [1.5, 2.5]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Point(1, datetime(2027, 1, 1, tzinfo=UTC)), {"x": 1, "when": "2027-01-01T00:00:00Z"}),
        (Model(name="a", points=[1.0]), {"name": "a", "points": [1.0]}),
        ([Model(name="a", points=[])], [{"name": "a", "points": []}]),
        (Array(), [1.5, 2.5]),
        ((1, 2), [1, 2]),
        ({1: None}, {"1": None}),
    ],
)
def test_values_with_an_obvious_json_are_data(value: object, kept: object) -> None:
    assert document(outcome_of(value, MAX)) == {"state": "completed", "parts": [data(kept)]}


def cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "type object that cannot be kept: JSON has no object"),
        (b"abc", "JSON has no bytes"),
        ({"state": "completed", "result": bytearray(b"abc")}, "JSON has no bytes"),
        (math.nan, "JSON has no NaN"),
        ({"a": [1, {"b": math.inf}]}, "JSON has no NaN"),
        ({"state": "failed", "score": -math.inf}, "JSON has no NaN"),
        ([Model(name="a", points=[math.nan])], "JSON has no NaN"),
        ({"a": "\ud800"}, "not Unicode"),
        ("\ud800", "not Unicode"),
        (cycle(), "contains itself"),
        ({(1, 2): 3}, "JSON has no tuple"),
        ("x" * MAX, f"bytes: at most {MAX} are kept"),
        ({"state": "input-required", "prompt": "x" * MAX}, f"at most {MAX} are kept"),
    ],
)
def test_what_cannot_be_kept_is_a_final_error(value: object, why: str) -> None:
    outcome = outcome_of(value, MAX)
    assert isinstance(outcome, Raised)
    assert outcome.final
    assert outcome.failure.type == "ResultError"
    assert why in outcome.failure.message


def test_a_result_of_exactly_the_limit_is_kept() -> None:
    size = len(json.dumps({"state": "completed", "parts": [text("")]}, separators=(",", ":")))
    assert isinstance(outcome_of("x" * (MAX - size), MAX), Completed)
    assert isinstance(outcome_of("x" * (MAX - size + 1), MAX), Raised)
