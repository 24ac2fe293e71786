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

# Describes the supervisor that runs in a runtime folder, and where its settings differ from those of the command.


def service_words(status: SupervisorStatus | None, settings: Settings) -> Iterator[str]:
    """Lines for people: one about the running supervisor, and one about its settings that differ from `settings`. No
    lines if no supervisor runs."""
    if status is None:
        return
    how = f"{status.state} for {duration(status.uptime)}, {status.ready} of {counted(status.target, 'worker')} ready"
    where = f"queue {status.store.queue or '(unknown)'}, store {status.store.url}"
    yield f"a supervisor runs here: version {status.version}, pid {status.pid}, {how}, {where}"
    if others := list(_others(status, settings)):
        yield f"the settings of that supervisor differ from those of this command: {', '.join(others)}"


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
    supervisor runs in the runtime folder, standard error first names its queue, store and workers. Standard error also
    tells whether the project's data is still under the project's former path.
    """
    session.flags["handler"] = handler
    settings = session.settings  # the first access prints a notice for each settings file that was found
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
    """The origin of a setting in words. For a default folder it also names the project."""
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
