"""The types of option values: JSON, a duration, a time to wait, a point in time."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import click
import msgspec

from holdfast_config import durations

LONGEST_WAIT = 365 * 86400.0  # seconds; the system's timers take no more than some centuries


class _Json(click.ParamType[object]):
    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            self.fail(f"{value[:80]!r} is not JSON: {error}", param, ctx)


class _Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return durations.seconds(value)
        except ValueError:
            self.fail(f"{value[:80]!r} is not a duration: use seconds, or 90s, 5m, 1h30m, 7d", param, ctx)


class _Wait(click.ParamType[float]):
    """The number of seconds for which a command waits."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = durations.seconds(value)
        except ValueError:
            seconds = -1.0
        if 0 <= seconds <= LONGEST_WAIT:
            return seconds
        return self.fail(
            f"{str(value)[:80]!r} is not a time to wait: use seconds, or 90s, 5m, 1h30m, from 0 to 365d", param, ctx
        )


class _When(click.ParamType[datetime | float]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime | float:
        try:
            return float(value) if _is_number(value) else datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value[:80]!r} is not a time: use 2030-01-31T12:00:00Z, or Unix seconds", param, ctx)


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", value, re.ASCII) is not None


JSON = _Json()
DURATION = _Duration()
WAIT = _Wait()
WHEN = _When()
