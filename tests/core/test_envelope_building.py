"""The envelope we write, and that we read what we wrote."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.envelope import Run, build_parts, read
from holdfast.core.messages import Part
from holdfast.errors import InvalidTaskError
from tests.envelopes import build_run

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
IDS = st.from_regex(r"[A-Za-z0-9._@-]{1,64}", fullmatch=True)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    SCALARS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
HELLO = build_parts("hello")


def test_a_run_is_the_documented_envelope_in_compact_form() -> None:
    built = build_run(
        "t-1",
        HELLO,
        context_id="c-1",
        message_id="m-1",
        history_length=5,
        trace_id=TRACE,
        span_id=SPAN,
        metadata={"a": 1},
    )
    expected = {
        "operation": "run",
        "params": {
            "task_id": "t-1",
            "context_id": "c-1",
            "message": {
                "message_id": "m-1",
                "task_id": "t-1",
                "context_id": "c-1",
                "kind": "message",
                "role": "user",
                "parts": [{"kind": "text", "text": "hello"}],
                "metadata": {"a": 1},
            },
            "history_length": 5,
        },
        "trace_id": TRACE,
        "span_id": SPAN,
    }
    assert json.loads(built.operation) == expected
    assert built.operation == json.dumps(expected, separators=(",", ":")).encode()
    assert built.message_id == "m-1"


@given(
    IDS,
    st.none() | IDS,
    st.none() | IDS,
    st.none() | st.text(),
    JSON,
    st.none() | st.text(min_size=1),
    st.dictionaries(st.text(), JSON),
    st.none() | st.integers(0, 1000),
    st.sampled_from([(None, None), (TRACE, SPAN)]),
)
def test_what_is_built_reads_the_same(
    task_id: str,
    context_id: str | None,
    message_id: str | None,
    text: str | None,
    data: object,
    name: str | None,
    extra: dict[str, Any],
    length: int | None,
    trace: tuple[str | None, str | None],
) -> None:
    parts = build_parts(text, data if name is None else None, name, extra)
    built = build_run(
        task_id,
        parts,
        context_id=context_id,
        message_id=message_id,
        metadata=extra,
        history_length=length,
        trace_id=trace[0],
        span_id=trace[1],
    )
    operation = read(built.operation, len(built.operation))
    assert isinstance(operation, Run)
    assert operation.messages[0]["parts"] == parts
    assert operation.message_id == built.message_id
    assert message_id is None or operation.message_id == message_id
    assert (operation.task_id, operation.context_id) == (task_id, context_id or task_id)
    assert (operation.history_length, operation.metadata) == (length, extra)
    assert (operation.trace_id, operation.span_id) == trace
    assert name is None or (operation.name, operation.kwargs) == (name, extra)


def test_our_entry_reads_as_its_operation() -> None:
    operation = build_run("t-1", HELLO).operation
    entry = b'{"_b":"t-1:12",' + operation[1:]
    assert read(entry, len(entry)) == read(operation, len(operation))


def test_the_same_call_is_the_same_message_whatever_its_trace() -> None:
    one = build_run("t-1", HELLO, trace_id=TRACE, span_id=SPAN)
    other = build_run("t-1", HELLO)
    assert (one.message_id, one.digest) == (other.message_id, other.digest)
    assert uuid.UUID(one.message_id).version == 5


@pytest.mark.parametrize(
    "other",
    [
        build_run("t-2", HELLO),
        build_run("t-1", build_parts("hullo")),
        build_run("t-1", HELLO, context_id="c"),
        build_run("t-1", HELLO, metadata={"a": 1}),
        build_run("t-1", HELLO, history_length=1),
    ],
)
def test_other_content_is_another_message(other: Any) -> None:
    one = build_run("t-1", HELLO)
    assert one.message_id != other.message_id
    assert one.digest != other.digest


def test_the_same_message_id_with_other_content_has_another_digest() -> None:
    one = build_run("t-1", HELLO, message_id="m-1")
    other = build_run("t-1", build_parts("hullo"), message_id="m-1")
    assert (one.message_id == other.message_id, one.digest == other.digest) == (True, False)


def test_a_message_id_that_does_not_fit_is_its_digest() -> None:
    assert build_run("t-1", HELLO, message_id="a b").message_id == hashlib.sha1(b"a b").hexdigest()


def test_parts_hold_what_is_given() -> None:
    assert build_parts() == []
    assert build_parts("", {"a": 1}, "n") == [
        {"kind": "text", "text": ""},
        {"kind": "data", "data": {"a": 1}},
        {"kind": "data", "data": {"name": "n", "kwargs": {}}},
    ]


@pytest.mark.parametrize("task_id", ["", "a b", "x" * 129, "größe", "a\n"])
def test_a_bad_task_id_is_refused(task_id: str) -> None:
    with pytest.raises(InvalidTaskError, match=r"task_id .* are allowed"):
        build_run(task_id, HELLO)


def cycle() -> list[Part]:
    parts: list[Any] = []
    parts.append(parts)
    return parts


@pytest.mark.parametrize("parts", [build_parts(data=object()), build_parts("\ud800"), cycle()])
def test_what_is_no_json_is_refused(parts: list[Part]) -> None:
    with pytest.raises(InvalidTaskError, match="cannot be written as JSON"):
        build_run("t-1", parts)
