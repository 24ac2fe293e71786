"""Compares a line of the log with config/log.schema.json and with the events on docs/logs.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from holdfast_config.logging import HANDLERS
from tests.docs.log_events import GAP, OF_TASK, LoggedEvent, events, schema

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "null": type(None),
}


def faults(line: Mapping[str, Any]) -> list[str]:
    """Why the line is not as documented; empty if it is."""
    return [*_of_schema(line), *_of_event(line)]


def _of_schema(line: Mapping[str, Any]) -> Iterator[str]:
    known = schema()
    yield from (f"no {name}" for name in known["required"] if name not in line)
    if str(line.get("logger", "")).startswith("holdfast") and line.get("logger") not in HANDLERS:
        yield from (f"unknown field {name}" for name in line if name not in known["properties"])
    for name, value in line.items():
        rule = known["properties"].get(name, {})
        fits = _is_of_type(value, rule.get("type", list(TYPES)))
        if not (fits and value in rule.get("enum", [value]) and re.search(rule.get("pattern", ""), str(value))):
            yield f"{name} is {value!r}"


def _is_of_type(value: object, kinds: str | Sequence[str]) -> bool:
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, TYPES[kind]) for kind in kinds)


def _of_event(line: Mapping[str, Any]) -> Iterator[str]:
    logger = line.get("logger", "")
    if not logger.startswith("holdfast") or logger == "holdfast.task":
        return
    found = [event for event in _events() if _is_of(event, line)]
    if not found:
        yield f"not documented: {logger} {line['level']} {line['event']}"
    for name in line:
        allowed = {field for event in found for field in event.fields} | {*schema()["required"], *OF_TASK}
        if found and name not in allowed:
            yield f"not documented for this event: {name}"


def _is_of(event: LoggedEvent, line: Mapping[str, Any]) -> bool:
    text = re.escape(event.text).replace(re.escape(GAP), ".*")
    return (
        event.logger in {GAP, line["logger"]}
        and line["level"] in event.levels
        and re.fullmatch(text, line["event"], re.DOTALL) is not None
    )


@cache
def _events() -> Sequence[LoggedEvent]:
    return events()
