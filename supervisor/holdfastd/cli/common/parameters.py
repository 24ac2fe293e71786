"""Parameters of several commands: the types of their values, options that many commands have, and the question for
confirmation."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click
import msgspec

from holdfast_config import durations
from holdfastd.cli.common import output
from holdfastd.cli.common.options import Decorator

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
    """The click type of a waiting time: the value becomes a number of seconds."""

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

yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def limit_option(most: int | None, meaning: str, default: int = 100, **more: Any) -> Decorator:
    """The option `--limit`, from 1 to `most` (None: no maximum)."""
    kind = click.IntRange(1, most)
    return click.option("--limit", type=kind, default=default, show_default=True, help=meaning, **more)


def with_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a task that are not None. With --name, the value of --data becomes `kwargs`: the arguments of the
    handler. Raises UsageError if that value is no JSON object."""
    values = {name: value for name, value in given.items() if value is not None}
    if "name" in values and "data" in values:
        values["kwargs"] = values.pop("data")
        if not isinstance(values["kwargs"], dict):
            raise click.UsageError("--data with --name must be a JSON object: the arguments of the handler")
    return values


def confirm(question: str, why: str, *, yes: bool) -> None:
    """Return if `yes` (--yes) is given or the user agrees; else abort. Without a terminal, --yes is required."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{why}: add --yes to confirm")
    click.confirm(output.safe(question), abort=True, err=True)
