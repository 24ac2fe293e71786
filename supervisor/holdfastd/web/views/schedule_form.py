"""The form of a schedule: makes the texts of its fields from a spec, and a spec from the texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from holdfast.client.schedule_definition import ScheduleSpec, read_spec
from holdfast.core.published_handlers import PublishedHandler
from holdfast.errors import HoldfastError, InvalidScheduleError
from holdfastd.web.queue.redaction import Redaction
from holdfastd.web.views.submission_form import (
    ArgumentField,
    InvalidSubmissionError,
    argument_fields,
    as_typed,
    json_text,
    read_arguments,
)

WAYS = ("cron", "every", "rrule", "at", "schedule")
PRESETS = {  # usual rules, each with the kind of rule
    "Every minute": ("every", "1m"),
    "Every hour": ("cron", "0 * * * *"),
    "Daily at 02:00": ("cron", "0 2 * * *"),
    "Weekdays at 09:00": ("cron", "0 9 * * 1-5"),
    "Monthly on the 1st": ("cron", "0 2 1 * *"),
}
USUAL = "Daily at 02:00"  # the rule of a new form
# fmt: off
TEXTS = (
    "timezone", "anchor", "start", "end", "jitter", "overlap", "misfire", "start_deadline", "on_failure", "backoff",
    "owner", "text", "name", "lane", "timeout", "expires", "unique", "unique_for", "concurrency_key", "webhook",
)
# fmt: on


def fields_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the form's fields for a spec that the store has."""
    way = next((each for each in WAYS if each in spec), WAYS[0])
    fields = {name: _typed(spec[name]) for name in (*TEXTS, "limit", "max_attempts") if name in spec}
    payloads = "kwargs" if "kwargs" in spec else "data"
    arguments = {"arguments": _written(spec[payloads])} if payloads in spec else {}
    metadata = {"metadata": _written(spec["metadata"])} if "metadata" in spec else {}
    return {"way": way, "rule": _typed(spec.get(way, "")), **fields, **arguments, **metadata}


def spec_of(fields: Mapping[str, str], stored: Mapping[str, Any], redaction: Redaction) -> ScheduleSpec:
    """The spec for the texts of the fields. `stored`: the present spec of the schedule; empty for a new one. A secret
    that the form showed as *** keeps its stored value if the user left the *** unchanged. Raises
    InvalidScheduleError."""
    typed = {name: fields[name].replace("\r\n", "\n") for name in fields}  # a browser sends line ends as \r\n
    given = {name: text if name == "text" else text.strip() for name, text in typed.items() if text.strip()}
    way = given.get("way", "")
    if way not in WAYS:
        raise InvalidScheduleError(f"rule of kind {way[:50]!r}: one of {', '.join(WAYS)} is expected")
    shown = redaction.value(stored)

    def restored(name: str, value: Any, field: str) -> Any:
        if shown.get(name) == stored.get(name):  # it has no secrets
            return value
        try:
            return redaction.restored({name: value}, stored)[name]
        except ValueError as error:
            raise InvalidScheduleError(f"{field}: {error}") from None

    def text(name: str, field: str) -> Any:
        is_left = name in shown and given.get(field, "").strip() == _typed(shown[name]).replace("\r\n", "\n").strip()
        return stored[name] if is_left else restored(name, given.get(field, ""), field)

    values: dict[str, Any] = {way: text(way, "rule")} | {name: text(name, name) for name in TEXTS if name in given}
    if stored.get("text") == typed.get("text") and "text" in typed:
        values["text"] = stored["text"]  # also a text that is empty or has only blanks
    values |= _parsed(given, "limit", int) | _parsed(given, "max_attempts", int)
    payloads = {"arguments": "kwargs" if "name" in given else "data", "metadata": "metadata"}
    values |= {
        name: restored(name, _payload(given, field), field) for field, name in payloads.items() if field in given
    }
    return read_spec(values)


# The arguments: a field for each, if the handler has published a schema; otherwise one field for JSON.


def argument_fields_of(
    handler: PublishedHandler, typed: Mapping[str, str], error: HoldfastError | None = None
) -> list[ArgumentField] | None:
    """The fields for the arguments, with the typed texts. None: one field for JSON, because the handler has published
    no schema, or the typed JSON is no object. `error`: why the form was refused."""
    try:
        given: object = json.loads(typed.get("arguments", "").strip() or "{}")
    except (ValueError, RecursionError):
        return None
    if handler.arguments is None or not isinstance(given, dict):
        return None
    problems: Mapping[str, str] = error.problems if isinstance(error, InvalidSubmissionError) else {}
    return as_typed(argument_fields(handler, cast("dict[str, Any]", given)), typed, problems)


def with_arguments(handler: PublishedHandler, typed: Mapping[str, str]) -> Mapping[str, str]:
    """The fields with the arguments as one JSON text. Raises InvalidSubmissionError. The act checks the values against
    the schema, once hidden values are restored."""
    if "arguments" in typed:
        return typed
    read = read_arguments(handler, typed, unchecked=True)
    if read.problems:
        raise InvalidSubmissionError(read.problems)
    return {**typed, "arguments": json_text(read.kwargs)} if read.kwargs else typed


def _typed(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _parsed(given: Mapping[str, str], name: str, read: Callable[[str], object]) -> dict[str, Any]:
    try:
        return {name: read(given[name])} if name in given else {}
    except ValueError:
        raise InvalidScheduleError(f"{name.replace('_', ' ')} {given[name][:80]!r}: a number is expected") from None


def _payload(given: Mapping[str, str], field: str) -> Any:
    try:
        return json.loads(given[field])
    except (ValueError, RecursionError) as error:
        raise InvalidScheduleError(f"{field}: not JSON: {error}") from None
