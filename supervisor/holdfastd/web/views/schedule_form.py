"""The form of a schedule: its fields as texts from a spec, and the spec that the fields ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.client.schedule_definition import read_spec
from holdfast.client.schedule_spec import ScheduleSpec
from holdfast.errors import InvalidScheduleError
from holdfast_config import durations

WAYS = ("cron", "every", "rrule", "at", "schedule")
# fmt: off
TEXTS = (
    "timezone", "anchor", "start", "end", "jitter", "overlap", "misfire", "start_deadline", "on_failure", "backoff",
    "owner", "text", "name", "lane", "expires", "unique", "unique_for", "concurrency_key", "webhook",
)
# fmt: on


def fields_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the form, from a spec as the store has it."""
    way = next((each for each in WAYS if each in spec), WAYS[0])
    fields = {name: str(spec[name]) for name in (*TEXTS, "limit", "max_attempts", "timeout") if name in spec}
    payloads = "kwargs" if "kwargs" in spec else "data"
    arguments = {"arguments": _written(spec[payloads])} if payloads in spec else {}
    metadata = {"metadata": _written(spec["metadata"])} if "metadata" in spec else {}
    return {"way": way, "rule": str(spec.get(way, "")), **fields, **arguments, **metadata}


def spec_of(fields: Mapping[str, str], stored: Mapping[str, Any], shown: Mapping[str, Any]) -> ScheduleSpec:
    """The spec that the fields ask for. `stored`: of the schedule that is changed; `shown`: the same with its secrets
    hidden, which stay as they are stored where they were left as they were shown. Raises InvalidScheduleError."""
    given = {name: text for name in fields if (text := fields[name].strip())}
    way = given.get("way", "")
    if way not in WAYS:
        raise InvalidScheduleError(f"rule of kind {way[:50]!r}: one of {', '.join(WAYS)} is expected")
    values: dict[str, Any] = {way: given.get("rule", "")}
    values |= {name: _restored(given[name], stored.get(name), shown.get(name)) for name in TEXTS if name in given}
    values |= _parsed(given, "limit", int) | _parsed(given, "max_attempts", int)
    values |= _parsed(given, "timeout", durations.seconds)
    target = "kwargs" if "name" in given else "data"
    values |= _payload(given, "arguments", target, stored, shown)
    values |= _payload(given, "metadata", "metadata", stored, shown)
    return read_spec(values)


def _restored(typed: Any, stored: Any, shown: Any) -> Any:
    """The value with what it has of `shown` as it is `stored`."""
    if typed == shown and shown is not None:
        return stored
    if all(isinstance(each, dict) for each in (typed, stored, shown)) and stored and shown:
        return {name: _restored(each, stored.get(name), shown.get(name)) for name, each in typed.items()}
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
        return {target: _restored(json.loads(given[field]), stored.get(target), shown.get(target))}
    except (ValueError, RecursionError) as error:
        raise InvalidScheduleError(f"{field}: not JSON: {error}") from None
