"""`supervisor config`: the settings as a command in this folder reads them, and the origin of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
from pydantic import SecretStr

from holdfast.core.words import counted, duration
from holdfast_config import Settings
from holdfast_config.origin import ValueWithOrigin, without_secrets
from holdfast_config.resolve import Resolved
from holdfastd.cli.common import Session, options, output, tables
from holdfastd.cli.common.setting_flags import every_setting
from holdfastd.control.report import look
from holdfastd.control.socket_protocol import SupervisorStatus
from holdfastd.embedded import project_data

# The supervisor that runs in a runtime folder, in words, beside the settings of a command.


def service_words(status: SupervisorStatus | None, settings: Settings) -> Iterator[str]:
    """A line about the supervisor, and a line about its settings that differ from these; nothing if none runs."""
    if status is None:
        return
    how = f"{status.state} for {duration(status.uptime)}, {status.ready} of {counted(status.target, 'worker')} ready"
    where = f"queue {status.store.queue or '(unknown)'}, store {status.store.url}"
    yield f"a supervisor runs here: version {status.version}, pid {status.pid}, {how}, {where}"
    if others := list(_others(status, settings)):
        yield f"unlike the settings of this command, it has: {', '.join(others)}"


def _others(status: SupervisorStatus, settings: Settings) -> Iterator[str]:
    for name, here, there in (
        ("queue_name", settings.queue_name, status.store.queue),
        ("redis_url", settings.redis.masked_url, status.store.url),
        ("workers", settings.workers, status.target),
    ):
        if there not in ("", here):
            yield f"{name} {there}"


DEFAULT = "default"


@options.group(epilog="Example: supervisor config show")
def config() -> None:
    """Show the settings and the origin of each."""


@config.command(
    epilog="Examples:\n\nsupervisor config show --given\n\nsupervisor config show --config agent_config.json --json"
)
@click.argument("handler", required=False)
@click.option("--given", is_flag=True, help="Omit settings that have their default.")
@every_setting
@options.common
@options.pass_reading_session
def show(session: Session, /, handler: str | None, given: bool) -> None:
    """Show each setting with its value and its origin: flag, variable, file, credential or default.

    Takes the same arguments as `supervisor start` and reads the same files. Logins and passwords are masked. If a
    supervisor runs in the runtime folder, its queue, store and workers come first, on standard error, then a remark on
    data that is not in the project's folder.
    """
    session.flags["handler"] = handler
    settings = session.settings  # prints a notice for a file that was found
    if not session.json:
        for line in service_words(look(settings.runtime_folder).status, settings):
            output.note(line)
        for line in project_data.remarks(session.resolved.settings):
            output.note(line)
    session.warn()
    rows = [row for row in _rows(session.resolved) if not given or row[2] != DEFAULT]
    document = {name: {"value": value, "source": source} for name, value, source in rows}
    shown = ((name, _shown(value), source) for name, value, source in rows)
    tables.answer(session, document, ("setting", "value", "source"), shown)


def _rows(resolved: Resolved) -> Iterator[tuple[str, object, str]]:
    for field in Settings.model_fields:
        origin = resolved.origins.get(field)
        yield field, _plain(field, getattr(resolved.settings, field)), _source(resolved, origin)


def _source(resolved: Resolved, origin: ValueWithOrigin | None) -> str:
    """The origin in words; of a default folder with the project that it is for."""
    if origin is None:
        return DEFAULT
    project = resolved.settings.project
    return f"{origin.key}, project {project.path}" if origin.is_of_project and project else origin.key


def _plain(field: str, value: object) -> object:
    """A value for JSON, without secrets."""
    match value:
        case SecretStr():
            return "***"
        case Path():
            return str(value)
        case str():
            return without_secrets(field, value)
        case tuple():
            return [_plain(field, each) for each in cast("tuple[object, ...]", value)]
        case bool() | int() | float() | None:
            return value
        case _:
            return str(value)


def _shown(value: object) -> object:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, cast("list[object]", value)))
        case _:
            return value
