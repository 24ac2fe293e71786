"""The form of a schedule: its fields as texts from a spec, and the spec that the fields ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.client.schedule_definition import ScheduleSpec, read_spec
from holdfast.errors import InvalidScheduleError
from holdfastd.web.queue.secret_pairs import HIDDEN

WAYS = ("cron", "every", "rrule", "at", "schedule")
# fmt: off
TEXTS = (
    "timezone", "anchor", "start", "end", "jitter", "overlap", "misfire", "start_deadline", "on_failure", "backoff",
    "owner", "text", "name", "lane", "timeout", "expires", "unique", "unique_for", "concurrency_key", "webhook",
)
# fmt: on


def fields_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the form, from a spec as the store has it."""
    way = next((each for each in WAYS if each in spec), WAYS[0])
    fields = {name: _typed(spec[name]) for name in (*TEXTS, "limit", "max_attempts") if name in spec}
    payloads = "kwargs" if "kwargs" in spec else "data"
    arguments = {"arguments": _written(spec[payloads])} if payloads in spec else {}
    metadata = {"metadata": _written(spec["metadata"])} if "metadata" in spec else {}
    return {"way": way, "rule": _typed(spec.get(way, "")), **fields, **arguments, **metadata}


def spec_of(fields: Mapping[str, str], stored: Mapping[str, Any], shown: Mapping[str, Any]) -> ScheduleSpec:
    """The spec that the fields ask for. `stored`: of the schedule that is changed; `shown`: the same with its secrets
    hidden, which stay as they are stored where they were left as they were shown. Raises InvalidScheduleError."""
    typed = {name: fields[name].replace("\r\n", "\n") for name in fields}  # as a browser sends the lines of a field
    given = {name: text if name == "text" else text.strip() for name, text in typed.items() if text.strip()}
    way = given.get("way", "")
    if way not in WAYS:
        raise InvalidScheduleError(f"rule of kind {way[:50]!r}: one of {', '.join(WAYS)} is expected")
    values: dict[str, Any] = {way: _restored_text(given.get("rule", ""), stored.get(way), shown.get(way), "rule")}
    values |= {
        name: _restored_text(given[name], stored.get(name), shown.get(name), name) for name in TEXTS if name in given
    }
    if stored.get("text") == typed.get("text") and "text" in typed:
        values["text"] = stored["text"]  # blanks alone, or nothing
    values |= _parsed(given, "limit", int) | _parsed(given, "max_attempts", int)
    target = "kwargs" if "name" in given else "data"
    values |= _payload(given, "arguments", target, stored, shown)
    values |= _payload(given, "metadata", "metadata", stored, shown)
    return read_spec(values)


def _typed(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _restored_text(typed: str, stored: Any, shown: Any, field: str) -> Any:
    """What is stored, if the field was left as it was shown."""
    is_left = shown is not None and typed.strip() == _typed(shown).replace("\r\n", "\n").strip()
    return stored if is_left else _restored(typed, stored, shown, field)


def _restored(typed: Any, stored: Any, shown: Any, field: str) -> Any:
    """The value with what it has of `shown` as it is `stored`. A secret in a text that was changed is asked for."""
    if shown is None:
        return typed
    if typed == shown:
        return stored
    if all(isinstance(each, dict) for each in (typed, stored, shown)):
        return {name: _restored(each, stored.get(name), shown.get(name), field) for name, each in typed.items()}
    if all(isinstance(each, list) for each in (typed, stored, shown)) and len(typed) == len(stored) == len(shown):
        return [_restored(each, stored[place], shown[place], field) for place, each in enumerate(typed)]
    if shown != stored and HIDDEN in _written(typed):
        raise InvalidScheduleError(
            f"{field}: it has {HIDDEN} for a hidden value: write the value in full, or leave the field unchanged"
        )
    return typed


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _parsed(given: Mapping[str, str], name: str, read: Callable[[str], object]) -> dict[str, Any]:
    try:
        return {name: read(given[name])} if name in given else {}
    except ValueError:
        raise InvalidScheduleError(f"{name.replace('_', ' ')} {given[name][:80]!r}: a number is expected") from None


def _payload(
    given: Mapping[str, str], field: str, target: str, stored: Mapping[str, Any], shown: Mapping[str, Any]
) -> dict[str, Any]:
    if field not in given:
        return {}
    try:
        typed = json.loads(given[field])
    except (ValueError, RecursionError) as error:
        raise InvalidScheduleError(f"{field}: not JSON: {error}") from None
    return {target: _restored(typed, stored.get(target), shown.get(target), field)}
