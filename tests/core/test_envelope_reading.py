"""Operations from anybody's bytes."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.envelope import Control, Run, UnreadableError, read
from holdfast.handler.turn import messages_for
from tests.handler.deliveries import delivery_of

MAX = 1_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def run_of(envelope: object) -> Run:
    operation = read(json.dumps(envelope).encode(), MAX)
    assert isinstance(operation, Run)
    return operation


def handed(operation: Run) -> list[dict[str, Any]]:
    """The messages as a handler gets them."""
    return messages_for(delivery_of(), operation)


def first(**params: Any) -> dict[str, Any]:
    return {"operation": "run", "params": {"task_id": "t-1", **params}}


def message(**more: Any) -> dict[str, Any]:
    return {
        "message_id": "m-1",
        "kind": "message",
        "role": "user",
        "parts": [{"kind": "text", "text": "hello"}],
        **more,
    }


def test_the_documented_run_is_read_whole() -> None:
    operation = run_of(
        {
            **first(context_id="c-1", message=message(metadata={"a": 1}), history_length=5),
            "trace_id": TRACE,
            "span_id": SPAN,
        }
    )
    assert operation == Run(
        task_id="t-1",
        message_id="m-1",
        context_id="c-1",
        messages=[message(metadata={"a": 1})],
        trace_id=TRACE,
        span_id=SPAN,
        history_length=5,
        metadata={"a": 1},
    )


def test_the_other_documented_envelope_is_read_with_content_and_parts() -> None:
    operation = run_of(
        {
            "type": "run",
            "task_id": "t-1",
            "conversation_id": "c-1",
            "messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": {"a": 1}}],
            "artifacts": [{"x": 1}],
            "timestamp": "2027-01-01T00:00:00Z",
        }
    )
    assert operation.context_id == "c-1"
    assert handed(operation) == [
        {"role": "user", "content": "hello", "parts": [{"kind": "text", "text": "hello"}]},
        {"role": "user", "content": {"a": 1}, "parts": [{"kind": "data", "data": {"a": 1}}]},
    ]
    assert operation.metadata == {"artifacts": [{"x": 1}], "timestamp": "2027-01-01T00:00:00Z"}


def test_parts_of_the_other_envelope_can_be_read_as_content() -> None:
    parts = [{"kind": "text", "text": "one"}, {"kind": "data", "data": 1}, {"kind": "text", "text": "two"}]
    operation = run_of({"type": "run", "task_id": "t-1", "messages": [{"role": "user", "parts": parts}]})
    assert handed(operation)[0]["content"] == "one\ntwo"


def test_content_of_a2a_messages_can_be_read_too() -> None:
    assert handed(run_of(first(message=message())))[0]["content"] == "hello"
    assert run_of(first(message={"content": "hi"})).messages[0]["parts"] == [{"kind": "text", "text": "hi"}]


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
def test_controls_are_read_in_both_envelopes(verb: str) -> None:
    for envelope in (
        {"operation": verb, "params": {"task_id": "t-1"}, "trace_id": None, "span_id": None},
        {"type": verb, "task_id": "t-1"},
    ):
        assert read(json.dumps(envelope).encode(), MAX) == Control(verb, "t-1")  # type: ignore[arg-type]  # a str here


@pytest.mark.parametrize(
    "envelope",
    [
        {"operation": "resume", "params": {"task_id": "t-1", "message": message()}},
        {"type": "resume", "task_id": "t-1", "messages": [{"role": "user", "content": "hello"}]},
    ],
)
def test_a_resume_that_carries_messages_is_a_run(envelope: dict[str, Any]) -> None:
    assert run_of(envelope).messages[0]["parts"] == [{"kind": "text", "text": "hello"}]
    assert run_of(envelope).resumes
    assert not run_of(first(message=message())).resumes


def test_spaces_extra_keys_and_our_own_mark_change_nothing() -> None:
    plain = json.dumps(first(message=message()), separators=(",", ":")).encode()
    spaced = json.dumps(first(message=message()), indent=3).encode()
    extra = json.dumps({**first(message=message(), more=1), "more": [2]}).encode()
    ours = b'{"_b":"t-1:7",' + plain[1:]
    assert read(plain, MAX) == read(spaced, MAX) == read(extra, MAX) == read(ours, MAX)


def test_a_run_without_message_is_its_bytes() -> None:
    raw = b'{"operation":"run","params":{"task_id":"t-1"}}'
    operation = read(raw, MAX)
    assert isinstance(operation, Run)
    assert (operation.messages, operation.message_id) == ([], hashlib.sha1(raw).hexdigest())


@pytest.mark.parametrize("given_id", [None, "", 7, ["m"], {}])
def test_a_message_id_that_is_no_text_is_as_good_as_none(given_id: object) -> None:
    envelope = first(message=message(message_id=given_id))
    assert run_of(envelope).message_id == hashlib.sha1(json.dumps(envelope).encode()).hexdigest()


@pytest.mark.parametrize("given_id", ["x" * 65, "with space", "größe", "a/b", "a\n"])
def test_a_message_id_that_does_not_fit_is_replaced_by_its_digest(given_id: str) -> None:
    operation = run_of(first(message=message(message_id=given_id)))
    assert operation.message_id == hashlib.sha1(given_id.encode()).hexdigest()


def test_a_data_part_names_a_handler_and_its_arguments() -> None:
    call = {"kind": "data", "data": {"name": "billing.send", "kwargs": {"region": "eu"}}}
    operation = run_of(first(message=message(parts=[{"kind": "text", "text": "x"}, call])))
    assert (operation.name, operation.kwargs) == ("billing.send", {"region": "eu"})


@pytest.mark.parametrize(
    "data", [None, 1, "x", {"name": "Ann"}, {"name": 1, "kwargs": {}}, {"name": "x", "kwargs": [1]}, {"kwargs": {}}]
)
def test_other_data_names_no_handler(data: object) -> None:
    operation = run_of(first(message=message(parts=[{"kind": "data", "data": data}])))
    assert (operation.name, operation.kwargs) == (None, {})


def test_what_cannot_be_used_of_the_extras_is_as_good_as_missing() -> None:
    operation = run_of(
        {
            **first(context_id=[1], history_length="5", metadata=3, message=message(metadata="m")),
            "trace_id": "xyz",
            "span_id": 5,
        }
    )
    assert operation == Run(task_id="t-1", message_id="m-1", messages=[message(metadata="m")])


@pytest.mark.parametrize("trace_id", [TRACE.upper(), "0" * 32, TRACE[:-1], TRACE + "0", 5, None])
def test_only_a_valid_trace_id_is_taken(trace_id: object) -> None:
    assert run_of({**first(), "trace_id": trace_id}).trace_id is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "truncated"),
        (b"hello", "malformed"),
        (b'{"operation":"run"', "truncated"),
        (b'{"operation":"run","params":{"task_id":"t"}} x', "trailing"),
        (b"\xef\xbb\xbf{}", "malformed"),
        (b'{"operation":NaN}', "malformed"),
        (b"[]", "Expected `object`"),
        (b"7", "Expected `object`"),
        (b"{}", "no operation in the JSON"),
        (b'{"operation":null}', "no operation"),
        (b'{"operation":"explode","params":{"task_id":"t"}}', "unknown operation"),
        (b'{"operation":"","params":{"task_id":"t"}}', "unknown operation"),
        (b'{"operation":5,"params":{"task_id":"t"}}', r"\$.operation"),
        (b'{"type":"explode","task_id":"t"}', "unknown operation"),
        (b'{"operation":"run"}', "no params"),
        (b'{"operation":"run","params":[]}', r"\$.params"),
        (b'{"operation":"run","params":{}}', "no task id"),
        (b'{"operation":"run","params":{"task_id":null}}', "no task id"),
        (b'{"operation":"run","params":{"task_id":""}}', "no task id"),
        (b'{"operation":"cancel","params":{"task_id":7}}', r"\$.params.task_id"),
        (b'{"operation":"run","params":{"task_id":"a b"}}', "bad task id"),
        (b'{"operation":"run","params":{"task_id":"a\\n"}}', "bad task id"),
        (b'{"operation":"run","params":{"task_id":"' + b"x" * 129 + b'"}}', "bad task id"),
        ('{"operation":"run","params":{"task_id":"größe"}}'.encode(), "bad task id"),
        (b'{"operation":"run","params":{"task_id":"t","message":"hi"}}', r"\$.params.message"),
        (b'{"operation":"run","params":{"task_id":"t","message":{"parts":"x"}}}', "parts"),
        (b'{"operation":"run","params":{"task_id":"t","message":{"parts":["x"]}}}', "parts"),
        (b'{"type":"run","task_id":"t","messages":"x"}', r"\$.messages"),
        (b'{"type":"run","task_id":"t","messages":["x"]}', r"\$.messages"),
        (b'{"operation":"run","params":{"task_id":"t","message":{"a":"\xff"}}}', "not UTF-8"),
        (b'{"operation":"run","params":{"task_id":"t","message":{"a":"\\ud800"}}}', "."),
        (b'{"operation":"run","params":{"task_id":"t","message":{"a":1e999}}}', "out of range"),
        (b'{"params":' * 90_000, "nested too deeply|Expected"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply|no operation"),
        (b'{"operation":"run","params":{"task_id":"t","message":{"a":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_says_why_on_one_line(raw: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason) as raised:
        read(raw, MAX)
    assert "\n" not in str(raised.value)


def test_what_is_too_large_is_not_even_parsed() -> None:
    raw = b'{"operation":"cancel","params":{"task_id":"t"}}'
    assert read(raw, len(raw)) == Control("cancel", "t")
    with pytest.raises(UnreadableError, match=f"too large: {len(raw)} bytes, at most {len(raw) - 1}"):
        read(raw, len(raw) - 1)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with suppress(UnreadableError):
        assert isinstance(read(raw, MAX), Run | Control)


KEYS = st.sampled_from(
    ["task_id", "context_id", "message", "messages", "history_length", "metadata", "conversation_id", "artifacts"]
)


@given(st.dictionaries(KEYS, JSON), st.sampled_from(["run", "resume", "cancel"]), st.booleans())
def test_any_shape_of_params_is_read_or_refused(params: dict[str, Any], verb: str, second: bool) -> None:
    params.setdefault("task_id", "t-1")
    envelope = {"type": verb, **params} if second else {"operation": verb, "params": params}
    try:
        operation = read(json.dumps(envelope).encode(), MAX)
    except UnreadableError:
        return
    if isinstance(operation, Run):
        assert all(isinstance(sent["parts"], list) for sent in operation.messages)
