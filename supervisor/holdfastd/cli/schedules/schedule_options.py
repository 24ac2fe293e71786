"""Options that several commands share: times and task of a schedule, as one ScheduleSpec, and the length of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.client.schedule_definition import ScheduleSpec, read_spec
from holdfastd.cli.common.parameter_types import JSON

F = TypeVar("F", bound=Callable[..., Any])

_WHEN = (
    ("cron", "A cron expression: '0 2 * * *', @daily; six fields begin with seconds."),
    ("every", "An interval: 90, 5m, 1h30m, PT5M."),
    ("rrule", "A recurrence rule of RFC 5545: FREQ=WEEKLY;BYDAY=MO."),
    ("at", "A single time: 2030-01-31T12:00:00 or Unix seconds."),
)
_POLICY = (
    ("timezone", "Time zone of local times, such as Europe/Berlin. Default: UTC."),
    ("anchor", "Time from which --every counts. Default: now."),
    ("start", "No fire before this time."),
    ("end", "No fire after this time."),
    ("jitter", "Delay each fire by up to this duration."),
    ("overlap", "If the previous task has not ended: forbid, allow, queue-one or replace."),
    ("misfire", "Missed fires to run: latest, skip (none), or all:N (up to N)."),
    ("start_deadline", "Skip a fire that is late by more than this duration."),
    ("on_failure", "After a failed task: continue or stop."),
    ("backoff", "Pause before a failed task is tried again, doubled each time; of a CONTINUE schedule after each run."),
    ("owner", "Owner, whose `schedules apply` may delete it."),
)


limit_option = click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Maximum number to show.",
    metavar="N",
)


def when(command: F) -> F:
    """Adds the options for the times of the fires, and the policies for them."""
    command = click.option("--limit", type=int, metavar="N", help="Maximum number of fires.")(command)
    for name, meaning in reversed(_WHEN + _POLICY):
        command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=meaning)(command)
    return command


def what(command: F) -> F:
    """Adds the options for the task that a fire submits."""
    for each in (
        click.option("--webhook", metavar="URL", help="URL to notify when a task ends or asks for input."),
        click.option("--concurrency-key", help="Run only one task with this key at a time."),
        click.option(
            "--unique-for",
            metavar="DURATION",
            help="With --unique: for this time instead, even after it has ended.",
        ),
        click.option("--unique", metavar="KEY", help="Skip a fire while a task with this key has not ended."),
        click.option(
            "--expires",
            metavar="DURATION",
            help="Cancel a task if no worker claims it within this time after its fire.",
        ),
        click.option("--timeout", metavar="DURATION", help="Maximum time of one run: 90, 5m."),
        click.option(
            "--max-attempts",
            type=int,
            metavar="N",
            help="Maximum number of runs of a task that fails.",
        ),
        click.option("--lane", help="Lane of its tasks. Default: the queue itself."),
        click.option("--metadata", type=JSON, help="Metadata of its tasks, a JSON object."),
        click.option(
            "--data", type=JSON, help="JSON value for the handler; with --name, an object with its arguments."
        ),
        click.option("--name", help="Name of the registered handler to call."),
    ):
        command = each(command)
    return command


def spec_of(given: dict[str, Any]) -> ScheduleSpec:
    """The spec of the given options. Raises InvalidScheduleError."""
    values = {name: value for name, value in given.items() if value is not None}
    if "name" in values and "data" in values:
        if not isinstance(values["data"], dict):
            raise click.UsageError("--data with --name must be a JSON object: the arguments of the handler")
        values["kwargs"] = values.pop("data")
    return read_spec(values)
