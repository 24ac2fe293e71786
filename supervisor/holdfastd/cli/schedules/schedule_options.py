"""The options that say when a schedule fires and what it runs; they become one ScheduleSpec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.client.schedule_definition import read_spec
from holdfast.client.schedule_spec import ScheduleSpec
from holdfastd.cli.common.parameter_types import DURATION, JSON

F = TypeVar("F", bound=Callable[..., Any])

_WHEN = (
    ("cron", "A cron expression: '0 2 * * *', @daily; six fields begin with seconds."),
    ("every", "An interval: 90, 5m, 1h30m, PT5M."),
    ("rrule", "A recurrence rule of RFC 5545: FREQ=WEEKLY;BYDAY=MO."),
    ("at", "One moment: 2030-01-31T12:00:00 or Unix seconds."),
)
_POLICY = (
    ("timezone", "The zone of local times, as in Europe/Berlin; else UTC."),
    ("anchor", "The moment that --every counts from; else now."),
    ("start", "No fire before this moment."),
    ("end", "No fire after this moment."),
    ("jitter", "Put each fire off by less than this."),
    ("overlap", "While the task before has not ended: forbid, allow, queue-one or replace."),
    ("misfire", "Of missed fires run: latest, skip, or all:N."),
    ("start_deadline", "A fire that is later than this is not run."),
    ("on_failure", "After a failed task: continue or stop."),
    ("backoff", "The pause of a CONTINUE after its run."),
    ("owner", "Who may prune it with `schedules apply`."),
)


def when(command: F) -> F:
    """When it fires, and with which policy."""
    command = click.option("--limit", type=int, metavar="N", help="Fire so many times at most.")(command)
    for name, meaning in reversed(_WHEN + _POLICY):
        command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=meaning)(command)
    return command


def what(command: F) -> F:
    """What it runs."""
    for one in (
        click.option("--timeout", type=DURATION, metavar="DURATION", help="The longest one run may take: 90, 5m."),
        click.option("--max-attempts", type=int, metavar="N", help="Runs before a failing task is given up."),
        click.option("--lane", help="The lane to queue its tasks in; else the public queue."),
        click.option("--data", type=JSON, help="A JSON value for the handler; with --name, its arguments."),
        click.option("--name", help="The registered handler to call."),
    ):
        command = one(command)
    return command


def spec_of(given: dict[str, Any]) -> ScheduleSpec:
    """The spec of what was given; InvalidScheduleError."""
    told = {name: value for name, value in given.items() if value is not None}
    if "name" in told and "data" in told:
        if not isinstance(told["data"], dict):
            raise click.UsageError("--data: with --name it is the handler's arguments, a JSON object")
        told["kwargs"] = told.pop("data")
    return read_spec(told)
